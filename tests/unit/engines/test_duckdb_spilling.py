"""A question that needs more memory than it may use is answered exactly, over encrypted blocks in files without a name.

Memory is scaled down with the table: 40 MB for tables that need several times as much.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cryptography.exceptions import InvalidTag

from costs import cases
from dalenius.engines.duckdb import spilling
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.errors import DataMismatch, WorkStopped
from dalenius.query.plan.passes import DistinctValues, Pass, Total, Values
from dalenius.query.plan.relations import Bound
from dalenius.query.types import Int
from duckdb_tables import aggregate, exact, private, scanned

ROWS = 1_200_000
TABLE = private("t", {"k": Int(0, 999), "v": Int(0, 10**6)})
_ALL = scanned(TABLE, k0="k", x0="v")
PASSES: dict[str, Pass] = {
    "rows and sums": aggregate(_ALL, [Total("rows"), Total("sum", "x.0")], groups=3),
    "values": Values(Bound(_ALL, ("k.0",), 3, 3), "x.0"),
    "distinct values": DistinctValues(Bound(_ALL, ("k.0",), 3, 3), "x.0"),
}


def limits(memory: str, disk: str = "10GB") -> QueryLimits:
    return QueryLimits(threads=1, memory=memory, disk=disk)


def source() -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table(
        {"id": random.integers(0, ROWS // 10, ROWS), "k": random.integers(0, 1000, ROWS),
         "v": random.integers(0, 10**6, ROWS)}
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table, imported with little memory too."""
    place = tmp_path_factory.mktemp("spilling")
    engine = DuckDBEngine(place, limits=limits("40MB"))
    engine.register(TABLE, source())
    engine.close()
    return place


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of blocks that were written."""
    sizes: list[int] = []
    write = spilling._SpillFile.write

    def noted(self: spilling._SpillFile, place: int, block: bytes) -> None:
        sizes.append(len(block))
        write(self, place, block)

    monkeypatch.setattr(spilling._SpillFile, "write", noted)
    return sizes


@pytest.fixture
def small(folder: Path) -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(folder, tables=[TABLE], limits=limits("40MB"))
    yield engine
    engine.close()


@cases("name", PASSES, fast=1)
def test_what_does_not_fit_into_memory_is_answered_exactly(folder: Path, spilled: list[int], name: str) -> None:
    large = DuckDBEngine(folder, tables=[TABLE], limits=limits("4GB"))
    wanted = exact(large, PASSES[name])
    large.close()
    assert spilled == []
    small = DuckDBEngine(folder, tables=[TABLE], limits=limits("40MB"))
    assert exact(small, PASSES[name]) == wanted
    assert sum(spilled) > 10**7
    small.close()


@pytest.mark.parametrize("name", PASSES)
def test_a_question_that_needs_more_disk_than_it_may_use_fails(folder: Path, name: str) -> None:
    engine = DuckDBEngine(folder, tables=[TABLE], limits=limits("40MB", disk="1MB"))
    with pytest.raises(WorkStopped):
        engine.run(PASSES[name])
    engine.close()


def test_an_import_that_needs_more_disk_than_it_may_use_fails(tmp_path: Path) -> None:
    engine = DuckDBEngine(tmp_path, limits=limits("40MB", disk="0MB"))
    with pytest.raises(DataMismatch):
        engine.register(TABLE, source())
    engine.close()


def test_a_disk_that_is_nearly_full_ends_a_question(small: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilling, "KEPT_FREE", 2**62)
    with pytest.raises(WorkStopped):
        small.run(PASSES["rows and sums"])
    monkeypatch.undo()
    assert exact(small, PASSES["rows and sums"])


def test_a_question_that_is_stopped_while_it_spills_leaves_no_trace(small: DuckDBEngine, spilled: list[int]) -> None:
    with pytest.raises(WorkStopped):
        small.run(PASSES["values"], tick=_interrupted)
    assert spilled
    assert exact(small, PASSES["rows and sums"])


def _interrupted(percent: float) -> None:
    raise InterruptedError


def test_no_file_has_a_name_and_nothing_stays(
    folder: Path, small: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    stores: list[spilling.Blocks] = []
    write, made = spilling._SpillFile.write, spilling.Blocks.__init__

    def looked(self: spilling._SpillFile, place: int, block: bytes) -> None:
        write(self, place, block)
        seen.update(os.listdir(folder))

    def kept(self: spilling.Blocks, place: Path) -> None:
        made(self, place)
        stores.append(self)

    monkeypatch.setattr(spilling._SpillFile, "write", looked)
    monkeypatch.setattr(spilling.Blocks, "__init__", kept)
    small.run(PASSES["rows and sums"])
    assert seen == {"tables.duckdb", "tables.wanted"}
    (store,) = stores
    assert sum(store.size(path) for path in store._files) == 0


def test_blocks_are_encrypted_and_come_back_as_they_were(tmp_path: Path) -> None:
    secret = b"a row of somebody " * 1000
    file = spilling._SpillFile(tmp_path, os.urandom(32), count())
    file.write(0, secret)
    file.write(10**6, secret)
    assert (file.read(0, len(secret)), file.read(10**6, len(secret))) == (secret, secret)
    stored = [file._from(place, len(secret)) for place in (0, 10**6)]
    assert stored[0] != stored[1]
    assert all(b"somebody" not in each for each in stored)
    assert os.listdir(tmp_path) == []


def test_a_block_that_was_changed_or_exchanged_is_refused(tmp_path: Path) -> None:
    file = spilling._SpillFile(tmp_path, os.urandom(32), count())
    file.write(0, b"x" * 100)
    file.write(100, b"y" * 100)
    file._at(0, file._from(100, 100))
    with pytest.raises(InvalidTag):
        file.read(0, 100)
    with pytest.raises(OSError, match="as they were written"):
        file.read(100, 50)
