"""Databases in the three forms of the textbook: histogram, multiset and ordered rows, with converters and distances.

The multiset is the form that everything else uses. A histogram lists a count for every possible row, also for the
many that nobody has, so it exists only for small universes.

Neighbours of databases that are not plain multisets: streams and graphs.

What one step may change depends on the level of protection, and the levels are far apart: hiding one visit to a page
says little when the same visitor comes daily, and hiding one friendship says little about a person with hundreds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TypeAlias, TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import whole

__all__ = [
    "Graph",
    "all_databases",
    "by_unit",
    "from_histogram",
    "graphs_related",
    "hamming_distance",
    "histogram",
    "l1_distance",
    "multiset",
    "rows_of",
    "size",
    "streams_related",
]

Row = TypeVar("Row", bound=Hashable)
Unit = TypeVar("Unit", bound=Hashable)
Histogram: TypeAlias = tuple[int, ...]

MOST_CELLS = 10_000_000
"""A histogram with more cells than this is refused; keep the multiset form."""


def multiset(rows: Iterable[Row]) -> Counter[Row]:
    """How often each row occurs.

    Textbook: S1.1.
    """
    return Counter(rows)


def rows_of(database: Mapping[Row, int]) -> tuple[Row, ...]:
    """The rows of a multiset, equal ones side by side, in the order in which the multiset names them."""
    return tuple(row for row, count in database.items() for _ in range(_count(count)))


def histogram(database: Mapping[Row, int], universe: Sequence[Row]) -> Histogram:
    """The count of every row of the universe, absent ones too; the databases of the textbook's N^X.

    Textbook: S1.1.
    """
    cells = _cells(universe)
    strangers = sum(1 for row, count in database.items() if count and row not in cells)
    if strangers:
        raise InvalidParameter("universe", len(cells), allowed="a universe that holds every row of the database")
    return tuple(_count(database.get(row, 0)) for row in cells)


def from_histogram(counts: Sequence[int], universe: Sequence[Row]) -> Counter[Row]:
    """The multiset with these counts; rows with count 0 are left out."""
    cells = _cells(universe)
    if len(cells) != len(counts):
        raise InvalidParameter("counts", len(counts), allowed=f"one count for each of the {len(cells)} possible rows")
    return Counter({row: _count(count) for row, count in zip(cells, counts, strict=True) if count})


def by_unit(records: Iterable[tuple[Unit, Row]]) -> Counter[tuple[Unit, tuple[tuple[Row, int], ...]]]:
    """The multiset of protected things when each unit (a person, a user) is one thing: the unit with all its rows.

    Two such multisets are neighbours exactly when one unit came, went or changed, however many rows it has.
    Textbook: S1.2.
    """
    things: dict[Unit, Counter[Row]] = {}
    for unit, row in records:
        things.setdefault(unit, Counter())[row] += 1
    return Counter((unit, tuple(sorted(rows.items(), key=repr))) for unit, rows in things.items())


def size(database: Mapping[Row, int]) -> int:
    """The number of rows: the l1 norm of the histogram."""
    return sum(_count(count) for count in database.values())


def l1_distance(first: Mapping[Row, int], second: Mapping[Row, int]) -> int:
    """How many rows must be added or removed to turn one multiset into the other.

    Textbook: S1.1.
    """
    return sum(abs(first.get(row, 0) - second.get(row, 0)) for row in {**first, **second})


def hamming_distance(first: Sequence[Row], second: Sequence[Row]) -> int:
    """The number of positions at which two lists of rows of the same length differ.

    Textbook: S1.1.
    """
    if len(first) != len(second):
        raise InvalidParameter(
            "second",
            f"{len(second)} rows",
            allowed=f"a list of {len(first)} rows, as many as the first",
            hint="Databases of different sizes have an l1 distance; use multiset(rows) and l1_distance.",
        )
    return sum(a != b for a, b in zip(first, second, strict=True))


def all_databases(universe: Sequence[Row], sizes: Iterable[int]) -> Iterator[Counter[Row]]:
    """Every multiset over a small universe with one of these sizes, for exact checks by enumeration."""
    for count in sizes:
        for rows in combinations_with_replacement(_cells(universe), whole(size=count)):
            yield Counter(rows)


def _cells(universe: Sequence[Row]) -> dict[Row, None]:
    if len(universe) > MOST_CELLS:
        raise InvalidParameter(
            "universe",
            f"{len(universe)} rows",
            allowed=f"at most {MOST_CELLS} possible rows",
            hint="Keep the multiset form, which only names the rows that occur.",
        )
    cells = dict.fromkeys(universe)
    if len(cells) != len(universe):
        raise InvalidParameter("universe", len(universe), allowed="a list of distinct rows")
    return cells


def _count(value: int) -> int:
    return whole(count=value)


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
