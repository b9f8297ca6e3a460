"""Values on a public grid, by rank: runs of grid points whose scores are equal, and the choice of one point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import UnusableValue
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.integers import integer_array
from dalenius.randomness.selection import exponential_runs

_NARROW = 1 << 60  # beyond, NumPy's integers could wrap, and Python's are taken

Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The values of one group, as codes in any order, and how often each occurs."""

    values: Numbers
    counts: Numbers


@dataclass(frozen=True, eq=False)
class Aim:
    """Where to aim: the point up to which `ranks / unit` values lie.

    The cost of a point is how far it is off, times `unit`: max(0, ranks - unit (values up to it), unit (values below
    it) - ranks). With `open_end` the last grid point stands for all that lies beyond, and is never too low.
    """

    ranks: int
    unit: int
    open_end: bool = False


@dataclass(frozen=True, eq=False)
class Values:
    """Different values in rising order with positive counts, on the grid low, ..., high."""

    points: Numbers
    counts: Numbers
    low: int
    high: int

    @classmethod
    def of(cls, group: ValueCounts, *, low: int, high: int) -> Values:
        """The values of a group; those outside of the grid are moved to its nearest end."""
        values, counts = integer_array(group.values), integer_array(group.counts)
        if values.shape != counts.shape or values.ndim != 1 or (counts.size and counts.min() < 0):
            raise UnusableValue("counts", "a wrong list", allowed="a count of 0 or more for each value")
        wide = max(abs(low), abs(high)) >= _NARROW or values.dtype == object or _total(counts) >= _NARROW
        kind = object if wide else np.int64
        points, places = np.unique(np.clip(values[counts > 0].astype(kind), low, high), return_inverse=True)
        sums = np.zeros(len(points), dtype=kind)
        np.add.at(sums, places, counts[counts > 0].astype(kind))
        return cls(points, sums, low, high)

    @property
    def size(self) -> int:
        return _total(self.counts)

    def mirrored(self) -> Values:
        """The same from the other end."""
        return Values(-self.points[::-1], self.counts[::-1], -self.high, -self.low)

    def below(self, point: int) -> Values:
        """What lies below a point, on the grid up to it."""
        cut = int(np.searchsorted(self.points, point))
        return Values(self.points[:cut], self.counts[:cut], self.low, point)

    def divided(self, point: int, part: int, parts: int, *, dropping: bool = False) -> tuple[Values, Values]:
        """What lies before a part of a point, and what lies after it; the part itself is dropped or goes to the first.

        Equal values lie in the parts of their point in a fixed order (see `_before`), so one value more raises one of
        the two counts by one, or none of them.
        """
        cut = int(np.searchsorted(self.points, point))
        end = cut + int(cut < len(self.points) and int(self.points[cut]) == point)
        first, second = self.counts[:end].copy(), self.counts[cut:].copy()
        if end > cut:
            count = int(self.counts[cut])
            first[cut] = _until(count, part if dropping else part + 1, parts)
            second[0] = count - _until(count, part + 1, parts)
        return (
            _positive(self.points[:end], first, self.low, point),
            _positive(self.points[cut:], second, point, self.high),
        )

    def runs(self, aim: Aim, *, parts: int = 1) -> Runs:
        """All grid points, each in `parts` parts, as runs of equal cost."""
        largest = aim.unit * (self.size + 1) * parts + abs(aim.ranks)
        kind = object if largest >= _NARROW or self._long(parts) else np.int64
        counts, points = self.counts.astype(kind), self.points.astype(kind)
        up_to = np.cumsum(counts, dtype=kind)
        gap_costs = abs(aim.ranks - aim.unit * np.concatenate([np.zeros(1, dtype=kind), up_to]))
        edges = np.concatenate([np.array([self.low - 1], dtype=kind), points, np.array([self.high + 1], dtype=kind)])
        gaps = Runs(edges[:-1] + 1, (np.diff(edges) - 1) * parts, gap_costs, np.zeros(len(gap_costs), dtype=np.int64))
        inside = _inside(points, counts, up_to - counts, aim, parts)
        return _opened(_joined(gaps, inside), self, aim) if aim.open_end else _joined(gaps, inside)

    def _long(self, parts: int) -> bool:
        return (max(abs(self.low), abs(self.high)) + 1) * 2 * parts >= _NARROW


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of equal cost: where they start, how many parts of points they have, and in which part they start."""

    starts: Numbers
    lengths: Numbers
    costs: Numbers
    parts: Numbers


def pick(runs: Runs, *, rate: Fraction, entropy: Entropy, parts: int = 1) -> tuple[int, int]:
    """A point and a part of it, each with probability proportional to exp(-rate * cost)."""
    place = exponential_runs(-runs.costs, runs.lengths, rate, entropy)
    offset = int(runs.parts[place]) + entropy.below(int(runs.lengths[place]))
    return int(runs.starts[place]) + offset // parts, offset % parts


def _inside(points: Numbers, counts: Numbers, before: Numbers, aim: Aim, parts: int) -> Runs:
    """The points that occur, part by part; a single value lies in the first part, and the others are one run."""
    times = np.where(counts > 1, parts, min(2, parts)).astype(np.int64)
    part = np.arange(int(times.sum()), dtype=np.int64) - np.repeat(np.cumsum(times) - times, times)
    each, start = np.repeat(counts, times), np.repeat(before, times)
    whole, rest, table = each // parts, (each % parts).astype(np.int64), _before(parts)
    low, high = whole * part + table[rest, part], whole * (part + 1) + table[rest, part + 1]
    zero = np.zeros(1, dtype=counts.dtype)
    costs = np.maximum(np.maximum(zero, aim.ranks - aim.unit * (start + high)), aim.unit * (start + low) - aim.ranks)
    lengths = np.where((each == 1) & (part == 1), parts - 1, 1).astype(counts.dtype)
    return Runs(np.repeat(points, times), lengths, costs, part)


@lru_cache(maxsize=8)
def _before(parts: int) -> NDArray[np.int64]:
    """How many of the first r equal values lie before part s, for r < parts, a power of two, and s <= parts.

    The j-th of equal values lies in the part whose binary digits are those of j (modulo parts) in reverse: the order of
    van der Corput, in which values are spread evenly however many there are.
    """
    digits = parts.bit_length() - 1
    places = [int(f"{j:0{digits}b}"[::-1], 2) if digits else 0 for j in range(parts)]
    return np.array([[sum(place < s for place in places[:r]) for s in range(parts + 1)] for r in range(parts)])


def _until(count: int, part: int, parts: int) -> int:
    """How many of `count` equal values lie before a part."""
    return count // parts * part + int(_before(parts)[count % parts, part])


def _joined(first: Runs, second: Runs) -> Runs:
    kept = first.lengths > 0
    return Runs(
        np.concatenate([first.starts[kept], second.starts]),
        np.concatenate([first.lengths[kept], second.lengths]),
        np.concatenate([first.costs[kept], second.costs]),
        np.concatenate([first.parts[kept], second.parts]),
    )


def _opened(runs: Runs, values: Values, aim: Aim) -> Runs:
    """With the last grid point as a run of its own, which is never too low; for whole points only."""
    reaches = runs.starts + runs.lengths > values.high
    shorter = runs.lengths - reaches
    end = max(0, aim.unit * values.below(values.high).size - aim.ranks)
    kept = shorter > 0
    return Runs(
        np.append(runs.starts[kept], values.high),
        np.append(shorter[kept], 1),
        np.append(runs.costs[kept], end),
        np.append(runs.parts[kept], 0),
    )


def _positive(points: Numbers, counts: Numbers, low: int, high: int) -> Values:
    kept = counts > 0
    return Values(points[kept], counts[kept], low, high)


def _total(counts: Numbers) -> int:
    if counts.dtype != object and len(counts) * int(counts.max(initial=0)) < _NARROW:
        return int(counts.sum())
    return sum(counts.tolist())
