"""A pass can be stopped, and what fails says nothing about why."""

from __future__ import annotations

import signal
import threading
import time

import pyarrow as pa
import pytest

from dalenius.engines.duckdb import engine as running
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.errors import NeighbourMismatch, WorkStopped
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Union
from dalenius.query.tables import ContributionBounds, Protection, Table, UnitColumn
from dalenius.query.types import Int
from duckdb_tables import aggregate, engine_with, exact, private, scanned

TABLE = private("t", {"x": Int(0, 9)})
FOREVER = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = -1"
HUGE = "SELECT list(a.range || repeat('x', 1000)) AS k0, 1 AS t0 FROM range(100000000) a"


@pytest.fixture
def heard() -> list[BaseException]:
    return []


@pytest.fixture
def engine(heard: list[BaseException]) -> DuckDBEngine:
    made = DuckDBEngine(limits=QueryLimits(threads=1, memory="200MB"), log=heard.append)
    made.register(TABLE, pa.table({"id": [1, 2], "x": [3, 4]}))
    return made


STEP: Aggregate = aggregate(scanned(TABLE, x0="x"), [Total("rows")], keys=())


def test_a_result_is_sealed_without_a_sensitivity(engine: DuckDBEngine) -> None:
    sealed = engine.run(STEP)
    assert isinstance(sealed, Exact)
    assert sealed.sensitivity == Sensitivity()
    assert sealed.neighbours == AddRemove()
    engine.close()


def test_work_is_stopped_when_its_time_is_up(
    engine: DuckDBEngine, heard: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "compile_sql", lambda step, dialect: FOREVER)
    start = time.monotonic()
    with pytest.raises(WorkStopped) as caught:
        engine.run(STEP, seconds=0.2)
    assert time.monotonic() - start < 10
    assert len(heard) == 1
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    monkeypatch.undo()
    assert exact(engine, STEP) == {(): (2,)}
    engine.close()


@pytest.mark.parametrize("sql", [HUGE, "SELECT 'secret row'::INTEGER", "SELECT error('secret row')", "syntax error"])
def test_a_failure_has_the_same_words_whatever_the_reason(
    engine: DuckDBEngine, heard: list[BaseException], monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setattr(running, "compile_sql", lambda step, dialect: sql)
    with pytest.raises(WorkStopped) as caught:
        engine.run(STEP)
    assert str(caught.value) == str(WorkStopped())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(heard) == 1
    engine.close()


def test_the_keyboard_interrupts_a_query(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "compile_sql", lambda step, dialect: FOREVER)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        engine.run(STEP, seconds=60)
    assert time.monotonic() - start < 30
    timer.join()
    engine.close()


def test_an_import_waits_for_running_questions_and_many_run_at_once(engine: DuckDBEngine) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(exact(engine, STEP))) for _ in range(6)]
    for thread in threads:
        thread.start()
    engine.register(private("other", {}), pa.table({"id": [1]}))
    for thread in threads:
        thread.join()
    assert found == [{(): (2,)}] * 6
    engine.close()


def test_populations_with_different_neighbours_are_refused() -> None:
    other = Table(
        "o", TABLE.columns, Protection("others", UnitColumn("id"), Replace(), ContributionBounds(rows=1, groups=1))
    )
    engine = engine_with((TABLE, {"id": [1], "x": [3]}), (other, {"id": [1], "x": [3]}))
    both = Union((scanned(TABLE, k0="x"), scanned(other, k0="x")))
    with pytest.raises(NeighbourMismatch):
        engine.run(aggregate(both, [Total("rows")], groups=1))
    engine.close()


def test_a_file_is_opened_again(tmp_path: object) -> None:
    first = DuckDBEngine(str(tmp_path))
    first.register(TABLE, pa.table({"id": [1, 2], "x": [3, 4]}))
    first.close()
    second = DuckDBEngine(str(tmp_path), tables=[TABLE])
    assert exact(second, STEP) == {(): (2,)}
    second.close()
