"""The cheapest share that suffices, and an epsilon that is still affordable, are found in few steps."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.amounts import price
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.shares import affordable, cheapest_within
from dalenius.privacy.losses import PureDP


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize("left", ["0.9", "0.03", "0.0001"])
def test_an_affordable_epsilon_can_be_paid_and_is_near_the_largest(delta: Any, left: str) -> None:
    renyi_filter = RenyiFilter.of(Budget(3, delta))
    rest = renyi_filter.cap.part(Fraction(left))
    epsilon = affordable(renyi_filter, rest)
    assert epsilon is not None
    spent = renyi_filter.cap.less(rest)
    for size, fits in ((epsilon, True), (min(Fraction(3), epsilon * Fraction(6, 5)), False)):
        assert (spent + price(PureDP(size), order=renyi_filter.order)).admitted(renyi_filter.cap) is fits


def test_nothing_is_affordable_where_nothing_is_left() -> None:
    renyi_filter = RenyiFilter.of(Budget(3))
    assert affordable(renyi_filter, renyi_filter.cap.part(Fraction(0))) is None


def test_a_target_beyond_the_whole_budget_has_no_price() -> None:
    assert cheapest_within(lambda share: Fraction(2)) is None
    assert cheapest_within(lambda share: None) is None


def roots(share: Fraction, needed: Fraction, power: float) -> Fraction:
    return Fraction(float(needed / share) ** power)


@given(st.fractions(Fraction(1, 10**9), 1), st.sampled_from([0.25, 0.5, 1.0, 2.0]), st.booleans())
def test_the_share_at_which_an_excess_ends_is_found_in_few_steps(needed: Fraction, power: float, known: bool) -> None:
    """Also where nothing is known of less than a part of it, and where it falls by steps."""
    for curve in (roots, lambda *given: Fraction(ceil(100 * roots(*given)), 100)):
        tried: list[Fraction] = []

        def excess(share: Fraction, curve: Any = curve, tried: list[Fraction] = tried) -> Fraction | None:
            tried.append(share)
            return curve(share, needed, power) if known or share >= needed / 3 else None

        found = cheapest_within(excess, halvings=30)
        assert found is not None
        assert excess(found) <= 1 < (excess(found * Fraction(998, 1000)) or 2) or found == 1  # type: ignore[operator]
        assert len(tried) <= 36


def test_an_excess_that_is_a_power_of_the_share_is_met_after_a_handful() -> None:
    tried: list[Fraction] = []
    cheapest_within(lambda share: (tried.append(share), roots(share, Fraction(1, 777), 0.5))[1], halvings=30)
    assert len(tried) <= 6
