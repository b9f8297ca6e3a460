"""Jobs: what becomes of one is seen on the grid, by whoever started it, and its answer is the ledger's."""

from __future__ import annotations

import threading
import time

import pytest

from clinics import clinic
from costs import cases
from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.server.limits import Limits
from dalenius.server.schedule import ReplySchedule
from dalenius.server.workers.workers import Task
from servers import COUNT, Served, until


@pytest.fixture
def served() -> Served:
    db = clinic()
    db.grant("ana", tables=["visits"], share="50%")
    db.grant("bob", tables=["visits"], share="50%")
    with db, Served(db) as server:
        yield server


def started(served: Served, client: object, **changes: object) -> str:
    reply = client.post("/v1/jobs", json={**COUNT, **changes})  # type: ignore[attr-defined]
    assert reply.status_code == 202
    return str(reply.json()["job"])


def test_a_job_that_is_refused_says_so(served: Served) -> None:
    ana = served.of("ana")
    job = started(served, ana, sql="SELECT * FROM visits")
    until(lambda: ana.get(f"/v1/jobs/{job}").json()["state"] != "running")
    assert ana.get(f"/v1/jobs/{job}").json()["error"]["code"] == "refused"


def test_a_job_is_there_for_whoever_started_it_alone(served: Served) -> None:
    ana = served.of("ana")
    job = started(served, ana)
    assert served.of("ana").get(f"/v1/jobs/{job}").status_code == 200
    for other in (served.of("bob"), served.of("owner", "owner"), served.of("ana", "owner")):
        assert other.get(f"/v1/jobs/{job}").status_code == 404
        assert other.delete(f"/v1/jobs/{job}").status_code == 404


def test_a_stopped_job_stays_stopped_and_tells_nothing_more(served: Served) -> None:
    gate = threading.Event()
    served.long_workers.before = lambda task: gate.wait(10)
    ana = served.of("ana")
    job = started(served, ana)
    assert ana.delete(f"/v1/jobs/{job}").json()["state"] == "stopped"
    gate.set()
    state = ana.get(f"/v1/jobs/{job}").json()
    assert (state["state"], state["error"]["code"]) == ("stopped", "stopped")
    assert "answer" not in state


def test_so_many_jobs_are_open_at_once() -> None:
    gate = threading.Event()
    db = clinic()
    db.grant("ana", tables=["visits"])
    with db, Served(db, limits=Limits(jobs=2, burst=1000)) as served:
        served.long_workers.before = lambda task: gate.wait(10)
        ana = served.of("ana")
        assert [ana.post("/v1/jobs", json=COUNT).status_code for _ in range(3)] == [202, 202, 429]
        gate.set()


def test_the_end_of_a_job_is_seen_on_the_grid() -> None:
    """The work ends at once, and nobody sees it before the grid's first point; without the grid it is seen at once."""
    db = clinic()
    db.grant("ana", tables=["visits"])
    seen = {}
    with db, Served(db) as served:
        for step in (1.5, 0.001):
            served.front.jobs._grid = ReplySchedule(step=step, fine=step)
            ana = served.of("ana")
            started_at = time.monotonic()
            job = started(served, ana, sql=f"SELECT COUNT(*) AS n{int(step * 1000)} FROM visits")
            until(lambda ana=ana, job=job: ana.get(f"/v1/jobs/{job}").json()["state"] == "done")
            seen[step] = time.monotonic() - started_at
    assert seen[1.5] >= 1.5
    assert seen[0.001] < 1.5


def test_a_place_is_free_when_the_end_of_a_job_is_seen_and_not_before() -> None:
    """What ends it early may depend on rows; so neither the count of jobs nor the next start tells."""
    db = clinic()
    db.grant("ana", tables=["visits"])
    with db, Served(db, limits=Limits(jobs=1, burst=1000)) as served:
        served.front.jobs._grid = ReplySchedule(step=0.5, fine=0.5)
        ana = served.of("ana")
        job = started(served, ana)
        until(lambda: served.front.jobs._jobs[job].ended is not None)
        assert served.front.jobs.running == 1
        assert ana.post("/v1/jobs", json=COUNT).status_code == 429
        until(lambda: ana.get(f"/v1/jobs/{job}").json()["state"] == "done")
        assert served.front.jobs.running == 0
        started(served, ana)


@cases("outcome", ["running", "done", "stopped", "refused"], fast=1)
def test_a_key_finds_its_job_again_unless_that_was_refused(served: Served, outcome: str) -> None:
    gate = threading.Event()
    served.long_workers.before = lambda task: gate.wait(10) if outcome == "running" else fails(task)
    ana, question = served.of("ana"), {**COUNT, "fresh": True}

    def fails(task: Task) -> None:
        if outcome in ("stopped", "refused"):
            raise WorkStopped if outcome == "stopped" else InvalidParameter("share", "1", allowed="less")

    def begun() -> dict[str, object]:
        return dict(ana.post("/v1/jobs", json=question, headers={"Idempotency-Key": "k"}).json())

    first = begun()["job"]
    if outcome != "running":
        until(lambda: ana.get(f"/v1/jobs/{first}").json()["state"] != "running")
    again = begun()
    assert (again["job"] == first) == (outcome != "refused")
    assert again["state"] == ("running" if outcome == "refused" else outcome)
    gate.set()


def test_a_key_of_a_job_that_somebody_stopped_says_that_it_was_stopped(served: Served) -> None:
    gate = threading.Event()
    served.long_workers.before = lambda task: gate.wait(10)
    ana, key = served.of("ana"), {"Idempotency-Key": "k"}
    first = ana.post("/v1/jobs", json=COUNT, headers=key).json()
    assert first["state"] == "running"
    stopped = ana.delete(f"/v1/jobs/{first['job']}").json()
    gate.set()
    assert ana.post("/v1/jobs", json=COUNT, headers=key).json() == stopped


def test_a_job_that_is_not_there_points_to_what_was_bought(served: Served) -> None:
    reply = served.of("ana").get("/v1/jobs/" + "0" * 32)
    assert reply.status_code == 404
    assert "replays" in reply.json()["error"]["message"]


@pytest.mark.parametrize(("who", "role", "told"), [("ana", "analyst", None), ("owner", "owner", 40)])
def test_only_the_owner_is_told_how_many_rows_are_done(served: Served, who: str, role: str, told: int | None) -> None:
    gate, begun = threading.Event(), threading.Event()

    def before(task: Task) -> None:
        if task.tell:
            task.tell(40.0)
        begun.set()
        gate.wait(10)

    served.long_workers.before = before
    client = served.of(who, role)
    job = started(served, client)
    assert begun.wait(10)
    assert client.get(f"/v1/jobs/{job}").json().get("percent") == told
    gate.set()
