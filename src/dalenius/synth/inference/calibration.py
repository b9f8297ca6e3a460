"""Calibration: potentials on groups of columns become marginals, along a tree that was laid out once.

All arrays lie in buffers that are used again at each call, with the longest columns last, where sums are fast. A clique
is exponentiated once: on the way up its greatest entry for each combination of shared columns is taken out, so nothing
overflows, and what is left, divided by its sum, is the clique's probability given the shared columns, which is all that
the way down needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.synth.inference.beliefs import Array, Beliefs
from dalenius.synth.inference.trees import Edge, Tree
from dalenius.tabular.domains import CellDomain, Columns

IMPOSSIBLE = -1e12
"""The potential of what cannot occur: so low that its exponential is zero beside anything possible."""

Possible = Callable[[Columns], Array]
"""For the columns of a clique: 1 where a combination can occur and 0 where it cannot."""


@dataclass(frozen=True)
class _Holding:
    """Where a group of columns lies inside a larger array: the axes to add up, and its shape when it is spread."""

    group: int
    inside: Array
    dropped: tuple[int, ...]
    wide: tuple[int, ...]


@dataclass(frozen=True)
class _Passing:
    """What an edge needs: the axes that each side adds up, and the shape of the shared columns on each side."""

    child: int
    parent: int
    child_drops: tuple[int, ...]
    parent_drops: tuple[int, ...]
    child_shape: tuple[int, ...]
    parent_shape: tuple[int, ...]


class Calibration:
    """A tree laid out for groups of columns; potentials and marginals of all groups are one flat vector each.

    `base` gives columns a distribution of their own, above zero everywhere: what rows are drawn to, instead of all
    alike.
    """

    def __init__(
        self,
        grid: CellDomain,
        tree: Tree,
        groups: Sequence[Columns],
        possible: Possible | None = None,
        base: Mapping[str, Array] | None = None,
    ) -> None:
        self.grid, self.tree, self.groups = grid, tree, tuple(groups)
        cells = [grid.size(group) for group in groups]
        ends = np.cumsum([0, *cells])
        self.size = int(ends[-1])
        self.slices = [slice(int(start), int(end)) for start, end in pairwise(ends)]
        self.log_total = 0.0
        """The logarithm of the sum over all rows of the exponentials of their potentials, after `marginals`."""
        self._cliques = [self._shortest_first(clique) for clique in tree.cliques]
        self._tables = [np.empty(grid.shape(clique)) for clique in self._cliques]
        self._vector = np.empty(self.size)
        self._views = [
            self._vector[piece].reshape(grid.shape(self._shortest_first(group)))
            for piece, group in zip(self.slices, groups, strict=True)
        ]
        self._holdings = self._laid_out()
        self._passings = [self._passing(edge) for edge in tree.edges]
        self._barred = [None if possible is None else self._bars(clique, possible) for clique in tree.cliques]
        self._begun = self._barred if base is None else self._based(base)

    def marginals(self, potentials: Array) -> Array:
        """The marginals of all groups, as one vector that the next call overwrites."""
        self._load(potentials, self._begun)
        sums = [self._tell(passing) for passing in self._passings]
        self._normalise_root()
        for passing, total in zip(reversed(self._passings), reversed(sums), strict=True):
            heard = self._tables[passing.parent].sum(axis=passing.parent_drops).reshape(passing.child_shape)
            self._tables[passing.child] *= heard / total
        for holding in reversed(self._holdings):
            np.add.reduce(holding.inside, axis=holding.dropped, out=self._views[holding.group])
        return self._vector

    def greatest(self, potentials: Array) -> float:
        """The greatest sum of potentials that a possible row has."""
        self._load(potentials, self._barred)
        for passing in self._passings:
            told = self._tables[passing.child].max(axis=passing.child_drops)
            self._tables[passing.parent] += told.reshape(passing.parent_shape)
        return float(self._tables[self.tree.root].max())

    def beliefs(self, potentials: Array) -> Beliefs:
        """The whole distribution with these potentials."""
        self.marginals(potentials)
        tables = zip(self.tree.cliques, self._cliques, self._tables, strict=True)
        found = [np.ascontiguousarray(table.transpose([own.index(n) for n in clique])) for clique, own, table in tables]
        return Beliefs(self.grid, self.tree, tuple(table / table.sum() for table in found))

    def pack(self, arrays: Mapping[Columns, Array]) -> Array:
        """One vector of arrays in the order of the grid; groups without an array are zero."""
        vector = np.zeros(self.size)
        for group, piece in zip(self.groups, self.slices, strict=True):
            if group in arrays:
                order = [group.index(name) for name in self._shortest_first(group)]
                vector[piece] = arrays[group].transpose(order).ravel()
        return vector

    def unpack(self, vector: Array) -> dict[Columns, Array]:
        """The arrays of all groups, in the order of the grid."""
        found = {}
        for group, piece, view in zip(self.groups, self.slices, self._views, strict=True):
            own = self._shortest_first(group)
            found[group] = vector[piece].reshape(view.shape).transpose([own.index(name) for name in group]).copy()
        return found

    def _load(self, potentials: Array, begun: Sequence[Array | None]) -> None:
        """Add the potentials of each group to what holds it, small groups first."""
        np.copyto(self._vector, potentials)
        for table, before in zip(self._tables, begun, strict=True):
            table[...] = 0.0 if before is None else before
        for holding in self._holdings:
            inside = holding.inside
            inside += self._views[holding.group].reshape(holding.wide)

    def _tell(self, passing: _Passing) -> Array:
        """Pass on what a clique says of the columns it shares; the clique itself keeps its share given them."""
        table = self._tables[passing.child]
        top = table.max(axis=passing.child_drops, keepdims=True)
        table -= top
        np.exp(table, out=table)
        total: Array = table.sum(axis=passing.child_drops, keepdims=True)
        top += np.log(total)
        self._tables[passing.parent] += top.reshape(passing.parent_shape)
        return total

    def _normalise_root(self) -> None:
        table = self._tables[self.tree.root]
        top = float(table.max())
        if top < IMPOSSIBLE / 2:
            raise InvalidParameter("possible", "no combination of values", allowed="at least one possible row")
        table -= top
        np.exp(table, out=table)
        total = float(table.sum())
        table /= total
        self.log_total = top + log(total)

    def _shortest_first(self, columns: Columns) -> Columns:
        return tuple(sorted(columns, key=self.grid.sizes.__getitem__))

    def _laid_out(self) -> list[_Holding]:
        """For each group the smallest array that holds it: that of a larger group, or of a clique."""
        groups = [(self._shortest_first(group), view) for group, view in zip(self.groups, self._views, strict=True)]
        cliques = list(zip(self._cliques, self._tables, strict=True))
        found = []
        for place in sorted(range(len(groups)), key=lambda place: (len(groups[place][0]), place)):
            columns = groups[place][0]
            larger = [pair for pair in groups if set(columns) < set(pair[0])]
            equal_or_larger = [pair for pair in cliques if set(columns) <= set(pair[0])]
            holder, inside = min([*larger, *equal_or_larger], key=lambda pair: pair[1].size)
            dropped, wide = self._inside(holder, set(columns))
            found.append(_Holding(place, inside, dropped, wide))
        return found

    def _passing(self, edge: Edge) -> _Passing:
        child_drops, child_shape = self._inside(self._cliques[edge.child], set(edge.shared))
        parent_drops, parent_shape = self._inside(self._cliques[edge.parent], set(edge.shared))
        return _Passing(edge.child, edge.parent, child_drops, parent_drops, child_shape, parent_shape)

    def _inside(self, wider: Columns, kept: set[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        dropped = tuple(axis for axis, name in enumerate(wider) if name not in kept)
        return dropped, tuple(self.grid.sizes[name] if name in kept else 1 for name in wider)

    def _based(self, base: Mapping[str, Array]) -> list[Array | None]:
        """The logarithm of the base, each column's in one clique, beside what is barred there."""
        left = dict(base)
        found: list[Array | None] = []
        for clique, barred in zip(self._cliques, self._barred, strict=True):
            table = np.zeros(self.grid.shape(clique)) if barred is None else barred.copy()
            for name in clique:
                if name in left:
                    table += np.log(left.pop(name)).reshape([-1 if name == other else 1 for other in clique])
            found.append(table)
        return found

    def _bars(self, clique: Columns, possible: Possible) -> Array:
        allowed = np.asarray(possible(clique))
        if allowed.shape != self.grid.shape(clique):
            raise InvalidParameter("possible", allowed.shape, allowed=f"an array of shape {self.grid.shape(clique)}")
        own = self._shortest_first(clique)
        barred = np.where(allowed > 0, 0.0, IMPOSSIBLE).transpose([clique.index(name) for name in own])
        return np.ascontiguousarray(barred)
