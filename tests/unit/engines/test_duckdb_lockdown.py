"""Whatever text reached the engine's connection, it could read nothing else, write nothing, and change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dalenius.checks.escapes.corpus import DUCKDB_STATEMENTS as ESCAPES
from dalenius.engines.duckdb import connection as locked
from dalenius.engines.duckdb import spilling
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.query.types import Int
from duckdb_tables import private

TABLE = private("t", {"x": Int(0, 9)})


def prepared(folder: Path) -> tuple[DuckDBEngine, Path]:
    canary = folder / "canary.csv"
    canary.write_text("alive,0\n1,2\n")
    (folder / "db").mkdir()
    engine = DuckDBEngine(folder / "db")
    engine.register(TABLE, pa.table({"id": [1, 2], "x": [3, 4]}))
    return engine, canary


BLOCK, NEW = "duckdb_temp_1_0_storage_DEFAULT-0.tmp", "duckdb_temp_1_0_block-7.block"


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[spilling.Blocks]:
    """Where the engines write what does not fit into memory; each holds a block."""
    kept: list[spilling.Blocks] = []
    made = spilling.Blocks.__init__

    def noted(self: spilling.Blocks, folder: Path) -> None:
        made(self, folder)
        kept.append(self)
        handle = self.open(f"{spilling.FOLDER}/{BLOCK}", "rb+")
        handle.seek(0)
        handle.write(b"a block")

    monkeypatch.setattr(spilling.Blocks, "__init__", noted)
    return kept


def harmless(reader: duckdb.DuckDBPyConnection, statement: str) -> bool:
    """Whether the statement fails, or gives nothing."""
    try:
        found = reader.execute(statement).fetchall()
    except duckdb.Error:
        return True
    return found == []


def unchanged(folder: Path, before: dict[str, bytes]) -> bool:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "tables.wanted"]
    return {str(path): path.read_bytes() for path in files} == before


def test_no_escape_works_on_the_connection_itself(tmp_path: Path, stores: list[spilling.Blocks]) -> None:
    engine, canary = prepared(tmp_path)
    before = {str(path): path.read_bytes() for path in (canary, engine._file._path)}
    secret_frame = pa.table({"x": [1]})
    assert secret_frame.num_rows == 1
    assert len(ESCAPES) >= 40
    with engine._file.reading() as reader:
        path = engine._file._path
        texts = [
            line.format(canary=canary, folder=tmp_path, file=path, block=BLOCK, new=NEW, port=1) for line in ESCAPES
        ]
        worked = [text for text in texts if not harmless(reader, text)]
        assert worked == []
        assert reader.execute('SELECT count(*), sum("column.x") FROM rows."t@1"').fetchone() == (2, 7)
        assert [file.read(0, 7) for file in stores[-1]._files.values() if file.size] == [b"a block"]
    assert unchanged(tmp_path, before)
    engine.close()


def test_the_check_above_notices_a_missing_lock_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked, "_LOCK", ())
    engine, canary = prepared(tmp_path)
    with engine._file.reading() as reader:
        assert not harmless(reader, f"SELECT * FROM read_csv('{canary}')")
        assert not harmless(reader, f"COPY (SELECT 1) TO '{tmp_path}/new.csv'")
    engine.close()


def test_the_check_above_notices_that_the_file_itself_stays_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "_LOCK", tuple(step for step in locked._LOCK if "filesystems" not in step))
    engine, _ = prepared(tmp_path)
    with engine._file.reading() as reader:
        assert not harmless(reader, f"COPY (SELECT 1) TO '{engine._file._path}.wal' (USE_TMP_FILE false)")
    engine.close()


def test_the_check_above_notices_blocks_that_need_no_place_and_a_folder_that_is_listed(
    tmp_path: Path, stores: list[spilling.Blocks], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spilling._Handle, "_taken", lambda handle: 10**6)
    monkeypatch.setattr(spilling.Blocks, "glob", lambda store, path: list(store._files))
    monkeypatch.setattr(spilling.Blocks, "unstrip_protocol", lambda store, path: path)
    engine, _ = prepared(tmp_path)
    with engine._file.reading() as reader:
        assert not harmless(reader, f"COPY (SELECT 1) TO '{spilling.FOLDER}/{NEW}' (USE_TMP_FILE false)")
        assert not harmless(reader, f"SELECT * FROM glob('{spilling.FOLDER}/*')")
    engine.close()


def test_without_a_folder_the_same_holds_and_nothing_stays(tmp_path: Path) -> None:
    canary = tmp_path / "canary.csv"
    canary.write_text("a\n1\n")
    engine = DuckDBEngine()
    engine.register(TABLE, pa.table({"id": [1], "x": [3]}))
    place = engine._file._path.parent
    assert place.stat().st_mode & 0o077 == 0
    with engine._file.reading() as reader:
        for statement in (f"SELECT * FROM read_csv('{canary}')", 'DROP TABLE rows."t@1"', "SET threads = 1"):
            assert harmless(reader, statement)
    engine.close()
    assert not place.exists()


def test_the_settings_are_what_they_should_be(tmp_path: Path) -> None:
    engine, _ = prepared(tmp_path)
    wanted: dict[str, Any] = {
        "enable_external_access": "false", "lock_configuration": "true", "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false", "allow_community_extensions": "false", "access_mode": "read_only",
        "temp_directory": spilling.FOLDER, "max_temp_directory_size": "93.1 gib",
        "enable_progress_bar": "false", "python_enable_replacements": "false",
    }  # fmt: skip
    with engine._file.reading() as reader:
        found = dict(reader.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert {name: found[name].lower() for name in wanted} == wanted
    engine.close()
