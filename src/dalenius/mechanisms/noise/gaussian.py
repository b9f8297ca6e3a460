"""The Gaussian mechanism on integers, calibrated by its own discrete law."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, floor, isqrt
from typing import Self

from flint import arb

from dalenius.accounting.calibration import largest_rho
from dalenius.accounting.conversion import to_delta
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.noise.continuous_gaussian import gaussian_delta
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
_FEW = 256  # shifts up to this squared length are looked at one shape at a time; for longer ones shapes hardly differ


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Add to each coordinate independent integer noise Z with P[Z = z] proportional to exp(-z^2 / (2 variance)).

    Guarantee: if f gives integers and |f(x) - f(x')|_2^2 <= s for all neighbours x, x', then releasing f(x) + Z is
    (s / (2 variance))-zCDP for these neighbours. It is (epsilon, delta)-DP with `delta(...)`: the exact curve for one
    coordinate, a bound close to the continuous Gaussian's curve for vectors (docs/accounting.md, Theorem 4).
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
        vector: the exact sum again if one step moves one coordinate by one, else the bound that `delta` gives, mostly
        within one percent of what continuous noise would need.
        """
        relation = stated(neighbours)
        if rho is not None and epsilon is None and delta is None:
            return cls(_l2_squared(sensitivity) / (2 * positive(rho=rho)), relation)
        if rho is not None or epsilon is None or delta is None:
            raise InvalidParameter("rho", rho, allowed="given alone, or left out with epsilon and delta given instead")
        target = positive(epsilon=epsilon), inside_unit(delta=delta)
        shift = _single_shift(sensitivity)
        if shift:
            return cls(_least_variance(shift, *target), relation)
        size = _l2_squared(sensitivity)
        return cls(_least_vector_variance(size, _largest_entry(sensitivity), *target), relation)

    @property
    def law(self) -> DiscreteGaussianLaw:
        """The exact law of the noise on one coordinate."""
        return DiscreteGaussianLaw(self.variance)

    def loss(self, *, sensitivity: SensitivityLike) -> ZCDP:
        """The loss of one release."""
        bound = Sensitivity.of(sensitivity).need("l2_squared", mechanism="the Gaussian mechanism")
        return ZCDP(bound / (2 * self.variance))

    def delta(self, *, sensitivity: SensitivityLike, epsilon: Number) -> Fraction:
        """A delta for which a release of this sensitivity is (epsilon, delta)-DP, rounded up.

        For a number, the sensitivity of one integer, it is the least such delta. For the `Sensitivity` of a vector it
        holds for every shift within the norms: the smaller of `_vector_delta` and what the best Rényi order says.
        """
        target, shift = not_negative(epsilon=epsilon), _single_shift(sensitivity)
        if shift is not None:
            with precise():
                return upper(_hockey_stick(self.variance, shift, target).max(_SMALLEST)) if shift else Fraction(0)
        loss = self.loss(sensitivity=sensitivity)
        size = floor(loss.rho * 2 * self.variance)
        if not size:
            return Fraction(0)
        with precise():
            bound = _vector_delta(self.variance, size, _largest_entry(sensitivity), target).max(_SMALLEST)
            return min(to_delta(loss, epsilon=target), upper(bound) if bound.is_finite() else Fraction(1))

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
    return _ahead(variance, shift, epsilon) / gaussian_sums.total(variance)


def _ahead(variance: Fraction, shift: int, epsilon: Fraction) -> arb:
    """The sum of (w(z) - e^epsilon w(z + shift))_+ over all integers z, where w(z) = exp(-z^2 / 2 variance)."""
    start = floor(epsilon * variance / shift - Fraction(shift, 2)) + 1
    near, far = gaussian_sums.tail(variance, start), gaussian_sums.tail(variance, start + shift)
    return near - ball(epsilon).exp() * far


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


@lru_cache(maxsize=256)
def _least_vector_variance(size: Fraction, entry: int | None, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least variance that `_vector_delta` finds private for shifts with |v|_2^2 <= size, or the best Rényi order's.

    For short shifts that bound can rise with the variance, so only the word "least" rests on the bisection.
    """

    longest = floor(size)

    def private(variance: Fraction) -> bool:
        return variance > 0 and certainly_positive(
            lambda: ball(delta) - _vector_delta(variance, longest, entry, epsilon)
        )

    most = _short((longest or size) / (2 * largest_rho(epsilon=epsilon, delta=delta)))
    return min(most, least_multiple(private, near=most)) if longest and private(most) else most


def _vector_delta(variance: Fraction, size: int, entry: int | None, epsilon: Fraction) -> arb:
    """A delta for all shifts v of whole numbers with |v|_2^2 <= size and entries of at most `entry`.

    Infinite where the theorem below does not apply, which takes an epsilon near zero and a delta near one half.
    """
    worst = arb(0)
    for longest in range(size, 0, -1):
        smooth = _smooth(variance, longest, epsilon)
        ripple = (longest * _across(variance, longest) + arb(0.5)).max(arb(1))
        most = smooth + _bend(variance, longest, epsilon) * ripple
        if longest > _FEW or most <= worst or most < smooth * (1 + arb(2) ** -10):
            return worst.max(most)
        for divisor in range(1, isqrt(longest) + 1):
            if longest % divisor**2 == 0 and (entry is None or divisor <= entry):
                worst = worst.max(most.min(_one_shape(variance, divisor, longest // divisor**2, epsilon)))
    return worst


# Theorem. Let v be a vector of whole numbers, g the greatest common divisor of its entries, u = v / g, n = |v|^2 and
# m = |u|^2, so n = g^2 m. Let V be the variance, N = sqrt(n), a = epsilon V - n / 2, and h(y) = exp(-y^2 / 2V) (1 -
# exp((a - N y) / V))_+, C(n) the delta of continuous noise. Then the delta of the shift v is at most
#     A + W (m - 1/m) exp(-r / m),  where  A = sum over integers y of h(y / sqrt(m)) / sqrt(2 pi V m) <= C(n) + W / m,
# r = max(0, 2 pi^2 V - 4), W = c N / V exp(-max(a, 0)^2 / 2Vn) / (12 sqrt(2 pi V)), and c = 7/2 if a >= 0, c = 5 if
# a < 0 and a^2 <= V n. C and W grow with n, and m exp(-r / m) with m. So no v with |v|^2 <= n has more than
#     C(n) + W max(1, 1/2 + n exp(-r / n)).
# Proof: docs/accounting.md, Theorem 4.


def _smooth(variance: Fraction, size: int, epsilon: Fraction) -> arb:
    """C(n) for n = `size`."""
    return ball(gaussian_delta(sensitivity=Sensitivity(l2_squared=size), variance=variance, epsilon=epsilon))


def _one_shape(variance: Fraction, divisor: int, size: int, epsilon: Fraction) -> arb:
    """A + W (m - 1/m) exp(-r / m) for g = `divisor` and m = `size`."""
    wide = size * variance
    along = _ahead(wide, divisor * size, epsilon) / (2 * arb.pi() * ball(wide)).sqrt()
    if size == 1:
        return along
    across = ball(size - Fraction(1, size)) * _across(variance, size)
    return along + _bend(variance, divisor**2 * size, epsilon) * across


def _across(variance: Fraction, size: int) -> arb:
    """exp(-r / m) for m = `size`."""
    return (-(2 * arb.pi() ** 2 * ball(variance) - 4).max(arb(0)) / size).exp()


def _bend(variance: Fraction, size: int, epsilon: Fraction) -> arb:
    """W for n = `size`; infinite where it is not known."""
    a = epsilon * variance - Fraction(size, 2)
    if a < 0 and a * a > variance * size:
        return arb.pos_inf()
    bend = ball(Fraction(7, 2) if a >= 0 else Fraction(5)) * ball(Fraction(size)).sqrt() / ball(variance)
    height = (-ball(max(a, Fraction(0)) ** 2 / (2 * variance * size))).exp()
    return bend * height / (12 * (2 * arb.pi() * ball(variance)).sqrt())


def _short(variance: Fraction) -> Fraction:
    return least_multiple(lambda candidate: candidate >= variance, near=variance)


def _single_shift(sensitivity: SensitivityLike) -> int | None:
    """How far the one coordinate that changes can move, if no more than one can change."""
    if not isinstance(sensitivity, Sensitivity):
        return ceil(not_negative(sensitivity=sensitivity))
    by_sum = sensitivity.l1 is not None and 0 < sensitivity.l1 < 2
    return 1 if by_sum or (sensitivity.l2_squared is not None and 1 <= sensitivity.l2_squared < 2) else None


def _largest_entry(sensitivity: SensitivityLike) -> int | None:
    bound = Sensitivity.of(sensitivity).linf
    return None if bound is None else max(1, floor(bound))


def _l2_squared(sensitivity: SensitivityLike) -> Fraction:
    bound = Sensitivity.of(sensitivity).need("l2_squared", mechanism="the Gaussian mechanism")
    return positive(sensitivity=bound)
