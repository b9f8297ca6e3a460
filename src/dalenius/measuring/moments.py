"""Means, variances, covariances and correlations, with intervals, from a noisy count and noisy sums.

Each is the plain formula, moved into the interval of all values that agree with the noisy sums at the chosen level.

Columns are centred: sums run over the value less the column's midpoint, in steps. All arrays have one entry a group;
counts must be positive.

A split is what one mean or variance is measured from: a constant, split by where a value lies in its range. The parts
add up to the constant for every value, and none is negative. So all their sums together move by no more than one of
them could, and share one noise, where a count and sums of powers apart would need one each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import comb
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.measuring.spreads import Floats, Noise, agreeing
from dalenius.query.types import Ranged


class Span(NamedTuple):
    """Values and the intervals that hold the true ones."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def error(self) -> Floats:
        """The distance to the farther end."""
        return np.maximum(self.high - self.value, self.value - self.low)


@dataclass(frozen=True)
class CentredRange:
    """A column's range around its midpoint, in steps."""

    middle: int
    lower: float
    upper: float

    @classmethod
    def of(cls, domain: Ranged) -> CentredRange:
        middle = (domain.lower + domain.upper) // 2
        return cls(middle, float(domain.lower - middle), float(domain.upper - middle))

    @property
    def reach(self) -> float:
        """The largest distance from the midpoint."""
        return max(-self.lower, self.upper)

    @property
    def roughest(self) -> float:
        """The largest variance (divisor n) of values in the range."""
        return (self.upper - self.lower) ** 2 / 4


def mean(sums: Sequence[Floats], noise: Noise, axis: CentredRange, *, level: Fraction) -> Span:
    """The means m that agree with (n, s): |s - m n| is within reach of the noise of s - m n, whose law is known.

    Guarantee: holds the mean with the chance that `spread` promises, `level` up to about a percent, whatever n is.
    """
    n, s = sums
    ones = np.ones_like(n)

    def reach(m: Floats) -> Floats:
        return noise.spread((-m, ones), level=level)

    return _span(s / n, *agreeing(s, n, reach, lower=axis.lower * ones, upper=axis.upper * ones))


def variance(sums: Sequence[Floats], noise: Noise, axis: CentredRange, *, level: Fraction) -> Span:
    """The sample variances v that agree with (n, s, ss).

    At the true mean m, ss - 2 m s + m^2 n - v (n - 1) is pure noise of known law. This is least at s / n, and grows
    by n e^2 at a distance e from there; e is taken from the interval of the mean, and so is the m that has the most
    noise: of a split with u above the range's midpoint and l below, the draws have weights (u - m)^2 - v,
    (l + m)^2 - v and -(u - m) (l + m) - v, by the whole.
    """
    return _variance(sums, noise, axis, mean(sums[:2], noise.of(0, 1), axis, level=level), level=level)


def _variance(sums: Sequence[Floats], noise: Noise, axis: CentredRange, centre: Span, *, level: Fraction) -> Span:
    """The same where the interval of the mean is known."""
    n, s, ss = sums
    ones = np.ones_like(n)
    middle = centre.value
    means: tuple[Floats, ...] = middle, np.minimum(np.abs(middle) + centre.error, axis.reach)
    if noise.mixed:  # each draw has most weight at an end, or amidst the range
        amidst = np.clip((axis.lower + axis.upper) / 2 * ones, centre.low, centre.high)
        means = centre.low, centre.high, amidst

    def reach(v: Floats) -> Floats:
        return noise.spread(*((m * m - v, -2 * m, ones) for m in means), level=level)

    top = ss - 2 * middle * s + middle * middle * n
    most = axis.roughest * n / (n - 1)
    low, high = agreeing(top, n - 1, reach, lower=0 * ones, upper=most)
    return _span(top / (n - 1), low, np.minimum(high + centre.error**2 * n / (n - 1), most))


def covariance(sums: Sequence[Floats], noise: Noise, axes: Sequence[CentredRange], *, level: Fraction) -> Span:
    """The sample covariances c that agree with (n, sx, sy, sxy): as for variances, with the errors of both means."""
    n, sx, sy, sxy = sums
    ones = np.ones_like(n)
    mean_x = mean((n, sx), noise.of(0, 1), axes[0], level=level)
    mean_y = mean((n, sy), noise.of(0, 2), axes[1], level=level)
    x, y = mean_x.value, mean_y.value

    def reach(c: Floats) -> Floats:
        return noise.spread((x * y - c, -y, -x, ones), level=level)

    most = np.sqrt(axes[0].roughest * axes[1].roughest) * n / (n - 1)
    top = sxy - y * sx - x * sy + x * y * n
    low, high = agreeing(top, n - 1, reach, lower=-most, upper=most)
    extra = mean_x.error * mean_y.error * n / (n - 1)
    return _span(top / (n - 1), np.maximum(low - extra, -most), np.minimum(high + extra, most))


def correlation(sums: Sequence[Floats], noise: Noise, axes: Sequence[CentredRange], *, level: Fraction) -> Span:
    """The correlations r that agree with (n, sx, sy, sxx, syy, sxy).

    With C, A, B the centred sums of xy, xx, yy and t = sqrt(B / A), C - r (t A + B / t) / 2 is zero at the true r, and
    its noise is linear. Errors of means and of t enter squared; they widen the interval.
    Where A or B is not clearly positive nothing is known: -1 to 1.
    """
    n, sx, sy, sxx, syy, sxy = sums
    first, second = noise.of(0, 1, 3), noise.of(0, 2, 4)
    mean_x = mean((n, sx), first.of(0, 1), axes[0], level=level)
    mean_y = mean((n, sy), second.of(0, 1), axes[1], level=level)
    (x, off_x), (y, off_y) = _with_error(mean_x), _with_error(mean_y)
    v, off_v = _with_error(_variance((n, sx, sxx), first, axes[0], mean_x, level=level))
    w, off_w = _with_error(_variance((n, sy, syy), second, axes[1], mean_y, level=level))
    known = (v > off_v) & (w > off_w)
    v, w = np.where(known, v, 1.0), np.where(known, w, 1.0)
    t, bottom = np.sqrt(w / v), np.sqrt(v * w) * (n - 1)
    extra = n * (off_x * off_y + (t * off_x**2 + off_y**2 / t) / 2) + bottom * (off_v / v + off_w / w) ** 2 / 8

    def reach(r: Floats) -> Floats:
        weights = (r * t * x - y, r * y / t - x, -r * t / 2, -r / (2 * t), np.ones_like(n))
        count = x * y - r * (t * x * x + y * y / t) / 2
        return noise.spread((count, *weights), level=level) + extra

    ones, top = np.ones_like(n), sxy - y * sx - x * sy + x * y * n
    low, high = agreeing(top, bottom, reach, lower=-ones, upper=ones)
    return _span(np.where(known, top / bottom, 0.0), np.where(known, low, -1.0), np.where(known, high, 1.0))


def _span(value: Floats, low: Floats, high: Floats) -> Span:
    return Span(np.clip(value, low, high), low, high)


def _with_error(span: Span) -> tuple[Floats, Floats]:
    return span.value, span.error


# ---- splits


_Polynomial: TypeAlias = tuple[int, ...]

DEGREES: Mapping[str, int] = MappingProxyType({"mean": 1, "variance": 2, "stddev": 2})
"""The highest power of a column that a statistic needs, of those that can be measured from a split."""


@dataclass(frozen=True)
class Split:
    """The parts C(d, k) a^(d - k) b^k, for k from 0 to the degree d, of a value that lies a above `lower` and b below
    `upper`: integers that are not negative and add up to (a + b)^d, the `whole`.

    Reference: Bernstein 1912, whose polynomials these are, times the whole.
    """

    lower: int
    upper: int
    degree: int

    @classmethod
    def of(cls, domain: Ranged, kind: str) -> Split:
        """What a statistic of this kind is measured from."""
        return cls(domain.lower, domain.upper, DEGREES[kind])

    @property
    def whole(self) -> int:
        """What all parts of one value add up to."""
        return int((self.upper - self.lower) ** self.degree)

    @property
    def factors(self) -> tuple[int, ...]:
        """How often each product of distances is in its part."""
        return tuple(comb(self.degree, place) for place in range(self.degree + 1))

    def powers(self) -> tuple[tuple[Fraction, ...], ...]:
        """What the sums of the parts are multiplied by to give the count, and the sum of each power of the value less
        the range's midpoint (lower + upper) // 2.

        Proof: with u = upper - midpoint and l = midpoint - lower, such a value is (u a - l b) / (a + b). Its j-th power
        times the whole is (u a - l b)^j (a + b)^(d - j), which is expanded into the products a^(d - k) b^k.
        """
        middle = (self.lower + self.upper) // 2
        value: _Polynomial = (self.upper - middle, self.lower - middle)
        one: _Polynomial = (1, 1)
        products = ([value] * power + [one] * (self.degree - power) for power in range(self.degree + 1))
        expanded = (reduce(_times, pairs) for pairs in products)
        return tuple(
            tuple(Fraction(size, factor * self.whole) for size, factor in zip(sizes, self.factors, strict=True))
            for sizes in expanded
        )


def split_sums(whole: int, factors: Sequence[int], totals: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The sums of all parts, group by group: `totals` are the counts, then the sums of all products but the last, whose
    part is what is left of `whole` for each row.

    Where the rows of a unit are scaled down, so are the products, towards zero: then too what is left is not negative.
    """
    count, *products = (total.astype(object) for total in totals)
    parts = [factor * product for factor, product in zip(factors, products, strict=False)]
    return np.stack([*parts, whole * count - sum(parts)], axis=-1)


def _times(first: _Polynomial, second: _Polynomial) -> _Polynomial:
    """The product of two polynomials."""
    found = [0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            found[i + j] += a * b
    return tuple(found)
