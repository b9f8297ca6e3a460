"""The dear tests of `unit/engines/test_duckdb_spilling.py`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.errors import WorkStopped
from duckdb_tables import exact
from tests.unit.engines import test_duckdb_spilling
from tests.unit.engines.test_duckdb_spilling import PASSES

folder = test_duckdb_spilling.folder
small = test_duckdb_spilling.small


def test_questions_spill_side_by_side(small: DuckDBEngine) -> None:
    wanted = exact(small, PASSES["rows and sums"])
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: _again(small), range(2)))
    assert found.count(wanted) >= 1
    assert all(each in (wanted, None) for each in found)  # two at once share the memory, and may not get along


def _again(engine: DuckDBEngine) -> object:
    try:
        return exact(engine, PASSES["rows and sums"])
    except WorkStopped:
        return None
