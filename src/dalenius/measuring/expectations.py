"""How large the error of a statistic will be, before any data is read: from public laws and ranges alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.measuring.estimates import COUNTS, LEVEL, ROBUST, noise_of, numeric, span, step, unit
from dalenius.measuring.moments import CentredRange
from dalenius.measuring.released import number
from dalenius.measuring.spreads import Floats, Noise, shape_of, variance
from dalenius.privacy.numbers import Number as Figure
from dalenius.privacy.numbers import exact, not_negative, whole
from dalenius.query.questions import Statistic
from dalenius.query.types import Domain
from dalenius.randomness.laws import NoiseLaw

_MANY = 10**6  # times the noise of a count: a group so large that only the leading term of an error is left
_POINTS = 200
_NEAR_BOUND = 0.8
_SMOOTH = 20  # standard deviations from which on the steps of integer noise hardly show


@dataclass(frozen=True)
class ExpectedError:
    """The error that stays below `at(size)` with probability `level`, for a group of `size` rows; `text` says it.

    `fixed` is the error itself where it does not depend on the size, in the user's units and exact.
    """

    said: str | Callable[[], str] = field(repr=False, compare=False)
    level: Fraction
    fixed: Any = None
    curve: Callable[[int], float] | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """What people read; a curve is followed only when somebody reads it."""
        return self.said if isinstance(self.said, str) else self.said()

    def at(self, size: int) -> float:
        """The error in a group of this many rows: of a quantile as a share of the group, else in the user's units."""
        rows = whole(1, size=size)
        return float(self.fixed) if self.curve is None else self.curve(rows)

    def __str__(self) -> str:
        return self.text


def expect(
    statistic: Statistic,
    laws: Sequence[NoiseLaw],
    domains: Sequence[Domain],
    *,
    level: Fraction = LEVEL,
    mean: Figure | None = None,
    ranks: Figure | None = None,
) -> ExpectedError:
    """The error to expect of a statistic measured with these laws, in the order of `estimate`'s inputs.

    Counts and sums: the exact quantile of the noise. Means: the quantile of the noise of s - m n over n, at the given
    `mean`, or else the geometric middle between a mean at the midpoint and one near a bound, less than a fifth from
    both where count and sum have equal prices. Variances, covariances and correlations: the bar of uniformly spread,
    uncorrelated values. Quantiles: `ranks`, the error in rows that is typical of the mechanism at this level, as a
    share of the group. Modes have no error of this kind.
    """
    kind = statistic.kind
    if kind in (*COUNTS, "histogram"):
        return _fixed(laws[0], Fraction(1), level)
    if kind == "sum":
        return _fixed(laws[0], step(domains[0]), level)
    if kind == "quantile" and ranks is not None:
        return _rank_error(not_negative(ranks=ranks), level)
    if kind == "mean":
        return _mean_error(noise_of(kind, laws, domains), domains[0], level, mean)
    if kind in ("mode", "quantile", *ROBUST):
        return ExpectedError("no figure", level, fixed=float("nan"))
    noise = noise_of(kind, laws, domains)
    curve = partial(_typical, kind, noise, domains, level)
    return ExpectedError(lambda: _leading(curve, noise, level), level, curve=curve)


def _leading(curve: Callable[[int], float], noise: Noise, level: Fraction) -> str:
    """What a curve becomes for large groups; in much larger ones floats would no longer tell errors apart."""
    many = int(_MANY * max(1.0, float(noise.of(0).spread((np.ones(1),), level=level)[0])))
    return f"about ± {figure(curve(many) * many)} / n, for large n"


def _fixed(law: NoiseLaw, worth: Fraction, level: Fraction) -> ExpectedError:
    error = number(law.quantile(1 - level) * worth, worth)
    return ExpectedError(f"± {error:,}", level, fixed=error)


def _rank_error(ranks: Fraction, level: Fraction) -> ExpectedError:
    rows = figure(float(ranks))
    text = f"the rank is off by up to about {rows} rows: {rows} / n of the group"
    return ExpectedError(text, level, curve=lambda size: min(float(ranks) / size, 1.0))


def _mean_error(noise: Noise, domain: Domain, level: Fraction, mean: Figure | None) -> ExpectedError:
    axis, worth = CentredRange.of(numeric(domain)), float(step(domain))
    places = [0.0, _NEAR_BOUND * axis.reach] if mean is None else [_place(domain, mean)] * 2
    reaches = noise.spread((-np.array(places), np.ones(2)), level=level)
    reach = float(np.sqrt(np.prod(reaches)))

    def curve(size: int) -> float:
        errors = [_mean_error_at(place, size, noise, axis, level) for place in places]
        return float(np.sqrt(np.prod(errors))) * worth

    return ExpectedError(f"± {figure(reach * worth)} / n", level, curve=curve)


def _place(domain: Domain, mean: Figure) -> float:
    """A mean as its distance from the midpoint, in steps."""
    axis = CentredRange.of(numeric(domain))
    place = float(exact(mean=mean) / step(domain)) - axis.middle
    if not axis.lower <= place <= axis.upper:
        raise InvalidParameter("mean", mean, allowed=f"in the column's range: {domain}")
    return place


def _mean_error_at(place: float, size: int, noise: Noise, axis: CentredRange, level: Fraction) -> float:
    """The quantile of the error of s / n, moved into the range, in a group of this size."""
    first, second = map(_points, noise.laws)
    count, total = noise.numbers((first[:, None], second[None, :]))
    n, s = size + count, size * place + total
    means = np.clip(s / np.where(n < 1, np.nan, n), axis.lower, axis.upper)
    return float(np.nanquantile(np.abs(means - place), float(level)))


@lru_cache(maxsize=256)
def _points(law: NoiseLaw) -> Floats:
    """Equally likely values of the noise."""
    size = variance(law) ** 0.5
    shape = shape_of(law)
    return np.round(_standard(shape) * size) if size >= _SMOOTH else _quantiles(law)


@lru_cache(maxsize=16)
def _standard(shape: NoiseLaw) -> Floats:
    """Equally likely values of large noise, in standard deviations: its integer steps no longer show."""
    return np.asarray(_quantiles(shape) / variance(shape) ** 0.5)


def _quantiles(law: NoiseLaw) -> Floats:
    half = [law.quantile(Fraction(2 * place + 1, 2 * _POINTS), two_sided=False) for place in range(_POINTS // 2)]
    return np.array([-value for value in half] + half[::-1], dtype=np.float64)


def _typical(kind: str, noise: Noise, domains: Sequence[Domain], level: Fraction, size: int) -> float:
    """The bar where values are spread evenly over their ranges and two columns are not correlated."""
    n = np.array([float(max(size, 2))])
    squares = [n * axis.reach**2 / 3 for axis in (CentredRange.of(numeric(domain)) for domain in domains)]
    nothing = 0 * n
    sums: dict[str, tuple[Floats, ...]] = {
        "variance": (n, nothing, squares[0]),
        "stddev": (n, nothing, squares[0]),
        "covariance": (n, nothing, nothing, nothing),
        "correlation": (n, nothing, nothing, squares[0], squares[-1], nothing),
    }
    error = span(kind, sums[kind], noise, domains, level=level).error[0]
    return float(error) * float(unit(kind, domains))


def figure(value: float) -> str:
    """Three digits, or all digits before the point."""
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
