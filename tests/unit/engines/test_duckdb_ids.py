"""Ids and keys of paths are of a kind that no row decides, and are compared as they are written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from costs import cases
from dalenius.engines.duckdb.dialect import rows_table
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.hashing import identity
from dalenius.errors import DataMismatch
from dalenius.query.tables import ForeignKey, Table
from dalenius.query.types import Category, Int
from duckdb_tables import engine_with, private

TABLE = private("t", {"x": Int(0, 9)})


def units(engine: DuckDBEngine, table: Table) -> list[int]:
    """The units of a table's rows, in order."""
    with engine._file.reading() as connection:
        return [row[0] for row in connection.execute(f"SELECT unit FROM {rows_table(table)} ORDER BY 1").fetchall()]


@cases("id_", ["007", "+7", " 7", "7.0", "x", "", str(2**63)], fast=3)
def test_texts_name_the_units_of_a_population_of_numbers_only_if_all_are_plain_numbers(id_: str) -> None:
    engine = engine_with((private("a", {}), {"id": [1, -2, 2**63 - 1]}))
    written = private("b", {})
    with pytest.raises(DataMismatch, match="not whole numbers") as refused:
        engine.register(written, pa.table({"id": ["1", id_]}))
    assert not id_ or repr(id_) not in str(refused.value)
    engine.register(written, pa.table({"id": ["1", "-2", str(2**63 - 1)]}))
    assert units(engine, written) == [-2, 1, 2**63 - 1]
    engine.close()


def test_numbers_name_the_units_of_a_population_of_texts_as_decimals() -> None:
    written, numbers = private("a", {}), private("b", {})
    engine = engine_with((written, {"id": ["-3", "20", "020"]}), (numbers, {"id": [-3, 20]}))
    assert set(units(engine, numbers)) == {identity("-3"), identity("20")}
    assert set(units(engine, numbers)) < set(units(engine, written))
    engine.close()


@pytest.mark.parametrize("more", ["", "007\n", "x\n"])
def test_no_row_decides_how_the_ids_of_a_file_of_texts_are_told_apart(tmp_path: Path, more: str) -> None:
    (tmp_path / "t.csv").write_text("id\n1\n2\n" + more)
    table = private("t", {})
    engine = engine_with((table, tmp_path / "t.csv"))
    assert {identity("1"), identity("2")} <= set(units(engine, table))
    engine.close()


@pytest.mark.parametrize("parent", [["10", "11"], ["10", "X1"], [10, 11]])
@pytest.mark.parametrize("child", [["10", "010", "x"], [10, 110, 12]])
def test_a_key_is_brought_to_the_kind_of_the_parents_key_and_one_that_does_not_fit_matches_nothing(
    parent: list, child: list
) -> None:
    orders = private("orders", {}, keys=("number",))
    lines = private("lines", {"x": Int(0, 9)}, unit=ForeignKey("order", "orders", "number"))
    engine = engine_with((orders, {"id": [1, 2], "number": parent}), (lines, {"order": child, "x": [1, 2, 3]}))
    assert units(engine, lines) == [1]
    engine.close()


def test_keys_beyond_the_bounds_of_their_column_are_not_the_same() -> None:
    orders = private("orders", {"number": Int(0, 9)}, keys=("number",))
    lines = private("lines", {"order": Int(0, 9)}, unit=ForeignKey("order", "orders", "number"))
    engine = engine_with((orders, {"id": [1, 2, 3], "number": [10, 11, 12]}), (lines, {"order": [11, 13]}))
    assert units(engine, lines) == [2]
    engine.close()


def test_a_public_table_is_counted_and_a_private_one_is_not() -> None:
    columns = {"city": Category("Oslo", "Bodø"), "size": Int(0, 9), "none": Int(0, 9, nullable=True)}
    source = {"city": ["Oslo", "Oslo", None, None, None], "size": [1, 20, 30, 9, 2], "none": [None] * 5}
    source["none"] = pa.array(source["none"], pa.int64())
    public = Table("places", tuple(columns.items()))
    engine = engine_with((public, pa.table(source)), (TABLE, {"id": [1], "x": [1]}))
    found = engine.counted(public)
    assert (found.rows, dict(found.repeats)) == (5, {"city": 2, "size": 3, "none": 1})
    assert engine.counted(TABLE) is TABLE
    engine.close()
