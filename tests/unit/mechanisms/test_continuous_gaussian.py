"""The theorems about normal noise: where they hold, where they do not, and the ones that never did."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.noise.continuous_gaussian import (
    classic_gaussian_deviation,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_variance,
)
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.neighbours import Replace
from dalenius.privacy.sensitivity import Sensitivity

oracle = mpmath.mp.clone()
oracle.dps = 100


def curve(sensitivity: Any, deviation: Any, epsilon: Any) -> Any:
    """The curve written down again, with 100 digits."""
    first = oracle.ncdf(sensitivity / (2 * deviation) - epsilon * deviation / sensitivity)
    return first - oracle.exp(epsilon) * oracle.ncdf(-sensitivity / (2 * deviation) - epsilon * deviation / sensitivity)


def variance_of(deviation: Any) -> Fraction:
    return Fraction(str(oracle.nstr(deviation**2, 40)))


def classic(epsilon: Any, delta: Any) -> Any:
    """Theorem A.1's deviation at sensitivity 1, at any epsilon."""
    return oracle.sqrt(2 * oracle.log(oracle.mpf("1.25") / delta)) / epsilon


def notes(epsilon: Any, delta: Any) -> Any:
    """The deviation of the notes, whose variance ln(1 / delta) / epsilon^2 lacks a factor 2. Broken."""
    return oracle.sqrt(oracle.log(1 / delta)) / epsilon


@pytest.mark.textbook("S4.8")
@given(
    variance=st.fractions(Fraction(1, 20), 10**4).filter(bool),
    epsilon=st.fractions(0, 8),
    sensitivity=st.integers(1, 50),
)
def test_the_delta_curve_is_that_of_the_formula_rounded_up(
    variance: Fraction, epsilon: Fraction, sensitivity: int
) -> None:
    deviation = oracle.sqrt(oracle.mpf(variance.numerator) / variance.denominator)
    exact = curve(sensitivity, deviation, oracle.mpf(epsilon.numerator) / epsilon.denominator)
    found = gaussian_delta(sensitivity=sensitivity, variance=variance, epsilon=epsilon)
    value = oracle.mpf(found.numerator) / found.denominator
    assert exact - oracle.mpf(10) ** -95 <= value <= exact * (1 + oracle.mpf(10) ** -40) + oracle.mpf(10) ** -60


@pytest.mark.textbook("S4.8")
@given(
    epsilon=st.fractions(Fraction(1, 100), 10).filter(bool),
    digits=st.integers(1, 30),
    sensitivity=st.integers(1, 9),
)
def test_the_curve_is_inverted_to_the_safe_side(epsilon: Fraction, digits: int, sensitivity: int) -> None:
    target = Fraction(1, 10**digits)
    variance = gaussian_variance(sensitivity=sensitivity, epsilon=epsilon, delta=target)
    less = variance * (1 - Fraction(1, 10**6))
    assert gaussian_delta(sensitivity=sensitivity, variance=variance, epsilon=epsilon) <= target
    assert gaussian_delta(sensitivity=sensitivity, variance=less, epsilon=epsilon) > target
    back = gaussian_epsilon(sensitivity=sensitivity, variance=variance, delta=target)
    assert epsilon * (1 - Fraction(1, 10**5)) <= back <= epsilon * (1 + Fraction(1, 10**6))


@pytest.mark.textbook("S4.8")
def test_a_known_value_of_the_analytic_mechanism_comes_out() -> None:
    assert float(gaussian_variance(sensitivity=1, epsilon=1, delta="1e-5")) ** 0.5 == pytest.approx(3.730632, abs=1e-5)
    assert gaussian_epsilon(sensitivity=1, variance=10**9, delta="0.4") == 0


@pytest.mark.textbook("S4.6")
@given(epsilon=st.fractions(Fraction(1, 1000), Fraction(999, 1000)).filter(bool), digits=st.integers(1, 20))
def test_the_classic_theorem_holds_below_epsilon_one(epsilon: Fraction, digits: int) -> None:
    target = Fraction(1, 10**digits)
    deviation = classic_gaussian_deviation(sensitivity=1, epsilon=epsilon, delta=target)
    assert gaussian_delta(sensitivity=1, variance=deviation**2, epsilon=epsilon) <= target
    exact = classic(oracle.mpf(epsilon.numerator) / epsilon.denominator, oracle.mpf(10) ** -digits)
    assert float(deviation) == pytest.approx(float(exact))
    assert oracle.mpf(deviation.numerator) / deviation.denominator > exact  # c^2 is strictly above 2 ln(1.25 / delta)


@pytest.mark.textbook("S4.6")
def test_the_classic_deviation_grows_with_the_l2_sensitivity() -> None:
    one = classic_gaussian_deviation(sensitivity=1, epsilon="0.5", delta="1e-5")
    vector = Sensitivity(l2_squared=Fraction(9))
    assert float(classic_gaussian_deviation(sensitivity=vector, epsilon="0.5", delta="1e-5")) == pytest.approx(
        3 * float(one)
    )


@pytest.mark.textbook("S4.6")
@pytest.mark.parametrize("target", ["1e-2", "1e-3", "1e-5"])
def test_the_classic_formula_at_epsilon_ten_misses_its_delta_two_to_four_times(target: str) -> None:
    with pytest.raises(TheoremDoesNotApply):
        classic_gaussian_deviation(sensitivity=1, epsilon=10, delta=target)
    variance = variance_of(classic(oracle.mpf(10), oracle.mpf(target)))
    real = gaussian_delta(sensitivity=1, variance=variance, epsilon=10)
    assert 2 < float(real) / float(target) < 4.1


@pytest.mark.textbook("S4.6")
def test_the_classic_theorem_is_refused_where_its_proof_stops() -> None:
    for epsilon, delta in ((1, "1e-5"), ("0.5", "0.45"), (2, "0.9")):
        with pytest.raises(TheoremDoesNotApply):
            classic_gaussian_deviation(sensitivity=1, epsilon=epsilon, delta=delta)
    assert classic_gaussian_deviation(sensitivity=1, epsilon="0.999", delta="0.4") > 0


@pytest.mark.textbook("S4.7")
@pytest.mark.parametrize(("target", "real", "factor"), [("1e-5", 4.3e-5, 4.3), ("1e-8", 7.2e-7, 72)])
def test_the_gaussian_of_the_notes_is_flagged(target: str, real: float, factor: float) -> None:
    """Its variance lacks a factor 2: at epsilon 1 the real delta is 4.3 and 72 times the target."""
    found = float(gaussian_delta(sensitivity=1, variance=variance_of(notes(1, oracle.mpf(target))), epsilon=1))
    assert found == pytest.approx(real, rel=0.01)
    assert found / float(target) == pytest.approx(factor, rel=0.01)


@pytest.mark.textbook("S4.7")
@pytest.mark.parametrize("target", ["1e-5", "1e-8"])
def test_the_notes_formula_with_its_factor_two_meets_the_target(target: str) -> None:
    variance = 2 * variance_of(notes(1, oracle.mpf(target)))
    assert gaussian_delta(sensitivity=1, variance=variance, epsilon=1) <= Fraction(target)


@pytest.mark.textbook("S4.7")
def test_the_error_of_d_means_grows_like_d_by_laplace_noise_and_like_the_root_of_d_by_gaussian_noise() -> None:
    """d means of n rows in [0, 1]: d / (n epsilon) against sqrt(d ln(1 / delta)) / (n epsilon), as standard errors."""
    n, epsilon, dimensions = 1000, Fraction(1, 2), (4, 16, 64, 256)

    def laplace(d: int) -> float:
        moves = Sensitivity.sparse(coordinates=d, each=1)
        noise = DiscreteLaplace.calibrated(sensitivity=moves, epsilon=epsilon, neighbours=Replace())
        return float(noise.law.variance()) ** 0.5 / n

    def gauss(d: int, delta: str = "1e-6") -> float:
        moves = Sensitivity.sparse(coordinates=d, each=1)
        noise = DiscreteGaussian.calibrated(sensitivity=moves, epsilon=epsilon, delta=delta, neighbours=Replace())
        return float(noise.law.variance()) ** 0.5 / n

    for few, many in pairwise(dimensions):
        assert laplace(many) / laplace(few) == pytest.approx(4, rel=0.01)
        assert gauss(many) / gauss(few) == pytest.approx(2, rel=0.01)
    assert laplace(16) == pytest.approx(2**0.5 * 16 / (n * epsilon), rel=0.01)
    for delta in ("1e-4", "1e-6", "1e-12"):
        constant = gauss(16, delta) / (4 * math.log(1 / float(delta)) ** 0.5 / (n * float(epsilon)))
        # The notes have 1, and with the factor that they lost sqrt(2); a delta that is not small needs less.
        assert (1 if delta != "1e-4" else 0.95) < constant < 2**0.5
    assert laplace(4) < gauss(4)
    assert laplace(256) > 5 * gauss(256)


@pytest.mark.parametrize("bad", [0, -1, "nan", float("inf")])
def test_bad_numbers_are_refused(bad: Any) -> None:
    for call in (classic_gaussian_deviation, gaussian_variance):
        with pytest.raises(InvalidParameter):
            call(sensitivity=bad, epsilon="0.5", delta="1e-5")
        with pytest.raises(InvalidParameter):
            call(sensitivity=1, epsilon="0.5", delta=bad)
    with pytest.raises(InvalidParameter):
        gaussian_delta(sensitivity=1, variance=bad, epsilon=1)
    with pytest.raises(InvalidParameter):
        gaussian_epsilon(sensitivity=1, variance=bad, delta="0.1")
