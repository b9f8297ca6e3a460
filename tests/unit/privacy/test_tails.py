"""Tail bounds hold against exact probabilities, have the stated constants, and refuse where they would be false."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb

import mpmath
import pytest

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.tails import (
    azuma_drift,
    azuma_effects,
    azuma_martingale,
    chernoff_above,
    chernoff_additive,
    chernoff_below,
    laplace_sum_bound,
    laplace_sum_tail,
    stirling,
)


def laplace_sum(count: int, level: float) -> float:
    """P[Y > level] for a sum of `count` Laplace variables of scale 1, through the difference of two gamma laws."""
    density = lambda t: mpmath.gammainc(count, t + level, regularized=True) * t ** (count - 1) * mpmath.exp(-t)  # noqa: E731
    return float(mpmath.quad(density, [0, count, 4 * count, mpmath.inf]) / mpmath.gamma(count))


def binomial_above(count: int, mean: Fraction, level: Fraction) -> Fraction:
    """P[S > level] for the mean S of `count` independent bits."""
    return sum(
        (comb(count, k) * mean**k * (1 - mean) ** (count - k) for k in range(count + 1) if Fraction(k, count) > level),
        Fraction(0),
    )


def close(value: Fraction, expected: float) -> bool:
    return abs(float(value) / expected - 1) < 1e-12


@pytest.mark.textbook("S2.3")
@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("part", [0.3, 0.9, 1.0, 1.5, 4])
def test_sums_of_laplace_stay_below_the_bound(count: int, part: float) -> None:
    level = part * 2 * math.sqrt(2) * count
    assert laplace_sum(count, level) <= float(laplace_sum_tail(scales=[1] * count, threshold=level))


@pytest.mark.textbook("S2.3")
def test_the_tail_has_the_stated_constant_inside_its_condition() -> None:
    scales = [1, 2, "0.5"]
    squares, largest = 5.25, 2
    inside = 2 * math.sqrt(2) * squares / largest * 0.999
    for level in (1, 5, inside):
        assert close(laplace_sum_tail(scales=scales, threshold=level), math.exp(-(level**2) / (8 * squares)))


@pytest.mark.textbook("S2.3")
def test_beyond_the_condition_the_plain_form_is_false_and_not_used() -> None:
    level = 30.0
    plain, true = math.exp(-(level**2) / 8), math.exp(-level) / 2
    assert plain < true <= float(laplace_sum_tail(scales=[1], threshold=level))
    assert close(laplace_sum_tail(scales=[1], threshold=level), math.exp(-level / (2 * math.sqrt(2))))


@pytest.mark.textbook("S2.3")
@pytest.mark.parametrize(("count", "beta"), [(1, 0.1), (1, 1e-6), (4, 0.05), (30, 0.05), (30, 1e-12)])
def test_the_absolute_sum_stays_within_the_bound(count: int, beta: float) -> None:
    bound = laplace_sum_bound(scales=[1] * count, beta=beta)
    depth = math.log(2 / beta)
    assert close(bound, max(math.sqrt(count), math.sqrt(depth)) * math.sqrt(8 * depth))
    assert 2 * laplace_sum(count, float(bound)) <= beta


@pytest.mark.textbook("S2.3")
def test_the_corollary_for_equal_scales_as_printed_is_false_and_ours_is_not() -> None:
    """Corollary 12.4 reads '2 sqrt(2) k nu' for 2 sqrt(2) sqrt(k) nu, and 'lambda < a sqrt(k b)' for a sqrt(k) b."""
    count, a = 100, 100.0
    level = a * math.sqrt(count)
    assert a < 2 * math.sqrt(2) * count  # allowed as printed
    printed = mpmath.exp(-(mpmath.mpf(a) ** 2) / 8)
    one_term_alone = mpmath.exp(-level) / 4  # one variable exceeds the level, the others' sum is not negative
    assert printed < one_term_alone
    assert one_term_alone < laplace_sum_tail(scales=[1] * count, threshold=level).__float__()
    # Read as an upper limit on lambda, even the corrected limit is false: P[Y > 0.001] is almost 1/2.
    assert math.exp(-(2.5**2) / 8) < laplace_sum(1, 0.001) <= float(laplace_sum_tail(scales=[1], threshold="0.001"))
    for multiple in (1, 10, 2.8 * math.sqrt(count)):
        ours = laplace_sum_tail(scales=[1] * count, threshold=multiple * math.sqrt(count))
        assert close(ours, math.exp(-(multiple**2) / 8))


@pytest.mark.textbook("S2.3")
def test_the_integer_law_obeys_the_same_bound() -> None:
    for scale in (0.5, 1, 3):
        ratio = math.exp(-1 / scale)
        for level in range(1, 40):
            tail = ratio ** (level + 1) / (1 + ratio)
            assert tail <= float(laplace_sum_tail(scales=[scale], threshold=level))


@pytest.mark.textbook("S7.6")
@pytest.mark.parametrize("mean", [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_chernoff_bounds_hold_for_every_deviation(count: int, mean: Fraction) -> None:
    for step in range(1, 11):
        t = Fraction(step, 10)
        assert binomial_above(count, mean, mean + t) <= chernoff_additive(count=count, deviation=t)
        assert binomial_above(count, 1 - mean, 1 - mean + t) <= chernoff_additive(count=count, deviation=t)
        assert binomial_above(count, mean, (1 + t) * mean) <= chernoff_above(count=count, mean=mean, deviation=t)
        below = binomial_above(count, 1 - mean, 1 - (1 - t) * mean)
        assert below <= chernoff_below(count=count, mean=mean, deviation=t)


@pytest.mark.textbook("S7.6")
def test_chernoff_bounds_have_the_stated_constants() -> None:
    assert close(chernoff_additive(count=50, deviation="0.2"), math.exp(-2 * 50 * 0.04))
    assert close(chernoff_above(count=50, mean="0.3", deviation="0.5"), math.exp(-50 * 0.3 * 0.25 / 3))
    assert close(chernoff_below(count=50, mean="0.3", deviation="0.5"), math.exp(-50 * 0.3 * 0.25 / 2))
    # A larger constant in the additive form would be false: the rate 2 is attained for small deviations.
    rate = -math.log(binomial_above(4000, Fraction(1, 2), Fraction(11, 20))) / (4000 * 0.05**2)
    assert 2 < rate < 2.4


@pytest.mark.textbook("S7.6")
def test_the_multiplicative_bound_is_false_for_large_deviations_and_refused() -> None:
    count, mean, t = 1000, Fraction(1, 1000), 9
    assert binomial_above(count, mean, (1 + t) * mean) > Fraction(math.exp(-count * mean * t**2 / 3))
    with pytest.raises(TheoremDoesNotApply, match="a deviation of at most 1"):
        chernoff_above(count=count, mean=mean, deviation=t)


def walks(steps: int) -> list[int]:
    return [sum(walk) for walk in product((-1, 1), repeat=steps)]


@pytest.mark.textbook("S7.6")
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_azuma_bounds_the_fair_walk_in_all_three_forms(steps: int) -> None:
    ends = walks(steps)
    for end in sorted(set(ends)):
        if end <= 0:
            continue
        chance = Fraction(sum(other >= end for other in ends), len(ends))
        assert chance <= azuma_effects(effects=[2] * steps, deviation=end)
        squared = Fraction(end * end, steps)
        multiple = Fraction(math.isqrt(int(squared * 10**12)), 10**6)
        assert chance <= azuma_martingale(multiple=multiple)
        threshold, bound = azuma_drift(count=steps, bound=1, drift=0, multiple=multiple)
        assert Fraction(sum(other > threshold for other in ends), len(ends)) <= bound
        assert abs(threshold - end) < Fraction(1, 10**4)


@pytest.mark.textbook("S7.6")
def test_azuma_has_the_stated_constants() -> None:
    assert close(azuma_effects(effects=[1, 2, "0.5"], deviation=3), math.exp(-2 * 9 / 5.25))
    assert close(azuma_martingale(multiple=3), math.exp(-4.5))
    threshold, chance = azuma_drift(count=25, bound=2, drift="0.1", multiple=3)
    assert close(threshold, 25 * 0.1 + 3 * 5 * 2)
    assert close(chance, math.exp(-4.5))
    assert azuma_effects(effects=[0, 0], deviation=1) == 0
    assert azuma_effects(effects=[], deviation=0) == 1


@pytest.mark.textbook("S7.6")
def test_the_last_step_of_a_martingale_must_be_bounded_too() -> None:
    """The slide bounds the steps i < m - 1 only: a last step of +-10 then breaks the bound for m = 4."""
    ends = [end + last for end in walks(3) for last in (-10, 10)]
    multiple = 3
    chance = Fraction(sum(end >= multiple * 2 for end in ends), len(ends))
    assert chance > azuma_martingale(multiple=multiple)


@pytest.mark.textbook("S7.6")
@pytest.mark.parametrize("n", [1, 2, 10, 170, 1000])
def test_stirling_encloses_the_factorial_tightly(n: int) -> None:
    low, high = stirling(n)
    assert low < math.factorial(n) < high
    assert high / low < 1 + Fraction(1, 100 * n * n)


@pytest.mark.parametrize(
    "call",
    [
        lambda: laplace_sum_tail(scales=[], threshold=1),
        lambda: laplace_sum_tail(scales=[0], threshold=1),
        lambda: laplace_sum_bound(scales=[1], beta=1),
        lambda: chernoff_additive(count=0, deviation=1),
        lambda: chernoff_below(count=1, mean=2, deviation="0.5"),
        lambda: azuma_drift(count=1, bound=1, drift=0, multiple=0),
        lambda: stirling(0),
    ],
)
def test_bad_parameters_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameter):
        call()
