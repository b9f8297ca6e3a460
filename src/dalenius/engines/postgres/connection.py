"""Connections to a PostgreSQL server, each question in a read-only transaction of its own.

What a question may do is limited three times: by the role that the owner chose, which should have SELECT alone; by the
transaction, which is read-only; and by what is looked into for functions, operators and types, which is pg_catalog
alone, so that nothing that somebody made in the database stands in for what was meant. Everything is set in each
transaction anew, because behind a pool of connections nothing else lasts.

Whatever is asked of a server ends in time, also where the server does not answer at all.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from math import ceil
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

import psycopg

from dalenius.errors import InvalidParameter, MissingExtra
from dalenius.process import identity

try:
    import psycopg
except ImportError:
    raise MissingExtra("A table in PostgreSQL", package="psycopg", extra="postgres") from None

FORBIDDEN = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.FeatureNotSupported,
)
"""What a server says that lets nobody write, or not this role."""

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

OLDEST = 14
"""The first version with infinite decimals, and with exact seconds of moments."""
CONNECTING = 10
"""How many seconds a server has to let somebody in, if the question has as many."""
IDLE = 4
"""How many connections are kept while nothing is asked."""

LENDING = 600.0
"""How many seconds it may take to make a temporary table."""

_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "timezone": "'UTC'",
    "datestyle": "'ISO, YMD'",
    "intervalstyle": "'postgres'",
    "transform_null_equals": "off",
    "gin_fuzzy_search_limit": "0",
    "jit": "off",
}
_CONNECTING = {
    "autocommit": True,
    "application_name": "dalenius",
    "client_encoding": "UTF8",
    "prepare_threshold": None,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}


class ServerCall:
    """One use of a server: the connection that it waits for, and whether nobody waits for its result any more."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.over = False

    def through(self, connection: Connection) -> Connection:
        """From now on this connection is used, unless it is too late."""
        self.connection = connection
        if self.over:
            raise TimeoutError
        return connection


class Server:
    """One database of a server. It keeps a few connections, and opens more where several questions are under way."""

    def __init__(self, address: str, password: str | None) -> None:
        _require_address(address)
        self._address, self._password, self._process = address, password, identity()
        self._lock, self._turn = threading.Lock(), threading.RLock()
        self._idle: list[Connection] = []
        self._lender: Connection | None = None
        self._inherited: list[Connection | None] = []

    @contextmanager
    def reading(self, seconds: float, *, lent: bool = False, call: ServerCall | None = None) -> Iterator[Connection]:
        """A connection in a read-only transaction, whose statements end after so many seconds; with `lent`, the one
        that has temporary tables."""
        self._look_for_fork()
        call = call or ServerCall()
        if lent:
            with self._turn, _transaction(self._lending(seconds, call), "READ ONLY", seconds) as connection:
                yield connection
            return
        connection = self._begun(_beginning("READ ONLY", seconds), seconds, call)
        try:
            yield call.through(connection)
        finally:
            self._give_back(connection, call)

    @contextmanager
    def lending(self, call: ServerCall | None = None) -> Iterator[Connection]:
        """A transaction that may make temporary tables, which one connection has from then on."""
        self._look_for_fork()
        with (
            self._turn,
            _transaction(self._lending(LENDING, call or ServerCall()), "READ WRITE", LENDING) as connection,
        ):
            yield connection
            connection.execute("COMMIT")

    def end_lending(self) -> None:
        """Drop all temporary tables, with their connection."""
        self._look_for_fork()
        with self._turn:
            if self._lender is not None:
                self._lender.close()
            self._lender = None

    def close(self) -> None:
        """Let go of connections that nobody uses. In a forked process nothing is touched: they belong to the one
        before."""
        self.end_lending()
        self.drop_idle()

    def drop_idle(self) -> None:
        """Let go of connections that were kept for later questions."""
        self._look_for_fork()
        while connection := self._kept():
            connection.close()

    def _lending(self, seconds: float, call: ServerCall) -> Connection:
        if self._lender is None or self._lender.closed:
            self._lender = self._opened(seconds, call)
        return call.through(self._lender)

    def _opened(self, seconds: float, call: ServerCall) -> Connection:
        """A new connection; `InvalidParameter` where the server is not fit."""
        how = {**_CONNECTING, "connect_timeout": min(CONNECTING, max(2, ceil(seconds)))}
        secret = {} if self._password is None else {"password": self._password}
        connection: Connection = psycopg.connect(self._address, **how, **secret)  # type: ignore[arg-type]
        with _closing_if_it_fails(connection):
            _require_fit(connection)
            call.through(connection).execute("SET default_transaction_read_only = on")
        return connection

    def _begun(self, statements: bytes, seconds: float, call: ServerCall) -> Connection:
        while kept := self._kept():
            # It may be lost meanwhile, as when the server was restarted.
            with suppress(psycopg.OperationalError), _closing_if_it_fails(kept):
                call.through(kept).execute(statements)
                return kept
        connection = self._opened(seconds, call)
        with _closing_if_it_fails(connection):
            connection.execute(statements)
        return connection

    def _kept(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection, call: ServerCall) -> None:
        """Keep a connection for the next question; not one that was cancelled, since that may still be under way."""
        if not call.over:
            _end(connection)
        with self._lock:
            if len(self._idle) < IDLE and not connection.closed and not call.over:
                self._idle.append(connection)
                return
        connection.close()

    def _look_for_fork(self) -> None:
        """Leave alone what belongs to the process before a fork: who closes it here would end it there."""
        if identity() != self._process:
            self._process = identity()
            self._lock, self._turn = threading.Lock(), threading.RLock()
            self._inherited = [*self._inherited, *self._idle, self._lender]
            self._idle, self._lender = [], None


@contextmanager
def _closing_if_it_fails(connection: Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


@contextmanager
def _transaction(connection: Connection, mode: str, seconds: float) -> Iterator[Connection]:
    try:
        connection.execute(_beginning(mode, seconds))
        yield connection
    finally:
        _end(connection)


def _beginning(mode: str, seconds: float) -> bytes:
    limit = min(max(1, ceil(seconds * 1000)), 2**31 - 1)
    settings = {**_SETTINGS, "statement_timeout": str(limit)}
    local = "".join(f"; SET LOCAL {name} = {value}" for name, value in settings.items())
    return f"BEGIN ISOLATION LEVEL REPEATABLE READ {mode}{local}".encode()


def _end(connection: Connection) -> None:
    """End a transaction, if it has not ended; a connection that cannot is closed."""
    try:
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


def _require_address(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("postgresql", "postgres"):
        raise InvalidParameter("address", "another kind", allowed="such as postgresql://reader@host:5432/database")
    if parts.password is not None or "password" in parse_qs(parts.query):
        raise InvalidParameter("address", "one with a password", allowed="without it: catalogs and logs show addresses",
                               hint="Pass it apart, or keep it in ~/.pgpass or PGPASSWORD.")  # fmt: skip


def _require_fit(connection: Connection) -> None:
    version, encoding = connection.info.server_version // 10_000, connection.info.parameter_status("server_encoding")
    if version < OLDEST:
        raise InvalidParameter("server", f"PostgreSQL {version}", allowed=f"PostgreSQL {OLDEST} or later")
    if encoding != "UTF8":
        raise InvalidParameter("server_encoding", encoding, allowed="UTF8, so that texts mean the same everywhere")


Result = TypeVar("Result")

TICK = 0.5
"""The seconds between two signs of life."""
GRACE = 5.0
"""How many seconds a server has to stop a question, before its connection is cut."""
_CUTTING = 1.0
"""How many seconds are waited for whoever used a connection that was cut."""
_PAUSE = 0.05


def watched(
    use: Callable[[ServerCall], Result], *, seconds: float, tick: Callable[[float], object] | None = None
) -> Result:
    """What `use` gives, which talks to a server in a thread of its own: from finding a connection to giving it back.

    It is stopped after `seconds`, or by an interrupt of the keyboard; what cannot be stopped, as a connection that is
    being made, is left alone. How far it is nobody knows, so `tick` is called with 0.
    """
    call, ends = ServerCall(), time.monotonic() + seconds
    running = _started(lambda: use(call))
    try:
        while tick and not wait([running], timeout=min(TICK, seconds)).done and time.monotonic() < ends:
            tick(0.0)
        return running.result(max(0.0, ends - time.monotonic()))
    except BaseException:
        _stop(call, running)
        raise


def _started(work: Callable[[], Result]) -> Future[Result]:
    """Work in a thread that keeps no process from ending."""
    running: Future[Result] = Future()

    def run() -> None:
        try:
            running.set_result(work())
        except BaseException as error:
            running.set_exception(error)

    threading.Thread(target=run, name="dalenius-query", daemon=True).start()
    return running


def _stop(call: ServerCall, running: Future[Result]) -> None:
    """Cancel until the work has ended; a server that does not hear is hung up on."""
    call.over, patience = True, time.monotonic() + GRACE
    if not running.done():
        _started(lambda: _cancel(call, running, patience))  # apart, since not every driver limits how long it waits
    wait([running], timeout=GRACE)
    while not running.done() and time.monotonic() < patience + _CUTTING:
        _hang_up(call.connection)
        wait([running], timeout=_PAUSE)


def _cancel(call: ServerCall, running: Future[Result], patience: float) -> None:
    """Again and again: what comes before a statement has begun cancels nothing."""
    while not running.done() and time.monotonic() < patience:
        if call.connection is not None:
            with suppress(psycopg.Error):
                call.connection.cancel_safe(timeout=GRACE / 4)
        wait([running], timeout=_PAUSE)


def _hang_up(connection: Connection | None) -> None:
    """End a connection under the thread that waits for it."""
    if connection is not None:
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
