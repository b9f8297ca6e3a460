"""What workers do: an answer enters the ledger at a point of the grid, and what is wrong elsewhere is not told."""

from __future__ import annotations

import io
import json
import stat
import time
from pathlib import Path

import pytest

import dalenius as dl
from clinics import add_visits, clinic, visits
from costs import cases
from dalenius.errors import InvalidParameter, TooManyKeys, WorkStopped
from dalenius.ledger import texts
from dalenius.server.faults import LEDGER_REFUSED, Faulted
from dalenius.server.schedule import ReplySchedule
from dalenius.server.workers.handler import TaskHandler
from dalenius.server.workers.worker import _reply
from dalenius.server.workers.workers import Task
from dalenius.session import executor as door
from dalenius.session.databases import Database
from dalenius.session.log import OWNER_LOG, keep, keep_lost
from servers import COUNT, QUICK


def stored_after(db: Database, grid: ReplySchedule) -> float:
    """The seconds from a charge to its answer, as whoever reads the ledger sees them."""
    TaskHandler(db, grid).do("run", "owner", "owner", {**COUNT, "fresh": True})
    at = {entry.kind: entry.at for entry in db._curator.ledger.entries()}
    return (at["answer"] - at["charge"]).total_seconds()


def test_an_answer_enters_the_ledger_at_a_point_of_the_grid() -> None:
    with clinic() as db:
        assert stored_after(db, ReplySchedule(step=1.5, fine=1.5)) >= 1.4


def test_the_test_above_notices_an_answer_off_the_grid() -> None:
    with clinic() as db:
        assert stored_after(db, ReplySchedule(step=0.001)) < 1.4


@cases("what", ["price", "explain", "expected_error", "rehearse", "run"], fast=1)
def test_an_answer_that_would_fill_the_ledger_is_refused_and_nothing_is_charged(what: str) -> None:
    """Keys times columns are counted, NULL is a city too, and a histogram has 121 counts."""
    for sql, shown in (
        ("SELECT age, city, COUNT(*) AS n FROM visits GROUP BY age, city", 121 * 4 * 3),
        ("SELECT city, HISTOGRAM(age) AS a, HISTOGRAM(age) AS b FROM visits GROUP BY city", 4 * (1 + 2 * 121)),
    ):
        given = {"sql": sql, "epsilon": "0.00001"}
        with clinic() as db:
            before = db._curator.ledger.last()
            with pytest.raises(TooManyKeys, match=rf"{shown:,} values .*nothing was read or spent"):
                TaskHandler(db, QUICK, values=shown - 1).do(what, "owner", "owner", given)
            assert db._curator.ledger.last() == before
            TaskHandler(db, QUICK, values=shown).do(what, "owner", "owner", given)


def test_what_a_limit_leaves_out_fills_no_ledger() -> None:
    with clinic() as db:
        sql = "SELECT age, COUNT(*) AS n FROM visits GROUP BY age ORDER BY age LIMIT 10"
        TaskHandler(db, QUICK, values=20).do("run", "owner", "owner", {"sql": sql, "epsilon": "0.1"})
        with pytest.raises(TooManyKeys):
            TaskHandler(db, QUICK, values=19).do("run", "owner", "owner", {"sql": sql, "epsilon": "0.1"})


def failed_after(db: Database, grid: ReplySchedule, monkeypatch: pytest.MonkeyPatch) -> float:
    """The seconds that paid work takes which fails at once."""

    def broken(*arguments: object, **options: object) -> None:
        raise RuntimeError

    desk = TaskHandler(db, grid)
    monkeypatch.setattr(door, "measured", broken)
    start = time.monotonic()
    with pytest.raises(WorkStopped):
        desk.do("run", "owner", "owner", {**COUNT, "fresh": True})
    return time.monotonic() - start


@pytest.mark.parametrize(("step", "least", "most"), [(1, 1, 10), (0.001, 0, 0.9)])
def test_work_that_fails_ends_at_a_point_of_the_grid_too(
    monkeypatch: pytest.MonkeyPatch, step: float, least: float, most: float
) -> None:
    """With a grid that is too fine it ends earlier: that is what this test would notice."""
    with clinic() as db:
        assert least <= failed_after(db, ReplySchedule(step=step), monkeypatch) <= most


def test_what_is_wrong_with_the_catalog_is_for_the_owner_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with clinic() as db:

        def broken() -> None:
            raise InvalidParameter("catalog.toml", "secret study", allowed="written in TOML")

        desk = TaskHandler(db)
        monkeypatch.setattr(db._curator, "refresh", broken)
        with pytest.raises(Faulted) as refused:
            desk.do("catalog", "ana", "analyst", {})
        assert refused.value.fault == LEDGER_REFUSED
        assert "secret study" in db.log[-1].details
        for _ in range(5):
            desk.rest()
        assert len(db.log) == 1  # once, however often it is met


def test_a_table_that_cannot_be_asked_yet_hides_no_other(tmp_path: Path) -> None:
    with dl.create(tmp_path / "clinic", mark=tmp_path / "mark.sqlite") as db:
        db.add_population("patients", budget=dl.Budget(1))
        add_visits(db, "visits", visits(patients=4))
        db.draft_table("lab", columns={"value": "Int"}, population="patients", unit="patient_id")
        tables = json.loads(TaskHandler(db).do("catalog", "owner", "owner", {}).body)["tables"]
        assert tables["visits"]["columns"] == db.columns("visits")
        assert (tables["lab"]["columns"], "cannot be asked" in tables["lab"]["about"]) == ({}, True)


def replied(desk: TaskHandler, what: str, **given: object) -> tuple[dict[str, object], bytes]:
    """What a worker sends: the line and the body."""
    out = io.BytesIO()
    _reply(out, desk, json.loads(Task(what, "ana", "analyst", given).line(7)))
    begun, head, body = out.getvalue().split(b"\n", 2)
    assert json.loads(begun) == {"number": 7, "begun": True}
    return json.loads(head), body


def test_a_worker_tells_the_number_of_the_task_and_the_length_of_the_body() -> None:
    with clinic() as db:
        for what in ("catalog", "registry", "registry_csv", "registry_html"):
            head, body = replied(TaskHandler(db), what)
            assert (head["number"], head["length"]) == (7, len(body))
            assert body
        head, body = replied(TaskHandler(db), "receipt", id="0" * 32)
        assert (head["number"], head["length"], body) == (7, 0, b"")


def test_analysts_cannot_fill_the_owners_log_with_what_is_not_there() -> None:
    with clinic() as db:
        desk = TaskHandler(db)
        for _ in range(3):
            assert replied(desk, "receipt", id="0" * 32)[0]["error"]["code"] == "not_found"  # type: ignore[index]
        assert len(db.log) == 0
        assert replied(desk, "unheard of")[0]["error"]["code"] == "internal"  # type: ignore[index]
        assert len(db.log) == 1


def test_a_worker_looks_at_no_answer_before_somebody_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    unpacked = texts.unpacked
    monkeypatch.setattr(texts, "unpacked", lambda rows, digest: read.append(digest) or unpacked(rows, digest))
    with clinic() as db:
        desk = TaskHandler(db)
        desk.do("run", "owner", "owner", COUNT)
        desk.warm_up()
        assert read == []
        for _ in range(2):
            assert len(json.loads(desk.do("replays", "owner", "owner", {}).body)["replays"]) == 1
        assert len(read) == 1


def test_the_owners_log_is_a_file_that_only_the_owner_can_read(tmp_path: Path) -> None:
    with clinic() as db:
        db.log.listen(lambda failure: keep(tmp_path / OWNER_LOG, failure))
        for _ in range(2):
            db.log.record("receipt", "ana", ValueError("a row"))
    path = tmp_path / OWNER_LOG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().count("a row") == len(path.read_text().splitlines()) == 2


def test_a_lost_worker_stands_in_the_owners_log_and_a_full_disk_stops_no_reply(tmp_path: Path) -> None:
    for path in (tmp_path / OWNER_LOG, tmp_path / "no folder" / OWNER_LOG):
        keep_lost(path, what="run", who="ana", reason="it took too long")
    (line,) = (tmp_path / OWNER_LOG).read_text().splitlines()
    assert {"who": "ana", "reason": "WorkerLost"}.items() <= json.loads(line).items()
    assert "it took too long" in line
