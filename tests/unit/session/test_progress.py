"""Long work shows signs of life, which tell an analyst nothing about rows."""

from __future__ import annotations

import pytest

from clinics import clinic
from dalenius.engines.duckdb import connection
from dalenius.session.progress import Progress, ticking


def test_the_owner_sees_rows_and_an_analyst_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "TICK", 0.0)
    db = clinic()
    db.grant("ana", tables=["visits"])
    for session, owner in ((db, True), (db.as_analyst("ana"), False)):
        seen: list[Progress] = []
        for _ in range(9):  # the work may be done before anybody looks
            session.sql("SELECT COUNT(*) FROM visits").run(epsilon="0.1", progress=seen.append, fresh=True)
            if seen:
                break
        assert seen
        assert all((progress.percent is not None) == owner for progress in seen)
        assert all(progress.seconds >= 0 for progress in seen)


def test_progress_reads_as_a_line() -> None:
    assert str(Progress(3.2)) == "3 s"
    assert str(Progress(3.2, 50.0)) == "3 s, 50 % of the rows"


def test_percents_are_kept_from_analysts() -> None:
    seen: list[Progress] = []
    ticking(seen.append, owner=False)(99.0)
    assert seen[0].percent is None
