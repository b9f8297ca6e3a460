"""A server over a table that stays in PostgreSQL: workers reach it when they start, and tell nobody where it is."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from clinics import COLUMNS, add_visits, visits
from dalenius.engines import several
from dalenius.engines.several import Engines
from dalenius.server.faults import Fault, fault_of
from dalenius.server.serving import Serving
from dalenius.server.workers.handler import TaskHandler
from dalenius.server.workers.workers import Task, Worker
from dalenius.session.databases import Database
from placed import as_reader, load, postgres
from servers import COUNT, QUICK


@pytest.fixture(scope="module")
def source() -> Iterator[tuple[str, str]]:
    with postgres() as url:
        load(url, "records", "visits", visits(patients=40))
        yield as_reader(url), "records.visits"


@pytest.fixture
def db(source: tuple[str, str], tmp_path: Path) -> Iterator[Database]:
    with dl.create(tmp_path / "clinic") as made:
        made.add_population("patients", budget=dl.Budget(epsilon=3, delta="1e-9"))
        add_visits(made, "visits", source)
        made.grant("ana", tables=["visits"])
        yield made


def test_a_worker_process_asks_the_place(db: Database, tmp_path: Path) -> None:
    command = Serving(tmp_path / "clinic", grid=QUICK).command

    async def asked(*whats: str) -> list[Any]:
        worker = await Worker.started(command)
        try:
            return [json.loads((await worker.do(Task(what, "ana", "analyst", COUNT, 60))).body) for what in whats]
        finally:
            await worker.close()

    explained, answer = asyncio.run(asked("explain", "run"))
    assert "octet_length" in str(explained)
    assert "records" not in str(explained) + str(answer)
    assert db.history()[0].who == "ana"


def test_a_desk_reaches_places_before_the_first_task(db: Database, tmp_path: Path) -> None:
    with dl.open(tmp_path / "clinic") as again:
        engines = again._curator.engine
        assert isinstance(engines, Engines)
        assert not engines._live
        TaskHandler(again, QUICK).warm_up()
        assert list(engines._live)


def fault(db: Database, sql: str) -> Fault:
    with pytest.raises(dl.DaleniusError) as refused:
        TaskHandler(db, QUICK).do("run", "ana", "analyst", {**COUNT, "sql": sql})
    return fault_of(refused.value, charging=True)


def test_refusals_because_of_places_say_that_nothing_was_spent(
    db: Database, source: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.add_table("cities", pa.table({"city": ["Oslo"]}), public=True, columns={"city": COLUMNS["city"]})
    db.grant("ana", tables=["cities"])
    said = [fault(db, "SELECT COUNT(*) AS n FROM visits JOIN cities USING (city)")]
    monkeypatch.setattr(several, "_FIT", set())
    monkeypatch.setitem(several._UNFIT, source[0], (time.monotonic(), "lower(text) differs"))
    with dl.open(tmp_path / "clinic") as again:
        said.append(fault(again, COUNT["sql"]))
    assert [each.type for each in said] == ["QueryRefused", "EngineUnfit"]
    assert {each.status for each in said} == {422}
    assert all("nothing was read or spent" in each.message and "reader" not in each.message for each in said)
