"""Marginals: the counts of all combinations of values of some columns, for many groups of columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.release.grid import Columns, Grid
from dalenius.release.workloads.workload import Integers, Workload


class Marginals(Workload):
    """All cells of some marginals. It is held as the list of its groups of columns: nothing is as large as the grid
    unless a single answer over the whole grid is asked for.

    `importance` gives groups a weight in the error that a release tries to make small; 1 where none is given.
    """

    def __init__(
        self, grid: Grid, groups: Iterable[Iterable[str]], *, importance: Mapping[Columns, Number] | None = None
    ) -> None:
        self.grid = grid
        self.groups = tuple(dict.fromkeys(grid.ordered(group) for group in groups))
        if not self.groups or not all(self.groups):
            raise InvalidParameter("groups", self.groups, allowed="one or more groups of one or more columns")
        given = {grid.ordered(group): positive(importance=one) for group, one in (importance or {}).items()}
        unknown = [group for group in given if group not in self.groups]
        if unknown:
            raise InvalidParameter("importance", unknown[0], allowed="for groups of the workload")
        self.importance = {group: given.get(group, positive(importance=1)) for group in self.groups}
        self._ends = list(accumulate(grid.size(group) for group in self.groups))

    @classmethod
    def all(cls, grid: Grid, order: int, *, columns: Iterable[str] | None = None) -> Marginals:
        """Every group of `order` columns."""
        chosen = grid.columns if columns is None else grid.ordered(columns)
        if whole(1, order=order) > len(chosen):
            raise InvalidParameter("order", order, allowed=f"at most {len(chosen)}, the number of columns")
        return cls(grid, combinations(chosen, order))

    @property
    def count(self) -> int:
        return self._ends[-1]

    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        cube = np.asarray(histogram).reshape(self.grid.shape())
        return np.concatenate([marginal_of(cube, self.grid, group).ravel() for group in self.groups])

    def weights(self, question: int) -> Integers:
        group, cell = self._place(question)
        cube = np.zeros(self.grid.shape(), dtype=np.int64)
        values = dict(zip(group, np.unravel_index(cell, self.grid.shape(group)), strict=True))
        cube[tuple(values.get(name, slice(None)) for name in self.grid.columns)] = 1
        return cube.ravel()

    def title(self, question: int) -> str:
        group, cell = self._place(question)
        values = np.unravel_index(cell, self.grid.shape(group))
        return " and ".join(f"{name} = {int(value)}" for name, value in zip(group, values, strict=True))

    def column_norms(self) -> tuple[int, int, int]:
        """A person is in one cell of each marginal."""
        return len(self.groups), len(self.groups), 1

    def _place(self, question: int) -> tuple[Columns, int]:
        if not 0 <= question < self.count:
            raise InvalidParameter("question", question, allowed=f"from 0 to {self.count - 1}")
        group = bisect_right(self._ends, question)
        return self.groups[group], question - (self._ends[group - 1] if group else 0)


def marginal_of(cube: NDArray[Any], grid: Grid, group: Columns) -> NDArray[Any]:
    """A histogram with an axis for each column, added up over the columns that are not in the group."""
    dropped = tuple(axis for axis, name in enumerate(grid.columns) if name not in group)
    found: NDArray[Any] = cube.sum(axis=dropped)
    return found
