"""The dear games of `unit/accounting/test_adaptive_games.py`: 600 of them, and all trees of five rounds."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.unit.accounting.test_adaptive_games import (
    all_of_delta_by_addition,
    moving_frontier,
    ratios,
    separate_sums,
    the_filter,
    whole_budget_last,
)


@pytest.mark.textbook("S6.8")
@pytest.mark.parametrize("seed", range(2024, 2029))
def test_no_adaptive_analyst_passes_the_promise_in_five_rounds(seed: int) -> None:
    """A hundred games for each seed: nobody passes the promise, and some come within a tenth of it."""
    reached = list(ratios(100, the_filter, rounds=5, seed=seed))
    assert Fraction(9, 10) < max(reached) <= 1


@pytest.mark.textbook("S6.8")
def test_nor_where_one_release_takes_everything() -> None:
    reached = list(ratios(100, the_filter, rounds=5, seed=1, whole=True))
    assert max(reached) == 1  # that release by itself


@pytest.mark.parametrize("gate", [moving_frontier, separate_sums, all_of_delta_by_addition, whole_budget_last])
def test_the_search_finds_who_breaks_a_filter_that_is_none(gate) -> None:  # type: ignore[no-untyped-def]
    """In five rounds too, though not in every game."""
    found = [ratio > 1 for ratio in ratios(12, gate, rounds=5, seed=7, whole=gate is whole_budget_last)]
    assert any(found)
