"""The same results over Connect, computed by a cluster of two workers; the driver is a server that others use too."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from dalenius.engines.spark import sessions
from dalenius.engines.spark.engine import SparkEngine
from dalenius.errors import WorkStopped
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.expressions import Column
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Bound, Project, Scan
from dalenius.query.tables import ContributionBounds, Protection, Table, UnitColumn
from dalenius.query.types import Int, Text
from loaded import results
from spark_servers import cluster, connect, folder

PROTECTION = Protection("people", UnitColumn("person"), AddRemove(), ContributionBounds(rows=2, groups=1))
ENDLESS = "SELECT count(*) AS n FROM range(1000000000000) a WHERE sha2(CAST(id AS STRING), 256) = 'x'"


@pytest.fixture(scope="module")
def engine() -> Iterator[SparkEngine]:
    with cluster() as master, connect(master) as address:
        found = SparkEngine(address)
        yield found
        found.close()


def test_a_cluster_behind_connect_counts_and_sums(engine: SparkEngine) -> None:
    """At most two rows of each person, whose ages are scaled down to as many."""
    table = Table("visits", (("age", Int(0, 120)), ("city", Text())), PROTECTION)
    engine.register(table, pa.table({"person": [1, 1, 1, 2], "age": [30, 40, 500, 7], "city": ["é"] * 3 + ["e\u0301"]}))
    columns = (("x", Column(Int(0, 120), "v.age")), ("k", Column(Text(), "v.city")))
    bound = Bound(Project(Scan(table, "v"), columns), ("k",), 2, 1)
    step = Aggregate(bound, (Total("rows"), Total("sum", "x"), Total("units")))
    assert results(engine, [step]) == [{("é",): (3, (30 + 40 + 120) * 2 // 3 + 7, 2)}]


def test_both_workers_have_worked(engine: SparkEngine) -> None:
    engine.fetched("SELECT count(*) AS n FROM range(0, 1000, 1, 8)", 300, None)
    used = [any((folder() / worker).glob("app-*")) for worker in ("worker1", "worker2")]
    assert used == [True, True]


def test_work_on_a_cluster_is_stopped_when_its_time_is_over(engine: SparkEngine) -> None:
    told: list[float] = []
    with pytest.raises(WorkStopped):
        engine.fetched(ENDLESS, 5, told.append)
    assert all(0 <= percent <= 100 for percent in told)
    started = time.monotonic()
    assert engine.fetched("SELECT 1 AS one", 300, None).to_pylist() == [{"one": 1}]
    assert time.monotonic() - started < 300


def test_a_session_beside_another_one_has_settings_of_its_own(engine: SparkEngine) -> None:
    beside = SparkEngine(engine.session)
    beside.session.conf.set("spark.sql.caseSensitive", "false")
    assert engine.session.conf.get("spark.sql.caseSensitive") == "true"
    beside.close()
    assert engine.fetched("SELECT 2 AS two", 300, None).to_pylist() == [{"two": 2}]


def test_a_session_that_is_gone_answers_no_more(engine: SparkEngine) -> None:
    beside = SparkEngine(engine.session)
    assert beside.answers()
    beside.session.stop()
    assert not beside.answers()
    assert engine.answers()


def test_a_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_PATIENCE", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        SparkEngine(f"sc://127.0.0.1:{silent.getsockname()[1]}")
