"""The interquartile scale: the moves out of a bin equal those found by trying all, and the claim is kept."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import pytest
from flint import arb

from checks import SeededEntropy
from costs import cases
from dalenius.errors import UnusableValue
from dalenius.mechanisms.robust.profiles import Ordered
from dalenius.mechanisms.robust.scale import (
    SYSTEMS,
    InterquartileScale,
    Spread,
    System,
    bin_edges,
    interquartile_range,
    moves_out_of_bin,
)
from dalenius.mechanisms.robust.stability import FAR
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import Replace
from dalenius.privacy.reals import ball, precise, upper
from dalenius.verify.checked import finite

REPLACE = Replace("row")
Rows = tuple[int, ...]


def ordered(rows: Rows, top: int) -> Ordered:
    return Ordered.of(rows, lower=0, upper=top)


def replaced(first: Rows, second: Rows) -> int:
    return sum((Counter(first) - Counter(second)).values())


@cache
def ranges(size: int, top: int) -> dict[Rows, int]:
    return {
        rows: interquartile_range(ordered(rows, top)) for rows in combinations_with_replacement(range(top + 1), size)
    }


@pytest.mark.textbook("S11.5")
@cases("system", SYSTEMS, fast=1)
@pytest.mark.parametrize(("size", "top"), [(2, 9), (3, 9), (4, 7), (5, 5), (6, 4)])
def test_the_moves_out_of_a_bin_are_those_found_by_trying_all(size: int, top: int, system: System) -> None:
    every = ranges(size, top)
    for rows, here in every.items():
        least, above = bin_edges(here, system)
        tried = min(
            (replaced(rows, other) for other, there in every.items() if not least <= there < above), default=FAR
        )
        assert moves_out_of_bin(ordered(rows, top), system) == tried


def test_the_equality_above_notices_a_bin_that_is_one_too_wide() -> None:
    every, wrong = ranges(4, 7), 0
    for rows, here in every.items():
        least, above = bin_edges(here, 0)
        tried = min((replaced(rows, o) for o, there in every.items() if not least <= there <= above), default=FAR)
        wrong += moves_out_of_bin(ordered(rows, 7), 0) != tried
    assert wrong


@pytest.mark.textbook("S11.5")
def test_bins_are_those_of_the_logarithm_and_zero_has_its_own() -> None:
    assert [bin_edges(here, 0) for here in (0, 1, 2, 3, 4, 1000)] == [
        (0, 1), (1, 2), (2, 4), (2, 4), (4, 8), (512, 1024)
    ]  # fmt: skip
    for here in range(1, 3000):
        least, above = bin_edges(here, 1)
        middle = round(np.log2(here) + (1e-12 if here > 1 else 0))
        assert least == int(np.ceil(2 ** (middle - 0.5)))
        assert above == int(np.ceil(2 ** (middle + 0.5)))
        assert least <= here < above


def scale(**options: Any) -> InterquartileScale:
    settings = {"lower": 0, "upper": 7, "epsilon": Fraction(3), "delta": Fraction(1, 50), "neighbours": REPLACE}
    return InterquartileScale(**{**settings, **options})


def law(mechanism: InterquartileScale, rows: Rows, reach: int = 8) -> dict[Any, arb]:
    """The exact law; the noisy logarithm in steps of a half."""
    values = ordered(rows, mechanism.upper)
    here = interquartile_range(values)
    with precise():
        first, second = (mechanism.test.chance(moves_out_of_bin(values, system) - 1) for system in SYSTEMS)
        failed = (1 - first) * (1 - second)
        if not here:
            return {None: failed, "zero": 1 - failed}
        lg, rate = ball(here).log() / ball(2).log(), ball(mechanism.epsilon / 3)
        cuts = [below(rate * (ball(Fraction(step, 2)) - lg)) for step in range(-reach, reach + 1)]
        cells = [cuts[0], *(b - a for a, b in pairwise(cuts)), 1 - cuts[-1]]
        return {None: failed, **{place: (1 - failed) * cell for place, cell in enumerate(cells)}}


def below(z: arb) -> arb:
    return z.exp() / 2 if z < 0 else 1 - (-z).exp() / 2


@pytest.mark.textbook("S11.5")
@cases(("size", "top"), [(2, 7), (3, 5), (4, 4)], fast=1)
def test_no_pair_of_small_databases_refutes_the_claim(size: int, top: int) -> None:
    mechanism, databases = scale(upper=top), list(combinations_with_replacement(range(top + 1), size))
    pairs = [(x, y) for x in databases for y in databases if x < y and replaced(x, y) == 1]
    tables = {rows: law(mechanism, rows) for rows in databases}
    loss = mechanism.loss(sensitivity=2)
    assert loss == ApproximateDP(3, Fraction(1, 50))
    found = finite(tables, pairs)
    assert found.holds(loss, tolerance=Fraction(1, 10**12)) is not False
    assert found.holds(ApproximateDP(Fraction(1, 2), Fraction(1, 10**4))) is False


@pytest.mark.textbook("S11.5")
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_data_at_the_edge_of_both_bins_pass_with_probability_at_most_delta(epsilon: str) -> None:
    mechanism = scale(epsilon=Fraction(epsilon), delta=Fraction(1, 10**6))
    values = ordered((0, 0, 0, 7), 7)
    assert [moves_out_of_bin(values, system) for system in SYSTEMS] == [1, 1]
    with precise():
        assert upper(mechanism.test.chance(0)) <= mechanism.delta / 2


def test_large_data_give_their_scale_to_within_the_stated_factor() -> None:
    mechanism = scale(upper=10**9, epsilon=Fraction(6), delta=Fraction(1, 10**6))
    rows = [int(value) for value in np.random.default_rng(3).normal(5e8, 1e5, 4000)]
    true = interquartile_range(Ordered.of(rows, lower=0, upper=10**9))
    found = [mechanism.release(rows, SeededEntropy(turn)) for turn in range(40)]
    assert all(each is not None for each in found)
    limit = float(mechanism.error("0.001"))
    assert sum(abs(np.log2(each.value / true)) > limit for each in found if each) <= 1
    assert mechanism.release([5] * 4000, SeededEntropy(1)) == Spread(None)
    assert Spread(None).value == 0
    assert mechanism.release([0] * 4 + [10**9] * 4, SeededEntropy(1)) is None


def test_what_is_not_covered_is_refused() -> None:
    with pytest.raises(UnusableValue):
        scale().release([1], SeededEntropy(0))
