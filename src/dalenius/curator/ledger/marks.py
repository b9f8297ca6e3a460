"""High-water marks: how far a ledger had come, kept where no backup of the ledger reaches.

A ledger that was restored from a backup, cut short, cloned or exchanged for another one would forget what was spent. So
the number and hash of its last entry are also written down elsewhere, with every commit. A ledger may be ahead of its
mark (the process died between the two), never behind it or beside it.

Every commit holds the mark from before it reads the ledger until the mark has moved: of two clones that run at the same
time only one finds the mark in its own past.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from dalenius.curator.ledger.entries import canonical
from dalenius.curator.ledger.stores import Rows, Store
from dalenius.errors import LedgerRefused

_TABLES = (
    "CREATE TABLE IF NOT EXISTS marks (ledger TEXT NOT NULL, number BIGINT NOT NULL, hash TEXT NOT NULL, "
    "PRIMARY KEY (ledger, number))",
    "CREATE TABLE IF NOT EXISTS totals (ledger TEXT PRIMARY KEY, spent TEXT NOT NULL)",
)

Totals = Mapping[str, list[int]]
"""What was spent of each account: divergence and delta, by its path and block as the ledger writes them."""


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a ledger, or the last that a mark has seen."""

    number: int
    hash: str


class Held(Protocol):
    """A mark while nobody else can move it."""

    def last(self) -> Head | None:
        """How far the ledger had come; None if this mark never saw it."""

    def hash_at(self, number: int) -> Head | None:
        """The last thing that was seen up to an entry."""

    def totals(self) -> Totals:
        """What had been spent by then."""

    def move(self, head: Head, totals: Totals) -> None:
        """Write down how far the ledger has come. What was marked beyond it is forgotten."""


class Mark:
    """The mark of one ledger, in a store of its own: a SQLite file outside the folder, or another database."""

    def __init__(self, store: Store, ledger: str) -> None:
        self._store, self._ledger = store, ledger
        with store.writing() as rows:
            for statement in _TABLES:
                rows.execute(statement)

    @contextmanager
    def held(self) -> Iterator[Held]:
        """The mark, for one commit; what was moved is durable when the block has ended."""
        with self._store.writing() as rows:
            yield _Held(rows, self._ledger)

    def close(self) -> None:
        self._store.close()


class _Held:
    def __init__(self, rows: Rows, ledger: str) -> None:
        self._rows, self._ledger = rows, ledger

    def last(self) -> Head | None:
        return self.hash_at(2**62)

    def hash_at(self, number: int) -> Head | None:
        sql = "SELECT number, hash FROM marks WHERE ledger = ? AND number <= ? ORDER BY number DESC LIMIT 1"
        found = self._rows.execute(sql, [self._ledger, number])
        return Head(*found[0]) if found else None

    def totals(self) -> Totals:
        found = self._rows.execute("SELECT spent FROM totals WHERE ledger = ?", [self._ledger])
        return json.loads(found[0][0]) if found else {}

    def move(self, head: Head, totals: Totals) -> None:
        self._rows.execute("DELETE FROM marks WHERE ledger = ? AND number >= ?", [self._ledger, head.number])
        self._rows.execute("INSERT INTO marks VALUES (?, ?, ?)", [self._ledger, head.number, head.hash])
        self._rows.execute(
            "INSERT INTO totals VALUES (?, ?) ON CONFLICT (ledger) DO UPDATE SET spent = excluded.spent",
            [self._ledger, canonical(totals)],
        )


class NoMark:
    """For a ledger that lives in memory and cannot be restored."""

    @contextmanager
    def held(self) -> Iterator[Held]:
        yield _NothingHeld()

    def close(self) -> None:
        pass


class _NothingHeld:
    def last(self) -> Head | None:
        return None

    def hash_at(self, number: int) -> Head | None:
        return None

    def totals(self) -> Totals:
        return {}

    def move(self, head: Head, totals: Totals) -> None:
        pass


def require_behind(mark: Head | None, ledger: Rows) -> None:
    """Refuse a ledger that does not contain everything up to its mark."""
    if mark is None:
        return
    found = ledger.execute("SELECT hash FROM entries WHERE number = ?", [mark.number])
    if not found:
        raise LedgerRefused(
            "it is shorter than it has been: it was restored from a backup, cut short or cloned",
            instead="Bring back the latest copy, or run `dalenius ledger reconcile` to count what the lost one had spent.",
        )
    if found[0][0] != mark.hash:
        raise LedgerRefused(
            "it is not the one that was used last: somebody went on with another copy of it",
            instead="Bring back that copy, or run `dalenius ledger reconcile` to count what both have spent.",
        )
