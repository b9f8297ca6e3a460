"""What the theory says about noise from the continuous normal distribution.

These are theorems by name, for comparison and for reading papers. Nothing is calibrated by them: the integer noise of
`DiscreteGaussian` has a delta of its own, which for little noise is well above the continuous one.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dalenius.errors import TheoremDoesNotApply
from dalenius.privacy.numbers import Number, inside_unit, not_negative, positive
from dalenius.privacy.reals import ball, certainly_positive, least, least_multiple, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike

_SMALLEST = arb(2) ** -4096  # a smaller delta is shown as this one; it could have too many digits to write down


def classic_gaussian_deviation(*, sensitivity: SensitivityLike, epsilon: Number, delta: Number) -> Fraction:
    """The standard deviation c s / epsilon with c^2 = 2 ln(1.25 / delta), rounded up, for l2 sensitivity s.

    Guarantee: normal noise of this deviation is (epsilon, delta)-DP if epsilon < 1 and c >= 3/2; beyond that it is not,
    and the theorem is refused.
    Reference: Dwork & Roth 2014, Theorems 3.22 and A.1.
    Textbook: S4.6.
    """
    size, target, risk = _l2_squared(sensitivity), positive(epsilon=epsilon), inside_unit(delta=delta)
    with precise():
        c_squared = 2 * (ball(Fraction(5, 4) / risk)).log()
        if target >= 1 or lower(c_squared) < Fraction(9, 4):
            raise TheoremDoesNotApply(
                "Dwork and Roth's Theorem A.1 (Gaussian mechanism)",
                needs="epsilon < 1 and delta <= 0.4",
                given=f"epsilon = {epsilon} and delta = {delta}",
                instead="gaussian_variance (continuous noise) or DiscreteGaussian.calibrated (integers)",
            )
        return upper((c_squared * ball(size)).sqrt() / ball(target))


def gaussian_delta(*, sensitivity: SensitivityLike, variance: Number, epsilon: Number) -> Fraction:
    """The least delta for which normal noise is (epsilon, delta)-DP at this l2 sensitivity, rounded up.

    Reference: Balle & Wang 2018 (arXiv:1805.06530), Theorem 8; implied by the proof of Dwork & Roth's Theorem A.1.
    Textbook: S4.8.
    """
    ratio = positive(variance=variance) / _l2_squared(sensitivity)
    with precise():
        return upper(_profile(ratio, not_negative(epsilon=epsilon)).max(_SMALLEST))


def gaussian_variance(*, sensitivity: SensitivityLike, epsilon: Number, delta: Number) -> Fraction:
    """The least variance for which normal noise is (epsilon, delta)-DP, up to a relative 10^-6, rounded up.

    Reference: Balle & Wang 2018 (arXiv:1805.06530), Algorithm 1 (the analytic Gaussian mechanism).
    Textbook: S4.8.
    """
    size, target, risk = _l2_squared(sensitivity), not_negative(epsilon=epsilon), inside_unit(delta=delta)

    def private(variance: Fraction) -> bool:
        return variance > 0 and certainly_positive(lambda: ball(risk) - _profile(variance, target))

    power = least(lambda exponent: private(Fraction(2) ** exponent))
    return size * least_multiple(private, near=Fraction(2) ** power)


def gaussian_epsilon(*, sensitivity: SensitivityLike, variance: Number, delta: Number) -> Fraction:
    """The least epsilon for which normal noise is (epsilon, delta)-DP, up to a relative 10^-6, rounded up.

    Reference: Balle & Wang 2018 (arXiv:1805.06530), Theorem 8, solved for epsilon.
    Textbook: S4.8.
    """
    ratio, risk = positive(variance=variance) / _l2_squared(sensitivity), inside_unit(delta=delta)

    def private(epsilon: Fraction) -> bool:
        return epsilon >= 0 and certainly_positive(lambda: ball(risk) - _profile(ratio, epsilon))

    if private(Fraction(0)):
        return Fraction(0)
    power = least(lambda exponent: private(Fraction(2) ** exponent))
    return least_multiple(private, near=Fraction(2) ** power)


def _profile(variance: Fraction, epsilon: Fraction) -> arb:
    """Delta at sensitivity 1, at the current precision."""
    deviation = ball(variance).sqrt()
    half, cut = 1 / (2 * deviation), ball(epsilon) * deviation
    return _normal_cdf(half - cut) - ball(epsilon).exp() * _normal_cdf(-half - cut)


def _normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _l2_squared(sensitivity: SensitivityLike) -> Fraction:
    return positive(sensitivity=Sensitivity.of(sensitivity).need("l2_squared", mechanism="the Gaussian mechanism"))
