"""Where a ledger lies: what every store does, and the one that comes with Python, SQLite."""

from __future__ import annotations

import itertools
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from dalenius.errors import InvalidParameter, LedgerRefused
from dalenius.process import identity

Value: TypeAlias = str | int | bytes | None


def without_epsilon(statement: str) -> str:
    """The same table as ledgers and marks had it before epsilon was added up."""
    return statement.replace(" epsilon BIGINT NOT NULL,", "")


SPENT = (
    "CREATE TABLE IF NOT EXISTS spent (path TEXT NOT NULL, block TEXT NOT NULL, divergence BIGINT NOT NULL, "
    "delta BIGINT NOT NULL, epsilon BIGINT NOT NULL, PRIMARY KEY (path, block))"
)
TABLES = (
    "CREATE TABLE IF NOT EXISTS entries (number BIGINT PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS accounts (path TEXT PRIMARY KEY, population TEXT NOT NULL, terms TEXT NOT NULL, "
    "reserving BIGINT NOT NULL)",
    SPENT,
    "CREATE TABLE IF NOT EXISTS receipts (id TEXT PRIMARY KEY, number BIGINT NOT NULL, who TEXT NOT NULL, key TEXT, "
    "request TEXT NOT NULL, second BIGINT NOT NULL, UNIQUE (who, key))",
    "CREATE INDEX IF NOT EXISTS receipts_by_request ON receipts (request)",
    "CREATE INDEX IF NOT EXISTS receipts_by_time ON receipts (who, second)",
    "CREATE TABLE IF NOT EXISTS answers (receipt TEXT PRIMARY KEY, number BIGINT NOT NULL, pieces TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS texts (hash TEXT PRIMARY KEY, body BYTEA NOT NULL)",
)
"""`entries` is the ledger; `answers` and `texts` hold the answers whose hashes stand there, each as a list of pieces;
all else follows from the entries and is kept for speed. Only `texts` grows with the length of answers."""
TABLES_BEFORE = tuple(map(without_epsilon, TABLES))
"""The same in a ledger that was made before epsilon was added up."""

APPENDED = ("answers", "entries", "texts")
"""The tables of which nothing is ever changed or deleted."""
_AT_START = ("sqlite_master", "accounts", "answers", "entries", "receipts", "spent")
BUSY_SECONDS = 60
_INSTEAD_OF_A_FORK = "Start a new process instead (multiprocessing: spawn), and open the folder there."
DISAGREE = "its tables and indexes do not agree"
DECLARED = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master"
"""Everything that a SQLite file declares: tables, indexes, triggers and views."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_NO_SCHEMA = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA)  # when a file is opened, that it cannot be understood
DURABLE = ("PRAGMA synchronous = FULL", "PRAGMA fullfsync = ON", "PRAGMA checkpoint_fullfsync = ON")
"""A commit has ended when the disk has it; macOS needs to be told that its cache is not the disk."""
_making = threading.Lock()  # nobody here has a file open in SQLite before the one who makes it has closed it
_numbers = itertools.count()
_open: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {}
"""The files that are open in SQLite, and since which process, by a number for each store."""


class Transaction(Protocol):
    """An open transaction."""

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with `?` for each parameter, and give its rows."""


class Store(Protocol):
    """A database for one ledger.

    Guarantee: `writing` blocks exclude each other, over all threads and processes; when one has ended, what it wrote
    survives a crash; when it raises, nothing of it is left.
    """

    @property
    def append_only(self) -> tuple[str, ...]:
        """Statements after which the database itself refuses to change or delete entries and answers."""

    def is_as_made(self, rows: Transaction) -> bool:
        """Whether the tables, and what the database itself does when they are written, are those of a new ledger."""

    def is_whole(self, rows: Transaction) -> bool:
        """Whether the database finds nothing wrong with its own file; this reads all of it."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """A context manager that gives `Transaction`, to read and write."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """A context manager that gives `Transaction`, all of one moment, to read."""

    def close(self) -> None:
        """Let go of the database."""


class SQLiteStore:
    """A ledger in a SQLite file, in WAL mode with full sync; without a path it lives in memory, with the process.

    Readers have connections of their own, so that they do not wait for those who write.
    """

    append_only = tuple(
        f"CREATE TRIGGER IF NOT EXISTS {table}_never_{change} BEFORE {change} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'nothing in a ledger is changed or taken back'); END"
        for table in APPENDED
        for change in ("update", "delete")
    )

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._process, self._lock = path, identity(), threading.RLock()
        self._reading = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed, self._number = False, next(_numbers)
        if path is not None:
            _for_the_owner_alone(path)
            _open[self._number] = _require_not_inherited(path), self._process
        # The checkpoint syncs what a killed process wrote: a mark must not move to what a power cut can still lose.
        try:
            self._connection = self._connected("PRAGMA journal_mode = WAL", *DURABLE, "PRAGMA wal_checkpoint")
        except BaseException:
            _open.pop(self._number, None)
            raise
        if path is not None:
            self._require_whole()

    def is_as_made(self, rows: Transaction) -> bool:
        """Compare all that the file declares with that of a new ledger: a trigger could take charges back."""
        found = frozenset(rows.execute(DECLARED))
        return any(found == declared_by(*tables, *self.append_only) for tables in (TABLES, TABLES_BEFORE))

    def is_whole(self, rows: Transaction) -> bool:
        """Compare all tables, pages and indexes of the file with each other."""
        return rows.execute("PRAGMA integrity_check(1)") == [("ok",)]

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        require_home(self._process)
        with self._lock:
            self._require_open()
            with _transaction(self._connection, "BEGIN IMMEDIATE") as rows:
                yield rows

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        require_home(self._process)
        if self._path is None:
            with self._lock:
                self._require_open()
                with _transaction(self._connection, "BEGIN") as rows:
                    yield rows
            return
        connection = self._reader()
        try:
            with _transaction(connection, "BEGIN") as rows:
                yield rows
        finally:
            self._put_back(connection)

    def close(self) -> None:
        """Let go of the file. In a forked process nothing is touched: the locks on it belong to the one before."""
        if identity() != self._process:
            return
        with self._lock, self._reading:
            self._closed = True
            for connection in (*self._idle, self._connection):
                connection.close()
            self._idle = []
            _open.pop(self._number, None)

    def _reader(self) -> sqlite3.Connection:
        with self._reading:
            self._require_open()
            if self._idle:
                return self._idle.pop()
        return self._connected("PRAGMA query_only = ON")

    def _put_back(self, connection: sqlite3.Connection) -> None:
        with self._reading:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _connected(self, *settings: str) -> sqlite3.Connection:
        """A connection. Its text and numbers are ours alone; a schema that somebody put there calls no function."""
        name = ":memory:" if self._path is None else self._path
        connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
        try:
            with _faults(*_NO_SCHEMA):
                for statement in ("PRAGMA trusted_schema = OFF", *settings):
                    connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_whole(self) -> None:
        """Refuse a file whose tables and indexes do not agree: a sum could be looked up and not be found. The texts of
        answers are left for when they are read, or this would take longer with every answer."""
        try:
            with _faults():
                names = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                ours = [name for name in _AT_START if name == "sqlite_master" or (name,) in names]
                found = [self._connection.execute(f"PRAGMA integrity_check({name})").fetchall() for name in ours]
            if any(each != [("ok",)] for each in found):
                raise damaged(DISAGREE)
        except BaseException:
            self.close()
            raise

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidParameter("database", "closed", allowed="open", hint="Open it again.")


class _SQLiteRows:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, parameters).fetchall()


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[Transaction]:
    with _faults():
        connection.execute(begin)
        try:
            yield _SQLiteRows(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def _faults(*codes: int) -> Iterator[None]:
    """Say of a file that is not a database, or no longer, that it is damaged."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (*_DAMAGED, *codes):
            raise damaged() from None
        raise
    except UnicodeDecodeError:  # of a text in it, or of what SQLite says about one
        raise damaged() from None


def has_epsilon(rows: Transaction, table: str) -> bool:
    """Whether a table of sums has its last column, which it lacks in ledgers and marks of before."""
    sql = "SELECT {0}.* FROM (SELECT 1) AS one LEFT JOIN {0} ON 1 = 1 LIMIT 1"
    columns = {"spent": 5, "mark_totals": 6}
    (found,) = rows.execute(sql.format(table))
    return len(found) == columns[table]


@cache
def declared_by(*statements: str) -> frozenset[tuple[Any, ...]]:
    """What a new SQLite file declares after these statements."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        return frozenset(connection.execute(DECLARED).fetchall())


def damaged(problem: str = "it cannot be read as a database") -> LedgerRefused:
    return LedgerRefused(
        f"it is damaged ({problem})",
        instead="Bring back a copy from a backup, then run `dalenius ledger FOLDER reconcile` to count the rest.",
    )


def require_home(process: tuple[int, int]) -> None:
    """Refuse a forked process. To be called before a lock is taken: its holder may not exist after a fork."""
    if identity() != process:
        raise InvalidParameter("process", "a fork", allowed="the one that opened this ledger", hint=_INSTEAD_OF_A_FORK)


def _require_not_inherited(path: Path) -> tuple[int, int]:
    """Refuse a file that was open before a fork, and give its number on the disk.

    SQLite, which was copied with the process, believes that it has locks on the file that belong to the process before.
    It would take none, and what it writes could be deleted by others.
    """
    facts = path.stat()
    found = facts.st_dev, facts.st_ino
    if any(file == found and process != identity() for file, process in list(_open.values())):
        raise InvalidParameter(
            "process", "a fork", allowed="one that was started without this database", hint=_INSTEAD_OF_A_FORK
        )
    return found


def _for_the_owner_alone(path: Path) -> None:
    """Make the file, or take it back, so that nobody else can read it; SQLite gives its companions the same mode.

    A file that is there is never opened: to close it would let go of all locks that SQLite holds on it anywhere in this
    process, and another process could then delete a log that is in use here, with the charges in it.
    """
    place = path.resolve()
    with _making, suppress(FileExistsError):
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    for name in (place, place.with_name(f"{place.name}-wal"), place.with_name(f"{place.name}-shm")):
        with suppress(FileNotFoundError):
            name.chmod(0o600)
