"""Arrays over some of the columns, with one axis for each, always in the order of the grid.

What a model says: the probabilities of the cliques of a tree, and from them those of any columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.synth.inference.trees import Tree
from dalenius.tabular.domains import CellDomain, Columns

Array: TypeAlias = NDArray[np.float64]


def summed(array: Array, columns: Columns, kept: Columns) -> Array:
    """The array added up over all columns that are not kept."""
    dropped = tuple(axis for axis, name in enumerate(columns) if name not in kept)
    return array.sum(axis=dropped) if dropped else array


def spread(array: Array, columns: Columns, wider: Columns) -> Array:
    """The array as it is broadcast over more columns."""
    if columns == wider:
        return array
    inside = set(columns)
    lengths = iter(array.shape)
    return array.reshape([next(lengths) if name in inside else 1 for name in wider])


def contracted(left: Array, left_columns: Columns, right: Array, right_columns: Columns, kept: Columns) -> Array:
    """The product of two arrays, added up over all columns that are not kept; such columns must be in both."""
    both = [name for name in left_columns if name in right_columns]
    each, gone = [name for name in both if name in kept], [name for name in both if name not in kept]
    only_left = [name for name in left_columns if name not in both]
    only_right = [name for name in right_columns if name not in both]
    if not gone:
        return spread(left, left_columns, kept) * spread(right, right_columns, kept)
    lengths = dict(zip(left_columns, left.shape, strict=True)) | dict(zip(right_columns, right.shape, strict=True))

    def matrix(array: Array, columns: Columns, *parts: list[str]) -> Array:
        turned = array.transpose([columns.index(name) for part in parts for name in part])
        return turned.reshape([prod(lengths[name] for name in part) for part in parts])

    first = matrix(left, left_columns, each, only_left, gone)
    second = matrix(right, right_columns, each, gone, only_right)
    order = [*each, *only_left, *only_right]
    product: Array = (first @ second).reshape([lengths[name] for name in order])
    return product.transpose([order.index(name) for name in kept])


_Table = tuple[Columns, Array]


@dataclass(frozen=True)
class Beliefs:
    """A distribution over all columns: the probabilities of each clique's cells, in agreement where cliques meet."""

    grid: CellDomain
    tree: Tree
    probabilities: tuple[Array, ...]

    def marginal(self, columns: Columns) -> Array:
        """The probabilities of all combinations of some columns."""
        return self.marginals([columns])[0]

    def marginals(self, groups: Sequence[Columns]) -> list[Array]:
        """The probabilities of all combinations of each group of columns; what groups have in common is done once."""
        walk = _TreeWalk(self)
        return [walk.marginal(columns) for columns in groups]

    @cached_property
    def conditionals(self) -> tuple[Array, ...]:
        """The probabilities of each clique given the columns that it shares with its parent; 0 where these cannot
        occur. The root's are its own."""
        found = list(self.probabilities)
        for edge in self.tree.edges:
            clique, joint = self.tree.cliques[edge.child], self.probabilities[edge.child]
            shared = spread(summed(joint, clique, edge.shared), edge.shared, clique)
            found[edge.child] = np.divide(joint, shared, out=np.zeros_like(joint), where=shared > 0)
        return tuple(found)


class _TreeWalk:
    """One walk over the tree for many groups of columns: what cliques tell their neighbours is kept for the next group.

    A group's columns meet in one clique; for three columns there is always one where each comes by another way, so
    that hardly anything is ever told of more than one column.
    """

    def __init__(self, beliefs: Beliefs) -> None:
        self._beliefs, self._grid = beliefs, beliefs.grid
        self._cliques = [frozenset(clique) for clique in beliefs.tree.cliques]
        self._shared: dict[tuple[int, int], Columns] = {}
        self._around: list[list[int]] = [[] for _ in self._cliques]
        for edge in beliefs.tree.edges:
            for one, other in ((edge.child, edge.parent), (edge.parent, edge.child)):
                self._shared[one, other] = edge.shared
                self._around[one].append(other)
        self._beyond = {way: self._seen(*way) for way in self._shared}
        self._told: dict[tuple[int, int, frozenset[str]], _Table] = {}
        self._parts: dict[tuple[int, int | None, Columns], Array] = {}

    def marginal(self, columns: Columns) -> Array:
        place = self._beliefs.tree.holding(columns)
        if place is not None:
            return self._part(place, None, columns)
        wanted = frozenset(columns)
        return self._gathered(self._meeting(wanted), None, wanted)[1]

    def _seen(self, one: int, other: int) -> frozenset[str]:
        """The columns that a clique sees by way of a neighbour and does not have itself."""
        found, ways = set(self._cliques[other]), [(one, other)]
        while ways:
            before, place = ways.pop()
            further = [next_one for next_one in self._around[place] if next_one != before]
            found.update(*(self._cliques[next_one] for next_one in further))
            ways += [(place, next_one) for next_one in further]
        return frozenset(found - self._cliques[one])

    def _meeting(self, wanted: frozenset[str]) -> int:
        """The clique where the fewest columns come by one way, and that has the most itself."""

        def load(place: int) -> tuple[int, int, int]:
            ways = [len(wanted & self._beyond[place, other]) for other in self._around[place]]
            return max(ways, default=0), sum(ways), self._beliefs.probabilities[place].size

        return min(range(len(self._cliques)), key=load)

    def _tell(self, place: int, towards: int, wanted: frozenset[str]) -> _Table:
        """The probabilities of columns given what a clique shares with the neighbour that it tells them."""
        key = place, towards, wanted
        if key not in self._told:
            self._told[key] = self._gathered(place, towards, wanted)
        return self._told[key]

    def _gathered(self, place: int, towards: int | None, wanted: frozenset[str]) -> _Table:
        """What a clique and those behind it know of columns, by themselves or given what it shares."""
        clique = self._cliques[place]
        kept = wanted if towards is None else wanted.union(self._shared[place, towards])
        told = [
            self._tell(other, place, wanted & self._beyond[place, other])
            for other in self._around[place]
            if other != towards and wanted & self._beyond[place, other]
        ]
        columns = self._grid.ordered((kept & clique).union(*(clique.intersection(names) for names, _ in told)))
        table = self._part(place, towards, columns)
        while told:
            results = [
                self._grid.ordered(
                    kept.union(*(names for names, _ in told[:place] + told[place + 1 :])) & {*columns, *others}
                )
                for place, (others, _) in enumerate(told)
            ]
            least = min(range(len(told)), key=lambda place: self._grid.size(results[place]))
            others, array = told.pop(least)
            columns, table = results[least], contracted(table, columns, array, others, results[least])
        return columns, table

    def _part(self, place: int, towards: int | None, columns: Columns) -> Array:
        """A clique's probabilities, by themselves or given what it shares, added up over columns not needed."""
        key = place, towards, columns
        if key in self._parts:
            return self._parts[key]
        clique = self._beliefs.tree.cliques[place]
        if towards is None:
            found = summed(self._beliefs.probabilities[place], clique, columns)
        else:
            shared = self._shared[place, towards]
            found = self._part(place, None, columns)
            given = spread(summed(found, columns, shared), shared, columns)
            found = np.divide(found, given, out=np.zeros(found.shape), where=given > 0)
        self._parts[key] = found
        return found
