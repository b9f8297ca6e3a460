"""Values on a public grid, by rank: runs of grid points whose costs are equal, and the choice of one point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import UnusableValue
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.integers import integer_array
from dalenius.randomness.selection import exponential_runs

_NARROW = 1 << 60  # beyond, NumPy's integers could wrap, and Python's are taken

Numbers: TypeAlias = NDArray[Any]
"""An array of int64, or of Python integers where these do not fit."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The values of one group, as codes in any order, and how often each occurs."""

    values: Numbers
    counts: Numbers


@dataclass(frozen=True)
class Aim:
    """Where to aim: the point up to which `ranks / unit` values lie.

    The cost of a point is how far it is off, times `unit`: max(0, ranks - unit (values up to it), unit (values below
    it) - ranks). With `open_end` the last grid point stands for all that lies beyond, and is never too low.
    """

    ranks: int
    unit: int
    open_end: bool = False


@dataclass(frozen=True, eq=False)
class CountedValues:
    """Different values in rising order with positive counts, on the grid low, ..., high."""

    points: Numbers
    counts: Numbers
    low: int
    high: int

    @classmethod
    def of(cls, group: ValueCounts, *, low: int, high: int) -> CountedValues:
        """The values of a group; those outside of the grid are moved to its nearest end."""
        values, counts = integer_array(group.values), integer_array(group.counts)
        if values.shape != counts.shape or values.ndim != 1 or (counts.size and counts.min() < 0):
            raise UnusableValue("counts", "a wrong list", allowed="a count of 0 or more for each value")
        wide = max(abs(low), abs(high)) >= _NARROW or values.dtype == object or _total(counts) >= _NARROW
        kind, present = object if wide else np.int64, counts > 0
        return _merged(np.clip(values[present].astype(kind), low, high), counts[present].astype(kind), low, high)

    @property
    def size(self) -> int:
        """How many values there are."""
        return _total(self.counts)

    def mirrored(self) -> CountedValues:
        """The same from the other end."""
        return CountedValues(-self.points[::-1], self.counts[::-1], -self.high, -self.low)

    def before(self, point: int) -> CountedValues:
        """What lies below a point, on the grid up to it."""
        end = int(np.searchsorted(self.points, point))
        return CountedValues(self.points[:end], self.counts[:end], self.low, point)

    def up_to(self, point: int) -> CountedValues:
        """What lies below a point or at it, on the grid up to it."""
        end = int(np.searchsorted(self.points, point, side="right"))
        return CountedValues(self.points[:end], self.counts[:end], self.low, point)

    def after(self, point: int) -> CountedValues:
        """What lies above a point, on the grid from it on."""
        start = int(np.searchsorted(self.points, point, side="right"))
        return CountedValues(self.points[start:], self.counts[start:], point, self.high)

    def refined(self, parts: int) -> CountedValues:
        """The same on a finer grid, where each point has become `parts` points and equal values lie apart.

        The j-th of equal values lies in a part that depends on j alone, so one value more is one more here too.
        """
        kind = object if (max(abs(self.low), abs(self.high)) + 1) * parts >= _NARROW else self.points.dtype
        taken = np.minimum(self.counts, parts).astype(np.int64)
        turn = np.arange(int(taken.sum())) - np.repeat(np.cumsum(taken) - taken, taken)
        points = np.repeat(self.points.astype(kind), taken) * parts + _scattered(parts)[turn]
        counts = np.repeat(self.counts // parts, taken) + (turn < np.repeat(self.counts % parts, taken))
        order = np.argsort(points, kind="stable")
        return CountedValues(points[order], counts[order], self.low * parts, self.high * parts + parts - 1)

    def coarse(self, parts: int) -> CountedValues:
        """The way back from `refined`."""
        return _merged(self.points // parts, self.counts, self.low // parts, self.high // parts)

    def runs(self, aim: Aim) -> Runs:
        """All grid points, as runs of equal cost."""
        largest = aim.unit * (self.size + 1) + abs(aim.ranks) + 2 * max(abs(self.low), abs(self.high))
        kind = object if largest >= _NARROW else np.int64
        points, counts = self.points.astype(kind), self.counts.astype(kind)
        reached = np.concatenate([np.zeros(1, dtype=kind), np.cumsum(counts, dtype=kind)])
        edges = np.concatenate([np.array([self.low - 1], dtype=kind), points, np.array([self.high + 1], dtype=kind)])
        between = Runs(edges[:-1] + 1, np.diff(edges) - 1, abs(aim.ranks - aim.unit * reached))
        short, over = aim.ranks - aim.unit * reached[1:], aim.unit * reached[:-1] - aim.ranks
        at_values = Runs(points, np.ones(len(points), dtype=kind), np.maximum(np.maximum(short, over), 0))
        runs = between.and_also(at_values)
        return (
            runs.opened(self.high, max(0, aim.unit * self.before(self.high).size - aim.ranks)) if aim.open_end else runs
        )


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of grid points of equal cost: where they start and how long they are."""

    starts: Numbers
    lengths: Numbers
    costs: Numbers

    def and_also(self, others: Runs) -> Runs:
        """These, where they are not empty, and others."""
        kept = self.lengths > 0
        return Runs(
            np.concatenate([self.starts[kept], others.starts]),
            np.concatenate([self.lengths[kept], others.lengths]),
            np.concatenate([self.costs[kept], others.costs]),
        )

    def opened(self, last: int, cost: int) -> Runs:
        """The same with another cost of the last grid point."""
        shorter = Runs(self.starts, self.lengths - (self.starts + self.lengths > last), self.costs)
        kind = self.starts.dtype
        return shorter.and_also(Runs(*(np.array([figure], dtype=kind) for figure in (last, 1, cost))))

    def pick(self, *, rate: Fraction, entropy: Entropy) -> int:
        """A point with probability proportional to exp(-rate * cost), exactly."""
        place = exponential_runs(-self.costs, self.lengths, rate, entropy)
        return int(self.starts[place]) + entropy.below(int(self.lengths[place]))


@lru_cache(maxsize=8)
def _scattered(parts: int) -> NDArray[np.int64]:
    """The numbers 0, ..., parts - 1 (a power of two) with their binary digits reversed: the order of van der Corput, of
    which every beginning is spread evenly."""
    digits = parts.bit_length() - 1
    return np.array([int(f"{j:0{digits}b}"[::-1], 2) if digits else 0 for j in range(parts)], dtype=np.int64)


def _merged(values: Numbers, counts: Numbers, low: int, high: int) -> CountedValues:
    points, places = np.unique(values, return_inverse=True)
    sums = np.zeros(len(points), dtype=counts.dtype)
    np.add.at(sums, places, counts)
    return CountedValues(points, sums, low, high)


def _total(counts: Numbers) -> int:
    if counts.dtype != object and len(counts) * int(counts.max(initial=0)) < _NARROW:
        return int(counts.sum())
    return sum(counts.tolist())
