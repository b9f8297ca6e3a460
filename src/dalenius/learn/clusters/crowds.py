"""Clusters of weighted points that are public: the start that a coarse noisy grid gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def clustered(points: Points, weights: Points, clusters: int) -> Points:
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
