"""The journal: entries are appended in batches, each one transaction, chained, durable and marked outside."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from dalenius.errors import DaleniusError, LedgerStopped
from dalenius.ledger.accounts import Entry, Facts, Kind, linked
from dalenius.ledger.balances import Balances
from dalenius.ledger.marks import NOTHING, Head, Mark, NoMark
from dalenius.ledger.stores import Store, Transaction, require_home
from dalenius.process import identity

Value = TypeVar("Value")
MOST_AT_ONCE = 500
"""After so many tasks a batch is closed, so that the first of them do not wait for ever."""


class Writing:
    """A transaction that appends: what it reads is what is there, and nobody else writes meanwhile."""

    def __init__(self, rows: Transaction, head: Head, now: dt.datetime) -> None:
        self.rows, self.head, self.now, self.balances = rows, head, now, Balances(rows)

    def add(self, kind: Kind, facts: Facts) -> Entry:
        """Append one entry."""
        entry = Entry(self.head.number + 1, self.now, kind, facts)
        body = entry.body
        self.head = Head(entry.number, linked(self.head.hash, body))
        self.rows.execute("INSERT INTO entries VALUES (?, ?, ?)", [entry.number, body, self.head.hash])
        return entry


class Journal:
    """Appends entries to a store, and moves the mark.

    Guarantee: when `append` has returned, its entries are durable and marked; when it raised a refusal, nothing of it
    is left. Threads that append at the same time share one transaction and one sync. After an error of the store
    nothing more is written: whether the last batch is durable is not known then, and it counts as if it were.
    """

    def __init__(self, store: Store, mark: Mark | NoMark, *, clock: Callable[[], dt.datetime] | None = None) -> None:
        self._store, self._mark, self._process = store, mark, identity()
        self._clock = clock or (lambda: dt.datetime.now(dt.UTC))
        self._changed, self._led = threading.Condition(threading.Lock()), False
        self._waiting: list[_Task[Any]] = []
        self._stopped: DaleniusError | None = None

    def append(self, work: Callable[[Writing], Value]) -> Value:
        """Run `work` in a transaction; it reads, refuses by raising a `DaleniusError`, or adds entries."""
        self.require_home()  # before the locks: after a fork no thread may be there to release them
        task = _Task(work)
        with self._changed:
            self._waiting.append(task)
            self._changed.wait_for(lambda: task.done or not self._led)
            leads = not task.done
            self._led = self._led or leads
        if leads:  # whoever finds nobody at it writes for all who wait
            self._lead()
        return task.result()

    def require_home(self) -> None:
        """Refuse a forked process."""
        require_home(self._process)

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that only reads."""
        return self._store.reading()

    def _lead(self) -> None:
        try:
            self._write()
        finally:
            with self._changed:
                self._led = False
                self._changed.notify_all()

    def _write(self) -> None:
        batch: list[_Task[Any]] = []
        failure: DaleniusError | None = self._stopped or LedgerStopped()
        try:
            if not self._stopped:
                self._commit(batch)
                failure = None
        except Exception as error:
            # What a store says may name places; the owner finds the state of the ledger with `dalenius ledger verify`.
            failure = error if isinstance(error, DaleniusError) else LedgerStopped()
            # Where no task was begun the store was busy or out of reach, and nothing can have been written.
            self._stopped = failure if batch or isinstance(error, DaleniusError) else None
        finally:
            for task in batch if failure is None else [*batch, *self._taken()]:
                task.done, task.error = True, failure or task.error

    def _commit(self, batch: list[_Task[Any]]) -> None:
        with self._mark.held() as mark:
            with self._store.writing() as rows:
                head, last = ledger_head(rows)
                mark.require_behind(rows, head)
                writing = Writing(rows, head, max(self._clock(), last) if last else self._clock())
                while len(batch) < MOST_AT_ONCE and (taken := self._taken()):  # also those who came meanwhile
                    batch += taken
                    for task in taken:
                        task.attempt(writing)
                if mark.last() not in (None, head) and writing.head == head:
                    _touch(rows)
                # Where the mark is behind, somebody died before it moved: what they spent is not in it yet.
                figures = writing.balances.figures(changed_only=mark.last() == head)
            if mark.last() != writing.head:
                mark.move(writing.head, figures)

    def _taken(self) -> list[_Task[Any]]:
        with self._changed:
            taken, self._waiting = self._waiting, []
        return taken

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
            writing.balances.forget()
        writing.rows.execute("RELEASE SAVEPOINT task")

    def result(self) -> Value:
        if self.error is not None or not self.done:  # not done: whoever took it along was interrupted
            raise (self.error or LedgerStopped()).with_traceback(None)  # one error may be told to many
        return self.value  # type: ignore[return-value]


def _touch(rows: Transaction) -> None:
    """Write something, and take it back: the commit then waits for the disk, also for what somebody wrote who died
    before waiting. A mark must not move to what a power cut can still lose."""
    rows.execute("INSERT INTO spent VALUES ('', '', 0, 0, 0)")
    rows.execute("DELETE FROM spent WHERE path = ''")


def ledger_head(rows: Transaction) -> tuple[Head, dt.datetime | None]:
    """The last entry, and when it was written."""
    found = rows.execute("SELECT number, hash, body FROM entries ORDER BY number DESC LIMIT 1")
    if not found:
        return NOTHING, None
    number, digest, body = found[0]
    return Head(number, digest), Entry.from_body(body).at
