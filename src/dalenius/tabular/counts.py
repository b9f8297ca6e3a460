"""People in the cells of a grid, sealed: marginals can be taken of them, and leave only through the one door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.tabular.domains import CellDomain, Columns
from dalenius.tabular.workloads import Marginals

Counts: TypeAlias = NDArray[np.int64]
Result = TypeVar("Result")


class CellCounts:
    """Which cells are occupied and by how many. It lives inside an `Exact`; marginals are computed once each."""

    def __init__(self, grid: CellDomain, places: Counts, counts: Counts) -> None:
        self._grid, self._places, self._counts = grid, places, counts
        self._known: dict[Columns, Counts] = {}

    def marginal(self, columns: Columns) -> Counts:
        """The counts of all combinations of some columns, with an axis for each."""
        if columns not in self._known:
            axes = [self._grid.columns.index(name) for name in columns]
            shape = self._grid.shape(columns)
            cells = np.ravel_multi_index(tuple(self._places[:, axis] for axis in axes), shape)
            summed = np.zeros(self._grid.size(columns), dtype=np.int64)
            np.add.at(summed, cells, self._counts)
            self._known[columns] = summed.reshape(shape)
        return self._known[columns]


@dataclass(frozen=True)
class SealedCounts:
    """Rows of people over a grid, of which one unit has at most `rows`.

    Guarantee: with `rows` = r, adding or removing a unit moves any marginal by at most r in l1 norm, all in one
    direction; see `Workload.sensitivity`. The rows themselves are sealed.
    """

    grid: CellDomain
    crowd: Exact[CellCounts]
    rows: int = 1

    @classmethod
    def from_rows(
        cls, grid: CellDomain, rows: ArrayLike, *, neighbours: Neighbours | None = None, rows_of_unit: int = 1
    ) -> SealedCounts:
        """Rows that the caller may see: a place for each column of the grid, in its order. The caller vouches that no
        unit has more than `rows_of_unit` of them."""
        places = np.asarray(rows)
        if places.ndim != 2 or places.shape[1] != len(grid.columns) or places.dtype.kind not in "bui":
            raise InvalidParameter("rows", "others", allowed=f"a table of integers with {len(grid.columns)} columns")
        sizes = np.array(grid.shape())
        if len(places) and ((places < 0) | (places >= sizes)).any():
            raise InvalidParameter("rows", "others", allowed="from 0 to the size of each column less 1")
        kept = CellCounts(grid, places.astype(np.int64), np.ones(len(places), dtype=np.int64))
        nothing = Sensitivity(neighbours=stated(neighbours))
        return cls(grid, Exact(kept, sensitivity=nothing, neighbours=neighbours), whole(1, rows_of_unit=rows_of_unit))

    @property
    def neighbours(self) -> Neighbours:
        return self.crowd.neighbours

    def change(self, groups: Sequence[Columns]) -> Sensitivity:
        """How far one unit moves the marginals of these groups, taken together as one vector."""
        return Marginals(self.grid, groups).sensitivity(self.neighbours, rows=self.rows)

    def marginal(self, columns: Columns) -> Exact[Counts]:
        """The sealed counts of all combinations of some columns, with an axis for each."""
        return self.crowd.map(lambda crowd: crowd.marginal(columns), sensitivity=self.change([columns]))

    def histogram(self) -> Exact[Counts]:
        """The sealed counts of all cells of a small grid, as a vector."""
        self.grid.require_small(use="a histogram of all cells", instead="a Synthesizer, which works by marginals")
        columns = self.grid.columns
        return self.crowd.map(lambda crowd: crowd.marginal(columns).ravel(), sensitivity=self.change([columns]))

    def computed(self, function: Callable[[CellCounts], Result], *, sensitivity: Sensitivity) -> Exact[Result]:
        """The sealed value of a function of the marginals; whoever states the sensitivity vouches for it."""
        return self.crowd.map(function, sensitivity=sensitivity)


def summed(places: Sequence[NDArray[Any]], counts: Counts, grid: CellDomain) -> CellCounts:
    """A crowd from a column of places for each column of the grid; rows outside the grid (-1) are left out."""
    table = np.stack([np.asarray(place, dtype=np.int64) for place in places], axis=1)
    inside = (table >= 0).all(axis=1)
    return CellCounts(grid, table[inside], np.asarray(counts[inside], dtype=np.int64))
