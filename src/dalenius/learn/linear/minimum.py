"""The minimum of a summed loss with a ridge and a tilt, found in floats and certified in whole numbers.

Guarantee: J(w) = (sum of losses) + ridge/2 |w|^2 + tilt . w is strongly convex, so a point where its gradient is at
most g long lies within g / ridge of the minimum. The gradient is computed in whole numbers, and what is rounded is
bounded and counted in: however the point was found, the distance is proved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.linear.losses_piecewise import MARGIN_BITS, REACH, SLOPE_BITS, Curve
from dalenius.learn.rows import ONE, Entries, Integers

FINE_BITS = 48
"""Weights are whole numbers of 2^-48 here."""
TILT_BITS = 40
"""Tilts are whole numbers of 2^-40."""
RIDGE_BITS = 12
"""Ridges are whole numbers of 2^-12."""
NEAR_BITS = 22
"""A point is certified to lie within 2^-22 of the minimum."""

Floats = NDArray[np.float64]

_UNIT_BITS = SLOPE_BITS + ONE.bit_length() - 1  # gradients are whole numbers of 2^-60
_LOW_BITS = 30
_HEAVIEST = 1 << (FINE_BITS + 14)
_DIGIT_BITS = 20
_EXACT = 1 << 53
_TRIES = 200
_HALVINGS = 80
_SOME = 8  # one in so many rows is enough to begin with


@dataclass(frozen=True, eq=False)
class RowCounts(Mapping[tuple[bytes, int], int]):
    """Rows as what a neighbour step changes: how many rows there are with these features and this target."""

    entries: Entries

    @cached_property
    def _counted(self) -> Counter[tuple[bytes, int]]:
        found: Counter[tuple[bytes, int]] = Counter()
        targets, counts = self.entries.target.tolist(), self.entries.counts.tolist()
        for row, target, count in zip(self.entries.features, targets, counts, strict=True):
            found[row.tobytes(), target] += count
        return found

    def __getitem__(self, key: tuple[bytes, int]) -> int:
        return self._counted[key]

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        return iter(self._counted)

    def __len__(self) -> int:
        return len(self._counted)


@dataclass(frozen=True)
class Tilted:
    """An objective: losses of the margins of one label against all others, or of residuals where there is no label; a
    ridge, a tilt, and penalties: by how much the ridge is larger along each weight, in steps of 2^-12, if at all. Tilts
    and ridges are whole numbers of any size."""

    bend: Curve
    label: int | None
    ridge: Fraction
    tilt: NDArray[Any]
    penalties: tuple[int, ...] = ()

    @property
    def ridges(self) -> list[int]:
        """The ridge along each weight, in steps of 2^-12."""
        least = int(self.ridge * (1 << RIDGE_BITS))
        return [least + more for more in self.penalties or (0,) * len(self.tilt)]

    def minimum(self, entries: Entries, *, norm_squared: int) -> Integers:
        """A point within 2^-22 of the minimum, in steps of 2^-48, where no row may be longer than the norm."""
        facts = SignedRows.of(entries, self.label)
        if facts.longest_squared > norm_squared:
            raise ValueError("a row is longer than declared")
        return Search(self, facts).found()


@dataclass(frozen=True)
class SignedRows:
    """Rows with the sign of their label in their features, as floats that hold whole numbers of steps; and what is
    taken from a score to get the margin: the target where there is no label, or else 0."""

    features: Floats
    counts: Integers
    targets: Integers

    @classmethod
    def of(cls, entries: Entries, label: int | None) -> SignedRows:
        if label is None:
            return cls(entries.features.astype(np.float64), entries.counts, np.clip(entries.target, -ONE, ONE))
        signs = np.where(entries.target == label, 1.0, -1.0)
        features = np.asarray(entries.features * signs[:, None], dtype=np.float64)
        return cls(features, entries.counts, np.zeros_like(entries.counts))

    def some(self, one_in: int) -> SignedRows:
        """One in so many of the rows, each counted as often."""
        return SignedRows(self.features[::one_in], one_in * self.counts[::one_in], self.targets[::one_in])

    @cached_property
    def short(self) -> NDArray[np.float32]:
        """The same features with fewer bits, which still hold them exactly."""
        return self.features.astype(np.float32)

    @cached_property
    def longest_squared(self) -> int:
        return int((self.features**2).sum(axis=1).max(initial=0))


@dataclass(frozen=True)
class _Place:
    """A point on the grid with, in floats, the gradient and the second derivatives of the rows' losses."""

    point: Integers
    slope: Floats
    curve: Floats


@dataclass
class Search:
    """Newton's method, kept from overshooting, with exact gradients where it counts."""

    objective: Tilted
    facts: SignedRows
    _least: float = inf

    def found(self) -> Integers:
        place = self._at(self._start())
        for _ in range(_TRIES):
            if np.linalg.norm(place.slope) <= self._near:
                slope, certified = self._exactly(place.point, self._certain)
                if certified:
                    return place.point
                place = replace(place, slope=slope)
            place = self._next(place)
        raise ArithmeticError("no minimum was certified")

    def _start(self) -> Integers:
        """Where to begin: where a few steps lead for some of the rows, each counted as often as if it were several."""
        nowhere = np.zeros(self.facts.features.shape[1], dtype=np.int64)
        if len(self.facts.counts) < _SOME * _TRIES:
            return nowhere
        some = Search(self.objective, self.facts.some(_SOME))
        place = some._at(nowhere)
        for _ in range(_SOME):
            place = some._next(place)
        return place.point

    def _at(self, point: Integers) -> _Place:
        return _Place(point, *self._nearly(point / (1 << FINE_BITS)))

    def _nearly(self, weights: Floats) -> tuple[Floats, Floats]:
        """The gradient, and the second derivatives of the rows' losses, in floats."""
        slopes, curves = self.objective.bend.nearly((self.facts.features @ weights - self.facts.targets) / ONE)
        pull = (slopes * self.facts.counts) @ self.facts.features / ONE
        return self._tilt + self._ridges * weights - pull, curves * self.facts.counts

    @cached_property
    def _certain(self) -> Fraction:
        """How long the gradient may be of a point that is near enough."""
        return Fraction(self.objective.ridge) / (1 << NEAR_BITS)

    @property
    def _near(self) -> float:
        return float(self._certain)

    @cached_property
    def _ridges(self) -> Floats:
        return _floats(self.objective.ridges, RIDGE_BITS)

    @cached_property
    def _tilt(self) -> Floats:
        return _floats(self.objective.tilt.tolist(), TILT_BITS)

    def _next(self, place: _Place) -> _Place:
        """A step on: the whole one of Newton where it leaves half of the least slope so far, or else as much of it as
        lowers the objective.

        So it never goes round in circles: the least slope is halved a few dozen times at most, and all other steps go
        down. A step that is so small that floats do not tell where down is, is made as a whole.
        """
        self._least = min(self._least, float(np.linalg.norm(place.slope)))
        for rows in (self.facts.short, self.facts.features):  # half the bits suffice for most directions
            step = self._step(place, rows)
            room = self._room(place.point, step)
            there = self._at(self._moved(place.point, room * step))
            if room == 1 and float(np.linalg.norm(there.slope)) <= max(self._least / 2, self._near):
                return there
        share = self._downhill(place.point, step, room)
        return self._at(self._moved(place.point, share * step)) if share else there

    def _downhill(self, point: Integers, step: Floats, most: float) -> float:
        """How much of a step leads down all the way, and nearly as far as down goes; 0 where that cannot be told.

        The objective is convex, so its slope along a line only rises.
        """
        weights = point / (1 << FINE_BITS)
        margins = (self.facts.features @ weights - self.facts.targets) / ONE
        moves = self.facts.features @ step / ONE
        pulls, linear = moves * self.facts.counts, float((self._tilt + self._ridges * weights) @ step)
        bent = float((self._ridges * step) @ step)

        def falls(share: float) -> bool:
            return linear + share * bent < float(self.objective.bend.nearly(margins + share * moves)[0] @ pulls)

        low, high = 0.0, most
        if falls(high):
            return high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if falls(middle) else (low, middle)
            if high - low <= low / 64:
                break
        return low

    def _room(self, point: Integers, step: Floats) -> float:
        """How much of a step stays within half of the way to where weights end, and no more than all of it."""
        weights, limit = point / (1 << FINE_BITS), _HEAVIEST / 2 / (1 << FINE_BITS)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(step > 0, (limit - weights) / step, np.where(step < 0, (-limit - weights) / step, np.inf))
        return float(min(1.0, shares.min(initial=np.inf) / 2))

    def _step(self, place: _Place, rows: NDArray[Any]) -> Floats:
        """Newton's step, with second derivatives in as many bits as the rows are in."""
        bent = place.curve > 0
        scaled = rows[bent] * np.sqrt(place.curve[bent], dtype=rows.dtype)[:, None]
        hessian = (scaled.T @ scaled).astype(np.float64) / ONE**2
        steep = hessian + np.diag(self._ridges)
        return np.asarray(-np.linalg.solve(steep, place.slope), dtype=np.float64)

    def _moved(self, point: Integers, step: Floats) -> Integers:
        limit = _HEAVIEST // 2
        moved = point + np.rint(np.clip(step * (1 << FINE_BITS), -limit, limit)).astype(np.int64)
        return np.clip(moved, -limit, limit)

    def _exactly(self, point: Integers, near: Fraction) -> tuple[Floats, bool]:
        """The gradient in floats, made of whole numbers, and whether it is certainly at most `near` long.

        A margin is cut by less than 2^-50 and a slope by less than 2^-48; with a curvature of at most 4 a slope is
        wrong by less than 2^-47, and a row's part of the gradient by that times its length. The tilt was rounded down,
        by less than 2^-40 in each coordinate; what is certified is about the tilt before that.
        """
        if int(np.abs(point).max(initial=0)) >= _HEAVIEST or self.objective.bend.curvature > 4:
            raise OverflowError("weights beyond the grid")
        margins = _margins(self.facts.features, point) - self.facts.targets * ((1 << MARGIN_BITS) // ONE)
        slopes = self.objective.bend.steps(margins) * self.facts.counts
        pull = _transposed(self.facts.features, slopes)
        tilt = self.objective.tilt.astype(object) << (_UNIT_BITS - TILT_BITS)
        steep = np.array(self.objective.ridges, dtype=object) << (_UNIT_BITS - RIDGE_BITS - FINE_BITS)
        gradient = tilt + steep * point.astype(object) - pull
        length = isqrt(int((gradient * gradient).sum())) + 1
        cut = int(self.facts.counts.sum()) * (isqrt(self.facts.longest_squared) + 1) << (SLOPE_BITS - 47)
        cut += (isqrt(len(point)) + 1) << (_UNIT_BITS - TILT_BITS)
        return _floats(gradient.tolist(), _UNIT_BITS), length + cut <= near * (1 << _UNIT_BITS)


def _floats(numbers: Sequence[int], bits: int) -> Floats:
    """Whole numbers of 2^-bits, of any size, as the nearest floats."""
    return np.array([number / (1 << bits) for number in numbers], dtype=np.float64)


def _margins(features: Floats, point: Integers) -> Integers:
    """Margins in steps of 2^-50, rounded down, and cut a little beyond the reach of a bend."""
    low_mask = (1 << _LOW_BITS) - 1
    high = _exact_product(features, point >> _LOW_BITS, 1 << (FINE_BITS + 14 - _LOW_BITS))
    low = _exact_product(features, point & low_mask, 1 << _LOW_BITS)
    high, low = high + (low >> _LOW_BITS), low & low_mask
    fine = FINE_BITS + ONE.bit_length() - 1  # a product is a whole number of 2^-60
    farthest = (REACH + 1) << (fine - _LOW_BITS)
    up = _LOW_BITS - (fine - MARGIN_BITS)
    return np.asarray((np.clip(high, -farthest, farthest) << up) + (low >> (fine - MARGIN_BITS)))


def _exact_product(features: Floats, weights: Integers, largest: int) -> Integers:
    """A matrix times a vector, exactly: no partial sum in floats reaches 2^53."""
    piece = max(1, _EXACT // (ONE * largest))
    total = np.zeros(len(features), dtype=np.int64)
    for start in range(0, len(weights), piece):
        part = slice(start, start + piece)
        total += (features[:, part] @ weights[part].astype(np.float64)).astype(np.int64)
    return total


def _transposed(features: Floats, slopes: Integers) -> NDArray[Any]:
    """A transposed matrix times a vector of whole numbers, exactly, as Python's integers."""
    total, sizes = np.zeros(features.shape[1], dtype=object), np.abs(slopes)
    piece = _EXACT // (ONE << _DIGIT_BITS)
    for shift in range(0, int(sizes.max(initial=0)).bit_length(), _DIGIT_BITS):
        digits = np.copysign(sizes >> shift & ((1 << _DIGIT_BITS) - 1), slopes)
        for start in range(0, len(slopes), piece):
            part = slice(start, start + piece)
            total += (digits[part] @ features[part]).astype(np.int64).astype(object) << shift
    return total
