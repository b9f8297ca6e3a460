"""Quantiles of sums of noise against exact convolutions, and intervals of ratios against direct search."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from costs import cases
from dalenius.measuring.spreads import agreeing, spread, variance
from dalenius.randomness.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, LaplaceSumLaw, NoiseLaw

SMALL = [DiscreteLaplaceLaw(Fraction(1, 2)), DiscreteLaplaceLaw(Fraction(2)), DiscreteGaussianLaw(1)]
LARGER = [DiscreteLaplaceLaw(Fraction(6)), DiscreteGaussianLaw(36)]
WEIGHTS = (0.0, 0.01, 0.3, 0.5, 1.0, 1.5, 2.3, 7.0)


def points(law: NoiseLaw) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The noise and its probabilities, but for a part of less than 10^-5."""
    reach = law.quantile(Fraction(1, 10**5))
    half = [float(law.pmf(z)) for z in range(reach + 1)]
    return np.arange(-reach, reach + 1, dtype=np.float64), np.array([*half[:0:-1], *half])


def chance_beyond(first: NoiseLaw, second: NoiseLaw, weight: float, t: float) -> float:
    (x, p), (y, q) = points(first), points(second)
    beyond = np.abs(x[:, None] + weight * y[None, :]) > t + 1e-9
    return float(np.sum(beyond * p[:, None] * q[None, :]))


def reach_of(laws: tuple[NoiseLaw, ...], weights: tuple[float, ...], level: Fraction) -> float:
    return float(spread(laws, [np.array([weight]) for weight in weights], level=level)[0])


@cases(
    ("level", "slack"),
    [(Fraction(8, 10), 1.1), (Fraction(9, 10), 1.1), (Fraction(95, 100), 1.1), (Fraction(99, 100), 1.2)],
    fast=1,
)
def test_a_spread_is_exceeded_as_rarely_as_it_says(level: Fraction, slack: float) -> None:
    for first, second, weight in product([*SMALL, *LARGER], [*SMALL, *LARGER], WEIGHTS):
        t = reach_of((first, second), (1.0, weight), level)
        assert chance_beyond(first, second, weight, t) <= slack * (1 - level) + 3e-5, (first, second, weight)


def test_the_spread_of_large_noise_is_not_exceeded_much_more_rarely() -> None:
    for first, second, weight in product(LARGER, LARGER, WEIGHTS):
        t = reach_of((first, second), (1.0, weight), Fraction(95, 100))
        assert chance_beyond(first, second, weight, t) >= 0.03, (first, second, weight)


def test_the_tests_above_notice_a_spread_that_is_a_tenth_too_small() -> None:
    t = reach_of((LARGER[0], LARGER[1]), (1.0, 1.0), Fraction(95, 100))
    assert chance_beyond(LARGER[0], LARGER[1], 1.0, 0.9 * t) > 1.1 * 0.05


@pytest.mark.parametrize("terms", [1, 2, 5])
def test_the_spread_of_one_law_is_its_exact_quantile(terms: int) -> None:
    law = LaplaceSumLaw(Fraction(1000), terms)
    assert reach_of((law,), (1.0,), Fraction(95, 100)) == pytest.approx(law.quantile(Fraction(5, 100)), rel=2e-3)


@pytest.mark.filterwarnings("error")
def test_noise_that_vanishes_has_no_spread() -> None:
    quiet = DiscreteLaplaceLaw(Fraction(1, 1000))
    assert reach_of((quiet, quiet), (0.0, 0.0), Fraction(95, 100)) == pytest.approx(0)
    assert reach_of((quiet, quiet), (1.0, 1e-9), Fraction(95, 100)) <= 1


def test_a_part_without_weight_changes_nothing() -> None:
    level = Fraction(95, 100)
    assert reach_of((LARGER[0], LARGER[1]), (1.0, 0.0), level) == reach_of((LARGER[0],), (1.0,), level)


def test_the_variance_is_that_of_the_law() -> None:
    assert variance(DiscreteLaplaceLaw(Fraction(100))) == pytest.approx(20_000, rel=1e-3)


@pytest.mark.parametrize(
    ("top", "bottom"), [(50.0, 100.0), (-20.0, 40.0), (10.0, 20.0), (0.0, 15.0), (90.0, 100.0), (300.0, 40.0)]
)
def test_an_interval_holds_exactly_what_agrees(top: float, bottom: float) -> None:
    def reach(c: NDArray[np.float64]) -> NDArray[np.float64]:
        return spread((LARGER[0], LARGER[1]), (np.ones_like(c), c), level=Fraction(95, 100))

    grid = np.linspace(-1, 1, 20_001)
    agreed = grid[np.abs(top - grid * bottom) <= reach(grid)]
    low, high = (
        float(end[0])
        for end in agreeing(
            *(np.array([part]) for part in (top, bottom)), reach, lower=np.array([-1.0]), upper=np.array([1.0])
        )
    )
    if len(agreed):
        assert (low, high) == pytest.approx((agreed[0], agreed[-1]), abs=2e-4)
    else:  # the nearest value in the range is taken as measured
        assert high == 1.0
        assert -1 < low < 1
