"""Clique trees: groups of columns, joined so that what is known of one can be passed on to all others.

How large a model would be with one more group of columns, for many groups at once: nothing is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dalenius.tabular.domains import CellDomain, Columns


@dataclass(frozen=True)
class Edge:
    """From a clique towards the root: places of both among the cliques, and the columns that they share."""

    child: int
    parent: int
    shared: Columns


@dataclass(frozen=True)
class Tree:
    """Cliques that hold all measured groups of columns; edges lead from the leaves to the root, farthest first."""

    cliques: tuple[Columns, ...]
    edges: tuple[Edge, ...]

    @property
    def root(self) -> int:
        return self.edges[-1].parent if self.edges else 0

    def holding(self, columns: Columns) -> int | None:
        """The smallest clique that has all these columns; None if there is none."""
        wanted = set(columns)
        found = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(found, key=lambda place: len(self.cliques[place]), default=None)

    def cells(self, grid: CellDomain) -> int:
        """How many numbers a model on this tree has."""
        return sum(map(grid.size, self.cliques))


def clique_tree(groups: Iterable[Columns], grid: CellDomain) -> Tree:
    """A tree over all columns whose cliques hold every group: columns are eliminated, the cheapest next."""
    graph = ColumnGraph(grid)
    cliques = [graph.columns(clique) for clique in graph.cliques(graph.neighbours(groups))]
    return _joined(sorted(cliques, key=lambda clique: (-len(clique), clique)))


class ColumnGraph:
    """Columns that are neighbours because some group has both. Sets of columns are the bits of a number."""

    def __init__(self, grid: CellDomain) -> None:
        self._bits = {name: 1 << place for place, name in enumerate(grid.columns)}
        self._sizes = {1 << place: size for place, size in enumerate(grid.sizes.values())}
        self._products = {0: 1}

    def columns(self, some: int) -> Columns:
        return tuple(name for name, bit in self._bits.items() if some & bit)

    def size(self, some: int) -> int:
        """How many combinations of values some columns have."""
        if some not in self._products:
            lowest = some & -some
            self._products[some] = self._sizes[lowest] * self.size(some ^ lowest)
        return self._products[some]

    def neighbours(self, groups: Iterable[Columns]) -> dict[int, int]:
        """For each column itself and its neighbours."""
        found = {bit: bit for bit in self._sizes}
        for group in groups:
            found = self.joined(found, group)
        return found

    def joined(self, neighbours: dict[int, int], group: Columns) -> dict[int, int]:
        every = sum(self._bits[name] for name in group)
        return neighbours | {self._bits[name]: neighbours[self._bits[name]] | every for name in group}

    def cliques(self, neighbours: dict[int, int]) -> list[int]:
        """The clique that each column makes with its neighbours when it is its turn; those that others hold are left
        out, and only earlier ones can, because later ones lack the column."""
        left, found = dict(neighbours), list[int]()
        sizes = {bit: self.size(around) for bit, around in left.items()}
        while left:
            bit = min(sizes, key=sizes.__getitem__)
            clique = left.pop(bit)
            del sizes[bit]
            if not any(clique & other == clique for other in found):
                found.append(clique)
            rest = others = clique ^ bit
            while others:
                other = others & -others
                others ^= other
                left[other] = (left[other] | rest) & ~bit
                sizes[other] = self.size(left[other])
        return found


def _joined(cliques: list[Columns]) -> Tree:
    """A spanning tree with the largest shared groups, grown from the first clique."""
    edges: list[Edge] = []
    inside, outside = [0], set(range(1, len(cliques)))
    best = {place: (len(set(cliques[place]) & set(cliques[0])), 0) for place in outside}
    while outside:
        child = max(outside, key=lambda place: (best[place][0], -place))
        outside.remove(child)
        parent = best[child][1]
        shared = tuple(name for name in cliques[child] if name in cliques[parent])
        edges.append(Edge(child, parent, shared))
        inside.append(child)
        for place in outside:
            common = len(set(cliques[place]) & set(cliques[child]))
            if common > best[place][0]:
                best[place] = (common, child)
    return Tree(tuple(cliques), tuple(reversed(edges)))


class Growth:
    """The columns that known groups join, and what one more group would make of them."""

    def __init__(self, grid: CellDomain, groups: Iterable[Columns]) -> None:
        self._graph = ColumnGraph(grid)
        self._joined = self._graph.neighbours(groups)

    def cells(self, group: Columns) -> int:
        """How many numbers a model on the known groups and this one would have."""
        return sum(map(self._graph.size, self._graph.cliques(self._graph.joined(self._joined, group))))
