"""The rank error to expect of a quantile is what is measured, within a fifth, over 20,000 draws.

A measured 95 % quantile of an error with exponential tails is within 1.45 / sqrt(draws) (one standard deviation): 1 %
of 20,000 draws, 4.6 % of 1,000. Figures that agree within 12 % in truth are more than 20 % off less than once in 10^14
runs with 20,000 draws, and those that agree within 8 % more than 35 % off less than once in 10^8 runs with 1,000
releases; seeds are fixed, so runs repeat. The 20,000 draws are from the law of scoring every grid point by itself.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from checks import SeededEntropy
from costs import cases
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles, ValueCounts
from dalenius.privacy.neighbours import AddRemove

BETA, DRAWS, TOP = Fraction(1, 20), 20_000, 500_000
DATA = ("even", "log-normal")


def rows_of(shape: str, size: int) -> NDArray[np.int64]:
    if shape == "even":
        return (np.arange(size) * TOP // size + TOP // (2 * size)).astype(np.int64)
    drawn = np.random.default_rng(7).lognormal(10, 1, size)
    return np.sort(np.clip(np.rint(drawn), 0, TOP).astype(np.int64))


def mechanism(*targets: str, size: int, share: float = 0.02, **more: Any) -> PrivateQuantiles:
    """With a rate that makes the median's rank wrong by about this share of the group."""
    rate = Fraction(log(1 / float(BETA)) / (share * size)).limit_denominator(1000)
    shares = tuple(map(Fraction, targets))
    return PrivateQuantiles(targets=shares, lower=0, upper=TOP, rate=rate, neighbours=AddRemove(), rows=10, **more)


def off(rows: NDArray[np.int64], p: Fraction, points: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how many ranks each point misses the quantile p; of p = 0, the least value."""
    aim, up_to, below = float(p) * len(rows), np.searchsorted(rows, points, "right"), np.searchsorted(rows, points)
    return np.maximum(0.0, np.maximum(aim - up_to, below - aim))


def measured(m: PrivateQuantiles, rows: NDArray[np.int64]) -> float:
    """The 95 % quantile of the rank error of a single target, over 20,000 draws."""
    (p,), points = m.targets, np.arange(TOP + 1)
    inside = {0: m.margin, 1: -m.margin}.get(p, 0)
    costs = off(rows, p + Fraction(inside, len(rows)), points)
    law = np.exp(-float(m.rate) * costs / (2 * float(max(p, 1 - p))))
    drawn = np.random.default_rng(3).choice(points, DRAWS, p=law / law.sum())
    return float(np.quantile(off(rows, p, drawn), float(1 - BETA)))


CASES = [(s, n, p) for s in DATA for n in (1000, 10_000) for p in ("0", "1/10", "1/4", "1/2", "3/4", "9/10", "1")]


def share_for(shape: str, p: str) -> float:
    """Far out in a long tail gaps are so unequal that ranks are only as expected where the error is small."""
    return 0.01 if (shape, p) == ("log-normal", "9/10") else 0.02


@pytest.mark.parametrize(("shape", "size", "p"), CASES)
def test_the_expected_rank_error_is_measured_within_a_fifth(shape: str, size: int, p: str) -> None:
    m = mechanism(p, size=size, share=share_for(shape, p))
    assert float(m.typical_rank_error(p, BETA)) == pytest.approx(measured(m, rows_of(shape, size)), rel=0.2)


@pytest.mark.parametrize(("shape", "size", "p"), CASES)
def test_the_test_above_notices_a_rate_that_is_a_half_larger_than_stated(shape: str, size: int, p: str) -> None:
    m = mechanism(p, size=size, share=share_for(shape, p))
    steeper = replace(m, rate=m.rate * 3 / 2)
    assert float(steeper.typical_rank_error(p, BETA)) != pytest.approx(measured(m, rows_of(shape, size)), rel=0.2)


def released(m: PrivateQuantiles, rows: NDArray[np.int64], draws: int) -> list[float]:
    """The 95 % quantile of the rank error of each target, over releases."""
    group = ValueCounts(*np.unique(rows, return_counts=True))
    answers = m.release([group] * draws, SeededEntropy("rank errors"))
    found = np.array([[answer.value for answer in group] for group in answers])
    return [float(np.quantile(off(rows, p, found[:, at]), float(1 - BETA))) for at, p in enumerate(m.targets)]


@cases("shape", DATA, fast=1)
def test_the_expected_rank_error_is_that_of_releases(shape: str) -> None:
    m = mechanism("1/2", size=300, share=0.05)
    (error,) = released(m, rows_of(shape, 300), 1000)
    assert float(m.typical_rank_error("1/2", BETA)) == pytest.approx(error, rel=0.35)
