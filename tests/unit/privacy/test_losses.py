"""Every loss states a Rényi curve that is right, safe and tight."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, PureDP, RenyiCurve
from dalenius.privacy.neighbours import AddRemove

ORDERS = st.fractions(Fraction(101, 100), 200)
EPSILONS = st.fractions(Fraction(1, 1000), 8)


def divergence(p: list[mpmath.mpf], q: list[mpmath.mpf], alpha: Fraction) -> mpmath.mpf:
    order = mpmath.mpf(alpha.numerator) / alpha.denominator
    return mpmath.log(mpmath.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def is_tight(bound: Fraction, truth: mpmath.mpf) -> bool:
    """Never below the truth, and above it by no more than rounding."""
    above = truth * (1 + mpmath.mpf(10) ** -30) + mpmath.mpf(10) ** -50
    return truth * (1 - mpmath.mpf(10) ** -60) <= real(bound) <= above


@given(epsilon=EPSILONS, alpha=ORDERS)
@pytest.mark.textbook("S1.3", "S4.2")
def test_a_pure_loss_is_that_of_randomized_response(epsilon: Fraction, alpha: Fraction) -> None:
    with mpmath.workdps(100):
        keep = 1 / (1 + mpmath.exp(-real(epsilon)))
        truth = divergence([keep, 1 - keep], [1 - keep, keep], alpha)
        assert is_tight(PureDP(epsilon).renyi(alpha), truth)
        assert is_tight(ApproximateDP(epsilon, "1e-9").renyi(alpha), truth)


@given(steps=st.integers(1, 6), scale=st.fractions(Fraction(1, 4), 6), alpha=st.fractions(Fraction(101, 100), 20))
def test_a_laplace_loss_is_the_divergence_of_the_discrete_law(steps: int, scale: Fraction, alpha: Fraction) -> None:
    with mpmath.workdps(100):
        ratio = mpmath.exp(-1 / real(scale))
        width = int(240 * scale) + steps + 1
        law = [ratio ** abs(z) * (1 - ratio) / (1 + ratio) for z in range(-width, width + steps + 1)]
        shifted = [ratio ** abs(z - steps) * (1 - ratio) / (1 + ratio) for z in range(-width, width + steps + 1)]
        truth = divergence(law, shifted, alpha)
        bound = LaplaceDP(steps / scale, steps).renyi(alpha)
        assert abs(real(bound) / truth - 1) < mpmath.mpf(10) ** -40


@given(first=st.integers(1, 30), second=st.integers(1, 30), scale=st.fractions(Fraction(1, 2), 50), alpha=ORDERS)
def test_one_large_laplace_shift_costs_at_least_two_small_ones(
    first: int, second: int, scale: Fraction, alpha: Fraction
) -> None:
    """So the l1 sensitivity decides for vectors too."""
    split = LaplaceDP(first / scale, first).renyi(alpha) + LaplaceDP(second / scale, second).renyi(alpha)
    together = LaplaceDP((first + second) / scale, first + second).renyi(alpha)
    assert together >= split * (1 - Fraction(1, 10**40))


@given(epsilon=EPSILONS, alpha=ORDERS, steps=st.integers(1, 100))
def test_special_losses_never_cost_more_than_a_pure_one(epsilon: Fraction, alpha: Fraction, steps: int) -> None:
    slack = 1 + Fraction(1, 10**40)
    worst = PureDP(epsilon).renyi(alpha)
    assert LaplaceDP(epsilon, steps).renyi(alpha) <= worst * slack
    assert BoundedRange(epsilon).renyi(alpha) <= worst * slack
    assert worst <= epsilon
    assert worst <= alpha * epsilon**2 / 2 * slack


@example(epsilon=Fraction(1, 100), shift=Fraction(1, 2), alpha=Fraction(2))  # where the curve is nearly attained
@given(epsilon=st.fractions(Fraction(1, 100), 3), shift=st.fractions(0, 1), alpha=st.fractions(Fraction(11, 10), 50))
def test_a_bounded_range_pair_stays_below_its_curve(epsilon: Fraction, shift: Fraction, alpha: Fraction) -> None:
    """The worst pairs with log-ratios in an interval of length epsilon have two outcomes: one at each end."""
    with mpmath.workdps(60):
        high, low = mpmath.exp(real(epsilon * shift)), mpmath.exp(-real(epsilon * (1 - shift)))
        if high == 1 or low == 1:
            return
        second = (1 - low) / (high - low)
        q = [second, 1 - second]
        p = [second * high, (1 - second) * low]
        assert divergence(p, q, alpha) <= real(BoundedRange(epsilon).renyi(alpha)) * (1 + mpmath.mpf(10) ** -40)


@pytest.mark.textbook("S1.11")
@given(rho=st.fractions(0, 10), alpha=ORDERS)
def test_concentrated_loss_is_linear_in_the_order(rho: Fraction, alpha: Fraction) -> None:
    assert ZCDP(rho).renyi(alpha) == alpha * rho


@pytest.mark.textbook("S1.11")
def test_a_gaussian_has_exactly_the_concentrated_loss() -> None:
    with mpmath.workdps(50):
        variance, shift, alpha = 5, 3, Fraction(7)
        law = [mpmath.exp(-mpmath.mpf(z * z) / (2 * variance)) for z in range(-150, 151)]
        total = mpmath.fsum(law)
        p = [mass / total for mass in law]
        moved = [mpmath.exp(-mpmath.mpf((z - shift) ** 2) / (2 * variance)) / total for z in range(-150, 151)]
        loss = ZCDP(Fraction(shift**2, 2 * variance))
        assert abs(divergence(p, moved, alpha) - real(loss.renyi(alpha))) < mpmath.mpf(10) ** -30


@pytest.mark.textbook("S1.11")
def test_the_loss_of_a_gaussian_exceeds_k_times_its_spread_with_probability_about_exp_of_minus_half_k_squared() -> None:
    """ln P[loss > rho + k sqrt(2 rho)], from the exact law of the noise, is quadratic in k."""
    mechanism = DiscreteGaussian(Fraction(400), AddRemove())
    rho = mechanism.loss(sensitivity=1).rho

    def exceeds(k: int) -> float:
        """A shift by 1 gives outcome z the loss (2 z + 1) / 800, which grows with z."""
        level = float(rho) + k * math.sqrt(2 * rho)
        return float(mechanism.law.tail(math.floor((800 * level - 1) / 2) + 1))

    logs = [math.log(exceeds(k)) for k in (2, 4, 8, 16)]
    for k, log in zip((2, 4, 8, 16), logs, strict=True):
        assert log <= -(k**2) / 2  # the tail bound of concentrated privacy
    ratios = [b / a for a, b in pairwise(logs)]
    assert ratios == sorted(ratios)
    assert 2.5 < ratios[0] < ratios[-1] < 4
    assert ratios[-1] > 3.7  # twice as far out, almost four times the exponent


def test_a_curve_uses_the_next_higher_order_and_refuses_beyond_its_last() -> None:
    curve = RenyiCurve(((Fraction(8), Fraction(3)), (Fraction(2), Fraction(1))))
    assert (curve.renyi(2), curve.renyi("2.5"), curve.renyi(8)) == (1, 3, 3)
    with pytest.raises(InvalidParameter, match="at most 8"):
        curve.renyi(9)
    with pytest.raises(InvalidParameter):
        RenyiCurve(())


@pytest.mark.parametrize("loss", [PureDP(1), BoundedRange(1), LaplaceDP(1, 1), ApproximateDP(1, 0), ZCDP(1)])
@pytest.mark.parametrize("alpha", [1, 0, -1, float("nan"), float("inf")])
def test_orders_must_exceed_one(loss: PureDP, alpha: float) -> None:
    with pytest.raises(InvalidParameter, match="alpha"):
        loss.renyi(alpha)


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "x"])
def test_bad_parameters_are_refused(bad: object) -> None:
    for make in (PureDP, BoundedRange, ZCDP):
        with pytest.raises(InvalidParameter):
            make(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="delta"):
        ApproximateDP(1, 2)


@pytest.mark.parametrize("loss", [PureDP, BoundedRange, lambda epsilon: LaplaceDP(epsilon, 3)])
@pytest.mark.parametrize("digits", [20, 100, 300])
def test_tiny_losses_keep_their_precision(loss: Callable[[Fraction], PureDP], digits: int) -> None:
    epsilon = Fraction(1, 10**digits)
    bound = loss(epsilon).renyi("1.001") / epsilon**2
    assert Fraction(1, 10) < bound < Fraction(52, 100)


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(10**400, 3), Fraction(1, 10**400), Fraction(10**400)])
def test_losses_of_every_size_can_be_shown(value: Fraction) -> None:
    assert str(PureDP(value)).startswith("epsilon = ")


def test_a_loss_is_never_shown_smaller_than_it_is() -> None:
    assert str(PureDP(Fraction(8, 27))) == "epsilon = 0.296297"
    assert str(ApproximateDP("0.1", Fraction(1, 3 * 10**9))) == "epsilon = 0.1, delta = 3.33334e-10"
