"""The Gaussian mechanism on integers, calibrated by its own discrete law."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import Self

from flint import arb

from dalenius.accounting.calibration import largest_rho
from dalenius.errors import InvalidParameter
from dalenius.privacy.losses import ZCDP
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, not_negative, positive
from dalenius.privacy.reals import ball, certainly_positive, least, least_multiple, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness import gaussian as gaussian_sums
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.gaussian import discrete_gaussian
from dalenius.randomness.integers import Integers, add_noise
from dalenius.randomness.laws import DiscreteGaussianLaw

_SMALLEST = arb(2) ** -4096  # a smaller delta is shown as this one; it could have too many digits to write down


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Add to each coordinate independent integer noise Z with P[Z = z] proportional to exp(-z^2 / (2 variance)).

    Guarantee: if f gives integers and |f(x) - f(x')|_2^2 <= s for all neighbours x, x', then releasing f(x) + Z is
    (s / (2 variance))-zCDP for these neighbours. For one coordinate `delta` is the exact (epsilon, delta) curve.
    Reference: Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Theorem 4; Theorem 14 for vectors, 7 for delta.
    Textbook: S4.6, S4.7 (with the factor 2 that the notes lost).
    """

    variance: Fraction
    neighbours: Neighbours = field(default_factory=partial(stated, None))

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(variance=self.variance))
        stated(self.neighbours)

    @classmethod
    def calibrated(
        cls,
        *,
        sensitivity: SensitivityLike,
        rho: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The least noise for rho-zCDP, or for (epsilon, delta)-DP up to a relative 10^-6 of the variance.

        A number as sensitivity is that of one integer: there the exact tail sum decides. A `Sensitivity` is that of a
        vector: the exact sum again if one step moves one coordinate by one, else the best Rényi order, which costs some
        percent of the variance.
        """
        relation = stated(neighbours)
        if rho is not None and epsilon is None and delta is None:
            return cls(_l2_squared(sensitivity) / (2 * positive(rho=rho)), relation)
        if rho is not None or epsilon is None or delta is None:
            raise InvalidParameter("rho", rho, allowed="given alone, or left out with epsilon and delta given instead")
        target = positive(epsilon=epsilon), inside_unit(delta=delta)
        shift = _single_shift(sensitivity)
        if shift is not None:
            return cls(_least_variance(shift, *target), relation)
        return cls(_short(_l2_squared(sensitivity) / (2 * largest_rho(epsilon=target[0], delta=target[1]))), relation)

    @property
    def law(self) -> DiscreteGaussianLaw:
        """The exact law of the noise on one coordinate."""
        return DiscreteGaussianLaw(self.variance)

    def loss(self, *, sensitivity: SensitivityLike) -> ZCDP:
        """The loss of one release."""
        bound = Sensitivity.of(sensitivity).need("l2_squared", mechanism="the Gaussian mechanism")
        return ZCDP(bound / (2 * self.variance))

    def delta(self, *, sensitivity: Number, epsilon: Number) -> Fraction:
        """The least delta for which one integer of this sensitivity is released (epsilon, delta)-DP, rounded up."""
        shift, target = ceil(not_negative(sensitivity=sensitivity)), not_negative(epsilon=epsilon)
        with precise():
            return upper(_hockey_stick(self.variance, shift, target).max(_SMALLEST)) if shift else Fraction(0)

    def release(self, value: Integers, entropy: Entropy) -> Integers:
        """The noisy value, of the same kind and shape."""
        return add_noise(value, lambda count: discrete_gaussian(self.variance, count, entropy=entropy))

    def error(self, beta: Number, *, count: int = 1, two_sided: bool = True) -> int:
        """The least t that the noise of `count` coordinates all at once exceeds with probability at most beta."""
        return self.law.quantile(beta, two_sided, count=count)


def _hockey_stick(variance: Fraction, shift: int, epsilon: Fraction) -> arb:
    """The sum of (P[Z = z] - e^epsilon P[Z = z - shift])_+ over all integers z, at the current precision.

    Smaller shifts give no more: the likelihood ratio is monotone in z, so the sum is the maximum over m of P[Z <= m] -
    e^epsilon P[Z <= m - shift], each of which does not fall with the shift. By symmetry this covers both directions.
    """
    start = floor(epsilon * variance / shift - Fraction(shift, 2)) + 1
    near, far = gaussian_sums.tail(variance, start), gaussian_sums.tail(variance, start + shift)
    return (near - ball(epsilon).exp() * far) / gaussian_sums.total(variance)


def _least_variance(shift: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least variance that makes a shift of one coordinate (epsilon, delta)-private.

    More noise is not always more private here, so plain bisection could miss the least. The worst event {z >= start}
    changes at the variances `edge(start)`. Over these delta falls, and from one to the next it rises at most once
    before it falls: this is tested, not proved, and only the word "least" rests on it. Whatever is found is private by
    the exact sum.
    """

    def private(variance: Fraction) -> bool:
        if variance <= 0:
            return False
        return certainly_positive(lambda: ball(delta) - _hockey_stick(variance, shift, epsilon))

    def edge(start: int) -> Fraction:
        return shift * (start + Fraction(shift, 2)) / epsilon

    first = least(lambda start: private(edge(start)))
    return least_multiple(lambda variance: variance > edge(first - 1) and private(variance), near=edge(first))


def _short(variance: Fraction) -> Fraction:
    return least_multiple(lambda candidate: candidate >= variance, near=variance)


def _single_shift(sensitivity: SensitivityLike) -> int | None:
    """How far the one coordinate that changes can move, if no more than one can change."""
    if not isinstance(sensitivity, Sensitivity):
        return ceil(positive(sensitivity=sensitivity))
    return 1 if sensitivity.l1 is not None and 0 < sensitivity.l1 <= 1 else None


def _l2_squared(sensitivity: SensitivityLike) -> Fraction:
    bound = Sensitivity.of(sensitivity).need("l2_squared", mechanism="the Gaussian mechanism")
    return positive(sensitivity=bound)
