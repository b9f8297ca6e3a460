"""High-water marks: how far a ledger had come, kept where no backup of the ledger reaches.

A ledger that was restored from a backup, cut short, cloned or exchanged for another one would forget what was spent. So
the number and hash of its last entry are also written down elsewhere, with every commit. A ledger may be ahead of its
mark (the process died between the two), never behind it or beside it.

Every commit holds the mark from before it reads the ledger until the mark has moved: of two clones that run at the same
time only one finds the mark in its own past. A mark also keeps the caps and what was spent of them, and every point
that it ever stood at: whatever a ledger did up to one of these points is contained in what the mark says was spent.
When it moves to another copy, that is a turn: only points since the last turn lie in the past of where it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dalenius.accounting.amounts import UNBOUNDED
from dalenius.errors import InvalidParameter, LedgerRefused
from dalenius.ledger.accounts import BEFORE_ALL, canonical
from dalenius.ledger.stores import (
    DECLARED,
    SQLiteStore,
    Store,
    Transaction,
    declared_by,
    has_epsilon,
    without_epsilon,
)

TABLES = (
    "CREATE TABLE IF NOT EXISTS marks (ledger TEXT NOT NULL, step BIGINT NOT NULL, number BIGINT NOT NULL, "
    "hash TEXT NOT NULL, PRIMARY KEY (ledger, step))",
    "CREATE TABLE IF NOT EXISTS mark_totals (ledger TEXT NOT NULL, path TEXT NOT NULL, block TEXT NOT NULL, "
    "divergence BIGINT NOT NULL, delta BIGINT NOT NULL, epsilon BIGINT NOT NULL, PRIMARY KEY (ledger, path, block))",
    "CREATE TABLE IF NOT EXISTS mark_caps (ledger TEXT NOT NULL, path TEXT NOT NULL, terms TEXT NOT NULL, "
    "PRIMARY KEY (ledger, path))",
    "CREATE TABLE IF NOT EXISTS mark_turns (ledger TEXT NOT NULL, step BIGINT NOT NULL, PRIMARY KEY (ledger, step))",
)
TABLES_BEFORE = tuple(map(without_epsilon, TABLES))
"""The same in marks that were made before epsilon was added up."""
_SPENT = (
    "INSERT INTO mark_totals VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (ledger, path, block) DO UPDATE SET "
    "divergence = excluded.divergence, delta = excluded.delta, epsilon = excluded.epsilon"
)
_CAP = "INSERT INTO mark_caps VALUES (?, ?, ?) ON CONFLICT (ledger, path) DO UPDATE SET terms = excluded.terms"


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a ledger, or one that a mark has seen."""

    number: int
    hash: str


NOTHING = Head(0, BEFORE_ALL)


@dataclass(frozen=True, slots=True)
class Figures:
    """What was spent of each account, by path and block: divergence, delta and epsilon; and each population's terms,
    all as the ledger writes them."""

    spent: Mapping[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)
    caps: Mapping[str, str] = field(default_factory=dict)


class Mark:
    """The mark of one ledger, in a store of its own: a SQLite file outside the folder, or another database."""

    def __init__(self, store: Store, ledger: str) -> None:
        self._store, self._ledger = store, ledger
        with store.writing() as rows:
            for statement in TABLES:
                rows.execute(statement)
            if not has_epsilon(rows, "mark_totals"):
                _add_epsilon(rows)

    @classmethod
    def in_file(cls, path: Path, ledger: str) -> Mark:
        """A mark in a SQLite file of marks; any other file is refused before anything is written into it. One that is
        not there is made when the mark is first held."""
        return Mark._in(path, ledger) if path.exists() else _Unmade(path, ledger)

    @staticmethod
    def _in(path: Path, ledger: str) -> Mark:
        store = SQLiteStore(path)
        try:
            with store.reading() as rows:
                found = frozenset(rows.execute(DECLARED))
                if not any(found <= declared_by(*tables) for tables in (TABLES, TABLES_BEFORE)):
                    raise InvalidParameter("mark", "another file", allowed="a new file, or one with marks alone")
            return Mark(store, ledger)
        except BaseException:
            store.close()
            raise

    @contextmanager
    def held(self) -> Iterator[HeldMark]:
        """The mark, for one commit; what was moved is durable when the block has ended."""
        with self._store.writing() as rows:
            yield HeldMark(rows, self._ledger)

    def close(self) -> None:
        self._store.close()


def _add_epsilon(rows: Transaction) -> None:
    """Give sums of before the column for epsilon: of what was spent in pure ledgers it is the divergence, and in others
    nobody knows it."""
    caps = rows.execute("SELECT ledger, path, terms FROM mark_caps")
    pure = {(ledger, path) for ledger, path, terms in caps if json.loads(terms)["cap"][2] is None}
    totals = rows.execute("SELECT ledger, path, block, divergence, delta FROM mark_totals")
    rows.execute("DROP TABLE mark_totals")
    rows.execute(TABLES[1])
    for ledger, path, block, divergence, delta in totals:
        unknown = 0 if divergence == delta == 0 else UNBOUNDED
        epsilon = divergence if (ledger, canonical(json.loads(path)[:1])) in pure else unknown
        rows.execute(_SPENT, [ledger, path, block, divergence, delta, epsilon])


class _Unmade(Mark):
    """A mark in a file that is not there yet. A ledger that is refused before its mark is looked at leaves none."""

    def __init__(self, path: Path, ledger: str) -> None:
        self._path, self._ledger = path, ledger
        self._made: Mark | None = None

    @contextmanager
    def held(self) -> Iterator[HeldMark]:
        self._made = self._made or self._make()
        with self._made.held() as held:
            yield held

    def _make(self) -> Mark:
        try:
            return self._in(self._path, self._ledger)
        except OSError:  # what the system says names the place
            raise InvalidParameter(
                "mark", "out of reach", allowed="in a place that can be reached and written to"
            ) from None

    def close(self) -> None:
        if self._made is not None:
            self._made.close()


class HeldMark:
    """A mark while nobody else can move it."""

    def __init__(self, rows: Transaction, ledger: str) -> None:
        self._rows, self._ledger = rows, ledger
        sql = "SELECT step, number, hash FROM marks WHERE ledger = ? ORDER BY step DESC LIMIT 1"
        found = rows.execute(sql, [ledger])
        self._step: int = found[0][0] if found else 0
        self._last = Head(*found[0][1:]) if found else None

    def last(self) -> Head | None:
        """How far the ledger had come; None if this mark never saw it."""
        return self._last

    def points(self) -> Iterator[Head]:
        """Wherever the mark has stood, the furthest first."""
        sql = "SELECT number, hash FROM marks WHERE ledger = ? ORDER BY number DESC, step DESC"
        return (Head(*found) for found in self._rows.execute(sql, [self._ledger]))

    def figures(self) -> Figures:
        """What had been spent by then."""
        sql = "SELECT path, block, divergence, delta, epsilon FROM mark_totals WHERE ledger = ?"
        spent = self._rows.execute(sql, [self._ledger])
        caps = self._rows.execute("SELECT path, terms FROM mark_caps WHERE ledger = ?", [self._ledger])
        return Figures({(path, block): (one, two, three) for path, block, one, two, three in spent}, dict(caps))

    def since_turn(self, point: Head) -> bool:
        """Whether the mark stood at this point since it last moved to another copy."""
        sql = (
            "SELECT 1 FROM marks WHERE ledger = ? AND number = ? AND hash = ? AND step >= "
            "(SELECT coalesce(max(step), 0) FROM mark_turns WHERE ledger = ?)"
        )
        return bool(self._rows.execute(sql, [self._ledger, point.number, point.hash, self._ledger]))

    def require_behind(self, ledger: Transaction, head: Head) -> None:
        """Refuse a ledger that does not contain everything up to its mark."""
        if self._last == head:
            return
        if self._last is None:
            if head.number:
                raise never_seen()
            return
        found = ledger.execute("SELECT hash FROM entries WHERE number = ?", [self._last.number])
        if not found:
            raise shorter()
        if found[0][0] != self._last.hash:
            raise another_copy()

    def move(self, head: Head, figures: Figures) -> None:
        """Write down how far the ledger has come, and those figures that changed."""
        self._step, self._last = self._step + 1, head
        self._rows.execute("INSERT INTO marks VALUES (?, ?, ?, ?)", [self._ledger, self._step, head.number, head.hash])
        for (path, block), sums in figures.spent.items():
            self._rows.execute(_SPENT, [self._ledger, path, block, *sums])
        for path, terms in figures.caps.items():
            self._rows.execute(_CAP, [self._ledger, path, terms])

    def turn(self, head: Head, figures: Figures) -> None:
        """Go on with another copy of the ledger, whose figures replace all that were known."""
        self._rows.execute("DELETE FROM mark_totals WHERE ledger = ?", [self._ledger])
        self._rows.execute("INSERT INTO mark_turns VALUES (?, ?)", [self._ledger, self._step + 1])
        self.move(head, figures)


class NoMark:
    """For a ledger that lives in memory and cannot be restored."""

    @contextmanager
    def held(self) -> Iterator[_NothingHeld]:
        yield _NothingHeld()

    def close(self) -> None:
        pass


class _NothingHeld:
    """What a commit asks of a mark."""

    def last(self) -> Head | None:
        return None

    def require_behind(self, ledger: Transaction, head: Head) -> None:
        pass

    def move(self, head: Head, figures: Figures) -> None:
        pass


def never_seen() -> LedgerRefused:
    return LedgerRefused(
        "its high-water mark is not here: it was copied from another machine or account, or the mark was lost",
        instead="Open it where it was used last, or give the place of its mark. If you are sure that no other copy is "
        "or will be used, run `dalenius ledger FOLDER reconcile` to go on with this one.",
    )


def shorter() -> LedgerRefused:
    return LedgerRefused(
        "it is shorter than it has been: it was restored from a backup, cut short or cloned",
        instead="Bring back the latest copy, or run `dalenius ledger FOLDER reconcile` to count what it had spent.",
    )


def another_copy() -> LedgerRefused:
    return LedgerRefused(
        "it is not the one that was used last: somebody went on with another copy of it",
        instead="Bring back that copy, or run `dalenius ledger FOLDER reconcile` to count what both have spent.",
    )
