"""From noisy measurements to values with error bars: what is computed after the noise, from released values alone.

Counts and sums have the exact quantile of their noise as bar. Means, variances, standard deviations, covariances and
correlations are the plain formulas on the noisy sums, moved into their public range; their bar reaches to the farther
end of the interval of all values that agree with the noisy sums at the chosen level (see `moments`).
Bars cover the noise that was added and nothing else: neither clamping nor what `most` cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.measuring import moments
from dalenius.measuring.moments import CentredRange, Span, Split
from dalenius.measuring.released import number, numbers
from dalenius.measuring.spreads import Floats, Noise
from dalenius.query.questions import Statistic
from dalenius.query.types import Code, Domain, Number
from dalenius.randomness.laws import NoiseLaw

COUNTS = ("count", "present", "units", "distinct")
ROBUST = ("robust_quantile", "trimmed_mean", "robust_scale", "stable_mode", "stable_quantile", "proposed_quantile")
"""Statistics whose noise, or whether they are released, depends on the values; only `proposed_quantile` has bars."""
LEVEL = Fraction(95, 100)
_FLOATS = ("trimmed_mean", "robust_scale")
_BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class NoisyNumbers:
    """A noisy count or sum for each group: int64, or Python integers (dtype object), with noise of `law`."""

    values: NDArray[Any]
    law: NoiseLaw


@dataclass(frozen=True)
class NoisyQuantiles:
    """A released quantile for each group, and bounds that hold it at the chosen level, all as codes."""

    values: Sequence[Code]
    low: Sequence[Code]
    high: Sequence[Code]


@dataclass(frozen=True)
class NoisyChoices:
    """The code that was chosen for each group, or None; and the law of its noise, where that is public."""

    codes: Sequence[Code]
    law: NoiseLaw | None = None


@dataclass(frozen=True, eq=False)
class NoisyHistogram:
    """Noisy counts, groups by public values (in the order of the column's `codes()` without NULL)."""

    values: NDArray[Any]
    law: NoiseLaw


@dataclass(frozen=True, eq=False)
class NoisySplit:
    """The noisy sums of the parts of a split (see `moments.Split`), groups by parts, each with noise of `law`."""

    values: NDArray[Any]
    law: NoiseLaw


Noisy: TypeAlias = NoisyNumbers | NoisyQuantiles | NoisyChoices | NoisyHistogram | NoisySplit


@dataclass(frozen=True, eq=False)
class Estimates:
    """A value and a bar for each group, in the user's units; None where nothing can be said.

    `noise` and `unit` are there where every value is `unit` times a noisy integer: arithmetic on such values has bars
    from their exact laws.
    """

    values: list[Any]
    errors: list[Any]
    noise: NoisyNumbers | None = None
    unit: Fraction = Fraction(1)
    counts: bool = False
    """Whether the values are counts, which cannot be negative."""
    domain: Domain | None = None
    """What the values are codes of, whatever its bounds; None of floats and histograms."""


def estimate(
    statistic: Statistic, inputs: Sequence[Noisy], domains: Sequence[Domain], *, level: Fraction = LEVEL
) -> Estimates:
    """The values of a statistic and their bars at `level`.

    `inputs` by kind, where sums are of columns less their midpoint (lower + upper) // 2, in steps, except for `sum`:
    counts (n); sum (s); mean (n, s); variance and stddev (n, s, ss); covariance (n, sx, sy, sxy);
    correlation (n, sx, sy, sxx, syy, sxy); mean, variance and stddev also one split of the column;
    quantile, mode, histogram and the robust ones: one input of that name.
    Guarantee: the bar holds the statistic of the bounded rows with probability at least `level`: exactly for counts
    and sums, up to the accuracy of `spreads.spread` for means, and in simulation for the others. Nothing is said
    (None) of a mean where the noisy count is below 1, and of the others where it is below 2.
    """
    if statistic.kind in COUNTS:
        return _numbers(cast(NoisyNumbers, inputs[0]), Fraction(1), level, counts=True)
    if statistic.kind == "sum":
        return _numbers(cast(NoisyNumbers, inputs[0]), step(domains[0]), level)
    if statistic.kind == "quantile":
        return _quantiles(cast(NoisyQuantiles, inputs[0]), domains[0])
    if statistic.kind in ("mode", *ROBUST):
        return _choices(statistic.kind, cast(NoisyChoices, inputs[0]), domains[0], level)
    if statistic.kind == "histogram":
        return _histogram(cast(NoisyHistogram, inputs[0]), domains[0], level)
    powers, noise = _powers(statistic.kind, cast(Sequence[NoisyNumbers | NoisySplit], inputs), domains)
    return _intervals(statistic.kind, powers, noise, domains, level)


def noise_of(kind: str, laws: Sequence[NoiseLaw], domains: Sequence[Domain]) -> Noise:
    """The noise of the count and sums that a mean, variance, ... is computed from: one law each, or that of a split."""
    if len(laws) > 1:
        return Noise(tuple(laws))
    powers = Split.of(numeric(domains[0]), kind).powers()
    return Noise(tuple(laws) * len(powers), tuple(tuple(map(float, row)) for row in powers))


def span(kind: str, sums: Sequence[Floats], noise: Noise, domains: Sequence[Domain], *, level: Fraction) -> Span:
    """A mean (as distance from the midpoint), variance, ... in steps, with its interval; counts must be at least 1 for
    a mean and at least 2 for the others."""
    axes = [CentredRange.of(numeric(domain)) for domain in domains]
    if kind == "mean":
        return moments.mean(sums, noise, axes[0], level=level)
    if kind in ("variance", "stddev"):
        squares = moments.variance(sums, noise, axes[0], level=level)
        return squares if kind == "variance" else Span(*map(np.sqrt, squares))
    if kind == "covariance":
        return moments.covariance(sums, noise, axes, level=level)
    return moments.correlation(sums, noise, axes, level=level)


def numeric(domain: Domain) -> Number:
    """The domain, which must be one of numbers."""
    if not isinstance(domain, Number):
        raise InvalidParameter("column", str(domain), allowed="numbers")
    return domain


def step(domain: Domain) -> Fraction:
    """What one code of a numeric column is worth."""
    return numeric(domain).step


def unit(kind: str, domains: Sequence[Domain]) -> Fraction:
    """What one step of a statistic is worth."""
    worth = {
        "variance": lambda: step(domains[0]) ** 2,
        "covariance": lambda: step(domains[0]) * step(domains[1]),
        "correlation": lambda: Fraction(1),
    }
    return worth.get(kind, lambda: step(domains[0]))()


def _numbers(noisy: NoisyNumbers, unit: Fraction, level: Fraction, *, counts: bool = False) -> Estimates:
    error = number(noisy.law.quantile(1 - level) * unit, unit)
    values = numbers(noisy.values.tolist(), unit)
    return Estimates(values, [error] * len(values), noisy, unit, counts, Number(False, 0, 0, unit))


def _quantiles(noisy: NoisyQuantiles, domain: Domain) -> Estimates:
    ends = list(zip(noisy.values, noisy.low, noisy.high, strict=True))
    errors = [None if None in codes else _distance(domain, *codes) for codes in ends]
    return Estimates([domain.decode(code) for code, _, _ in ends], errors, domain=domain)


def _distance(domain: Domain, code: Any, low: Any, high: Any) -> Any:
    """How far the further end is from a code, in the user's units: a number, or a time."""
    if isinstance(domain, Number):  # whose codes may be shown as other kinds of numbers each
        return domain.decode(max(code - low, high - code))
    return max(domain.decode(code) - domain.decode(low), domain.decode(high) - domain.decode(code))


def _choices(kind: str, noisy: NoisyChoices, domain: Domain, level: Fraction) -> Estimates:
    error = None
    if noisy.law is not None and isinstance(domain, Number):
        error = domain.decode(min(noisy.law.quantile(1 - level), domain.upper - domain.lower))
    values = [_shown(kind, domain, code) for code in noisy.codes]
    errors = [None if value is None else error for value in values]
    return Estimates(values, errors, domain=None if kind in _FLOATS else domain)


def _shown(kind: str, domain: Domain, released: Any) -> Any:
    """A released code, mean or spread, in the user's units; a spread lies between one step and the whole range."""
    if released is None or kind not in _FLOATS:
        return domain.decode(released)
    if kind == "trimmed_mean":
        return float(released * step(domain))
    if released.log2 is None:
        return 0.0
    widest = max(1, numeric(domain).upper - numeric(domain).lower)
    return float(min(2.0 ** float(min(max(released.log2, 0), widest.bit_length())), widest) * step(domain))


def _histogram(noisy: NoisyHistogram, domain: Domain, level: Fraction) -> Estimates:
    names = [domain.decode(code) for code in domain.codes() if code is not None]
    counts = [dict(zip(names, map(int, row), strict=True)) for row in noisy.values]
    return Estimates(counts, [noisy.law.quantile(1 - level)] * len(counts))


def _powers(
    kind: str, inputs: Sequence[NoisyNumbers | NoisySplit], domains: Sequence[Domain]
) -> tuple[Sequence[Floats], Noise]:
    """The noisy count and sums of powers, and their noise."""
    noise = noise_of(kind, [part.law for part in inputs], domains)
    values = [np.asarray(part.values, dtype=np.float64) for part in inputs]
    return noise.numbers(values if noise.mixed is None else list(values[0].T)), noise


def _intervals(
    kind: str, sums: Sequence[Floats], noise: Noise, domains: Sequence[Domain], level: Fraction
) -> Estimates:
    known = np.flatnonzero(sums[0] >= (1 if kind == "mean" else 2))
    found = _in_blocks(kind, [part[known] for part in sums], noise, domains, level)
    worth, middle = float(unit(kind, domains)), CentredRange.of(numeric(domains[0])).middle if kind == "mean" else 0
    values: list[Any] = [None] * len(sums[0])
    errors: list[Any] = [None] * len(sums[0])
    centres, halves = ((found.value + middle) * worth).tolist(), (found.error * worth).tolist()
    for place, centre, half in zip(known.tolist(), centres, halves, strict=True):
        values[place], errors[place] = centre, half
    return Estimates(values, errors)


def _in_blocks(kind: str, sums: Sequence[Floats], noise: Noise, domains: Sequence[Domain], level: Fraction) -> Span:
    """The span of many groups, so few at a time that they stay in fast memory."""
    starts = range(0, max(len(sums[0]), 1), _BLOCK)
    found = [
        span(kind, [part[start : start + _BLOCK] for part in sums], noise, domains, level=level) for start in starts
    ]
    return Span(*map(np.concatenate, zip(*found, strict=True)))
