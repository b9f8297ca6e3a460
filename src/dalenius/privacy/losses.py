"""What one release costs: losses as plain frozen values.

Every loss knows two things that the ledger adds up: `renyi(alpha)`, an upper bound on the Rényi divergence of that
order between the outputs on neighbours (in both directions), and `delta`, the probability of the event that is left
out of that bound. Composition is not here: see `dalenius.accounting`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, exact, format_number, not_negative, probability, whole
from dalenius.privacy.reals import PRECISION, ball, precise, upper


class Loss(ABC):
    """The cost of one release under the neighbours that its mechanism is calibrated for."""

    __slots__ = ()

    @property
    @abstractmethod
    def delta(self) -> Fraction:
        """The probability of the event that `renyi` leaves out."""

    @abstractmethod
    def renyi(self, alpha: Number) -> Fraction:
        """An upper bound on the Rényi divergence of order alpha > 1, exact up to rounding upwards."""


@dataclass(frozen=True, slots=True)
class PureDP(Loss):
    """No outcome becomes more than e^epsilon times likelier.

    `renyi` is the divergence of randomized response at epsilon, the largest that an epsilon-DP release can have.
    Reference: Mironov 2017 (arXiv:1702.07476), Proposition 5; Kairouz, Oh & Viswanath 2015
    (arXiv:1311.0776) for randomized response being the worst case.
    Textbook: S1.3.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", not_negative(epsilon=self.epsilon))

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    def renyi(self, alpha: Number) -> Fraction:
        return randomized_response_renyi(self.epsilon, valid_order(alpha))

    def __str__(self) -> str:
        return f"epsilon = {format_number(self.epsilon)}"


@dataclass(frozen=True, slots=True)
class LaplaceDP(PureDP):
    """Integer noise with P[z] proportional to exp(-|z| / scale), shifted by at most `steps` in the l1 norm.

    Pure with epsilon = steps / scale; `renyi` is the exact divergence of the discrete law, which is smaller than
    that of randomized response at the same epsilon.
    Reference: the continuous law is in Mironov 2017, Proposition 6; the discrete sum is a geometric series, and its
    logarithm is convex in the shift, so a shift of one coordinate is the worst for vectors too.
    """

    steps: int

    def __post_init__(self) -> None:
        PureDP.__post_init__(self)
        object.__setattr__(self, "steps", whole(1 if self.epsilon else 0, steps=self.steps))

    def renyi(self, alpha: Number) -> Fraction:
        order = valid_order(alpha)
        if not self.epsilon:
            return Fraction(0)
        with precise(_bits(self.epsilon / self.steps, order)):
            one, power, shift = ball(1), ball(order), ball(self.steps)
            ratio = (-ball(self.epsilon / self.steps)).exp()
            middle = ratio ** (2 * power - 1)
            towards = ratio ** ((1 - power) * shift) * (one / (1 - ratio) + middle / (1 - middle))
            away = ratio ** (power * shift) * (one / (1 - ratio) - one / (1 - middle))
            total = (towards + away) * (1 - ratio) / (1 + ratio)
            return upper(total.log() / (power - 1))


@dataclass(frozen=True, slots=True)
class BoundedRange(PureDP):
    """The exponential mechanism: the log-ratios of all outcomes lie in one interval of length epsilon.

    `renyi` is at most alpha epsilon^2 / 8. Permute-and-flip and noisy max do not have this property.
    Reference: Cesar & Rogers 2021 (arXiv:2004.07223) and Durfee & Rogers 2019 (arXiv:1905.04273).
    """

    def renyi(self, alpha: Number) -> Fraction:
        order = valid_order(alpha)
        return min(order * self.epsilon**2 / 8, randomized_response_renyi(self.epsilon, order))


@dataclass(frozen=True, slots=True)
class ApproximateDP(Loss):
    """(epsilon, delta)-DP; counts as randomized response at epsilon plus an event of probability delta.

    Reference: Kairouz, Oh & Viswanath 2015; Murtagh & Vadhan 2016 (arXiv:1507.03113).
    Textbook: S1.3.
    """

    epsilon: Fraction
    event: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", not_negative(epsilon=epsilon))
        object.__setattr__(self, "event", probability(delta=delta))

    @property
    def delta(self) -> Fraction:
        return self.event

    def renyi(self, alpha: Number) -> Fraction:
        return randomized_response_renyi(self.epsilon, valid_order(alpha))

    def __str__(self) -> str:
        return f"epsilon = {format_number(self.epsilon)}, delta = {format_number(self.event)}"


@dataclass(frozen=True, slots=True)
class ZCDP(Loss):
    """Zero-concentrated DP: the Rényi divergence of every order alpha is at most alpha times rho.

    The Gaussian mechanism on integers costs rho = (l2 sensitivity)^2 / (2 variance).
    Reference: Bun & Steinke 2016 (arXiv:1605.02065); for integers Canonne, Kamath & Steinke 2020 (arXiv:2004.00010).
    Textbook: S1.11.
    """

    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", not_negative(rho=self.rho))

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    def renyi(self, alpha: Number) -> Fraction:
        return valid_order(alpha) * self.rho

    def __str__(self) -> str:
        return f"rho = {format_number(self.rho)}"


@dataclass(frozen=True, slots=True)
class RenyiCurve(Loss):
    """A Rényi curve known at some orders: pairs (alpha, divergence), kept in rising order of alpha.

    Rényi divergence does not fall with its order, so between two known orders the higher one's bound holds. `epsilon`
    is the divergence of order infinity, where that is bounded.
    """

    points: tuple[tuple[Fraction, Fraction], ...]
    event: Fraction = Fraction(0)
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        points = sorted((valid_order(alpha), not_negative(divergence=value)) for alpha, value in self.points)
        if not points:
            raise InvalidParameter("points", self.points, allowed="at least one pair (alpha, divergence)")
        object.__setattr__(self, "points", tuple(points))
        object.__setattr__(self, "event", probability(event=self.event))

    @property
    def delta(self) -> Fraction:
        return self.event

    def renyi(self, alpha: Number) -> Fraction:
        order = valid_order(alpha)
        bounds = [value for known, value in self.points if known >= order]
        bounds += [] if self.epsilon is None else [self.epsilon]
        if not bounds:
            raise InvalidParameter(
                "alpha", alpha, allowed=f"at most {self.points[-1][0]}, the highest order that is known"
            )
        return min(bounds)

    def __str__(self) -> str:
        if len(self.points) > 1:
            return f"a Rényi curve at {len(self.points)} orders"
        ((alpha, divergence),) = self.points
        event = f", delta = {format_number(self.event)}" if self.event else ""
        return f"a Rényi divergence of {format_number(divergence)} of order {format_number(alpha)}{event}"


def randomized_response_renyi(epsilon: Fraction, alpha: Fraction) -> Fraction:
    """The Rényi divergence of order alpha of one randomized bit that is true with odds e^epsilon, rounded up."""
    if not epsilon:
        return Fraction(0)
    with precise(_bits(epsilon, alpha)):
        power, keep, flip = ball(alpha), 1 / (1 + (-ball(epsilon)).exp()), 1 / (1 + ball(epsilon).exp())
        moment = keep**power * flip ** (1 - power) + flip**power * keep ** (1 - power)
        return min(upper(moment.log() / (power - 1)), epsilon)


def valid_order(alpha: Number) -> Fraction:
    """The exact value of a Rényi order, which must exceed 1."""
    order = exact(alpha=alpha)
    if order <= 1:
        raise InvalidParameter("alpha", alpha, allowed="greater than 1")
    return order


def _bits(epsilon: Fraction, alpha: Fraction) -> int:
    """A precision that also shows a divergence near alpha epsilon^2 / 2 beside 1 when that is tiny."""
    return PRECISION + 4 * _smallness(epsilon) + 2 * _smallness(alpha - 1)


def _smallness(value: Fraction) -> int:
    return max(0, value.denominator.bit_length() - value.numerator.bit_length())
