"""One round of k-means: every row goes to its nearest centre, and noisy counts and sums say where centres move.

A row adds to one cluster alone: to its count, and to its sum the way from the centre to the row, shortened to a public
radius. That is less than the row itself, so the noise is smaller than if rows were added up.
Textbook: S14.5 (which adds the rows up, and splits what may be lost equally between counts and sums).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.clusters.boxes import FINEST, Box
from dalenius.learn.exact_sums import product
from dalenius.learn.rows import ONE, Entries, Integers, Rows
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Purse, deviation
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy

_NARROWEST = 100  # the radius is never below this part of the largest
_COUNTING = 4  # a row counts as a fourth of the radius: sums need the precision, counts do not
_HEAVIEST = 2**20  # sums of 2^28 rows stay below 2^53
_FAINT = 4.0  # so many deviations of the noise, shared by its rows, are as far as a cluster moves half its way


@dataclass(frozen=True)
class Round:
    """What a round adds up: the centres and the radius are public, on the grid of features and in lengths of the box.

    Under Laplace noise (`pure`) a way is as long as its steps along the columns together, else as the crow flies.
    """

    box: Box
    centres: Integers
    radius: int
    pure: bool

    @property
    def counting(self) -> int:
        """How much a row adds to the count of its cluster."""
        return min(max(1, self.radius // _COUNTING), _HEAVIEST)

    def nearest(self, features: Integers) -> Integers:
        """The nearest centre of each row, the first of them where there are several: by whole numbers, so by the row
        alone."""
        weighted = self.centres * self.box.lengths**2
        inner = product(features, weighted.T, largest=(ONE * FINEST) ** 2)
        squares = (self.centres * weighted).sum(axis=1)
        return np.asarray((squares - 2 * inner).argmin(axis=1))

    def summed(self, entries: Entries) -> Integers:
        """For each cluster its count and its sum, of some entries."""
        features = np.clip(entries.features.astype(np.int64), self.box.lower, self.box.upper)
        nearest = self.nearest(features)
        ways = shortened((features - self.centres[nearest]) * self.box.lengths, self.radius, self.pure)
        parts = np.column_stack([np.full(len(ways), self.counting), ways]) * entries.counts[:, None]
        # Whole numbers below 2^53 in all, so float64 adds them exactly.
        sums = [np.bincount(nearest, column, len(self.centres)) for column in parts.T]
        return np.stack(sums, axis=1).astype(np.int64)

    def of(self, rows: Rows) -> Exact[Integers]:
        """The sealed counts and sums.

        Guarantee: a row adds `counting` to one count and a way no longer than the radius to one sum.
        """
        straight = isqrt(self.radius**2 * self.box.width - 1) + 1  # how long the steps of a way can be together
        return rows.summed(
            self.summed,
            l2_squared=self.counting**2 + self.radius**2,
            l1=self.counting + (self.radius if self.pure else straight),
        )


def shortened(ways: Integers, radius: int, pure: bool) -> Integers:
    """Ways that are no longer than the radius; longer ones keep their direction."""
    if pure:
        lengths = np.abs(ways).sum(axis=1)
    else:
        # Rounded up: the root of a 64-bit number is below 2^32, so the two roundings of floats miss it by less than 1.
        lengths = np.sqrt((ways**2).sum(axis=1).astype(np.float64)).astype(np.int64) + 2
    shorter = np.abs(ways) * radius // np.maximum(lengths, 1)[:, None]
    return np.where((lengths > radius)[:, None], np.sign(ways) * shorter, ways)


def moved(
    rows: Rows, box: Box, centres: Integers, part: Fraction, purse: Purse, entropy: Entropy
) -> tuple[Integers, NDArray[np.float64]]:
    """Where centres are after one round that costs a part of the purse, and how many rows each has, about.

    A cluster whose noisy count is not above 0 stays where it is.
    """
    radius = typical_spacing(box, centres)
    step = Round(box, centres, isqrt(radius**2 * box.width) if purse.pure else radius, purse.pure)
    exact = step.of(rows)
    noise = purse.noise(part, exact.sensitivity)
    found = measure(noise, exact, purse.allowance, entropy)
    sizes = np.maximum(found[:, 0] / step.counting, 0.0)
    faint = (_FAINT * deviation(noise) / step.radius) ** 2
    ways = found[:, 1:] * (sizes / (sizes**2 + faint))[:, None]
    lengths = np.sqrt((ways**2).sum(axis=1))
    ways *= np.minimum(1.0, radius / np.maximum(lengths, 1e-9))[:, None]
    return box.inside(centres + ways / box.lengths), sizes


def typical_spacing(box: Box, centres: Integers) -> int:
    """The mean distance from a centre to the next one, in lengths of the box; no more than half of its diagonal."""
    half = ceil(sqrt((box.sides.astype(np.float64) ** 2).sum()) / 2)
    if len(centres) == 1:
        return half
    placed = (centres * box.lengths).astype(np.float64)
    between = np.sqrt(((placed[:, None] - placed[None]) ** 2).sum(axis=2))
    np.fill_diagonal(between, np.inf)
    return min(half, max(half // _NARROWEST, ceil(float(between.min(axis=1).mean()))))
