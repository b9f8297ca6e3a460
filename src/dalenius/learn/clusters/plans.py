"""Ways to find clusters: from a coarse noisy grid or from evenly spread points, and as in the documents.

One round of k-means: every row goes to its nearest centre, and noisy counts and sums say where centres move.

A row adds to one cluster alone: to its count, and to its sum the way from the centre to the row, shortened to a public
radius. That is less than the row itself, so the noise is smaller than if rows were added up.
Textbook: S14.5 (which adds the rows up, and splits what may be lost equally between counts and sums).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.clusters.boxes import FINEST, Box, Lattice, cluster
from dalenius.learn.engine_rows import Columns, Grouped, RowCount, Sum
from dalenius.learn.models import Tick
from dalenius.learn.rows import ONE, Entries, Integers, Summable, product
from dalenius.learn.terms import among, by_number, by_value, clip, column, extended, quotient, times, total
from dalenius.mechanisms.budget_parts import BudgetPart, Noise, deviation
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.query.expressions import Expression
from dalenius.query.functions.arguments import integer
from dalenius.query.functions.functions import call
from dalenius.query.plan.relations import Relation
from dalenius.randomness.entropy import Entropy

NEAREST = "n.0"
"""The name of the column that says which centre is nearest."""
_FINENESS = 16  # ways are shortened by no more than such a part too much
_NARROWEST = 100  # the radius is never below this part of the largest
_COUNTING = 4  # a row counts as a fourth of the radius: sums need the precision, counts do not
_HEAVIEST = 2**20  # sums of 2^28 rows stay below 2^53
_FAINT = 4.0  # so many deviations of the noise, shared by its rows, are as far as a cluster moves half its way


@dataclass(frozen=True)
class ClusterRound:
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

    @property
    def limits(self) -> Integers:
        """The radius, and lengths beyond it, each about a sixteenth more than the one before, up to the longest way."""
        sides = [int(side) for side in self.box.sides]
        longest = sum(sides) if self.pure else isqrt(sum(side * side for side in sides)) + 1
        found = [self.radius]
        while found[-1] < longest:
            found.append(found[-1] + found[-1] // _FINENESS + 1)
        return np.array(found, dtype=np.int64)

    def __call__(self, entries: Entries) -> Integers:
        return self.summed(entries)

    def summed(self, entries: Entries) -> Integers:
        """For each cluster its count and its sum, of some entries."""
        features = np.clip(entries.features.astype(np.int64), self.box.lower, self.box.upper)
        nearest = self.nearest(features)
        ways = shortened((features - self.centres[nearest]) * self.box.lengths, self.limits, self.pure)
        parts = np.column_stack([np.full(len(ways), self.counting), ways]) * entries.counts[:, None]
        # Whole numbers below 2^53 in all, so float64 adds them exactly.
        sums = [np.bincount(nearest, column, len(self.centres)) for column in parts.T]
        return np.stack(sums, axis=1).astype(np.int64)

    def asked(self, columns: Columns) -> list[Grouped]:
        """The same of rows in an engine: the way from the nearest centre, how long it is, and what shortens it."""
        near = with_nearest(self.box, self.centres, columns)
        ways = extended(near, {
            f"w.{place}": times(call("subtract", column(near, f"f.{place}"), by_number(column(near, NEAREST), centre)),
                                length)
            for place, (centre, length) in enumerate(zip(self.centres.T.tolist(), self.box.lengths.tolist(),
                                                         strict=True))
        }, kept=[NEAREST])  # fmt: skip
        every = [column(ways, f"w.{place}") for place in range(self.box.width)]
        long = extended(ways, {"l.0": total([call("abs", way) if self.pure else call("multiply", way, way)
                                             for way in every])})  # fmt: skip
        limits, power = self.limits.tolist(), 1 if self.pure else 2
        upto = [(call("less_equal", column(long, "l.0"), integer(limit**power)), integer(limit)) for limit in limits]
        divisor = call("case", *(part for pair in upto for part in pair), integer(limits[-1]))
        cut = extended(long, {"d.0": divisor}, kept=[NEAREST, *(way.name for way in every)])
        shorter = [
            call("multiply", call("sign", way),
                 call("floor_divide", times(call("abs", way), self.radius), column(cut, "d.0")))
            for way in every
        ]  # fmt: skip
        return [Grouped(cut, (NEAREST,), tuple(shorter))]

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return np.asarray(found[0] * np.array([self.counting, *[1] * self.box.width]))

    def of(self, rows: Summable) -> Exact[Integers]:
        """The sealed counts and sums.

        Guarantee: a row adds `counting` to one count and a way no longer than the radius to one sum.
        """
        straight = isqrt(self.radius**2 * self.box.width - 1) + 1  # how long the steps of a way can be together
        return rows.summed(
            self,
            l2_squared=self.counting**2 + self.radius**2,
            l1=self.counting + (self.radius if self.pure else straight),
        )


def shortened(ways: Integers, limits: Integers, pure: bool) -> Integers:
    """Ways that are no longer than the first of these limits, the radius; longer ones keep their direction.

    Proof: a way that is no longer than a limit is multiplied by radius / limit and cut towards 0. The last limit is as
    long as any way; a way within the radius stays as it is. There is no root in it, so that an engine can do the same.
    """
    lengths = np.abs(ways).sum(axis=1) if pure else (ways**2).sum(axis=1)
    places = np.searchsorted(limits if pure else limits**2, lengths)
    divisors = limits[np.minimum(places, len(limits) - 1)]
    return np.asarray(np.sign(ways) * (np.abs(ways) * limits[0] // divisors[:, None]))


def with_features(box: Box, columns: Columns) -> Relation:
    """Rows in an engine with every feature as a column of its own, moved into the box."""
    found: dict[str, Expression] = {}
    for key, axis in columns.keys.items():
        places = range(box.width)[columns.features(key)]
        for place in places:
            lower, upper = int(box.lower[place]), int(box.upper[place])
            here = column(columns.relation, key)
            indicator = [min(max(ONE * (place == other), lower), upper) for other in places]
            text = key in columns.texts
            found[f"f.{place}"] = by_value(axis, here, indicator) if text else clip(here, lower, upper)
    return extended(columns.relation, found, kept=())


def with_nearest(box: Box, centres: Integers, columns: Columns) -> Relation:
    """Rows in an engine with their features and the place of the nearest centre: the first of them where there are
    several, because scores are told apart by their places."""
    features, weighted, number = with_features(box, columns), centres * box.lengths**2, len(centres)
    scores = {}
    for place, weights in enumerate(weighted.tolist()):
        parts = [times(column(features, f"f.{each}"), -2 * weight) for each, weight in enumerate(weights)]
        score = call("add", total(parts), integer(int((centres[place] * weighted[place]).sum())))
        scores[f"e.{place}"] = call("add", times(score, number), integer(place))
    scored = extended(features, scores)
    least = call("least", *(column(scored, name) for name in scores))
    return extended(scored, {NEAREST: among(call("modulo", least, integer(number)), number)}, kept=features.schema)


def moved(
    rows: Summable, box: Box, centres: Integers, part: Fraction, budget_part: BudgetPart, entropy: Entropy
) -> tuple[Integers, NDArray[np.float64]]:
    """Where centres are after one round that costs a share of the budget part, and how many rows each has, about.

    A cluster whose noisy count is not above 0 stays where it is.
    """
    radius = typical_spacing(box, centres)
    step = ClusterRound(box, centres, isqrt(radius**2 * box.width) if budget_part.pure else radius, budget_part.pure)
    exact = step.of(rows)
    noise = budget_part.noise(part, exact.sensitivity)
    found = measure(noise, exact, budget_part.allowance, entropy).astype(np.float64)
    sizes = np.maximum(found[:, 0] / step.counting, 0.0)
    faint = (_FAINT * deviation(noise) / step.radius) ** 2
    ways = found[:, 1:] * (sizes / (sizes**2 + faint))[:, None]
    lengths = np.sqrt((ways**2).sum(axis=1))
    ways *= np.minimum(1.0, radius / np.maximum(lengths, 1e-9))[:, None]
    return box.inside(centres + ways / box.lengths), sizes


def typical_spacing(box: Box, centres: Integers) -> int:
    """The mean distance from a centre to the next one, in lengths of the box; no more than half of its diagonal."""
    half = _half_diagonal(box)
    if len(centres) == 1:
        return half
    placed = (centres * box.lengths).astype(np.float64)
    between = np.sqrt(((placed[:, None] - placed[None]) ** 2).sum(axis=2))
    np.fill_diagonal(between, np.inf)
    return min(half, max(narrowest(box), ceil(float(between.min(axis=1).mean()))))


def narrowest(box: Box) -> int:
    """The least radius that there is."""
    return _half_diagonal(box) // _NARROWEST


def _half_diagonal(box: Box) -> int:
    return ceil(sqrt((box.sides.astype(np.float64) ** 2).sum()) / 2)


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
        rounds: list[Sum] = [ClusterRound(box, box.spread(clusters), narrowest(box), pure) for pure in (False, True)]
        return [RowCount(), *rounds, *([Occupied(lattice)] if lattice else [])]

    def found(
        self, rows: Summable, box: Box, clusters: int, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None
    ) -> Found:
        exact = rows.count()
        noise = budget_part.noise(budget_part.equal(1, share=self.counting), exact.sensitivity)
        (count,) = measure(noise, exact, budget_part.allowance, entropy)
        counter = budget_part.noise(budget_part.equal(1, share=self.grid), rows.change(l2_squared=1, l1=1))
        lattice = Lattice.largest(box, min(self.cells, self.rows_each * max(1, int(count)) / deviation(counter)))
        if lattice is None:
            centres = box.spread(clusters)
            return rounded(
                rows, box, centres, self.rounds_from_spread, budget_part, entropy, tick, filling=self.filling
            )
        centres = self._start(rows, lattice, clusters, counter, budget_part, entropy)
        return rounded(rows, box, centres, self.rounds, budget_part, entropy, tick)

    def _start(
        self, rows: Summable, lattice: Lattice, clusters: int, noise: Noise, budget_part: BudgetPart, entropy: Entropy
    ) -> Integers:
        """Centres of the points of a grid, weighted by their noisy counts."""
        box = lattice.box
        counts = measure(noise, occupied(rows, lattice), budget_part.allowance, entropy).astype(np.float64)
        clear = counts > self.clear * deviation(noise)
        if clear.sum() < clusters:
            return box.spread(clusters)
        centres = cluster(lattice.points[clear] * box.lengths, counts[clear], clusters)
        return box.inside(centres / box.lengths)


def rounded(
    rows: Summable,
    box: Box,
    centres: Integers,
    rounds: int,
    budget_part: BudgetPart,
    entropy: Entropy,
    tick: Tick | None,
    *,
    filling: int = 0,
) -> Found:
    """Centres after some rounds that cost the same each, and all that is left together; in the first `filling` of them
    clusters of few rows are put to better use."""
    part, sizes = budget_part.equal(rounds), np.zeros(len(centres))
    for done in range(rounds):
        centres, sizes = moved(rows, box, centres, part, budget_part, entropy)
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
        places = self.lattice.indices(entries.features.astype(np.int64))
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
        self, rows: Summable, box: Box, clusters: int, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None
    ) -> Found:
        centres, part = box.spread(clusters), budget_part.equal(2 * self.rounds)
        sizes = np.zeros(clusters)
        for done in range(self.rounds):
            counts, sums = totals(rows, box, centres)
            sizes = measure(budget_part.noise(part, counts.sensitivity), counts, budget_part.allowance, entropy).astype(
                np.float64
            )
            added = measure(budget_part.noise(part, sums.sensitivity), sums, budget_part.allowance, entropy).astype(
                np.float64
            )
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
        nearest = ClusterRound(self.box, self.centres, 1, False).nearest(features)
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
