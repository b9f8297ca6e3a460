"""What every robust mechanism promises, whatever it does."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.errors import InvalidParameter, MissingNeighbours
from dalenius.mechanisms import robust
from dalenius.mechanisms.robust import (
    DistanceToInstability,
    InterquartileScale,
    OneOf,
    Proposed,
    ProposedQuantile,
    ProposeTestRelease,
    SmoothCauchy,
    SmoothEqualPairs,
    SmoothLaplace,
    SmoothQuantile,
    SmoothTrimmedMean,
    Stable,
    StableMode,
    StableQuantile,
    SubsampleAggregate,
    SubsampledStability,
    VoteOfBlocks,
)
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.sandbox import Sandbox

ADD, REPLACE = AddRemove("row"), Replace("row")
GRID: dict[str, Any] = {"lower": 0, "upper": 1000}
TESTED: dict[str, Any] = {"epsilon": Fraction(1), "delta": Fraction(1, 1000)}
CAUCHY, LAPLACE = SmoothCauchy.calibrated(epsilon=1), SmoothLaplace.calibrated(epsilon=1, delta="1e-3")
VALUES = [100, 300, 300, 301, 700]


def first(rows: list[Any]) -> Any:
    return rows[0] if rows else 300


MADE: list[tuple[Any, dict[str, Any], Neighbours, Any]] = [
    (SmoothQuantile, {**GRID, "noise": CAUCHY}, ADD, VALUES),
    (SmoothQuantile, {**GRID, "noise": LAPLACE}, REPLACE, VALUES),
    (SmoothTrimmedMean, {**GRID, "noise": CAUCHY}, REPLACE, VALUES),
    (SmoothTrimmedMean, {**GRID, "noise": CAUCHY, "rows": 2}, ADD, VALUES),
    (SmoothEqualPairs, {"noise": CAUCHY}, ADD, VALUES),
    (ProposeTestRelease, {**TESTED, "bound": 3}, ADD, Proposed(5, 20)),
    (ProposedQuantile, {**GRID, **TESTED, "bound": 3}, ADD, VALUES),
    (InterquartileScale, {**GRID, **TESTED}, REPLACE, VALUES),
    (InterquartileScale, {**GRID, **TESTED, "rows": 2}, ADD, VALUES),
    (DistanceToInstability, TESTED, ADD, Stable("a", 9)),
    (StableMode, {**TESTED, "labels": (100, 300)}, ADD, Counter(VALUES)),
    (StableMode, {**TESTED, "rows": 2}, REPLACE, Counter(VALUES)),
    (StableQuantile, {**GRID, **TESTED}, ADD, VALUES),
    (
        SubsampledStability,
        {**TESTED, "function": first, "options": (100, 300), "q": Fraction(1, 4), "sets": 8},
        ADD,
        VALUES,
    ),
    (
        SubsampleAggregate,
        {
            "function": first,
            "blocks": 3,
            "aggregate": VoteOfBlocks(output=OneOf((100, 300)), epsilon=Fraction(1)),
            "sandbox": Sandbox(seconds=Fraction(1)),
        },
        ADD,
        None,
    ),
]
every = pytest.mark.parametrize(
    ("kind", "settings", "relation", "value"), MADE, ids=lambda each: getattr(each, "__name__", "")
)


@every
def test_a_mechanism_is_a_frozen_public_fact(kind: Any, settings: Any, relation: Neighbours, value: Any) -> None:
    mechanism = kind(**settings, neighbours=relation)
    assert mechanism == kind(**settings, neighbours=relation)
    assert hash(mechanism) == hash(kind(**settings, neighbours=relation))
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        mechanism.neighbours = None


@every
def test_a_missing_relation_is_refused(kind: Any, settings: Any, relation: Neighbours, value: Any) -> None:
    with pytest.raises(MissingNeighbours, match="neighbours is None"):
        kind(**settings, neighbours=None)


@every
@pytest.mark.parametrize("sensitivity", [-1, float("nan"), float("inf")])
def test_a_sensitivity_that_is_no_bound_is_refused(
    kind: Any, settings: Any, relation: Neighbours, value: Any, sensitivity: float
) -> None:
    with pytest.raises(InvalidParameter, match="sensitivity"):
        kind(**settings, neighbours=relation).loss(sensitivity=sensitivity)


@every
def test_equal_randomness_gives_equal_releases(kind: Any, settings: Any, relation: Neighbours, value: Any) -> None:
    mechanism = kind(**settings, neighbours=relation)
    if value is not None:
        for turn in range(5):
            one, other = (mechanism.release(value, SeededEntropy(turn)) for _ in range(2))
            assert one == other


def test_no_robust_mechanism_is_left_out() -> None:
    offered = [getattr(robust, name) for name in dir(robust)]
    stating = {each for each in offered if isinstance(each, type) and hasattr(each, "neighbours")}
    assert stating - {kind for kind, *_ in MADE} == {robust.RawDataProtocol}


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("noise", [CAUCHY, LAPLACE], ids=["Cauchy", "Laplace"])
def test_degenerate_and_large_data(relation: Neighbours, noise: Any) -> None:
    """All equal, two points far apart, a single point of grid, and a million values (THREATS F3)."""
    mechanism = SmoothQuantile(lower=0, upper=10**12, noise=noise, neighbours=relation)
    equal = np.full(1_000_000, 123_456_789)
    assert mechanism.release(equal, SeededEntropy("equal")) == 123_456_789
    split = np.repeat([0, 10**12], 500)
    assert len({mechanism.release(split, SeededEntropy(turn)) for turn in range(20)}) > 2
    point = SmoothQuantile(lower=7, upper=7, noise=noise, neighbours=relation)
    assert point.release([1, 2, 3], SeededEntropy("point")) == 7
