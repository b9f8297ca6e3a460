"""Ranges of one ordered column: how many people lie between two values, and up to each value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.release.grid import Grid
from dalenius.release.workloads.workload import Integers, Workload


class Ranges(Workload):
    """Some ranges [first, last] of the values of a one-column grid, both ends included."""

    def __init__(self, grid: Grid, ranges: Iterable[tuple[int, int]] | NDArray[np.int64]) -> None:
        self.grid = grid
        if len(grid.columns) != 1:
            raise InvalidParameter("columns", len(grid.columns), allowed="one, ordered; see Product for several")
        given = np.asarray(ranges if isinstance(ranges, np.ndarray) else list(ranges), dtype=np.int64).reshape(-1, 2)
        self.first, self.last = given[:, 0], given[:, 1]
        if not len(given) or (self.first < 0).any() or (self.first > self.last).any() or self.last.max() >= grid.cells:
            raise InvalidParameter("ranges", "others", allowed=f"0 <= first <= last < {grid.cells}, and at least one")

    @classmethod
    def all(cls, grid: Grid) -> Ranges:
        """Every range."""
        return cls(grid, np.stack(np.triu_indices(grid.cells), axis=1))

    @classmethod
    def prefixes(cls, grid: Grid) -> Ranges:
        """For each value, how many people are at most there: the cumulative distribution."""
        return cls(grid, [(0, last) for last in range(grid.cells)])

    @property
    def count(self) -> int:
        return len(self.first)

    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        sums = np.concatenate([[0], np.cumsum(histogram)])
        found: NDArray[Any] = sums[self.last + 1] - sums[self.first]
        return found

    def weights(self, question: int) -> Integers:
        row = np.zeros(self.grid.cells, dtype=np.int64)
        row[self.first[question] : self.last[question] + 1] = 1
        return row

    def title(self, question: int) -> str:
        return f"{self.grid.columns[0]} from {self.first[question]} to {self.last[question]}"

    def column_norms(self) -> tuple[int, int, int]:
        """The most ranges that one value lies in, by a sweep over their ends."""
        changes = np.zeros(self.grid.cells + 1, dtype=np.int64)
        np.add.at(changes, self.first, 1)
        np.add.at(changes, self.last + 1, -1)
        most = int(np.cumsum(changes).max())
        return most, most, 1
