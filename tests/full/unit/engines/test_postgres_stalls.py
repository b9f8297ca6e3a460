"""A PostgreSQL server that stops answering keeps nobody waiting longer than the question may take."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from dalenius.engines.postgres import connection as connections
from dalenius.engines.postgres import connection as watching
from dalenius.engines.postgres import engine as engines
from dalenius.engines.postgres.connection import ServerCall
from dalenius.engines.postgres.engine import PostgresEngine
from dalenius.errors import DataMismatch, WorkStopped
from dalenius.query.plan.passes import Total
from dalenius.query.plan.relations import Scan
from dalenius.query.tables import TableLocation
from dalenius.query.types import Int
from duckdb_tables import aggregate, private
from postgres_server import database

TABLE = private("people", {"x": Int(0, 9)})
ONE = "SELECT 1 AS n"
SHORT = 0.3


@pytest.fixture(scope="module")
def address() -> str:
    found = database("")
    with psycopg.connect(found, autocommit=True) as connection:
        connection.execute("CREATE TABLE people (id int, x int); INSERT INTO people VALUES (1, 5), (2, 7)")
    return found


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "GRACE", SHORT)
    monkeypatch.setattr(engines, "LOOKING", SHORT)


@pytest.fixture
def engine(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresEngine]:
    made = PostgresEngine(address)
    with monkeypatch.context() as patient:
        patient.setattr(engines, "LOOKING", 60.0)
        made.register(TABLE, TableLocation(address, "people"))
    yield made
    made.close()


@contextmanager
def stalled(*kept: connections.Connection) -> Iterator[None]:
    """The server's processes behind these connections do nothing, and say nothing."""
    backends = [each.info.backend_pid for each in kept]
    for backend in backends:
        os.kill(backend, signal.SIGSTOP)
    try:
        yield
    finally:
        for backend in backends:
            with suppress(ProcessLookupError):
                os.kill(backend, signal.SIGCONT)


def raised(work: Callable[[], object], patience: float = 20.0) -> type[BaseException] | None:
    """What a piece of work ends with; it must end."""
    found: list[type[BaseException] | None] = []

    def run() -> None:
        try:
            work()
            found.append(None)
        except BaseException as error:
            found.append(type(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(patience)
    assert found, "it still waits"
    return found[0]


def until(reached: Callable[[], bool]) -> bool:
    """Whether something comes true within ten seconds."""
    ends = time.monotonic() + 10
    while time.monotonic() < ends and not reached():
        time.sleep(0.02)
    return reached()


def question(engine: PostgresEngine) -> object:
    return engine.run(aggregate(Scan(TABLE, "p"), [Total("sum", "p.x")], keys=()), seconds=SHORT)


def look(engine: PostgresEngine) -> object:
    return engine.register(private("more", {"x": Int(0, 9)}), TableLocation("", "people"))


@pytest.mark.parametrize(("work", "error"), [(question, WorkStopped), (look, DataMismatch)])
def test_a_silent_connection_that_was_kept_ends_in_time(
    engine: PostgresEngine, work: Callable[[PostgresEngine], object], error: type[BaseException]
) -> None:
    with stalled(*engine._server._idle):
        assert raised(lambda: work(engine)) is error
    assert engine.fetched(ONE, 60, None).num_rows == 1


def test_a_wait_before_the_question_would_be_noticed(engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if only the question itself were watched."""

    def begun_before(
        self: PostgresEngine, use: Callable[[ServerCall], Any], seconds: float, tick: object = None
    ) -> Any:
        with self._server.reading(seconds):
            return None

    monkeypatch.setattr(PostgresEngine, "_watched", begun_before)
    with stalled(*engine._server._idle), pytest.raises(AssertionError, match="still waits"):
        raised(lambda: question(engine), patience=3)
    assert until(lambda: len(engine._server._idle) == 1)


def test_a_connection_that_is_not_cut_would_be_noticed(engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker goes on waiting, although the one who asked has gone."""
    monkeypatch.setattr(watching, "_hang_up", lambda connection: None)
    (kept,) = engine._server._idle
    with stalled(kept):
        assert raised(lambda: question(engine)) is WorkStopped
        assert not kept.closed
    assert until(lambda: kept.closed)


def test_nobody_goes_on_waiting_at_a_connection_that_was_cut(engine: PostgresEngine) -> None:
    (kept,) = engine._server._idle
    with stalled(kept):
        assert raised(lambda: question(engine)) is WorkStopped
        assert until(lambda: kept.closed)


def test_after_a_silence_no_kept_connection_is_trusted(engine: PostgresEngine) -> None:
    with engine._server.reading(60), engine._server.reading(60), engine._server.reading(60):
        pass
    kept = list(engine._server._idle)
    assert len(kept) == 3
    with stalled(*kept):
        assert raised(lambda: engine.fetched(ONE, SHORT, None)) is TimeoutError
        assert engine.fetched(ONE, 60, None).num_rows == 1
    assert all(each.closed for each in kept)


def test_a_kept_connection_that_is_still_trusted_would_be_noticed(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine._server.reading(60), engine._server.reading(60), engine._server.reading(60):
        pass
    with monkeypatch.context() as trusting, stalled(*engine._server._idle):
        trusting.setattr(connections.Server, "drop_idle", lambda self: None)
        assert raised(lambda: engine.fetched(ONE, SHORT, None)) is TimeoutError
        assert len(engine._server._idle) == 1


def test_a_silence_at_the_end_of_a_transaction_ends_in_time(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = connections._end

    def silent(connection: connections.Connection) -> None:
        with stalled(connection):
            plain(connection)

    monkeypatch.setattr(connections, "_end", silent)
    assert raised(lambda: question(engine)) is WorkStopped


def test_rows_in_memory_wait_for_no_silent_server(engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "LENDING", SHORT)
    with engine._server.lending():
        pass
    assert engine._server._lender is not None
    with stalled(engine._server._lender):
        table = private("lent", {"x": Int(0, 9)})
        assert raised(lambda: engine.register(table, pa.table({"id": [1], "x": [1]}))) is DataMismatch


@pytest.fixture
def mute() -> Iterator[str]:
    """The address of something that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"postgresql://reader@127.0.0.1:{listening.getsockname()[1]}/clinic"


def test_a_server_that_lets_nobody_in_ends_in_time(mute: str) -> None:
    engine = PostgresEngine(mute)
    assert raised(lambda: engine.fetched(ONE, SHORT, None)) is TimeoutError
    assert raised(lambda: look(engine)) is DataMismatch
    engine.close()


def test_connecting_has_a_limit_of_its_own(mute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECTING", 2)
    server = connections.Server(mute, None)
    assert raised(lambda: server._opened(3600, ServerCall())) is psycopg.errors.ConnectionTimeout


def test_who_is_let_in_too_late_goes_away(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[connections.Connection] = []
    plain = psycopg.connect

    def late(*given: Any, **how: Any) -> connections.Connection:
        opened.append(plain(*given, **how))
        time.sleep(4 * SHORT + watching._CUTTING)
        return opened[0]

    monkeypatch.setattr(psycopg, "connect", late)
    engine = PostgresEngine(address)
    assert raised(lambda: engine.fetched(ONE, SHORT, None)) is TimeoutError
    assert until(lambda: opened[0].closed)
    assert engine._server._idle == []
    engine.close()
