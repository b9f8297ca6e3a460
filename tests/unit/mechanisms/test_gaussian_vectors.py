"""The delta of a vector under discrete Gaussian noise: the bound against the sum over all outcomes, and its cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor, gcd, isqrt

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dalenius.accounting.calibration import largest_rho
from dalenius.mechanisms.noise import gaussian
from dalenius.mechanisms.noise.continuous_gaussian import gaussian_delta, gaussian_variance
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness import gaussian as gaussian_sums

EPSILONS = [Fraction(e) for e in ("0", "0.01", "0.3", "1", "2", "3", "5", "8", "15")]
PLANE: list[tuple[int, ...]] = [(1, 0), (3, 0), (1, 1), (2, 1), (2, 2), (3, 1), (3, 4), (3, 3), (5, 1), (12, 1)]
SPACE: list[tuple[int, ...]] = [(1, 1, 1), (-2, 2, 1), (2, 2, 2), (3, 0, -1), (1, 1, 1, 1)]
SHIFTS = [(v, Fraction(V)) for v in PLANE for V in ("0.1", "0.25", "0.5", "1", "1.7", "3", "10", "40")]
SHIFTS += [(v, Fraction(V)) for v in SPACE for V in ("0.1", "0.25", "0.5", "1", "1.7")]


def true_delta(shift: tuple[int, ...], variance: Fraction, epsilon: Fraction) -> arb:
    """The sum of (P[Z = z] - e^epsilon P[Z = z - shift])_+, enclosed: weights are counted by their squared lengths."""
    reach = isqrt(ceil(90 * variance)) + 3
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * len(shift), indexing="ij", sparse=True)
    along = sum((move * axis for move, axis in zip(shift, axes, strict=True)), np.zeros(1, dtype=np.int64))
    here = sum((axis * axis for axis in axes), 0 * along)
    there = here - 2 * along + square(shift)
    worth = there - here > floor(2 * variance * epsilon)
    unseen = 2 * len(shift) * gaussian_sums.tail(variance, reach + 1) / gaussian_sums.total(variance)
    total = gaussian_sums.total(variance) ** len(shift)
    seen = weighed(here[worth], variance) - ball(epsilon).exp() * weighed(there[worth], variance)
    return seen / total + arb(0).union(unseen)


def weighed(squares: NDArray[np.int64], variance: Fraction) -> arb:
    step = (-1 / ball(2 * variance)).exp()
    counts = np.bincount(squares)
    return sum((int(counts[k]) * step ** int(k) for k in np.flatnonzero(counts)), arb(0))


def square(shift: tuple[int, ...]) -> int:
    return sum(move * move for move in shift)


def cases(
    epsilons: Sequence[Fraction] = EPSILONS, shifts: Sequence[tuple[tuple[int, ...], Fraction]] = SHIFTS
) -> Iterator[tuple[tuple[int, ...], Fraction, Fraction, arb]]:
    """Shifts, variances and epsilons whose true delta is known to some digits."""
    for shift, variance in shifts:
        for epsilon in epsilons:
            true = true_delta(shift, variance, epsilon)
            if true.rel_accuracy_bits() > 10:
                yield shift, variance, epsilon, true


def vectors(size: int) -> Sensitivity:
    return Sensitivity(l2_squared=size)


def calibrated(sensitivity: Sensitivity, epsilon: object, delta: object) -> Fraction:
    target = {"epsilon": epsilon, "delta": delta}
    return DiscreteGaussian.calibrated(sensitivity=sensitivity, neighbours=AddRemove(), **target).variance  # type: ignore[arg-type]


def test_no_shift_has_a_larger_delta_than_is_stated_and_both_twins_are_caught() -> None:
    """Twins: the continuous formula, and the sum along the shift without the term for all other frequencies."""
    caught = {"continuous": 0, "along": 0, "none": 0}
    with precise(192):
        for shift, variance, epsilon, true in cases():
            n, g = square(shift), gcd(*shift)
            m = n // g**2
            bound = gaussian._vector_delta(variance, n, None, epsilon)
            assert not bound < true, (shift, variance, epsilon)
            assert not gaussian._one_shape(variance, g, m, epsilon) < true, (shift, variance, epsilon)
            if bound.is_finite():
                along = gaussian._ahead(m * variance, g * m, epsilon) / (2 * arb.pi() * ball(m * variance)).sqrt()
                caught["along"] += bool(along < true)
                caught["continuous"] += bool(gaussian._smooth(variance, n, epsilon) < true)
                caught["none"] += 1
    assert caught["none"] > 400
    assert caught["continuous"] > 100
    assert caught["along"] > 100


def test_the_public_delta_covers_shifts_also_where_only_renyi_orders_speak() -> None:
    alone = 0
    with precise(192):
        for shift, variance, epsilon, true in cases((Fraction("0.01"), Fraction(2), Fraction(15)), SHIFTS[::3]):
            stated = DiscreteGaussian(variance, AddRemove()).delta(sensitivity=vectors(square(shift)), epsilon=epsilon)
            assert not ball(stated) < true, (shift, variance, epsilon)
            assert stated <= 1
            alone += not gaussian._vector_delta(variance, square(shift), None, epsilon).is_finite()
    assert alone > 5


def by_convolution(shift: tuple[int, ...], variance: Fraction, epsilon: Fraction) -> float:
    """The delta as a sum over the law of <z, shift>: floats, but nothing cancels."""
    reach, law = isqrt(ceil(140 * variance)) + 3, np.ones(1)
    one = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * float(variance)))
    for move in map(abs, shift):
        spread = np.zeros(2 * reach * move + 1)
        spread[::move] = one / one.sum()
        law = np.convolve(law, spread)
    along = np.arange(len(law)) - len(law) // 2
    loss = (square(shift) + 2.0 * along) / (2 * float(variance))
    return float(np.sum(law * -np.expm1(np.minimum(0, float(epsilon) - loss))))


WIDE = [(1,) * 60, (20, 1, 1, 1), (5,) * 11, (7,) * 6 + (1,), (2,) * 30 + (1,), (13, 5, 2, 1), (30, 1), (16,)]


@pytest.mark.parametrize("shift", WIDE)
def test_long_shifts_keep_below_their_bound_at_any_width_of_the_noise(shift: tuple[int, ...]) -> None:
    for ratio in map(Fraction, ("0.02", "0.1", "0.4", "1", "4")):
        for epsilon in map(Fraction, ("0", "0.1", "1", "3", "5", "12")):
            variance = ratio * square(shift)
            stated = DiscreteGaussian(variance, AddRemove()).delta(sensitivity=vectors(square(shift)), epsilon=epsilon)
            assert by_convolution(shift, variance, epsilon) <= float(stated) * (1 + 1e-9) + 1e-13


def test_both_directions_have_the_same_delta() -> None:
    with precise():
        for shift in ((2, 1), (3, 4), (3, 0, -1)):
            there = true_delta(shift, Fraction(5, 3), Fraction(1, 2))
            back = true_delta(tuple(-move for move in shift), Fraction(5, 3), Fraction(1, 2))
            assert there.overlaps(back)


def test_the_bound_of_one_shape_is_close_once_the_noise_is_wider_than_the_shift() -> None:
    with precise():
        for shift in ((1, 1), (2, 1), (3, 4), (2, 2)):
            n, g = square(shift), gcd(*shift)
            true = true_delta(shift, Fraction(4 * n), Fraction(1))
            assert gaussian._one_shape(Fraction(4 * n), g, n // g**2, Fraction(1)) < true * arb("1.000001")


@given(
    size=st.integers(1, 10**6),
    ratio=st.fractions(Fraction(1, 10), 50, max_denominator=100),
    epsilon=st.fractions(0, 6, max_denominator=20),
)
def test_what_is_stated_for_one_shape_stays_below_what_is_stated_for_all(
    size: int, ratio: Fraction, epsilon: Fraction
) -> None:
    """A <= C(n) + W / m, and both C and W grow with the length: what the bound for all shapes rests on."""
    variance = ratio * size
    with precise():
        smooth, bend = gaussian._smooth(variance, size, epsilon), gaussian._bend(variance, size, epsilon)
        if not bend.is_finite():
            return
        for divisor in {1, 2, isqrt(size)}:
            if size % divisor**2 == 0:
                m = size // divisor**2
                across = ball(m - Fraction(1, m)) * gaussian._across(variance, m)
                one = gaussian._one_shape(variance, divisor, m, epsilon)
                assert not one > smooth + bend * (ball(Fraction(1, m)) + across)
        less = size - max(1, size // 10)
        if less:
            assert gaussian._smooth(variance, less, epsilon) < smooth
            assert not gaussian._bend(variance, less, epsilon) > bend


@pytest.mark.parametrize("radians", [Fraction(k, 7) for k in range(22)])
@pytest.mark.parametrize("variance", [Fraction(1, 20), Fraction(1, 3), Fraction(1), Fraction(6)])
def test_the_mean_cosine_of_the_noise_is_bounded_as_in_the_proof(variance: Fraction, radians: Fraction) -> None:
    """R(x) = E cos(x Z) <= exp(-r x^2 / 4 pi^2) for |x| <= pi, which makes the sum over all frequencies short."""
    with precise():
        x, step = ball(radians), (-1 / ball(2 * variance)).exp()
        mean = sum((2 * step ** (z * z) * (x * z).cos() for z in range(1, 60)), arb(1)) / gaussian_sums.total(variance)
        rate = (2 * arb.pi() ** 2 * ball(variance) - 4).max(arb(0)) / (4 * arb.pi() ** 2)
        assert not mean > (-rate * x * x).exp()


TYPICAL: list[tuple[float | str, str]] = [
    (1, "1e-6"), (1, "1e-9"), ("0.1", "1e-9"), (3, "1e-9"), ("0.01", "1e-3"), ("0.01", "1e-12"), ("0.5", "1e-4"),
    (5, "1e-12"), (2, "1e-6"),
]  # fmt: skip


@pytest.mark.parametrize("size", [2, 3, 10, 50, 65, 257, 1000, 10**6, 10**12])
def test_a_vector_needs_at_most_a_hundredth_more_noise_than_a_continuous_one(size: int) -> None:
    for epsilon, delta in TYPICAL:
        least = gaussian_variance(sensitivity=vectors(size), epsilon=epsilon, delta=delta)
        assert calibrated(vectors(size), epsilon, delta) / least < Fraction(101, 100), (epsilon, delta)


@pytest.mark.parametrize("size", [2, 3, 7, 100, 10**9])
def test_large_epsilons_and_deltas_cost_at_most_three_hundredths(size: int) -> None:
    coarse: list[tuple[float | str, str]] = [(5, "1e-3"), (3, "1e-3"), (10, "1e-6"), ("1e-4", "1e-3")]
    for epsilon, delta in coarse:
        least = gaussian_variance(sensitivity=vectors(size), epsilon=epsilon, delta=delta)
        assert calibrated(vectors(size), epsilon, delta) / least < Fraction(103, 100), (epsilon, delta)


@given(
    size=st.integers(2, 10**9) | st.integers(2, 40),
    epsilon=st.fractions(Fraction(1, 100), 30, max_denominator=100),
    exponent=st.integers(1, 12),
)
def test_what_is_calibrated_meets_its_target_and_never_needs_more_than_the_best_order(
    size: int, epsilon: Fraction, exponent: int
) -> None:
    delta = Fraction(1, 10**exponent)
    variance = calibrated(vectors(size), epsilon, delta)
    stated = DiscreteGaussian(variance, AddRemove()).delta(sensitivity=vectors(size), epsilon=epsilon)
    assert stated <= delta * (1 + Fraction(1, 10**6))  # the best order is found to nine digits both ways
    assert variance <= size / (2 * largest_rho(epsilon=epsilon, delta=delta)) * (1 + Fraction(1, 10**5))
    assert variance == variance.limit_denominator(2**24)


def test_the_true_delta_of_what_is_calibrated_is_below_its_target_and_close_to_it() -> None:
    for shift, epsilon, delta in (((1, 1), 1, "1e-3"), ((1, 1), 3, "1e-6"), ((1, 1), 5, "1e-3"), ((2, 1), 2, "1e-3")):
        variance = calibrated(vectors(square(shift)), epsilon, delta)
        with precise():
            true = upper(true_delta(shift, variance, Fraction(epsilon)))
        assert Fraction(9, 10) < true / Fraction(delta) <= 1


def test_the_continuous_formula_would_be_too_little_for_a_vector() -> None:
    """At (3, 1e-3) a change of (1, 1) has a tenth more delta than the analytic calibration promises."""
    variance = gaussian_variance(sensitivity=vectors(2), epsilon=3, delta="1e-3")
    with precise():
        true = true_delta((1, 1), variance, Fraction(3))
    assert gaussian_delta(sensitivity=vectors(2), variance=variance, epsilon=3) <= Fraction(1, 1000)
    assert true > arb("1.05e-3")


def test_bounds_between_whole_numbers_are_rounded_down() -> None:
    """Integers cannot move by more than the next lower square; one step of one coordinate is the exact case."""
    assert calibrated(Sensitivity(l2_squared="3.9"), 1, "1e-6") == calibrated(vectors(3), 1, "1e-6")
    exact = DiscreteGaussian.calibrated(sensitivity=1, epsilon=1, delta="1e-6", neighbours=AddRemove())
    assert calibrated(Sensitivity(l2_squared="1.9"), 1, "1e-6") == exact.variance
    noise = DiscreteGaussian(Fraction(9), AddRemove())
    assert noise.delta(sensitivity=Sensitivity(l2_squared="0.9"), epsilon=1) == 0
    assert noise.delta(sensitivity=Sensitivity(l1="1.5"), epsilon=1) == noise.delta(sensitivity=1, epsilon=1)
    assert noise.delta(sensitivity=Sensitivity(l2_squared=0), epsilon=1) == 0


def test_small_entries_rule_shapes_out() -> None:
    """With entries up to 1 a squared length of 9 is nine coordinates, not one that moves by three."""
    with precise():
        every = gaussian._vector_delta(Fraction(3), 9, None, Fraction(5))
        assert not gaussian._one_shape(Fraction(3), 3, 1, Fraction(5)) > every
        assert gaussian._vector_delta(Fraction(3), 9, 1, Fraction(5)) < every
    assert calibrated(Sensitivity.sparse(coordinates=9, each=1), 5, "1e-2") < calibrated(vectors(9), 5, "1e-2")
