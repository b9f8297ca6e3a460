"""The box in which all rows lie, and points in it that are chosen without a look at them.

Clusters of weighted points that are public: the start that a coarse noisy grid gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.encoding import Scale
from dalenius.learn.rows import ONE, Integers

FINEST = 2**8
"""How many steps of length the widest column has for each step of the grid of features."""
LEVELS = 32
"""The most levels of a column in a coarse grid."""


@dataclass(frozen=True)
class Box:
    """Declared ranges of the features, in steps of the grid, and how long one step of each is: so that distances are
    those of the columns as they were given, not of what they were scaled to."""

    lower: Integers
    upper: Integers
    lengths: Integers

    @classmethod
    def of(cls, scale: Scale) -> Box:
        lower, upper = (np.rint(scale.scaled(end) * ONE).astype(np.int64) for end in (scale.lower, scale.upper))
        lengths = np.maximum(1, np.rint(FINEST * scale.size / scale.size.max())).astype(np.int64)
        return cls(lower, upper, lengths)

    @property
    def width(self) -> int:
        return len(self.lower)

    @property
    def sides(self) -> Integers:
        """The length of each side."""
        return (self.upper - self.lower) * self.lengths

    def inside(self, points: NDArray[Any]) -> Integers:
        """The nearest points of the grid within the box."""
        return np.asarray(np.clip(np.rint(points), self.lower, self.upper), dtype=np.int64)

    def spread(self, count: int, *, skipped: int = 0) -> Integers:
        """Points that fill the box evenly, however many are taken, and that depend on nothing.

        Reference: Roberts 2018, the generalized golden ratio sequence.
        """
        ratio = 2.0
        for _ in range(60):
            ratio = (1 + ratio) ** (1 / (self.width + 1))
        places = np.arange(skipped + 1, skipped + count + 1)[:, None] * ratio ** -np.arange(1.0, self.width + 1)
        return self.inside(self.lower + (places + 0.5) % 1 * (self.upper - self.lower))


@dataclass(frozen=True)
class Lattice:
    """A coarse grid of points over a box: `levels` of each column, the ends included."""

    box: Box
    levels: tuple[int, ...]

    @classmethod
    def largest(cls, box: Box, cells: float, *, least: int = 3) -> Lattice | None:
        """The finest grid of at most so many points, with about the same distance everywhere; none if the widest
        column would have fewer than `least` levels."""
        for finest in range(LEVELS, least - 1, -1):
            shares = box.sides / box.sides.max()
            levels = tuple(1 + round(share * (finest - 1)) for share in shares.tolist())
            if np.prod([float(level) for level in levels]) <= cells:
                return cls(box, levels)
        return None

    @property
    def size(self) -> int:
        return int(np.prod(self.levels))

    @property
    def points(self) -> NDArray[np.float64]:
        """All points, in steps of the grid of features."""
        columns = [
            np.linspace(low, high, level) if level > 1 else np.array([(low + high) / 2])
            for low, high, level in zip(self.box.lower, self.box.upper, self.levels, strict=True)
        ]
        return np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, self.box.width)

    def indices(self, features: Integers) -> Integers:
        """The point that each row is nearest to: whole numbers only, each row by itself."""
        found = np.zeros(len(features), dtype=np.int64)
        kept = np.clip(features, self.box.lower, self.box.upper)
        for column, level in enumerate(self.levels):
            low, side = self.box.lower[column], self.box.upper[column] - self.box.lower[column]
            found = found * level + (2 * (kept[:, column] - low) * (level - 1) + side) // (2 * side)
        return found


Points = NDArray[np.float64]
_PARTIAL = 5
_ROUNDS = 50
_SWAPS = 2


def squared_distances(points: Points, centres: Points) -> Points:
    """From every point to every centre."""
    found = np.zeros((len(points), len(centres)))
    for column, others in zip(points.T, centres.T, strict=True):
        found += (column[:, None] - others) ** 2
    return found


def cluster(points: Points, weights: Points, clusters: int) -> Points:
    """Centres of few weighted points: one after the other where it helps most, all moved to their means in between.

    Then every centre in turn is put elsewhere if that helps. There is no chance in it, so equal points and weights have
    equal centres.
    """
    between = squared_distances(points, points)
    centres = np.zeros((0, points.shape[1]))
    for _ in range(clusters):
        centres = _added(points, weights, centres, between)
    centres = _settled(points, weights, centres, _ROUNDS)
    for place in [*range(clusters)] * _SWAPS:
        other = _settled(points, weights, _added(points, weights, np.delete(centres, place, axis=0), between), _ROUNDS)
        if cost(points, weights, other) < cost(points, weights, centres):
            centres = other
    return centres


def cost(points: Points, weights: Points, centres: Points) -> float:
    """The sum of squared distances to the nearest centres."""
    return float(weights @ squared_distances(points, centres).min(axis=1))


def _added(points: Points, weights: Points, centres: Points, between: Points) -> Points:
    """One centre more, at the point where it helps most, and all of them moved a little."""
    near = squared_distances(points, centres).min(axis=1, initial=np.inf)
    gain = weights @ np.minimum(near[:, None], between)
    return _settled(points, weights, np.vstack([centres, points[gain.argmin()]]), _PARTIAL)


def _settled(points: Points, weights: Points, centres: Points, rounds: int) -> Points:
    for _ in range(rounds):
        nearest = squared_distances(points, centres).argmin(axis=1)
        sizes = np.bincount(nearest, weights, len(centres))
        sums = np.stack([np.bincount(nearest, weights * column, len(centres)) for column in points.T], axis=1)
        moved = np.where(sizes[:, None] > 0, sums / np.where(sizes > 0, sizes, 1)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres
