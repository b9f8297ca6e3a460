"""Ways to find clusters: from a coarse noisy grid or from evenly spread points, and as in the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.clusters.boxes import Box, Lattice
from dalenius.learn.clusters.crowds import clustered
from dalenius.learn.clusters.rounds import NEAREST, Round, moved, narrowest, with_features, with_nearest
from dalenius.learn.engine_rows import Columns, Count, Grouped, Sum
from dalenius.learn.models import Tick
from dalenius.learn.rows import ONE, Entries, Integers, Summable
from dalenius.learn.terms import among, column, extended, quotient, times, total
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Noise, Purse, deviation
from dalenius.privacy.exact import Exact
from dalenius.query.functions.arguments import integer
from dalenius.query.functions.functions import call
from dalenius.randomness.entropy import Entropy

_FEW = 0.1  # of the mean number of rows of a cluster
_NEAR = 0.3  # of the way from the middle of the box to another point of it

CELL = "c.0"
"""The name of the column that says which point of a grid is nearest."""

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

    def sums(self, box: Box, clusters: int) -> list[Sum]:
        """Sums of every form that are asked for."""
        lattice = Lattice.largest(box, self.cells)
        rounds: list[Sum] = [Round(box, box.spread(clusters), narrowest(box), pure) for pure in (False, True)]
        return [Count(), *rounds, *([Occupied(lattice)] if lattice else [])]

    def found(
        self, rows: Summable, box: Box, clusters: int, purse: Purse, entropy: Entropy, tick: Tick | None
    ) -> Found:
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
        self, rows: Summable, lattice: Lattice, clusters: int, noise: Noise, purse: Purse, entropy: Entropy
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
    rows: Summable,
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


@dataclass(frozen=True)
class Occupied:
    """How many rows are nearest to each point of a grid."""

    lattice: Lattice

    def __call__(self, entries: Entries) -> Integers:
        places = self.lattice.places(entries.features.astype(np.int64))
        return np.bincount(places, entries.counts, self.lattice.size).astype(np.int64)

    def asked(self, columns: Columns) -> list[Grouped]:
        """The same of rows in an engine: for each column the nearest level, all of them as one number."""
        box, levels = self.lattice.box, self.lattice.levels
        features, below = with_features(box, columns), np.cumprod([1, *levels[:0:-1]])[::-1].tolist()
        parts = []
        for place, (level, weight) in enumerate(zip(levels, below, strict=True)):
            low, side = int(box.lower[place]), int(box.upper[place] - box.lower[place])
            steps = times(call("subtract", column(features, f"f.{place}"), integer(low)), 2 * (level - 1))
            parts.append(times(quotient(call("add", steps, integer(side)), 2 * side), weight))
        return [Grouped(extended(features, {CELL: among(total(parts), self.lattice.size)}, kept=()), (CELL,))]

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return found[0][:, 0]


def occupied(rows: Summable, lattice: Lattice) -> Exact[Integers]:
    """How many rows are nearest to each point of a grid, sealed. A row is counted once."""
    return rows.summed(Occupied(lattice), l2_squared=1, l1=1)


@dataclass(frozen=True)
class Lloyd:
    """As in the documents: evenly spread centres; in every round half of the price for counts, half for sums of rows.
    A cluster whose noisy count is below 1 starts again elsewhere.

    Textbook: S14.5. Rows are moved into declared bounds, not divided by the largest of them; the first centres and the
    number of rounds do not depend on rows; under `replace` everything moves twice as far.
    """

    rounds: int = 7

    def sums(self, box: Box, clusters: int) -> list[Sum]:
        """Sums of every form that are asked for."""
        return [Members(box, box.spread(clusters))]

    def found(
        self, rows: Summable, box: Box, clusters: int, purse: Purse, entropy: Entropy, tick: Tick | None
    ) -> Found:
        centres, part = box.spread(clusters), purse.equal(2 * self.rounds)
        sizes = np.zeros(clusters)
        for done in range(self.rounds):
            counts, sums = totals(rows, box, centres)
            sizes = measure(purse.noise(part, counts.sensitivity), counts, purse.allowance, entropy).astype(np.float64)
            added = measure(purse.noise(part, sums.sensitivity), sums, purse.allowance, entropy).astype(np.float64)
            again = box.spread(clusters, skipped=(done + 1) * clusters)
            means = added / np.maximum(sizes, 1.0)[:, None]
            centres = np.where((sizes < 1)[:, None], again, box.inside(means))
            if tick:
                tick(100 * (done + 1) / self.rounds)
        return centres, np.maximum(sizes, 0.0)


@dataclass(frozen=True)
class Members:
    """For each cluster how many rows are nearest to its centre, and then what these rows add up to."""

    box: Box
    centres: Integers

    def __call__(self, entries: Entries) -> Integers:
        features = entries.features.astype(np.int64)
        nearest = Round(self.box, self.centres, 1, False).nearest(features)
        parts = np.column_stack([np.ones(len(features), dtype=np.int64), features]) * entries.counts[:, None]
        sums = [np.bincount(nearest, column, len(self.centres)) for column in parts.T]
        return np.stack(sums, axis=1).astype(np.int64)

    def asked(self, columns: Columns) -> list[Grouped]:
        near = with_nearest(self.box, self.centres, columns)
        features = tuple(column(near, f"f.{place}") for place in range(self.box.width))
        return [Grouped(near, (NEAREST,), features)]

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return found[0]


def totals(rows: Summable, box: Box, centres: Integers) -> tuple[Exact[Integers], Exact[Integers]]:
    """The sealed counts of clusters, and the sealed sums of their rows."""
    members, once = Members(box, centres), rows.change(l2_squared=1, l1=1)
    both = rows.summed(members, l2_squared=rows.norm_squared + 1, l1=ONE * rows.width + 1)
    added = rows.change(l2_squared=rows.norm_squared, l1=ONE * rows.width)
    return (
        both.map(lambda found: found[:, 0], sensitivity=once),
        both.map(lambda found: found[:, 1:], sensitivity=added),
    )
