"""The journal: entries are appended in batches, each one transaction, chained, durable and marked outside."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from dalenius.curator.ledger.entries import BEFORE_ALL, Entry, Facts, Kind, linked
from dalenius.curator.ledger.marks import Head, Mark, NoMark, Totals, require_behind
from dalenius.curator.ledger.stores import Rows, Store
from dalenius.errors import DaleniusError, LedgerRefused, LedgerStopped

Value = TypeVar("Value")
NOTHING = Head(0, BEFORE_ALL)


class Writing:
    """A transaction that appends: what it reads is what is there, and nobody else writes meanwhile."""

    def __init__(self, rows: Rows, head: Head, now: dt.datetime) -> None:
        self.rows, self.head, self.now = rows, head, now

    def add(self, kind: Kind, facts: Facts) -> Entry:
        """Append one entry."""
        entry = Entry(self.head.number + 1, self.now, kind, facts)
        self.head = Head(entry.number, linked(self.head.hash, entry.body))
        self.rows.execute("INSERT INTO entries VALUES (?, ?, ?)", [entry.number, entry.body, self.head.hash])
        return entry


class Journal:
    """Appends entries to a store, and moves the mark.

    Guarantee: when `append` has returned, its entries are durable and marked; when it raised a refusal, nothing of it
    is left. Threads that append at the same time share one transaction and one sync. After an error of the store
    nothing more is written: whether the last batch is durable is not known then, and it counts as if it were.
    """

    def __init__(self, store: Store, mark: Mark | NoMark, *, clock: Callable[[], dt.datetime] | None = None) -> None:
        self._store, self._mark = store, mark
        self._clock = clock or (lambda: dt.datetime.now(dt.UTC))
        self._turn, self._gate = threading.Lock(), threading.Lock()
        self._waiting: list[_Task[Any]] = []
        self._stopped: DaleniusError | None = None

    def append(self, work: Callable[[Writing], Value]) -> Value:
        """Run `work` in a transaction; it reads, refuses by raising a `DaleniusError`, or adds entries."""
        task = _Task(work)
        with self._gate:
            self._waiting.append(task)
        with self._turn:  # whoever comes first writes for all who wait by then
            if not task.done:
                with self._gate:
                    batch, self._waiting = self._waiting, []
                self._write(batch)
        return task.result()

    def reading(self) -> AbstractContextManager[Rows]:
        """A transaction that only reads."""
        return self._store.reading()

    def _write(self, batch: list[_Task[Any]]) -> None:
        failure: DaleniusError | None = self._stopped or LedgerStopped()
        try:
            if not self._stopped:
                self._commit(batch)
                failure = None
        except Exception as error:
            # What a store says may name places; the owner finds the state of the ledger with `dalenius ledger verify`.
            self._stopped = failure = error if isinstance(error, LedgerRefused) else LedgerStopped()
        finally:
            for task in batch:
                task.done, task.error = True, failure or task.error

    def _commit(self, batch: list[_Task[Any]]) -> None:
        with self._mark.held() as mark:
            with self._store.writing() as rows:
                require_behind(mark.last(), rows)
                head, last = self._head(rows)
                writing = Writing(rows, head, max(self._clock(), last) if last else self._clock())
                for task in batch:
                    task.attempt(writing)
                totals = spent_totals(rows)
            if writing.head != head:
                mark.move(writing.head, totals)

    def _head(self, rows: Rows) -> tuple[Head, dt.datetime | None]:
        found = rows.execute("SELECT number, hash, body FROM entries ORDER BY number DESC LIMIT 1")
        if not found:
            return NOTHING, None
        number, digest, body = found[0]
        return Head(number, digest), Entry.from_body(body).at

    def close(self) -> None:
        self._store.close()
        self._mark.close()


class _Task(Generic[Value]):
    """Work that waits for its turn, and what became of it."""

    def __init__(self, work: Callable[[Writing], Value]) -> None:
        self._work, self.done = work, False
        self.value: Value | None = None
        self.error: DaleniusError | None = None

    def attempt(self, writing: Writing) -> None:
        """Do the work; what it wrote before it refused is undone, and the others in the batch go on."""
        head = writing.head
        writing.rows.execute("SAVEPOINT task")
        try:
            self.value = self._work(writing)
        except DaleniusError as error:
            self.error, writing.head = error, head
            writing.rows.execute("ROLLBACK TO SAVEPOINT task")
        writing.rows.execute("RELEASE SAVEPOINT task")

    def result(self) -> Value:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


def spent_totals(rows: Rows) -> Totals:
    """What was spent of each account and block."""
    found = rows.execute("SELECT path, block, divergence, delta FROM spent")
    return {f"{path}\t{block}": [divergence, delta] for path, block, divergence, delta in found}
