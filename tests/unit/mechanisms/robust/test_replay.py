"""Every robust mechanism at the door, on neighbours: the same calls, the same prices, inputs as near as declared."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import PrivacyFilter
from dalenius.checks.replay.replaying import replay
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.robust import (
    InterquartileScale,
    ProposedQuantile,
    SmoothCauchy,
    SmoothEqualPairs,
    SmoothLaplace,
    SmoothQuantile,
    SmoothTrimmedMean,
    StableMode,
    StableQuantile,
)
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import system_entropy

ADD, REPLACE = AddRemove("row"), Replace("row")
GRID: dict[str, Any] = {"lower": 0, "upper": 50}
TESTED: dict[str, Any] = {"epsilon": Fraction(1), "delta": Fraction(1, 1000)}
CAUCHY, LAPLACE = SmoothCauchy.calibrated(epsilon=1), SmoothLaplace.calibrated(epsilon=1, delta="1e-3")
MECHANISMS = [
    SmoothQuantile(**GRID, noise=CAUCHY, neighbours=ADD),
    SmoothQuantile(**GRID, noise=LAPLACE, neighbours=REPLACE, p=Fraction(1, 4)),
    SmoothTrimmedMean(**GRID, noise=CAUCHY, neighbours=REPLACE),
    ProposedQuantile(**GRID, **TESTED, bound=3, neighbours=ADD),
    ProposedQuantile(**GRID, **TESTED, bound=3, neighbours=REPLACE),
    SmoothTrimmedMean(**GRID, noise=CAUCHY, neighbours=ADD),
    InterquartileScale(**GRID, **TESTED, neighbours=REPLACE),
    InterquartileScale(**GRID, **TESTED, neighbours=ADD),
    StableQuantile(**GRID, **TESTED, neighbours=ADD),
    StableMode(labels=tuple(range(50)), **TESTED, neighbours=ADD),
    StableMode(**TESTED, neighbours=ADD),
]
FIRST = [3, 3, 4, 9, 9, 9, 20, 48]
SECOND = {ADD: [*FIRST, 50], REPLACE: [*FIRST[:-1], 0]}


def counted(rows: list[int]) -> ValueCounts:
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return ValueCounts(values, counts)


def released(mechanism: Any, rows: list[int]) -> Any:
    changed = Sensitivity(l1=mechanism.neighbours.add_remove_steps)
    value: Any = Counter(rows) if isinstance(mechanism, StableMode) else counted(rows)
    sealed: Exact[Any] = Exact(value, sensitivity=changed, neighbours=mechanism.neighbours)
    budget_part = PrivacyFilter(Budget(epsilon=100, delta="0.1"), neighbours=mechanism.neighbours)
    return measure(mechanism, sealed, budget_part.allow(mechanism.loss(sensitivity=changed)), system_entropy())


@pytest.mark.textbook("S11.1", "S11.4", "S11.5", "S11.6")
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: type(each).__name__)
def test_neighbours_make_the_same_calls(mechanism: Any) -> None:
    found = replay(lambda rows: released(mechanism, rows), FIRST, SECOND[mechanism.neighbours])
    assert found.passed, found.findings
    assert len(found.calls) == 1


def test_replay_notices_a_grid_that_was_read_from_the_data() -> None:
    def from_data(rows: list[int]) -> Any:
        return released(SmoothQuantile(lower=min(rows), upper=max(rows), noise=CAUCHY, neighbours=ADD), rows)

    assert not replay(from_data, FIRST, SECOND[ADD]).passed


def test_replay_notices_more_values_than_declared() -> None:
    found = replay(lambda rows: released(MECHANISMS[0], rows), FIRST, [*FIRST, 1, 2])
    assert not found.passed


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: type(each).__name__)
def test_no_data_make_a_release_fail(mechanism: Any) -> None:
    """Where the number of values is private there may be none at all, and values may lie anywhere."""
    few = [[], [7]] if mechanism.neighbours == ADD else [[7, 7]]
    for rows in [*few, [-(10**15), 10**15], [0] * 40, [50, 0] * 20, list(range(50))]:
        released(mechanism, rows)


def test_keys_of_any_kind_can_be_counted_in_pairs() -> None:
    mechanism = SmoothEqualPairs(noise=CAUCHY, neighbours=ADD)
    for keys in ([], ["a"], ["a", "b", "a"], [(1, 2)] * 30):
        assert mechanism.release(keys, system_entropy()) >= 0
    assert mechanism.loss(sensitivity=1) == CAUCHY.loss
