"""Propose-test-release: exact distances, and claims that the exact laws keep."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import pytest
from flint import arb

from checks import SeededEntropy
from costs import cases
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.robust.profiles import rank
from dalenius.mechanisms.robust.propose_test_release import (
    Proposed,
    ProposedQuantile,
    ProposeTestRelease,
    textbook_delta,
)
from dalenius.mechanisms.robust.stability import FAR
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.textbook.privacy.smooth import local_sensitivity
from dalenius.verify.checked import finite

ADD, REPLACE = AddRemove("row"), Replace("row")
HALF = Fraction(1, 2)
relations = pytest.mark.parametrize("neighbours", [ADD, REPLACE], ids=str)


def quantile(**options: Any) -> ProposedQuantile:
    return ProposedQuantile(
        **{"lower": 0, "upper": 3, "bound": 1, "epsilon": Fraction(1), "delta": Fraction(1, 50), **options}
    )


def median(rows: Counter[int]) -> int:
    values = sorted(rows.elements())
    return values[rank(HALF, len(values))] if values else 0


def nearest_breaking(rows: tuple[int, ...], bound: int, neighbours: Neighbours, most: int) -> int:
    """How many steps lead to data where one more moves the median by more than the bound."""
    shell, seen = {rows}, {rows}
    for distance in range(most):
        for each in shell:
            local = local_sensitivity(median, Counter(each), universe=range(4), neighbours=neighbours)
            if local > bound:
                return distance
        around = (neighbours.around(Counter(each), (0, 1, 2, 3)) for each in shell)
        shell = {tuple(sorted(other.elements())) for others in around for other in others} - seen
        seen |= shell
    return most


@pytest.mark.textbook("S11.4")
@relations
@cases("bound", [1, 2], fast=1)
def test_the_distance_is_the_one_found_by_trying_all(neighbours: Neighbours, bound: int) -> None:
    for size in range(1, 5):
        for rows in combinations_with_replacement(range(4), size):
            found = quantile(bound=bound, neighbours=neighbours).proposed(rows)
            assert found == Proposed(median(Counter(rows)), nearest_breaking(rows, bound, neighbours, 6))


@pytest.mark.textbook("S11.4")
def test_a_test_without_noise_is_refuted() -> None:
    """Twin: passing where the distance is positive, exactly, tells neighbours apart."""
    mechanism = quantile(neighbours=REPLACE)
    databases = list(combinations_with_replacement(range(4), 3))
    pairs = [(x, y) for x in databases for y in databases if REPLACE.related(Counter(x), Counter(y))]
    tables = {}
    for rows in databases:
        value, distance = mechanism.proposed(rows)
        with precise():
            noisy = {z: mechanism.inner.noise.law.pmf(z - value) for z in range(-20, 21)}
        tables[rows] = noisy if distance else {None: arb(1)}
    assert finite(tables, pairs, truncated=True).holds(mechanism.loss(sensitivity=2)) is False


@pytest.mark.textbook("S11.4")
def test_dense_data_pass_and_data_with_a_gap_do_not() -> None:
    mechanism = quantile(lower=0, upper=1000, bound=20, delta=Fraction(1, 10**6), neighbours=ADD)
    dense, gap = [450 + place % 100 for place in range(1000)], [0] * 50 + [1000] * 51
    released = [mechanism.release(dense, SeededEntropy(turn)) for turn in range(40)]
    assert all(each is not None and abs(each - 499) < 500 for each in released)
    assert [mechanism.release(gap, SeededEntropy(turn)) for turn in range(40)] == [None] * 40
    assert mechanism.inner.enough("0.01") < mechanism.proposed(dense).distance
    assert mechanism.proposed(gap).distance == 0
    with precise():
        assert upper(mechanism.inner.test.chance(0)) <= mechanism.delta / 2


def test_a_bound_as_wide_as_the_grid_always_passes() -> None:
    assert quantile(bound=3, neighbours=ADD).proposed([0, 3]) == Proposed(0, FAR)
    assert quantile(bound=3, neighbours=REPLACE).proposed([]) == Proposed(0, FAR)


@pytest.mark.textbook("S11.4")
def test_the_textbook_s_delta_is_the_tail_of_its_threshold() -> None:
    with precise():
        tail = (-(ball(1000).log() ** 2)).exp() / 2
        assert lower(tail) <= textbook_delta(n=1000, epsilon=1) <= upper(tail) * (1 + Fraction(1, 10**30))


def test_what_is_not_covered_is_refused() -> None:
    mechanism = ProposeTestRelease(bound=2, epsilon=Fraction(1), delta=Fraction(1, 100), neighbours=ADD)
    assert mechanism.loss(sensitivity=1) == ApproximateDP(1, Fraction(1, 100))
    assert mechanism.error("0.05") == mechanism.noise.error("0.05")
    with pytest.raises(TheoremDoesNotApply):
        mechanism.loss(sensitivity=2)
    with pytest.raises(InvalidParameter, match="delta"):
        quantile(neighbours=ADD, delta=Fraction(0))
    with pytest.raises(InvalidParameter, match="bound"):
        quantile(neighbours=ADD, bound=0)
