"""Sources of every form are read, and those that cannot be are refused in words of their own, without a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from dalenius.engines.duckdb import sources as csv_files
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.engine import AS_DECLARED, Reading
from dalenius.errors import DataMismatch
from dalenius.query.tables import UnitColumn
from dalenius.query.types import Category, Domain, Int, Text
from duckdb_tables import engine_with, private, stored_codes


def read(
    tmp_path: Path, text: str, columns: dict[str, Domain], reading: Reading = AS_DECLARED, name: str = "t.csv"
) -> dict[str, list[Any]]:
    """The stored columns of a CSV file."""
    (tmp_path / name).write_text(text, newline="")
    table, engine = private("t", columns), DuckDBEngine()
    try:
        engine.register(table, tmp_path / name, reading=reading)
        return {column: stored_codes(engine, table, column) for column in columns}
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "id;x;city\n1;3;Oslo, N\n"),
        ("t.tsv", "id\tx\tcity\n1\t3\tOslo, N\n"),
        ("t.csv", '\ufeffid,x,city\r\n1,3,"Oslo, N"\r\n'),
        ("t.csv", 'id,x,city,"a;b;c;d"\n1,3,"Oslo, N",\n'),
    ],
)
def test_the_header_says_what_the_delimiter_is(tmp_path: Path, name: str, text: str) -> None:
    found = read(tmp_path, text, {"x": Int(0, 9), "city": Text()}, name=name)
    assert found == {"x": [3], "city": ["Oslo, N"]}


def test_no_row_decides_how_others_are_read(tmp_path: Path) -> None:
    """Semicolons, comment signs and lines that look like another header stay values."""
    rows = ["1,;;;;;;;;", "2,# no comment", "id,city", "4,a"]
    found = read(tmp_path, "\n".join(["id,city", *rows]), {"city": Text()})
    assert sorted(found["city"]) == ["# no comment", ";;;;;;;;", "a", "city"]


def test_words_for_null_are_listed_and_an_empty_field_is_null(tmp_path: Path) -> None:
    text = "id,x,city\n1,NA,?\n2,,\n3,5,Oslo\n"
    columns: dict[str, Domain] = {"x": Int(0, 9, nullable=True), "city": Category("Oslo", "?", nullable=True)}
    with pytest.raises(DataMismatch, match=r"'x' cannot be read.*nulls=\['NA', '\?'\]"):
        read(tmp_path, text, columns)
    found = read(tmp_path, text, columns, Reading(nulls=("NA", "?")))
    assert sorted(found["x"], key=str) == [5, None, None]
    assert sorted(found["city"], key=str) == [None, None, "Oslo"]


def test_words_for_null_are_for_csv_files() -> None:
    with pytest.raises(DataMismatch, match="CSV"):
        DuckDBEngine().register(private("t", {}), pa.table({"id": [1]}), reading=Reading(nulls=("NA",)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"id,city\n1,secret,secret\n", "more or fewer fields"),
        (b"id,city\n1\n", "more or fewer fields"),
        (b'id,city\n1,"secret\n', "a quote is not closed"),
        (b"id,city\n1,secret\xf8\n", "not written in UTF-8"),
        (b"id,city,city\n1,secret,secret\n", "two columns 'city'"),
        (b"ID,City\n1,secret\n", "no column 'city', 'id'.*It has 'City', 'ID'.*rename"),
        (b"", "empty or not a CSV file"),
    ],
)
def test_each_fault_of_a_csv_file_has_its_own_words(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataMismatch, match=problem) as caught:
        DuckDBEngine().register(private("t", {"city": Text()}), tmp_path / "t.csv")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_check_above_notices_an_error_that_quotes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "explained", lambda error: (str(error), ""))
    (tmp_path / "t.csv").write_bytes(b"id,city\n1,secret,secret\n")
    with pytest.raises(DataMismatch, match="secret"):
        DuckDBEngine().register(private("t", {"city": Text()}), tmp_path / "t.csv")


def test_columns_are_found_under_their_names_in_the_source(tmp_path: Path) -> None:
    table = private("t", {"hours": Int(0, 99), "sex": Text()}, unit=UnitColumn("case_id"), keys=("key",))
    rename = (("hours", "hours-per-week"), ("sex", "Kjønn"), ("case_id", "case.id"), ("key", "group"))
    data = pa.table({"hours-per-week": [40], "Hours-per-week": [1], "Kjønn": ["a"], "case.id": [1], "group": [7]})
    (tmp_path / "t.csv").write_text("case.id,group,Kjønn,hours-per-week\n1,7,a,40\n")
    for source in (data, tmp_path / "t.csv"):
        engine = DuckDBEngine()
        engine.register(table, source, reading=Reading(rename))
        assert (stored_codes(engine, table, "hours"), stored_codes(engine, table, "sex")) == ([40], ["a"])
        engine.close()
    with pytest.raises(DataMismatch, match="no column 'x y'"):
        DuckDBEngine().register(table, data, reading=Reading((*rename[1:], ("hours", "x y"))))


def test_columns_with_equal_names_are_refused_only_if_they_are_wanted() -> None:
    twice = pa.table([[1], [2], [3]], names=["id", "x", "x"])
    with pytest.raises(DataMismatch, match="two columns 'x'"):
        DuckDBEngine().register(private("t", {"x": Int(0, 9)}), twice)
    engine_with((private("t", {}), twice)).close()


def test_a_table_of_a_duckdb_file_is_found_by_its_schema_too(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS id, 5 AS x")
        connection.execute("CREATE VIEW v AS SELECT 2 AS id, 6 AS x")
    table, other = private("t", {"x": Int(0, 9)}), private("v", {"x": Int(0, 9)})
    engine = engine_with((table, (path, "s.t")), (other, (path, "v")))
    assert stored_codes(engine, table, "x") + stored_codes(engine, other, "x") == [5, 6]
    for name in ("t", "s.v", "s.", "absent"):
        with pytest.raises(DataMismatch, match="has no table"):
            engine.register(private("w", {"x": Int(0, 9)}), (path, name))
    (tmp_path / "no.duckdb").write_text("secret")
    with pytest.raises(DataMismatch, match="cannot be opened as a DuckDB file") as caught:
        engine.register(private("w", {}), (tmp_path / "no.duckdb", "t"))
    assert caught.value.__context__ is None
    engine.close()


def test_lazy_frames_and_duckdb_relations_are_read() -> None:
    table, other = private("t", {"x": Int(0, 9)}), private("o", {"x": Int(0, 9)})
    lazy = pl.DataFrame({"id": [1], "x": [5]}).lazy()
    own = duckdb.connect()
    engine = engine_with((table, lazy), (other, own.sql("SELECT 1 AS id, 5 AS x")))
    assert stored_codes(engine, table, "x") == stored_codes(engine, other, "x") == [5]
    engine.close()
