"""How large a model would be with one more group of columns, for many groups at once: nothing is built."""

from __future__ import annotations

from collections.abc import Iterable

from dalenius.release.grid import Columns, Grid
from dalenius.release.inference.trees import Graph


class Growth:
    """The columns that known groups join, and what one more group would make of them."""

    def __init__(self, grid: Grid, groups: Iterable[Columns]) -> None:
        self._graph = Graph(grid)
        self._joined = self._graph.neighbours(groups)

    def cells(self, group: Columns) -> int:
        """How many numbers a model on the known groups and this one would have."""
        return sum(map(self._graph.size, self._graph.cliques(self._graph.joined(self._joined, group))))
