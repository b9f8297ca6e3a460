"""Ways to find clusters: from a coarse noisy grid or from evenly spread points, and as in the documents."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.clusters.boxes import Box, Lattice
from dalenius.learn.clusters.crowds import clustered
from dalenius.learn.clusters.rounds import Round, moved
from dalenius.learn.models import Tick
from dalenius.learn.rows import ONE, Entries, Integers, Rows
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Noise, Purse, deviation
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy

_FEW = 0.1  # of the mean number of rows of a cluster
_NEAR = 0.3  # of the way from the middle of the box to another point of it

Found = tuple[Integers, NDArray[np.float64]]
"""Centres on the grid of features, and about how many rows each has."""


@dataclass(frozen=True)
class Seeded:
    """Start from a coarse grid with noisy counts, or from evenly spread points where a grid would be too large; then
    few rounds of moves. All of it is public and fixed before anything is read.

    `counting` finds out how many rows there are; the grid has so many points that a row and a half for each would be
    as much as the noise, and at most `cells`; `grid` is its part of the price. Points whose count is not `clear`
    deviations of the noise above 0 are left out. After spread points there are more rounds, and in the first `filling`
    of them clusters of few rows are moved to where many are.
    """

    counting: Fraction = Fraction(1, 50)
    grid: Fraction = Fraction(3, 5)
    cells: int = 2048
    rows_each: float = 1.5
    clear: float = 2.5
    rounds: int = 3
    rounds_from_spread: int = 10
    filling: int = 7

    def found(self, rows: Rows, box: Box, clusters: int, purse: Purse, entropy: Entropy, tick: Tick | None) -> Found:
        exact = rows.count()
        noise = purse.noise(purse.equal(1, share=self.counting), exact.sensitivity)
        (count,) = measure(noise, exact, purse.allowance, entropy)
        counter = purse.noise(purse.equal(1, share=self.grid), rows.change(l2_squared=1, l1=1))
        lattice = Lattice.largest(box, min(self.cells, self.rows_each * max(1, int(count)) / deviation(counter)))
        if lattice is None:
            centres = box.spread(clusters)
            return rounded(rows, box, centres, self.rounds_from_spread, purse, entropy, tick, filling=self.filling)
        centres = self._start(rows, lattice, clusters, counter, purse, entropy)
        return rounded(rows, box, centres, self.rounds, purse, entropy, tick)

    def _start(
        self, rows: Rows, lattice: Lattice, clusters: int, noise: Noise, purse: Purse, entropy: Entropy
    ) -> Integers:
        """Centres of the points of a grid, weighted by their noisy counts."""
        box = lattice.box
        counts = measure(noise, occupied(rows, lattice), purse.allowance, entropy).astype(np.float64)
        clear = counts > self.clear * deviation(noise)
        if clear.sum() < clusters:
            return box.spread(clusters)
        centres = clustered(lattice.points[clear] * box.lengths, counts[clear], clusters)
        return box.inside(centres / box.lengths)


def rounded(
    rows: Rows,
    box: Box,
    centres: Integers,
    rounds: int,
    purse: Purse,
    entropy: Entropy,
    tick: Tick | None,
    *,
    filling: int = 0,
) -> Found:
    """Centres after some rounds that cost the same each, and all that is left together; in the first `filling` of them
    clusters of few rows are put to better use."""
    part, sizes = purse.equal(rounds), np.zeros(len(centres))
    for done in range(rounds):
        centres, sizes = moved(rows, box, centres, part, purse, entropy)
        if done < filling:
            centres = filled(box, centres, sizes, done)
        if tick:
            tick(100 * (done + 1) / rounds)
    return centres, sizes


def filled(box: Box, centres: Integers, sizes: NDArray[np.float64], done: int) -> Integers:
    """Centres of clusters with few rows, as noisy counts tell, moved next to those of clusters with many."""
    centres, sizes = centres.copy(), sizes.copy()
    directions = box.spread(len(centres), skipped=done * len(centres)) - (box.lower + box.upper) / 2
    for place in np.flatnonzero(sizes < _FEW * sizes.mean()):
        largest = int(sizes.argmax())
        centres[place] = box.inside(centres[largest] + _NEAR * directions[place])
        sizes[place] = sizes[largest] = sizes[largest] / 2
    return centres


def occupied(rows: Rows, lattice: Lattice) -> Exact[Integers]:
    """How many rows are nearest to each point of a grid, sealed. A row is counted once."""

    def counted(entries: Entries) -> Integers:
        places = lattice.places(entries.features.astype(np.int64))
        return np.bincount(places, entries.counts, lattice.size).astype(np.int64)

    return rows.summed(counted, l2_squared=1, l1=1)


@dataclass(frozen=True)
class Lloyd:
    """As in the documents: evenly spread centres; in every round half of the price for counts, half for sums of rows.
    A cluster whose noisy count is below 1 starts again elsewhere.

    Textbook: S14.5. Rows are moved into declared bounds, not divided by the largest of them; the first centres and the
    number of rounds do not depend on rows; under `replace` everything moves twice as far.
    """

    rounds: int = 7

    def found(self, rows: Rows, box: Box, clusters: int, purse: Purse, entropy: Entropy, tick: Tick | None) -> Found:
        centres, part = box.spread(clusters), purse.equal(2 * self.rounds)
        sizes = np.zeros(clusters)
        for done in range(self.rounds):
            counts, sums = totals(rows, box, centres)
            sizes = measure(purse.noise(part, counts.sensitivity), counts, purse.allowance, entropy).astype(np.float64)
            added = measure(purse.noise(part, sums.sensitivity), sums, purse.allowance, entropy)
            again = box.spread(clusters, skipped=(done + 1) * clusters)
            means = added / np.maximum(sizes, 1.0)[:, None]
            centres = np.where((sizes < 1)[:, None], again, box.inside(means))
            if tick:
                tick(100 * (done + 1) / self.rounds)
        return centres, np.maximum(sizes, 0.0)


def totals(rows: Rows, box: Box, centres: Integers) -> tuple[Exact[Integers], Exact[Integers]]:
    """The sealed counts of clusters, and the sealed sums of their rows."""
    step = Round(box, centres, 1, False)

    def counts(entries: Entries) -> Integers:
        nearest = step.nearest(entries.features.astype(np.int64))
        return np.bincount(nearest, entries.counts, len(centres)).astype(np.int64)

    def sums(entries: Entries) -> Integers:
        features = entries.features.astype(np.int64)
        nearest, parts = step.nearest(features), features * entries.counts[:, None]
        return np.stack([np.bincount(nearest, column, len(centres)) for column in parts.T], axis=1).astype(np.int64)

    return (
        rows.summed(counts, l2_squared=1, l1=1),
        rows.summed(sums, l2_squared=rows.norm_squared, l1=ONE * rows.width),
    )
