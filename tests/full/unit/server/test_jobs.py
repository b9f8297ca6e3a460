"""The dear tests of `unit/server/test_jobs.py`."""

from __future__ import annotations

from servers import COUNT, Served, until
from tests.unit.server import test_jobs
from tests.unit.server.test_jobs import started

served = test_jobs.served


def test_a_job_gives_the_answer_that_run_gives(served: Served) -> None:
    ana = served.of("ana")
    job = started(served, ana)
    until(lambda: ana.get(f"/v1/jobs/{job}").json()["state"] != "running")
    state = ana.get(f"/v1/jobs/{job}").json()
    assert state["state"] == "done"
    assert not state["replayed"]
    assert state["answer"] == ana.post("/v1/run", json=COUNT).json()["answer"]
    assert isinstance(state["seconds"], int)
