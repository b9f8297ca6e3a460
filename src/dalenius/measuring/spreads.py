"""How far sums of independent noise stray, and which values of a ratio agree with what was released.

Everything here sees released values and public laws only, so it costs nothing and may use floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.randomness.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, LaplaceSumLaw, NoiseLaw

Floats: TypeAlias = NDArray[np.float64]

_FINE = 1 << 20  # a scale at which the steps of the integer noise no longer show
_TERMS = (1, 2, 3, 4, 6, 12)
_HALVINGS = 36
_NONE = 1e-300  # a variance that counts as none
_BLUR = 0.3  # a part of this variance, in squared steps of another, blurs that one's steps


@dataclass(frozen=True)
class Noise:
    """The noise of several numbers: independent draws of these laws, one each, unless `mixed` says for each number how
    much of each draw is in it."""

    laws: tuple[NoiseLaw, ...]
    mixed: tuple[tuple[float, ...], ...] | None = None

    def of(self, *places: int) -> Noise:
        """The noise of some of the numbers."""
        if self.mixed is None:
            return Noise(tuple(self.laws[place] for place in places))
        return Noise(self.laws, tuple(self.mixed[place] for place in places))

    def numbers(self, draws: Sequence[Floats]) -> Sequence[Floats]:
        """The noise of each number, given the draws."""
        return draws if self.mixed is None else [_sum(shares, draws) for shares in self.mixed]

    def spread(self, *combined: Sequence[Floats], level: Fraction) -> Floats:
        """How far the sum of weight * number strays (see `spread`), with the largest of these weights for each draw."""
        sizes = [np.abs(np.broadcast_arrays(*self._weights(weights))) for weights in combined]
        return spread(self.laws, list(np.max(np.broadcast_arrays(*sizes), axis=0)), level=level)

    def _weights(self, weights: Sequence[Floats]) -> Sequence[Floats]:
        """What each draw is multiplied by."""
        if self.mixed is None:
            return weights
        return [_sum(shares, weights) for shares in zip(*self.mixed, strict=True)]


def _sum(shares: Sequence[float], numbers: Sequence[Floats]) -> Floats:
    return np.asarray(sum(share * number for share, number in zip(shares, numbers, strict=True)))


def spread(laws: Sequence[NoiseLaw], weights: Sequence[Floats], *, level: Fraction) -> Floats:
    """About the least t with P[|sum of weight * Z| <= t] >= level, for independent Z of these laws; by element.

    Method: the sum's variance and fourth cumulant are exact; the quantile is that of a sum of equal Laplace draws
    with the same two (a normal law where the fourth cumulant is zero). Half a step of the integer noise is added,
    unless other parts blur the steps of the largest one. The tests hold it against exact convolutions: at levels from
    80 % to 95 % the chance of exceeding t is at most 1.1 (1 - level), at 99 % at most 1.2 (1 - level).
    """
    variances, excesses = _figures(tuple(laws))
    sizes = np.abs(np.stack(np.broadcast_arrays(*weights), axis=-1))
    parts = sizes * sizes * variances
    total = np.maximum(parts.sum(axis=-1), _NONE)
    shares = parts / total[..., None]  # squared only now: the square of a tiny total would be zero
    bends, heights = _heights(level)
    return np.asarray(
        np.sqrt(total) * np.interp((shares * shares) @ excesses, bends, heights) + _step(sizes, parts) / 2
    )


def _step(sizes: Floats, parts: Floats) -> Floats:
    """The steps that show in the sum: those of its largest part, or of a finer part that blurs them."""
    coarse = np.take_along_axis(sizes, parts.argmax(axis=-1)[..., None], axis=-1)
    blurs = np.where(parts >= _BLUR * coarse * coarse, sizes, coarse)
    return np.asarray(np.minimum(blurs.min(axis=-1), coarse[..., 0]))


def agreeing(
    top: Floats, bottom: Floats, reach: Callable[[Floats], Floats], *, lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """The least interval that holds every c from `lower` to `upper` with |top - c bottom| <= reach(c); bottom > 0.

    `reach` is asked about both ends at once: it takes rows of values.

    Guarantee: if top and bottom are A and B plus noise, and |noise of top - c noise of bottom| <= reach(c) with
    probability p at c = A / B, then the interval holds A / B with probability at least p: c = A / B is refused only
    if that event fails. Where no c agrees, the one nearest to top / bottom is taken as if it had been measured.
    Reference: Fieller 1954, Some problems in interval estimation.
    """
    start = np.clip(top / bottom, lower, upper)
    nearest = np.where(np.abs(top - start * bottom) > reach(start), start * bottom, top)

    def agrees(c: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.abs(nearest - c * bottom) <= reach(c))

    low, high = _edges(agrees, start, np.stack((lower, upper)))
    return low, high


def _edges(agrees: Callable[[Floats], NDArray[np.bool_]], inside: Floats, outside: Floats) -> Floats:
    """Where agreement ends between points that agree and others that may not."""
    near, far = np.where(agrees(outside), outside, inside), outside
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        good = agrees(middle)
        near, far = np.where(good, middle, near), np.where(good, far, middle)
    return far


@lru_cache(maxsize=1024)
def _figures(laws: tuple[NoiseLaw, ...]) -> tuple[Floats, Floats]:
    """The variances of laws, and their excess kurtoses."""
    return np.array([variance(law) for law in laws]), np.array([_excess(law) for law in laws])


@lru_cache(maxsize=1024)
def variance(law: NoiseLaw) -> float:
    """The variance of the noise."""
    return float(law.variance().mid())


def _excess(law: NoiseLaw) -> float:
    """The excess kurtosis; three, a single Laplace draw's, where it is not known."""
    match law:
        case DiscreteGaussianLaw():
            return 0.0
        case LaplaceSumLaw():
            return 3 / law.terms
    return 3.0


_GAUSSIAN = DiscreteGaussianLaw(_FINE * _FINE)


def shape_of(law: NoiseLaw) -> NoiseLaw:
    """A law of the same shape, so wide that its integer steps do not show."""
    match law:
        case DiscreteGaussianLaw():
            return _GAUSSIAN
        case LaplaceSumLaw():
            return LaplaceSumLaw(Fraction(_FINE), law.terms)
    return DiscreteLaplaceLaw(Fraction(_FINE))


@lru_cache(maxsize=64)
def _heights(level: Fraction) -> tuple[Floats, Floats]:
    """Excess kurtosis, rising from zero, and the quantile of |Z| in standard deviations that goes with it."""
    points = [(0.0, _GAUSSIAN.quantile(1 - level) / _FINE)]
    for terms in reversed(_TERMS):
        law = LaplaceSumLaw(Fraction(_FINE), terms) if terms > 1 else DiscreteLaplaceLaw(Fraction(_FINE))
        points.append((3 / terms, law.quantile(1 - level) / _FINE / float(np.sqrt(2 * terms))))
    bends, heights = np.array(points).T
    return bends, heights
