"""Questions to PostgreSQL only read, end in time, can be stopped, and say nothing of why they failed."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from dalenius.engines.conformance.checking import quick_check
from dalenius.engines.conformance.comparing import totals_of
from dalenius.engines.postgres import connection as connections
from dalenius.engines.postgres import connection as watching
from dalenius.engines.postgres.engine import PostgresEngine
from dalenius.errors import DataMismatch, InvalidParameter, WorkStopped
from dalenius.privacy.exact import unseal
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Scan
from dalenius.query.tables import TableLocation
from dalenius.query.types import Int
from duckdb_tables import aggregate, private
from postgres_server import database, login_role

TABLE = private("people", {"x": Int(0, 9)})
SECRET = "pw-canary-77"
SLOW = "SELECT 1 AS id, 5 + pg_sleep(60)::text::int AS x"


@pytest.fixture(scope="module")
def address() -> str:
    """A database with a table, a slow view, and roles: one that may SELECT, one that may write, one without rights."""
    found = database("")
    with psycopg.connect(found, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE people (id int, x int); INSERT INTO people VALUES (1, 5), (2, 7);"
            f"CREATE VIEW slow AS {SLOW};"
            f"{login_role('reader')} {login_role('writer')} {login_role('stranger')} {login_role('bare')}"
            f"REVOKE TEMP ON DATABASE {found.rsplit('/', 1)[1]} FROM PUBLIC;"
            "GRANT SELECT ON people, slow TO reader; GRANT SELECT, INSERT ON people TO writer"
        )
    return found


def as_role(address: str, role: str) -> str:
    return address.replace("dalenius@", f"{role}@")


@pytest.fixture
def logged() -> list[BaseException]:
    return []


@pytest.fixture
def engine(address: str, logged: list[BaseException]) -> Iterator[PostgresEngine]:
    made = PostgresEngine(as_role(address, "reader"), log=logged.append)
    made.register(TABLE, TableLocation(address, "people"))
    yield made
    made.close()


def total() -> Aggregate:
    return aggregate(Scan(TABLE, "p"), [Total("sum", "p.x")], keys=())


def answer(engine: PostgresEngine, **how: Any) -> object:
    return totals_of(unseal(engine.run(total(), **how)))


def make_slow(engine: PostgresEngine) -> None:
    """The table becomes the slow view."""
    held = engine.dialect.staying["people"]
    engine.dialect.staying["people"] = type(held)(held.table, '"public"."slow"', held.columns)


def backends(address: str) -> list[str]:
    """What the sessions of engines do now."""
    with psycopg.connect(address, autocommit=True) as connection:
        sql = "SELECT state FROM pg_stat_activity WHERE application_name = 'dalenius' AND datname = current_database()"
        return [state for (state,) in connection.execute(sql).fetchall()]


def until(reached: Callable[[], bool]) -> bool:
    """Whether something comes true within ten seconds."""
    ends = time.monotonic() + 10
    while time.monotonic() < ends and not reached():
        time.sleep(0.02)
    return reached()


# ---- only reading


def test_a_role_that_may_only_select_is_enough(engine: PostgresEngine) -> None:
    assert answer(engine) == {(): (12,)}
    assert engine.remarks == []


def test_the_owner_hears_of_roles_that_may_do_more(address: str) -> None:
    for role, word in (("writer", "may change"), ("dalenius", "superuser")):
        engine = PostgresEngine(as_role(address, role))
        engine.register(TABLE, TableLocation(address, "people"))
        assert [word in remark for remark in engine.remarks] == [True]
        engine.close()


def test_a_table_that_the_role_may_not_read_is_refused(address: str) -> None:
    engine = PostgresEngine(as_role(address, "stranger"))
    with pytest.raises(DataMismatch, match="may not read"):
        engine.register(TABLE, TableLocation(address, "people"))
    engine.close()


WRITES = (
    "INSERT INTO public.people VALUES (3, 3)",
    "DELETE FROM public.people",
    "CREATE TABLE public.t (x int)",
    "CREATE TEMP TABLE t (x int)",
    "DROP VIEW public.slow",
)


@pytest.mark.parametrize("sql", WRITES)
def test_even_a_superuser_cannot_write_through_an_engine(address: str, sql: str) -> None:
    engine = PostgresEngine(address)
    with engine._server.reading(10) as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute(sql.encode())
    engine.close()


def test_a_writing_transaction_would_be_noticed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = connections._beginning
    monkeypatch.setattr(connections, "_beginning", lambda mode, seconds: plain("READ WRITE", seconds))
    engine = PostgresEngine(address)
    with engine._server.reading(10) as connection:
        connection.execute("INSERT INTO public.people VALUES (3, 3)")  # undone at the end of the block
    engine.close()


def test_every_transaction_is_set_up_anew(engine: PostgresEngine) -> None:
    with engine._server.reading(10) as connection:
        connection.execute("SET search_path = public; SET extra_float_digits = -5; SET timezone = 'Asia/Tokyo'")
        connection.execute("COMMIT")
    assert answer(engine) == {(): (12,)}
    with engine._server.reading(10) as connection:
        names = [*connections._SETTINGS, "transaction_read_only", "transaction_isolation", "statement_timeout"]
        found = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in names]
    wanted = [value.strip("'") for value in connections._SETTINGS.values()]
    assert found == [(value,) for value in (*wanted, "on", "repeatable read", "10s")]


def test_rows_in_memory_need_no_right_to_make_temporary_tables(address: str) -> None:
    """The role of a standby, or one that may do nothing at all, passes the check that every engine must pass."""
    engine = PostgresEngine(as_role(address, "bare"))
    engine.register(TABLE, pa.table({"id": [1, 2], "x": [3, 4]}))
    assert "json" in engine.dialect.staying["people"].source
    assert answer(engine) == {(): (7,)}
    engine.hold(())
    assert quick_check(engine) is None
    engine.close()


def test_rows_in_memory_go_when_they_are_not_held(address: str) -> None:
    engine = PostgresEngine(address)
    engine.register(TABLE, pa.table({"id": [1, 2], "x": [3, 4]}))
    assert answer(engine) == {(): (7,)}
    engine.hold(())
    assert until(lambda: backends(address) == [])
    engine.close()


# ---- time, stops, losses


@pytest.mark.parametrize("limit", ["server", "client"])
def test_a_question_that_takes_too_long_is_stopped_on_the_server(
    address: str, engine: PostgresEngine, logged: list[BaseException], limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = connections._beginning
    other = 3600 if limit == "client" else 0.3
    monkeypatch.setattr(connections, "_beginning", lambda mode, seconds: plain(mode, other))
    make_slow(engine)
    with pytest.raises(WorkStopped):
        engine.run(total(), seconds=0.3 if limit == "client" else 3600)
    assert until(lambda: "active" not in backends(address))
    assert len(logged) == 1


def test_time_goes_by(engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "TICK", 0.02)
    make_slow(engine)
    ticks: list[float] = []
    with pytest.raises(WorkStopped):
        engine.run(total(), seconds=0.3, tick=ticks.append)
    assert len(ticks) > 3
    assert set(ticks) == {0.0}


def test_an_interrupt_stops_the_question_on_the_server(address: str, engine: PostgresEngine) -> None:
    make_slow(engine)

    def interrupt() -> None:
        assert until(lambda: "active" in backends(address))
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        engine.run(total())
    other.join()
    assert until(lambda: "active" not in backends(address))


def test_a_server_that_hears_no_cancelling_is_hung_up_on(
    address: str, engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "GRACE", 0.2)
    monkeypatch.setattr(psycopg.Connection, "cancel_safe", lambda self, timeout: None)
    plain = connections._beginning
    monkeypatch.setattr(connections, "_beginning", lambda mode, seconds: plain(mode, 1))
    make_slow(engine)
    with pytest.raises(WorkStopped):
        engine.run(total(), seconds=0.3)
    monkeypatch.undo()
    assert until(lambda: "active" not in backends(address))


def test_the_next_question_finds_a_new_connection(address: str, engine: PostgresEngine) -> None:
    for _ in range(2):
        assert answer(engine) == {(): (12,)}
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dalenius'"
            )
    assert answer(engine) == {(): (12,)}


def test_several_questions_run_at_once(address: str, engine: PostgresEngine) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(answer(engine))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{(): (12,)}] * 6
    assert len(engine._server._idle) <= connections.IDLE


def test_a_forked_process_has_connections_of_its_own(address: str, engine: PostgresEngine) -> None:
    assert answer(engine) == {(): (12,)}
    before = list(engine._server._idle)
    child = os.fork()
    if child == 0:
        fine = False
        try:
            fine = answer(engine) == {(): (12,)} and engine._server._idle[0] not in before
            engine.close()
        finally:
            os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine._server._idle == before
    assert answer(engine) == {(): (12,)}


# ---- what is not said


def test_why_a_question_failed_is_for_the_owner_alone(
    address: str, engine: PostgresEngine, logged: list[BaseException]
) -> None:
    held = engine.dialect.staying["people"]
    engine.dialect.staying["people"] = type(held)(
        held.table, f"(SELECT id, 1 / (x - 5) AS x, '{SECRET}' FROM public.people)", held.columns
    )
    with pytest.raises(WorkStopped) as stopped:
        engine.run(total())
    assert isinstance(logged[0], psycopg.errors.DivisionByZero)
    assert stopped.value.__cause__ is stopped.value.__context__ is None


@pytest.mark.parametrize("address", ["postgresql://a:PW@h/d", "postgresql://h/d?password=PW", "mysql://h/PW", "PW"])
def test_an_address_with_a_password_is_refused_without_saying_it(address: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        PostgresEngine(address.replace("PW", SECRET))
    assert SECRET not in str(refused.value)


def test_a_password_is_never_told(address: str, logged: list[BaseException]) -> None:
    engine = PostgresEngine(address.replace("dalenius@", "nobody@"), password=SECRET, log=logged.append)
    with pytest.raises(DataMismatch) as refused:
        engine.register(TABLE, TableLocation(address, "people"))
    told = [str(refused.value), repr(engine), *(line for error in logged for line in traceback.format_exception(error))]
    assert logged
    assert not [text for text in told if SECRET in text]
    engine.close()


# ---- servers that are not fit


def test_another_encoding_is_refused() -> None:
    other = database("ENCODING 'LATIN1' LOCALE 'C'")
    engine = PostgresEngine(other)
    with pytest.raises(DataMismatch, match="server_encoding is LATIN1, but it must be UTF8"):
        engine.register(TABLE, TableLocation(other, "people"))
    engine.close()


def test_an_old_server_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "OLDEST", 99)
    engine = PostgresEngine(address)
    with pytest.raises(DataMismatch, match="must be PostgreSQL 99 or later"):
        engine.register(TABLE, TableLocation(address, "people"))
    engine.close()
