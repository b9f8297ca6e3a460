"""Failing pairs of databases, made small: rows are taken away from both as long as they still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from dalenius.engines.conformance.worlds import Database, RawRow

Pair: TypeAlias = tuple[Database, Database]
_LONGEST = 400


def shrunk(pair: Pair, fails: Callable[[Database, Database], bool], *, tries: int = 40) -> Pair:
    """A smaller pair that still fails, after so many tries at most.

    A row that both have goes from both, so that they stay neighbours: they differ in rows of the same unit, or in none,
    and then nothing fails.
    """
    left, size = _rows(pair), max(1, len(_rows(pair)) // 2)
    while tries > 0:
        place, smaller = 0, False
        while place < len(left) and tries > 0:
            fewer, tries = [*left[:place], *left[place + size :]], tries - 1
            if fails(*_kept(pair, fewer)):
                left, smaller = fewer, True
            else:
                place += size
        if size == 1 and not smaller:
            break
        size = max(1, size // 2)
    return _kept(pair, left)


def _rows(pair: Pair) -> list[int]:
    """The rows of both, each named once."""
    return list(dict.fromkeys(id(row) for rows in pair for each in rows.values() for row in each))


def _kept(pair: Pair, names: Iterable[int]) -> Pair:
    here = set(names)
    first, second = ({name: [row for row in rows if id(row) in here] for name, rows in side.items()} for side in pair)
    return first, second


def told(pair: Pair) -> str:
    """A small pair in words: the rows that both have, and those that only one has."""
    first, second = pair
    mine, theirs = ({id(row) for rows in side.values() for row in rows} for side in pair)
    both = [(name, row) for name, rows in first.items() for row in rows if id(row) in theirs]
    parts = {
        "in both": both,
        "before": [(name, row) for name, rows in first.items() for row in rows if id(row) not in theirs],
        "after": [(name, row) for name, rows in second.items() for row in rows if id(row) not in mine],
    }
    return "; ".join(f"{where} {_listed(rows)}" for where, rows in parts.items())


def _listed(rows: list[tuple[str, RawRow]]) -> str:
    shown = ", ".join(f"{name} {row}" for name, row in rows)
    return f"{len(rows)} rows" + (f": {shown if len(shown) <= _LONGEST else shown[:_LONGEST] + ' ...'}" if rows else "")
