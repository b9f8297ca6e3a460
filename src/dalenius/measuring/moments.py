"""Means, variances, covariances and correlations, with intervals, from a noisy count and noisy sums.

Each is the plain formula, moved into the interval of all values that agree with the noisy sums at the chosen level.

Columns are centred: sums run over the value less the column's midpoint, in steps. All arrays have one entry a group;
counts must be positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dalenius.measuring.spreads import Floats, agreeing, spread
from dalenius.query.types import Ranged
from dalenius.randomness.laws import NoiseLaw


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


def mean(sums: Sequence[Floats], laws: Sequence[NoiseLaw], axis: CentredRange, *, level: Fraction) -> Span:
    """The means m that agree with (n, s): |s - m n| is within reach of the noise of s - m n, whose law is known.

    Guarantee: holds the mean with the chance that `spread` promises, `level` up to about a percent, whatever n is.
    """
    n, s = sums
    ones = np.ones_like(n)

    def reach(m: Floats) -> Floats:
        return spread((laws[1], laws[0]), (ones, m), level=level)

    return _span(s / n, *agreeing(s, n, reach, lower=axis.lower * ones, upper=axis.upper * ones))


def variance(sums: Sequence[Floats], laws: Sequence[NoiseLaw], axis: CentredRange, *, level: Fraction) -> Span:
    """The sample variances v that agree with (n, s, ss).

    At the true mean m, ss - 2 m s + m^2 n - v (n - 1) is pure noise of known law. This is least at s / n, and grows
    by n e^2 at a distance e from there; e is taken from the interval of the mean, and so is the m that has the most
    noise.
    """
    return _variance(sums, laws, axis, mean(sums[:2], laws[:2], axis, level=level), level=level)


def _variance(
    sums: Sequence[Floats], laws: Sequence[NoiseLaw], axis: CentredRange, centre: Span, *, level: Fraction
) -> Span:
    """The same where the interval of the mean is known."""
    n, s, ss = sums
    ones = np.ones_like(n)
    middle, far = centre.value, np.minimum(np.abs(centre.value) + centre.error, axis.reach)

    def reach(v: Floats) -> Floats:
        count = np.maximum(np.abs(middle * middle - v), np.abs(far * far - v))
        return spread((laws[2], laws[1], laws[0]), (ones, 2 * far, count), level=level)

    top = ss - 2 * middle * s + middle * middle * n
    most = axis.roughest * n / (n - 1)
    low, high = agreeing(top, n - 1, reach, lower=0 * ones, upper=most)
    return _span(top / (n - 1), low, np.minimum(high + centre.error**2 * n / (n - 1), most))


def covariance(
    sums: Sequence[Floats], laws: Sequence[NoiseLaw], axes: Sequence[CentredRange], *, level: Fraction
) -> Span:
    """The sample covariances c that agree with (n, sx, sy, sxy): as for variances, with the errors of both means."""
    n, sx, sy, sxy = sums
    ones = np.ones_like(n)
    mean_x = mean((n, sx), (laws[0], laws[1]), axes[0], level=level)
    mean_y = mean((n, sy), (laws[0], laws[2]), axes[1], level=level)
    x, y = mean_x.value, mean_y.value

    def reach(c: Floats) -> Floats:
        return spread((laws[3], laws[1], laws[2], laws[0]), (ones, -y, -x, x * y - c), level=level)

    most = np.sqrt(axes[0].roughest * axes[1].roughest) * n / (n - 1)
    top = sxy - y * sx - x * sy + x * y * n
    low, high = agreeing(top, n - 1, reach, lower=-most, upper=most)
    extra = mean_x.error * mean_y.error * n / (n - 1)
    return _span(top / (n - 1), np.maximum(low - extra, -most), np.minimum(high + extra, most))


def correlation(
    sums: Sequence[Floats], laws: Sequence[NoiseLaw], axes: Sequence[CentredRange], *, level: Fraction
) -> Span:
    """The correlations r that agree with (n, sx, sy, sxx, syy, sxy).

    With C, A, B the centred sums of xy, xx, yy and t = sqrt(B / A), C - r (t A + B / t) / 2 is zero at the true r, and
    its noise is linear. Errors of means and of t enter squared; they widen the interval.
    Where A or B is not clearly positive nothing is known: -1 to 1.
    """
    n, sx, sy, sxx, syy, sxy = sums
    first, second = (laws[0], laws[1], laws[3]), (laws[0], laws[2], laws[4])
    mean_x = mean((n, sx), first[:2], axes[0], level=level)
    mean_y = mean((n, sy), second[:2], axes[1], level=level)
    (x, off_x), (y, off_y) = _with_error(mean_x), _with_error(mean_y)
    v, off_v = _with_error(_variance((n, sx, sxx), first, axes[0], mean_x, level=level))
    w, off_w = _with_error(_variance((n, sy, syy), second, axes[1], mean_y, level=level))
    known = (v > off_v) & (w > off_w)
    v, w = np.where(known, v, 1.0), np.where(known, w, 1.0)
    t, bottom = np.sqrt(w / v), np.sqrt(v * w) * (n - 1)
    extra = n * (off_x * off_y + (t * off_x**2 + off_y**2 / t) / 2) + bottom * (off_v / v + off_w / w) ** 2 / 8

    def reach(r: Floats) -> Floats:
        weights = (np.ones_like(n), -r * t / 2, -r / (2 * t), r * t * x - y, r * y / t - x)
        count = x * y - r * (t * x * x + y * y / t) / 2
        return spread((laws[5], laws[3], laws[4], laws[1], laws[2], laws[0]), (*weights, count), level=level) + extra

    ones, top = np.ones_like(n), sxy - y * sx - x * sy + x * y * n
    low, high = agreeing(top, bottom, reach, lower=-ones, upper=ones)
    return _span(np.where(known, top / bottom, 0.0), np.where(known, low, -1.0), np.where(known, high, 1.0))


def _span(value: Floats, low: Floats, high: Floats) -> Span:
    return Span(np.clip(value, low, high), low, high)


def _with_error(span: Span) -> tuple[Floats, Floats]:
    return span.value, span.error
