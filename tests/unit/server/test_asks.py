"""What workers do: an answer enters the ledger at a point of the grid, and what is wrong elsewhere is not told."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clinics import clinic
from dalenius.curator.databases import Database
from dalenius.errors import InvalidParameter
from dalenius.server.asks import Desk
from dalenius.server.faults import LEDGER_REFUSED, Faulted
from dalenius.server.grid import Grid
from dalenius.server.worker import OWNER_LOG, keep
from servers import COUNT


def stored_after(db: Database, grid: Grid) -> float:
    """The seconds from a charge to its answer, as whoever reads the ledger sees them."""
    Desk(db, grid).do("run", "owner", "owner", {**COUNT, "fresh": True})
    at = {entry.kind: entry.at for entry in db._curator.ledger.entries()}
    return (at["answer"] - at["charge"]).total_seconds()


def test_an_answer_enters_the_ledger_at_a_point_of_the_grid() -> None:
    with clinic() as db:
        assert stored_after(db, Grid(step=0.5)) == pytest.approx(0.5, abs=0.2)


def test_the_test_above_notices_an_answer_off_the_grid() -> None:
    with clinic() as db:
        assert stored_after(db, Grid(step=0.001)) < 0.3


def test_what_is_wrong_with_the_catalog_is_for_the_owner_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with clinic() as db:

        def broken() -> None:
            raise InvalidParameter("catalog.toml", "secret study", allowed="written in TOML")

        desk = Desk(db)
        monkeypatch.setattr(db._curator, "refresh", broken)
        with pytest.raises(Faulted) as refused:
            desk.do("catalog", "ana", "analyst", {})
        assert refused.value.fault == LEDGER_REFUSED
        assert "secret study" in db.log[-1].details
        desk.rest()


def test_the_owners_log_is_a_file_that_only_the_owner_can_read(tmp_path: Path) -> None:
    with clinic() as db:
        db.log.listen(lambda failure: keep(tmp_path / OWNER_LOG, failure))
        for _ in range(2):
            db.log.record("receipt", "ana", ValueError("a row"))
    path = tmp_path / OWNER_LOG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().count("a row") == len(path.read_text().splitlines()) == 2


def test_the_front_process_does_not_even_load_the_engine() -> None:
    code = "import sys, dalenius.server.serving; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
