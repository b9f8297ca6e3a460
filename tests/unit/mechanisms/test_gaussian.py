"""The Gaussian mechanism on integers: its own delta, exactly, and the least noise for a target."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import SeededEntropy
from dalenius.accounting.calibration import largest_rho
from dalenius.errors import InvalidParameter, MissingNeighbours, UnknownSensitivity
from dalenius.mechanisms.noise.continuous_gaussian import gaussian_delta, gaussian_variance
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.histogram import Histogram
from dalenius.privacy.losses import ZCDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity

oracle = mpmath.mp.clone()
oracle.dps = 40
TARGETS = [("0.1", "1e-6"), ("0.5", "1e-3"), ("1", "1e-5"), ("2", "0.01"), ("4", "0.02"), ("20", "1e-6")]


def calibrated(**target: Any) -> DiscreteGaussian:
    return DiscreteGaussian.calibrated(neighbours=AddRemove(), **target)


def delta(variance: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    return DiscreteGaussian(variance, AddRemove()).delta(sensitivity=shift, epsilon=epsilon)


def table(variance: Fraction) -> dict[int, Any]:
    reach = int(float(variance) ** 0.5 * 14) + 8
    rate = oracle.mpf(variance.denominator) / (2 * variance.numerator)
    weights = {z: oracle.exp(-z * z * rate) for z in range(-reach, reach + 1)}
    total = oracle.fsum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


def hockey_stick(p: dict[Any, Any], q: dict[Any, Any], epsilon: Fraction) -> Any:
    odds = oracle.exp(oracle.mpf(epsilon.numerator) / epsilon.denominator)
    return oracle.fsum(max(value - odds * q.get(z, 0), 0) for z, value in p.items())


@given(
    variance=st.fractions(Fraction(1, 4), 30, max_denominator=100),
    shift=st.integers(1, 6),
    epsilon=st.fractions(0, 3, max_denominator=20),
)
def test_delta_is_the_sum_over_all_outcomes(variance: Fraction, shift: int, epsilon: Fraction) -> None:
    p = table(variance)
    plain = hockey_stick(p, {z + shift: value for z, value in p.items()}, epsilon)
    assert float(delta(variance, shift, epsilon)) == pytest.approx(float(plain), rel=1e-12, abs=1e-30)


@given(
    variance=st.fractions(Fraction(1, 4), 10**6, max_denominator=100),
    epsilon=st.fractions(0, 3, max_denominator=20),
)
def test_a_smaller_shift_is_never_worse(variance: Fraction, epsilon: Fraction) -> None:
    curve = [delta(variance, shift, epsilon) for shift in range(8)]
    assert curve == sorted(curve)
    assert curve[0] == 0 < curve[1]


def test_a_delta_beyond_all_digits_is_still_answered() -> None:
    assert 0 < delta(Fraction(10) ** 40, 1, Fraction(5)) < Fraction(1, 10**1000)


@pytest.mark.textbook("S4.6")
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(3), Fraction(25, 2)])
@pytest.mark.parametrize("shift", [1, 3])
def test_the_renyi_divergence_of_the_discrete_law_is_within_the_loss_and_reaches_it(
    variance: Fraction, shift: int
) -> None:
    p = table(variance * 4)  # wide enough that what is cut off does not count below
    p = {z: value for z, value in table(variance).items() if z in p}
    loss = DiscreteGaussian(variance, AddRemove()).loss(sensitivity=shift)
    assert loss == ZCDP(Fraction(shift * shift) / (2 * variance))
    for alpha in (Fraction(3, 2), Fraction(2), Fraction(3)):
        power = oracle.mpf(alpha.numerator) / alpha.denominator
        moment = oracle.fsum(value**power * p[z - shift] ** (1 - power) for z, value in p.items() if z - shift in p)
        divergence = oracle.log(moment) / (power - 1)
        assert float(divergence) <= float(loss.renyi(alpha)) * (1 + 1e-9)
        if alpha.denominator == 1:
            assert float(divergence) == pytest.approx(float(loss.renyi(alpha)), rel=1e-9)


@pytest.mark.textbook("S4.6")
@pytest.mark.parametrize(("epsilon", "target"), TARGETS)
@pytest.mark.parametrize("sensitivity", [1, 2, 7, 1000])
def test_calibrated_meets_its_target_and_a_millionth_less_noise_does_not(
    sensitivity: int, epsilon: str, target: str
) -> None:
    mechanism = calibrated(sensitivity=sensitivity, epsilon=epsilon, delta=target)
    assert mechanism.delta(sensitivity=sensitivity, epsilon=epsilon) <= Fraction(target)
    less = mechanism.variance * (1 - Fraction(1, 10**6))
    assert delta(less, sensitivity, Fraction(epsilon)) > Fraction(target)


@pytest.mark.parametrize(("sensitivity", "epsilon", "target"), [(1, "4", "0.02"), (1, "20", "1e-6"), (2, "6", "0.001")])
def test_calibrated_finds_the_least_noise_even_where_more_noise_is_dearer(
    sensitivity: int, epsilon: str, target: str
) -> None:
    found = calibrated(sensitivity=sensitivity, epsilon=epsilon, delta=target).variance
    grid = [found * k / 400 for k in range(1, 1200)]
    curve = [delta(variance, sensitivity, Fraction(epsilon)) for variance in grid]
    assert any(more > less for less, more in pairwise(curve))  # it is dearer somewhere
    assert all(value > Fraction(target) for value, variance in zip(curve, grid, strict=True) if variance < found)


@given(
    shift=st.integers(1, 4),
    epsilon=st.fractions(Fraction(1, 10), 20, max_denominator=10),
    start=st.integers(0, 12),
)
def test_between_changes_of_the_worst_event_delta_rises_at_most_once(shift: int, epsilon: Fraction, start: int) -> None:
    """What the search for the least variance rests on."""
    low, high = (shift * (start + Fraction(shift, 2) + k) / epsilon for k in (0, 1))
    curve = [delta(low + (high - low) * k / 12, shift, epsilon) for k in range(13)]
    falls = [after < before for before, after in pairwise(curve)]
    assert falls == sorted(falls)
    assert curve[-1] < curve[0]


@pytest.mark.textbook("S4.8")
def test_the_continuous_formula_understates_the_discrete_delta() -> None:
    """At the variance that suffices for continuous noise, integer noise misses its delta by up to a fifth."""
    ratios = []
    for tenths in range(1, 11):
        variance = gaussian_variance(sensitivity=1, epsilon=Fraction(tenths, 10), delta="0.1")
        ratios.append(delta(variance, 1, Fraction(tenths, 10)) / Fraction(1, 10))
    assert Fraction(11, 10) < max(ratios) < Fraction(13, 10)
    fine = gaussian_delta(sensitivity=100, variance=10**5, epsilon=1)
    assert float(delta(Fraction(10**5), 100, Fraction(1)) / fine) == pytest.approx(1, rel=1e-3)


@pytest.mark.textbook("S4.6")
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_a_histogram_is_calibrated_and_its_exact_delta_is_below_the_target(epsilon: str) -> None:
    """A histogram when rows are replaced: one count falls by one and another rises by one."""
    sensitivity = Histogram(("a", "b", "c")).sensitivity(Replace())
    mechanism = DiscreteGaussian.calibrated(
        sensitivity=sensitivity, epsilon=epsilon, delta="0.01", neighbours=Replace()
    )
    p = {z: value for z, value in table(mechanism.variance).items() if z * z < 60 * mechanism.variance}
    one = {(x, y): p[x] * p[y] for x in p for y in p}
    two = {(x + 1, y - 1): value for (x, y), value in one.items()}
    exact = float(hockey_stick(one, two, Fraction(epsilon)))
    assert 0.009 < exact < 0.01
    assert mechanism.variance == mechanism.variance.limit_denominator(2**24)


def test_extreme_targets_are_met() -> None:
    for epsilon, target in (("1e-40", "1e-3"), ("1e-12", "1e-40"), ("300", "1e-1000")):
        mechanism = calibrated(sensitivity=1, epsilon=epsilon, delta=target)
        assert mechanism.delta(sensitivity=1, epsilon=epsilon) <= Fraction(target) * Fraction(100_001, 100_000)


def test_a_vector_that_moves_by_one_step_is_calibrated_by_the_exact_sum() -> None:
    histogram = Histogram(("a", "b")).sensitivity(AddRemove())
    assert calibrated(sensitivity=histogram, epsilon=1, delta="1e-6") == calibrated(
        sensitivity=1, epsilon=1, delta="1e-6"
    )
    by_length = calibrated(sensitivity=Sensitivity(l2_squared=Fraction(1)), epsilon=1, delta="1e-6")
    assert by_length == calibrated(sensitivity=1, epsilon=1, delta="1e-6")
    by_renyi = 1 / (2 * largest_rho(epsilon=1, delta="1e-6"))
    assert Fraction(11, 10) < by_renyi / by_length.variance < Fraction(6, 5)


@pytest.mark.textbook("S4.6")
@given(l2_squared=st.integers(1, 10**6), rho=st.fractions(Fraction(1, 10**6), 10).filter(bool))
def test_calibrated_for_rho_is_exact(l2_squared: int, rho: Fraction) -> None:
    sensitivity = Sensitivity(l2_squared=Fraction(l2_squared))
    assert calibrated(sensitivity=sensitivity, rho=rho).loss(sensitivity=sensitivity) == ZCDP(rho)


def test_the_error_is_the_exact_quantile_of_the_noise() -> None:
    mechanism = DiscreteGaussian(Fraction(9), AddRemove())
    p = table(Fraction(9))
    beyond = [oracle.fsum(value for z, value in p.items() if abs(z) > t) for t in range(20)]
    assert mechanism.error("0.05") == next(t for t, value in enumerate(beyond) if value <= 0.05)
    assert mechanism.error("0.05", count=9) == next(t for t, v in enumerate(beyond) if 1 - (1 - v) ** 9 <= 0.05)
    assert mechanism.error("0.05", two_sided=False) == 5


def test_the_release_is_the_value_plus_the_noise_of_each_coordinate() -> None:
    mechanism = DiscreteGaussian(Fraction(50), Replace())
    value = np.arange(12, dtype=np.int64).reshape(3, 4) * 1000
    noise = mechanism.release(np.zeros_like(value), SeededEntropy(1))
    assert np.array_equal(mechanism.release(value, SeededEntropy(1)), value + noise)
    assert len(set(noise.ravel().tolist())) > 3
    assert type(mechanism.release(5, SeededEntropy(2))) is int


@pytest.mark.parametrize(
    "target",
    [
        {},
        {"epsilon": 1},
        {"delta": "1e-6"},
        {"rho": 1, "epsilon": 1, "delta": "1e-6"},
        {"rho": 0},
        {"rho": "nan"},
        {"epsilon": 0, "delta": "1e-6"},
        {"epsilon": -1, "delta": "1e-6"},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
    ],
)
def test_bad_targets_are_refused(target: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        calibrated(sensitivity=1, **target)


@pytest.mark.parametrize("sensitivity", [0, -1, "nan", Sensitivity(l2_squared=Fraction(0))])
def test_bad_sensitivities_are_refused(sensitivity: Any) -> None:
    for target in ({"rho": 1}, {"epsilon": 1, "delta": "0.1"}):
        with pytest.raises(InvalidParameter):
            calibrated(sensitivity=sensitivity, **target)


def test_missing_facts_are_refused() -> None:
    with pytest.raises(MissingNeighbours):
        DiscreteGaussian(Fraction(1))
    with pytest.raises(MissingNeighbours):
        DiscreteGaussian.calibrated(sensitivity=1, rho=1)
    with pytest.raises(InvalidParameter):
        DiscreteGaussian(Fraction(0), AddRemove())
    with pytest.raises(UnknownSensitivity):
        DiscreteGaussian(Fraction(1), AddRemove()).loss(sensitivity=Sensitivity(linf=Fraction(1)))


@pytest.mark.parametrize(("epsilon", "delta"), [(10, "1e-2"), (1, "1e-6"), ("0.3", "1e-9")])
def test_vectors_never_need_more_than_the_largest_rho_asks_for(epsilon: object, delta: str) -> None:
    vector = Sensitivity(l2_squared=2)
    mechanism = DiscreteGaussian.calibrated(sensitivity=vector, epsilon=epsilon, delta=delta, neighbours=Replace())  # type: ignore[arg-type]
    most = largest_rho(epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
    assert most * Fraction(999, 1000) < mechanism.loss(sensitivity=vector).rho < most * Fraction(7, 5)
