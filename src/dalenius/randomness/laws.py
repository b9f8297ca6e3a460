"""The exact laws of the noise, as frozen values: how likely each draw is, not how it is drawn.

Probabilities are Arb balls, enclosures of the true value; quantiles are exact integers. No loop here grows with the
scale of the noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import comb, floor
from operator import index

from flint import arb

from dalenius.privacy.numbers import Number, exact, inside_unit, not_negative, positive, whole
from dalenius.privacy.reals import ball, certainly_positive, least, lower, precise
from dalenius.randomness import gaussian as gaussian_sums


class NoiseLaw(ABC):
    """The law of integer noise Z that is symmetric around zero."""

    __slots__ = ()

    def pmf(self, z: int) -> arb:
        """P[Z = z]."""
        with precise():
            return self._point(abs(index(z)))

    def tail(self, z: int) -> arb:
        """P[Z >= z]."""
        with precise():
            return self._tail(index(z))

    def cdf(self, z: int) -> arb:
        """P[Z <= z]."""
        return self.tail(-index(z))

    @abstractmethod
    def variance(self) -> arb:
        """The mean of Z^2."""

    def quantile(self, beta: Number, two_sided: bool = True, *, count: int = 1) -> int:
        """The least integer t with P[|Z| > t] <= beta, or P[Z > t] <= beta when not two-sided.

        With `count`, t holds for that many independent draws at once: the probability that any of them exceeds it is
        at most beta. The answer is exact: enclosures are narrowed until they decide.
        """
        risk, draws, sides = inside_unit(beta=beta), whole(1, count=count), 2 if two_sided else 1

        def rare(t: int) -> bool:
            if two_sided and t < 0:
                return False
            return certainly_positive(lambda: _each(risk, draws) - sides * self._tail(t + 1))

        return least(rare, guess=self._guess(risk, draws, sides))

    def _guess(self, risk: Fraction, draws: int, sides: int) -> int:
        with precise(64):
            near = self._near(_each(risk, draws) / sides)
        return floor(lower(near)) if near.is_finite() else 0

    def _tail(self, z: int) -> arb:
        return self._upper(z) if z > 0 else 1 - self._upper(1 - z)

    @abstractmethod
    def _point(self, z: int) -> arb:
        """P[Z = z] for z >= 0, at the current precision."""

    @abstractmethod
    def _upper(self, z: int) -> arb:
        """P[Z >= z] for z >= 1, at the current precision."""

    @abstractmethod
    def _near(self, chance: arb) -> arb:
        """About where P[Z > t] = chance: a start for the search, never trusted."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw(NoiseLaw):
    """P[Z = z] = (1 - r) / (1 + r) r^|z| with r = exp(-1 / scale), on the integers.

    Reference: Ghosh, Roughgarden & Sundararajan 2009 (arXiv:0811.2841), the geometric mechanism's noise.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(scale=self.scale))

    def variance(self) -> arb:
        with precise():
            return 1 / (2 * ball(1 / (2 * self.scale)).sinh() ** 2)

    def mean_size(self) -> arb:
        """The mean of |Z|, which is below the scale."""
        with precise():
            return 1 / ball(1 / self.scale).sinh()

    def _point(self, z: int) -> arb:
        return ball(1 / (2 * self.scale)).tanh() * (-ball(z / self.scale)).exp()

    def _upper(self, z: int) -> arb:
        return (-ball(z / self.scale)).exp() / (1 + (-ball(1 / self.scale)).exp())

    def _near(self, chance: arb) -> arb:
        return ball(self.scale) * ((2 - 2 * chance).log() if chance > 0.5 else -(2 * chance).log())


@dataclass(frozen=True, slots=True)
class LaplaceSumLaw(NoiseLaw):
    """The sum of `terms` independent discrete Laplace draws: the noise of a total over so many noisy cells.

    Reference: the generating function ((1 - r)^2 / ((1 - r x) (1 - r / x)))^terms, split at its pole x = 1 / r, gives
    P[Z = z] = r^z times the sum of w_j C(z + j, j) over j < terms, with positive weights w_j.
    """

    scale: Fraction
    terms: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(scale=self.scale))
        object.__setattr__(self, "terms", whole(1, terms=self.terms))

    def variance(self) -> arb:
        with precise():
            return self.terms * DiscreteLaplaceLaw(self.scale).variance()

    def _point(self, z: int) -> arb:
        value = sum((weight * comb(z + j, j) for j, weight in enumerate(self._weights())), arb(0))
        return (-ball(z / self.scale)).exp() * value

    def _upper(self, z: int) -> arb:
        # s_j, the sum of C(u + j, j) r^(u - z) over u >= z, obeys (1 - r) s_j = C(z + j - 1, j) + s_{j-1}.
        series, value, step = arb(0), arb(0), -(-ball(1 / self.scale)).expm1()
        for j, weight in enumerate(self._weights()):
            series = (series + comb(z + j - 1, j)) / step
            value += weight * series
        return (-ball(z / self.scale)).exp() * value

    def _weights(self) -> list[arb]:
        # w_j is (1 - r)^(2k) times the coefficient of y^(k-1-j) in (1 + odds / (1 - y / gap))^k, expanded twice by the
        # binomial theorem.
        k, gap, odds = self.terms, -(-ball(2 / self.scale)).expm1(), 1 / ball(2 / self.scale).expm1()
        front = (-(-ball(1 / self.scale)).expm1()) ** (2 * k)
        powers = [comb(k, m) * odds**m for m in range(1, k + 1)]
        inner = [sum((power * comb(m + n, n) for m, power in enumerate(powers)), arb(0 if n else 1)) for n in range(k)]
        return [front / gap**n * inner[n] for n in reversed(range(k))]

    def _near(self, chance: arb) -> arb:
        return DiscreteLaplaceLaw(self.scale)._near(chance)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLaw(NoiseLaw):
    """P[Z = z] proportional to exp(-z^2 / (2 parameter)) on the integers.

    The parameter is the variance of the continuous law of that form; `variance()` is that of Z, a little smaller.
    Reference: Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Definition 1.
    """

    parameter: Fraction

    def __init__(self, variance: Number) -> None:
        object.__setattr__(self, "parameter", positive(variance=variance))

    def variance(self) -> arb:
        with precise():
            return gaussian_sums.second_moment(self.parameter)

    def _point(self, z: int) -> arb:
        return (-ball(z * z / (2 * self.parameter))).exp() / gaussian_sums.total(self.parameter)

    def _upper(self, z: int) -> arb:
        return gaussian_sums.tail(self.parameter, z) / gaussian_sums.total(self.parameter)

    def _near(self, chance: arb) -> arb:
        return ball(2 * self.parameter).sqrt() * (2 * chance).erfcinv()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceLaw:
    """The continuous Laplace distribution of the textbook, for its formulas; nothing is drawn from it.

    Both parameters are given by name, because texts disagree about their order.
    Reference: Dwork & Roth 2014, Definition 3.2 and Fact 3.7.
    Textbook: S2.1.
    """

    scale: Fraction
    mean: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(scale=self.scale))
        object.__setattr__(self, "mean", exact(mean=self.mean))

    def pdf(self, x: Number) -> arb:
        """The density at x."""
        with precise():
            return (-ball(abs(self._distance(x)))).exp() / ball(2 * self.scale)

    def cdf(self, x: Number) -> arb:
        """P[X <= x]."""
        distance = self._distance(x)
        with precise():
            half = (-ball(abs(distance))).exp() / 2
            return half if distance < 0 else 1 - half

    def outside(self, t: Number) -> arb:
        """P[|X - mean| >= t scale] = e^-t."""
        with precise():
            return (-ball(not_negative(t=t))).exp()

    def variance(self) -> Fraction:
        return 2 * self.scale**2

    def _distance(self, x: Number) -> Fraction:
        return (exact(x=x) - self.mean) / self.scale


def _each(risk: Fraction, draws: int) -> arb:
    """The risk of one draw when all of them together have this risk: 1 - (1 - risk)^(1 / draws)."""
    return -(ball(-risk).log1p() / draws).expm1() if draws > 1 else ball(risk)
