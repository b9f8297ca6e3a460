"""Databases in the three forms of the textbook: histogram, multiset and ordered rows, with converters and distances.

The multiset is the form that everything else uses. A histogram lists a count for every possible row, also for the
many that nobody has, so it exists only for small universes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import TypeAlias, TypeVar

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole

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
