"""The curator's DuckDB file: written only by imports, and otherwise open read-only behind a lock-down.

The lock-down is a second wall. No text of an analyst reaches the engine; should one ever do, it finds a read-only file,
no file system, no network, no extensions, no Python variables, and settings that cannot be changed. What does not fit
into memory is written as encrypted blocks to files without a name, which such a text cannot read or write either; see
`spilling`.

Whose turn it is with a file: a lock by which one process tells the others that it wants to write.

The lock ends with its process, whatever happens, so that a marker that was left behind means nothing. Where there are
no such locks, nobody gives way.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import duckdb
import pyarrow as pa

from dalenius.engines.duckdb.spilling import let_spill
from dalenius.errors import WorkStopped
from dalenius.process import identity

try:
    import fcntl
except ImportError:  # there are no such locks on Windows
    fcntl = None  # type: ignore[assignment]


class FileTurn:
    """The lock beside a file that one process at a time writes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Tell everybody to let go of the file, and wait until nobody else has this turn."""
        number = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(number, fcntl.LOCK_EX)
            yield
        finally:
            os.close(number)

    def wanted(self) -> bool:
        """Whether somebody wants to write the file, or is at it."""
        if fcntl is None:
            return False
        try:
            number = os.open(self._path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(number)


_CLOSED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "python_scan_all_frames": "false",
    "temp_directory": "",
}
_LOCK = (
    "SET enable_progress_bar = false",
    "SET enable_external_access = false",
    # Without this the file itself, its log and its temporary folder stay allowed paths, which COPY may overwrite.
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET lock_configuration = true",
)

_locking = threading.Lock()
_TAKEN = ("Could not set lock", "different configuration")  # by another process, or elsewhere in this one

TICK = 0.5
"""The seconds between two signs of life."""
HANDOVER = 30.0
"""How many seconds an import waits for other processes to let go of the file."""
PAUSE, IDLE = 0.02, 0.25

Settings: TypeAlias = "dict[str, str | bool | int | float | list[str]]"


class TablesInUse(Exception):
    """Another process has the file open, and does not let go."""


@dataclass(frozen=True)
class QueryLimits:
    """What queries may use. Those of one process on one file share threads, memory and disk; what does not fit into
    `memory` is written to disk, encrypted, and a query that needs more than `disk` fails. One that needs more `seconds`
    is stopped."""

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    memory: str = "4GB"
    seconds: float = 3600
    disk: str = "100GB"


class File:
    """One DuckDB file. Many queries read it at once; an import waits for them and shuts them out.

    DuckDB lets many processes read a file, or one write it. A `shared` file is handed over between processes: who
    imports locks the file's turn, and who reads lets go at the next question, or soon when idle.
    """

    def __init__(self, path: Path, limits: QueryLimits, *, shared: bool = False) -> None:
        self._path, self._limits, self._process = path, limits, identity()
        self._turn = FileTurn(path.with_suffix(".wanted")) if shared else None
        self._reader: duckdb.DuckDBPyConnection | None = None
        self._writer: tuple[int, duckdb.DuckDBPyConnection] | None = None  # and the thread that writes
        self._readers, self._opened, self._gate = 0, 0, threading.Condition()

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The file, open for an import, with nobody else using it; `TablesInUse` where another process keeps it.

        Within another `writing` of the same thread it is the one that is open already.
        """
        if self._writer is not None and self._writer[0] == threading.get_ident():
            yield self._writer[1]
            return
        # The turn first: while it is another's, questions under way here must be able to end.
        with self._turn.taken() if self._turn else nullcontext(), self._gate:
            self._gate.wait_for(lambda: self._readers == 0)
            self._forget_reader()
            connection = self._connected(self._config(), until=time.monotonic() + HANDOVER)
            try:
                let_spill(connection, self._path.parent, self._limits.disk)
                self._writer = threading.get_ident(), connection
                yield connection
            finally:
                self._writer = None
                connection.close()

    def release_if_wanted(self) -> bool:
        """Let go of the file if another process wants to import and nothing is read here; whether it is let go."""
        if self._turn is None or not self._turn.wanted():
            return False
        with self._gate:
            if self._readers == 0:
                self._forget_reader()
            return self._reader is None

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection behind the lock-down."""
        with self._gate:
            self._give_way()
            cursor = self._locked().cursor()
            self._readers += 1
        try:
            yield cursor
        finally:
            cursor.close()
            with self._gate:
                self._readers -= 1
                self._gate.notify_all()

    def keep_private(self) -> None:
        """Let nobody but the owner of the process read or write the file."""
        self._path.chmod(0o600)

    def close(self) -> None:
        """Let go of the file. In a forked process nothing is touched: DuckDB's threads stayed in the one before."""
        if identity() != self._process:
            return
        with self._gate:
            self._gate.wait_for(lambda: self._readers == 0)
            self._forget_reader()

    def _give_way(self) -> None:
        """Wait until another process has imported; questions that came before it end first."""
        while self._turn and self._turn.wanted():
            if self._readers == 0:
                self._forget_reader()
            self._gate.wait(PAUSE)  # others who end are let through

    def _locked(self) -> duckdb.DuckDBPyConnection:
        if self._reader is None:
            more = {"access_mode": "READ_ONLY", "preserve_insertion_order": "false"}
            reader = self._connected({**self._config(), **more}, until=time.monotonic() + HANDOVER)
            self._lock(reader)
            self._reader, self._opened = reader, self._opened + 1
            if self._turn:
                told = (weakref.ref(self), self._opened)
                threading.Thread(target=_hand_over, args=told, name="dalenius-handover", daemon=True).start()
        return self._reader

    def _lock(self, reader: duckdb.DuckDBPyConnection) -> None:
        with _locking:
            if _is_locked(reader):  # it is, where this process has the file open already
                return
            let_spill(reader, self._path.parent, self._limits.disk)
            for statement in _LOCK:
                reader.execute(statement)

    def has_open(self, number: int) -> bool:
        """Whether the file is still open since it was opened for the `number`th time."""
        return self._reader is not None and self._opened == number

    def _connected(self, settings: Settings, *, until: float) -> duckdb.DuckDBPyConnection:
        """A connection; where another process has the file, it is tried again for some time."""
        while True:
            try:
                return duckdb.connect(str(self._path), config=settings)
            except (duckdb.IOException, duckdb.ConnectionException) as error:
                if self._turn is None or not any(words in str(error) for words in _TAKEN):
                    raise
            if time.monotonic() > until:
                raise TablesInUse
            time.sleep(PAUSE)

    def _forget_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def _config(self) -> Settings:
        return {**_CLOSED, "threads": str(self._limits.threads), "memory_limit": self._limits.memory}


def _is_locked(connection: duckdb.DuckDBPyConnection) -> bool:
    return connection.execute("SELECT current_setting('lock_configuration')").fetchall() == [(True,)]


def _hand_over(file: weakref.ref[File], number: int) -> None:
    """Let go of a file for others while nothing is asked here."""
    while (found := file()) is not None and found.has_open(number):
        found.release_if_wanted()
        del found
        time.sleep(IDLE)


def run(
    file: File,
    sql: str,
    *,
    seconds: float,
    log: Callable[[BaseException], object],
    tick: Callable[[float], object] | None = None,
) -> pa.Table:
    """The result of a query, stopped after `seconds`; `tick` is called as time goes by, with the percent of rows done.

    Whatever goes wrong raises `WorkStopped` without the engine's words, which may quote rows; these go to `log`.
    An interrupt by the keyboard stops the query and stays an interrupt.
    """
    interrupted = False
    try:
        with file.reading() as connection:
            return _watched(connection, sql, seconds, tick)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        log(error)
    # Raised out here, so that the engine's error does not travel along.
    raise KeyboardInterrupt if interrupted else WorkStopped


def _watched(
    connection: duckdb.DuckDBPyConnection, sql: str, seconds: float, tick: Callable[[float], object] | None
) -> pa.Table:
    """Run in a thread of its own, because DuckDB looks at no signals while it works."""
    with ThreadPoolExecutor(1, thread_name_prefix="dalenius-query") as worker:
        work, ends = worker.submit(lambda: connection.sql(sql).to_arrow_table()), time.monotonic() + seconds
        try:
            while tick and not wait([work], timeout=min(TICK, seconds)).done and time.monotonic() < ends:
                tick(max(0.0, connection.query_progress()))
            return work.result(max(0.0, ends - time.monotonic()))
        except BaseException:
            _stop(connection, work)
            raise


def _stop(connection: duckdb.DuckDBPyConnection, work: Future[pa.Table]) -> None:
    """Interrupt until the work has ended; an interrupt that comes before its query has begun is lost."""
    while not work.done():
        connection.interrupt()
        wait([work], timeout=0.05)
