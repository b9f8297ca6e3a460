"""Exact random choice among candidates with integer scores: no probability is ever a float.

A candidate's weight exp(-rate * gap), where gap is its distance from the best score, is first estimated by a product of
tabulated powers, one for each byte of the gap. The estimate is a filter with a proved margin: IEEE multiplication is
its only float operation, and every decision that falls inside of the margin, as well as the last word on every choice,
is made by certified enclosures of rising precision against random bits that are revealed as they are needed.
The work depends on the number of candidates and not on which of them is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeAlias, overload

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.errors import UnusableValue
from dalenius.privacy.numbers import Number, not_negative, positive
from dalenius.privacy.reals import ball, precise
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import is_below, uniform_below
from dalenius.randomness.integers import integer_array

Scores: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]
Estimates: TypeAlias = NDArray[np.float64]

_FINEST = 30  # an estimate ignores a change of a weight by the factor exp(-2^-30) and less
_NEGLIGIBLE = 45  # exp(-45) < 2^-64: beyond, one estimate serves all weights
_MARGIN = 2.0**-28  # > 2^-30 (the gap's ignored bits) + 2^-49 (five table entries and their products)
_COIN_BITS = 53


@overload
def exponential_weights(
    scores: Scores, rate: Number, entropy: Entropy, base: Sequence[Number] | None = None, size: None = None
) -> int: ...
@overload
def exponential_weights(
    scores: Scores, rate: Number, entropy: Entropy, base: Sequence[Number] | None = None, *, size: int
) -> NDArray[np.int64]: ...
def exponential_weights(
    scores: Scores,
    rate: Number,
    entropy: Entropy,
    base: Sequence[Number] | None = None,
    size: int | None = None,
) -> int | NDArray[np.int64]:
    """An index i with probability exactly proportional to base[i] * exp(rate * scores[i]), once or `size` times over.

    The base is 1 where none is given.

    Proof: a round draws a point of [0, total) uniformly, where the masses that make up the total are not below the
    scaled weights, and keeps the candidate if the point's depth in the candidate's mass is below its exact weight. So
    a round chooses i with probability (weight of i) / total, and rounds that choose nobody are repeated; they are rare
    (below 10^-5 for a million candidates), because the masses are above the weights by the estimate's margin only.
    Reference: McSherry & Talwar 2007, Definition 2; Ilvento 2020 (arXiv:1912.04222) for why weights must be exact.
    Textbook: S2.4, S5.3, S5.4.
    """
    values, speed = integer_scores(scores), positive(rate=rate)
    if base is not None:
        masses, kept = _with_base(values, speed, base)
    else:
        gaps, kept = _gaps(values, values.max()), np.arange(len(values))
        masses = _Masses(_estimates(gaps, speed), partial(_weight, gaps, speed))
    return int(kept[masses.choose(entropy)]) if size is None else kept[masses.choices(size, entropy)]


def exponential_runs(scores: Scores, lengths: NDArray[Any], rate: Number, entropy: Entropy) -> int:
    """An index i with probability exactly proportional to lengths[i] * exp(rate * scores[i]), for whole lengths >= 1.

    As `exponential_weights` with a base, but for many different lengths of any size: they are compared by their powers
    of two, and each such class is measured from its own best score.
    """
    values, speed = integer_scores(scores), positive(rate=rate)
    parts, powers = np.frexp(lengths.astype(np.float64))
    kinds, labels = np.unique(powers, return_inverse=True)
    tops = np.full(len(kinds), values.min(), dtype=values.dtype)
    np.maximum.at(tops, labels, values)
    sizes = [Fraction(2) ** int(kind) for kind in kinds]
    with precise():
        peak = int(tops.max())
        logs = [ball(size).log() + ball(speed * (int(top) - peak)) for size, top in zip(sizes, tops, strict=True)]
        anchor = max(range(len(logs)), key=lambda kind: logs[kind].mid())
        factors = np.array([float((log - logs[anchor]).exp().upper()) for log in logs])
    estimates = _estimates(_gaps(values, tops[labels]), speed) * factors[labels] * parts
    size, top = sizes[anchor], int(tops[anchor])
    return _Masses(
        estimates, lambda i: ball(int(lengths[i]) / size) * ball(speed * (int(values[i]) - top)).exp()
    ).choose(entropy)


def exponential_coins(scores: Scores, rate: Number, entropy: Entropy) -> NDArray[np.bool_]:
    """Independent coins, the i-th heads with probability exactly exp(-rate * (best score - scores[i]))."""
    values, speed = integer_scores(scores), positive(rate=rate)
    gaps = _gaps(values, values.max())
    scaled = _estimates(gaps, speed) * 2.0**_COIN_BITS
    draws = entropy.words(len(values)) >> np.uint64(64 - _COIN_BITS)
    heads: NDArray[np.bool_] = draws + np.uint64(1) <= scaled * (1 - _MARGIN)
    tails = draws >= scaled * (1 + _MARGIN) + 1
    for index in np.flatnonzero(~(heads | tails)).tolist():
        heads[index] = is_below(int(draws[index]), _COIN_BITS, partial(_weight, gaps, speed, index), entropy)
    return heads


def integer_scores(scores: Scores) -> NDArray[Any]:
    """The scores of at least one candidate as an array of int64, or of Python integers where those are too large."""
    if not isinstance(scores, Iterable) or isinstance(scores, str | bytes):
        raise UnusableValue("scores", type(scores), allowed="a list, one score for each candidate")
    values = integer_array(scores if isinstance(scores, np.ndarray) else list(scores))
    if values.ndim != 1:
        raise UnusableValue("scores", f"{values.ndim}-dimensional", allowed="a list, one score for each candidate")
    if not values.size:
        raise UnusableValue(
            "candidates", 0, allowed="1 or more", hint="Name the candidates without looking at the data."
        )
    return values


def _gaps(values: NDArray[Any], best: Any) -> NDArray[Any]:
    """How far each score is below `best`, as uint64 or Python integers."""
    gaps: NDArray[Any] = best - values if values.dtype == object else best.view(np.uint64) - values.view(np.uint64)
    return gaps


def _weight(gaps: NDArray[Any], rate: Fraction, index: int) -> arb:
    return (-ball(rate * int(gaps[index]))).exp()


@dataclass(frozen=True, slots=True)
class _Powers:
    """Tables of exp(-rate * 2^shift * digit * 256^place) for all steps 0, ..., last."""

    shift: int
    last: int
    columns: tuple[Estimates, ...]


@lru_cache(maxsize=64)
def _powers(rate: Fraction) -> _Powers:
    shift = max(0, (rate.denominator // rate.numerator).bit_length() - 1 - _FINEST)
    step = rate * 2**shift
    last = _NEGLIGIBLE // step + 1
    places = range(0, last.bit_length(), 8)
    return _Powers(shift, last, tuple(_column(step * 2**place, min(256, (last >> place) + 1)) for place in places))


def _column(step: Fraction, count: int) -> Estimates:
    with precise(128):
        unit = ball(step)
        return np.array([float((-unit * digit).exp()) for digit in range(count)])


def _estimates(gaps: NDArray[Any], rate: Fraction) -> Estimates:
    """For each gap an estimate e with e (1 - margin) <= exp(-rate * gap) <= e (1 + margin); negligible weights may be
    smaller than that, and differ from e by at most 2^-64."""
    powers = _powers(rate)
    steps = np.minimum(gaps >> powers.shift, powers.last).astype(np.int64)
    result: Estimates = powers.columns[0][steps & 255]
    for place, column in enumerate(powers.columns[1:], start=1):
        result *= column[(steps >> (8 * place)) & 255]
    return result


class _Masses:
    """Candidates of exact weight `weight`, which is at most `estimates` and their margin, side by side on a line."""

    def __init__(self, estimates: Estimates, weight: Callable[[int], arb]) -> None:
        self._weight = weight
        self._bits = 61 - len(estimates).bit_length()  # so that the total fits into 63
        scaled = estimates * 2.0**self._bits
        self._sure = scaled * (1 - _MARGIN)
        self._masses = (scaled * (1 + _MARGIN)).astype(np.uint64) + np.uint64(1)
        self._edges = np.cumsum(self._masses, dtype=np.uint64)

    def choose(self, entropy: Entropy) -> int:
        """An index with probability exactly proportional to the weights."""
        while True:
            point = entropy.below(int(self._edges[-1]))
            index = int(np.searchsorted(self._edges, np.uint64(point), side="right"))
            depth = point - int(self._edges[index] - self._masses[index])
            if self._is_below(depth, index, entropy):
                return index

    def choices(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """As `choose`, many times over."""
        points = uniform_below(int(self._edges[-1]), size, entropy=entropy).astype(np.uint64)
        chosen = np.searchsorted(self._edges, points, side="right")
        depths = points - (self._edges - self._masses)[chosen]
        for place in np.flatnonzero(depths + np.uint64(1) > self._sure[chosen]).tolist():
            if not self._is_below(int(depths[place]), int(chosen[place]), entropy):
                chosen[place] = self.choose(entropy)
        return chosen

    def _is_below(self, depth: int, index: int, entropy: Entropy) -> bool:
        """Whether a point of a mass is below its weight: nearly always surely so, by the estimate and its margin."""
        sure = depth + 1 <= self._sure[index]
        return bool(sure) or is_below(depth, self._bits, partial(self._weight, index), entropy)


def _with_base(values: NDArray[Any], rate: Fraction, base: Sequence[Number]) -> tuple[_Masses, NDArray[np.int64]]:
    """Weights relative to the heaviest one, and whose they are: candidates of base 0 take no part."""
    shares = [not_negative(base=share) for share in base]
    kept = [index for index, share in enumerate(shares) if share]
    if len(shares) != len(values) or not kept:
        raise UnusableValue(
            "base", f"{len(kept)} positive of {len(shares)}", allowed=f"{len(values)} numbers, not all 0"
        )
    number = {share: kind for kind, share in enumerate(dict.fromkeys(shares[index] for index in kept))}
    kinds, labels, scores = list(number), np.array([number[shares[index]] for index in kept]), values[kept]
    tops = np.full(len(kinds), scores.min(), dtype=scores.dtype)
    np.maximum.at(tops, labels, scores)
    anchor = _heaviest(kinds, tops.tolist(), rate)

    def relative(kind: int, score: int) -> arb:
        return ball(kinds[kind] / kinds[anchor]) * ball(rate * (score - int(tops[anchor]))).exp()

    with precise():
        factors = np.array([float(relative(kind, int(top)).upper()) for kind, top in enumerate(tops)])
    estimates = _estimates(_gaps(scores, tops[labels]), rate) * factors[labels]
    return _Masses(estimates, lambda i: relative(int(labels[i]), int(scores[i]))), np.array(kept)


def _heaviest(kinds: list[Fraction], tops: list[int], rate: Fraction) -> int:
    """The kind of base whose best candidate weighs most; a near miss would cost time and not exactness."""
    peak = max(tops)
    with precise():
        return max(
            range(len(kinds)), key=lambda kind: (ball(kinds[kind]).log() + ball(rate * (tops[kind] - peak))).mid()
        )
