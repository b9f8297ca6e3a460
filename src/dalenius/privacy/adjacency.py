"""Neighbours of databases that are not plain multisets: streams and graphs.

What one step may change depends on the level of protection, and the levels are far apart: hiding one visit to a page
says little when the same visitor comes daily, and hiding one friendship says little about a person with hundreds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated

Symbol = TypeVar("Symbol", bound=Hashable)


def streams_related(first: Sequence[Symbol], second: Sequence[Symbol], neighbours: Neighbours) -> bool:
    """Whether two stream prefixes are neighbours, at the level of one event or of one user.

    Event level: one position was deleted, or holds another symbol. User level: all occurrences of one symbol were
    deleted, or some occurrences of one symbol became another one. Replacing keeps the length.
    Reference: Dwork & Roth 2014, Definition 12.8 and Section 12.3 (adjacent stream prefixes).
    Textbook: S1.2.
    """
    level = _level(neighbours, "event", "user")
    if not isinstance(neighbours, AddRemove):
        return _replaced(first, second, most=1 if level == "event" else len(first))
    long, short = sorted((tuple(first), tuple(second)), key=len, reverse=True)
    if level == "event":
        return len(long) == len(short) + 1 and any(_without(long, i) == short for i in range(len(long)))
    return len(long) > len(short) and any(tuple(s for s in long if s != user) == short for user in set(long))


def _replaced(first: Sequence[Symbol], second: Sequence[Symbol], most: int) -> bool:
    if len(first) != len(second):
        return False
    changes = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return 1 <= len(changes) <= most and len(set(changes)) == 1


def _without(stream: tuple[Symbol, ...], position: int) -> tuple[Symbol, ...]:
    return stream[:position] + stream[position + 1 :]


@dataclass(frozen=True, slots=True)
class Graph:
    """An undirected graph without loops: its vertices and its edges, each a set of two vertices."""

    vertices: frozenset[Hashable]
    edges: frozenset[frozenset[Hashable]]

    def __post_init__(self) -> None:
        if any(len(edge) != 2 or not edge <= self.vertices for edge in self.edges):
            raise InvalidParameter("edges", len(self.edges), allowed="pairs of two different vertices of the graph")

    def without(self, vertex: Hashable) -> Graph:
        """The graph after a vertex left with all its edges."""
        return Graph(self.vertices - {vertex}, frozenset(edge for edge in self.edges if vertex not in edge))


def graphs_related(first: Graph, second: Graph, neighbours: Neighbours) -> bool:
    """Whether two graphs are neighbours, at the level of one edge or of one vertex with its edges.

    Reference: Dwork & Roth 2014, Section 2.3.3 (granularity of privacy).
    Textbook: S1.2.
    """
    level = _level(neighbours, "edge", "vertex")
    if level == "edge":
        same = first.vertices == second.vertices
        return same and neighbours.related(dict.fromkeys(first.edges, 1), dict.fromkeys(second.edges, 1))
    if isinstance(neighbours, AddRemove):
        return _left(first, second) or _left(second, first)
    rewired = first.vertices == second.vertices and first.edges != second.edges
    return rewired and any(first.without(vertex) == second.without(vertex) for vertex in first.vertices)


def _left(before: Graph, after: Graph) -> bool:
    gone = before.vertices - after.vertices
    return len(gone) == 1 and before.without(next(iter(gone))) == after


def _level(neighbours: Neighbours, *allowed: str) -> str:
    level = stated(neighbours).protects
    if level not in allowed:
        raise InvalidParameter("protects", level, allowed=" or ".join(allowed) + " for this kind of data")
    return level
