"""Where a ledger lies: what every store does, and the one that comes with Python, SQLite."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from dalenius.errors import InvalidParameter
from dalenius.process import identity

Value: TypeAlias = str | int | None

TABLES = (
    "CREATE TABLE IF NOT EXISTS entries (number BIGINT PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS accounts (path TEXT PRIMARY KEY, population TEXT NOT NULL, terms TEXT NOT NULL, "
    "reserving BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS spent (path TEXT NOT NULL, block TEXT NOT NULL, divergence BIGINT NOT NULL, "
    "delta BIGINT NOT NULL, PRIMARY KEY (path, block))",
    "CREATE TABLE IF NOT EXISTS receipts (id TEXT PRIMARY KEY, number BIGINT NOT NULL, who TEXT NOT NULL, key TEXT, "
    "request TEXT NOT NULL, second BIGINT NOT NULL, UNIQUE (who, key))",
    "CREATE INDEX IF NOT EXISTS receipts_by_request ON receipts (request)",
    "CREATE INDEX IF NOT EXISTS receipts_by_time ON receipts (who, second)",
    "CREATE TABLE IF NOT EXISTS answers (receipt TEXT PRIMARY KEY, body TEXT NOT NULL)",
)
"""`entries` is the ledger, and `answers` holds the texts whose hashes stand there; all else follows from the entries
and is kept for speed."""


class Rows(Protocol):
    """An open transaction."""

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with `?` for each parameter, and give its rows."""


class Store(Protocol):
    """A database for one ledger.

    Guarantee: `writing` blocks exclude each other, over all threads and processes; when one has ended, what it wrote
    survives a crash; when it raises, nothing of it is left.
    """

    def writing(self) -> AbstractContextManager[Rows]:
        """A context manager that gives `Rows`, to read and write."""

    def reading(self) -> AbstractContextManager[Rows]:
        """A context manager that gives `Rows`, all of one moment, to read."""

    def close(self) -> None:
        """Let go of the database."""


class SQLiteStore:
    """A ledger in a SQLite file, in WAL mode with full sync; without a path it lives in memory, with the process."""

    def __init__(self, path: Path | None = None) -> None:
        self._process, self._lock = identity(), threading.RLock()
        self._connection = sqlite3.connect(
            ":memory:" if path is None else path, isolation_level=None, check_same_thread=False, timeout=60
        )
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA trusted_schema = OFF"):
            self._connection.execute(statement)
        if path is not None:
            path.chmod(0o600)

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        with self._transaction("BEGIN IMMEDIATE") as rows:
            yield rows

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        with self._transaction("BEGIN") as rows:
            yield rows

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Rows]:
        self._require_home()
        with self._lock:
            self._connection.execute(begin)
            try:
                yield _SQLiteRows(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        if identity() == self._process:
            with self._lock:
                self._connection.close()

    def _require_home(self) -> None:
        # Before the lock is taken: after a fork it may be held by a thread that does not exist here.
        if identity() != self._process:
            raise InvalidParameter(
                "process", "a fork", allowed="the one that opened this ledger", hint="Open the folder again here."
            )


class _SQLiteRows:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, parameters).fetchall()
