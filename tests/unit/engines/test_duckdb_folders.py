"""Temporary folders are private, and those of dead processes are deleted while those of living ones stay."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dalenius.engines.duckdb import engine as folders
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.process import identity

_LEAVE = "from dalenius.engines.duckdb.engine import temporary; import os; print(temporary(), flush=True); os._exit(9)"

pytestmark = pytest.mark.skipif(folders.fcntl is None, reason="there are no such locks here")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def left_behind(tmp_path: Path) -> Path:
    """The folder of a process that ended without a word."""
    ended = subprocess.run(
        [sys.executable, "-c", _LEAVE], env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, check=False
    )
    return Path(ended.stdout.decode().strip())


def test_the_folder_of_a_dead_process_is_deleted_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    living, dead = folders.temporary(), left_behind(tmp_path)
    assert dead.is_dir()
    other = folders.temporary()
    assert living.is_dir()
    assert other.is_dir()
    assert not dead.exists()
    for place in (living, other):
        folders.delete(place, identity())
        assert not place.exists()


def test_the_test_above_notices_a_folder_without_a_lock(tmp_path: Path) -> None:
    living = folders.temporary()
    os.close(folders._locks.pop(living))
    folders.temporary()
    assert not living.exists()


def test_links_and_files_of_such_names_are_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "dalenius-locked-link").symlink_to(kept)
    (tmp_path / "dalenius-locked-file").write_text("")
    folders.temporary()
    assert kept.is_dir()
    assert (tmp_path / "dalenius-locked-link").is_symlink()
    assert (tmp_path / "dalenius-locked-file").is_file()


def test_only_the_process_that_made_a_folder_deletes_it() -> None:
    place = folders.temporary()
    folders.delete(place, (identity()[0] + 1, 0))
    assert place.is_dir()


def test_only_the_owner_reads_the_file(tmp_path: Path) -> None:
    engine = DuckDBEngine()
    (place,) = tmp_path.glob("dalenius-*")
    assert (place.stat().st_mode & 0o777, (place / "tables.duckdb").stat().st_mode & 0o777) == (0o700, 0o600)
    engine.close()
    assert not place.exists()
