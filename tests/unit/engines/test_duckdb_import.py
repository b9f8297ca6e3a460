"""An import turns every value into a code of its domain, and refuses what disagrees with the declaration."""

from __future__ import annotations

import datetime as dt
import gzip
import math
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.engines.duckdb import codes, snapshots
from dalenius.engines.duckdb.dialect import rows_table
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.hashing import identity
from dalenius.engines.reference.canonical import canonical
from dalenius.errors import DataMismatch
from dalenius.query.plan.passes import Total
from dalenius.query.tables import EachRow, ForeignKey, Table
from dalenius.query.types import Bool, Category, Date, Domain, Int, Number, Real, Text, Timestamp
from duckdb_tables import aggregate, engine_with, exact, imported, private, scanned, stored_codes

ODD = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, 0.125, 0.145, -0.005, -0.015, 0.30000000000000004]


@pytest.mark.parametrize(
    "domain",
    [
        Real(-1, 5000, step="0.01"),
        Real(0, 1, step="1/3"),
        Real(-9, 9, step=2),
        Int(-3, 10**6),
        Real(0, "1e12", step="1e-6"),
    ],
    ids=str,
)
def test_a_float_becomes_the_nearest_step_of_the_decimal_that_prints_it(domain: Number) -> None:
    random = Random(1)
    values = ODD + [random.uniform(-2, 2) for _ in range(200)] + [round(random.uniform(-9, 9), 3) for _ in range(200)]
    values += [math.nextafter(value, way) for value in (0.125, 0.005, 2.5, 3.0) for way in (0, 9)]
    assert imported(domain, values) == [canonical(domain, value) for value in values]


@pytest.mark.parametrize("domain", [Real(-5, 5, step="0.05"), Real(-5, 5, step="0.3"), Int(-2, 3)], ids=str)
def test_a_decimal_is_rounded_exactly(domain: Domain) -> None:
    values = [Decimal(n).scaleb(-3) for n in range(-6000, 6000, 7)] + [Decimal(10) ** 20, None]
    found = imported(domain, pa.array(values, pa.decimal128(38, 3)))
    assert found == [canonical(domain, value) for value in values]


@pytest.mark.parametrize("domain", [Int(-5, 5), Int(-(2**125), 2**125), Real(-5, 5, step="0.3")], ids=str)
def test_an_integer_is_clamped_and_never_overflows(domain: Domain) -> None:
    values = [-(2**63), -6, -1, 0, 5, 6, 2**63 - 1, None]
    assert imported(domain, pa.array(values, pa.int64())) == [canonical(domain, value) for value in values]
    assert imported(domain, pa.array([2**64 - 1], pa.uint64())) == [canonical(domain, 2**64 - 1)]


def test_far_and_infinite_days_are_clamped(tmp_path: Path) -> None:
    source = tmp_path / "days.duckdb"
    with duckdb.connect(str(source)) as connection:
        connection.execute("""CREATE TABLE t AS SELECT * FROM (VALUES (1, DATE '287000-01-01'), (2, DATE 'infinity'),
            (3, DATE '-infinity'), (4, DATE '2024-02-29'), (5, NULL), (6, DATE '0001-01-01')) v(id, x)""")
    domain = Date("2024-01-01", "2024-12-31", nullable=True)
    low, high = domain.lower, domain.upper
    table = private("t", {"x": domain})
    engine = engine_with((table, (source, "t")))
    assert stored_codes(engine, table, "x") == [high, high, low, low + 59, None, low]
    moments = private("m", {"x": Timestamp("2024-01-01 00:00", "2024-12-31 00:00", nullable=True)})
    engine.register(moments, (source, "t"))
    domain_m = moments.columns[0][1]
    low, high = domain_m.lower, domain_m.upper  # type: ignore[attr-defined]
    assert stored_codes(engine, moments, "x") == [high, high, low, low + 59 * codes.DAY, None, low]
    engine.close()


def test_infinite_moments_are_clamped_and_zones_are_taken_in_utc(tmp_path: Path) -> None:
    source = tmp_path / "moments.duckdb"
    with duckdb.connect(str(source)) as connection:
        connection.execute("""CREATE TABLE t AS SELECT * FROM (VALUES (1, TIMESTAMPTZ '2024-01-01 02:30:00+02'),
            (2, TIMESTAMPTZ 'infinity'), (3, TIMESTAMPTZ '-infinity'), (4, NULL)) v(id, x)""")
    domain = Timestamp("2024-01-01 00:00", "2024-01-02 00:00", nullable=True)
    table = private("t", {"x": domain})
    engine = engine_with((table, (source, "t")))
    half_past = domain.lower + 30 * 60 * 10**6
    assert stored_codes(engine, table, "x") == [half_past, domain.upper, domain.lower, None]
    engine.close()


def test_a_moment_before_1970_belongs_to_its_own_day() -> None:
    moment = pa.array([dt.datetime(1969, 12, 31, 23, 59), dt.datetime(1970, 1, 1)], pa.timestamp("ns"))
    assert imported(Date("1960-01-01", "1980-01-01"), moment) == [-1, 0]


def test_texts_are_nfc_and_unlisted_categories_are_null() -> None:
    values = ["é", "e\u0301", "Oslo", "oslo", "", None, "a\0b", "🧑‍⚕️"]
    assert imported(Text(), values) == ["é", "é", "Oslo", "oslo", "", None, None, "🧑‍⚕️"]
    assert imported(Category("Oslo", "é"), values) == ["é", "é", "Oslo", None, None, None, None, None]


def test_truth_values_stay() -> None:
    assert imported(Bool(), [True, None, False]) == [True, None, False]


def test_a_lone_surrogate_is_refused_not_a_crash() -> None:
    table = private("t", {"x": Text()})
    with pytest.raises(DataMismatch):
        engine_with((table, pd.DataFrame({"id": [1], "x": np.array(["\ud800"], dtype=object)}, dtype=object)))
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe"))
    with pytest.raises(DataMismatch):
        engine_with((table, pa.table({"id": [1], "x": broken})))


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": [1]}, "no column 'x'"),
        ({"id": [1], "x": ["5"]}, "'x' holds VARCHAR"),
        ({"id": [1], "x": [True]}, "'x' holds BOOLEAN"),
        ({"id": [1.0], "x": [5]}, "'id' holds DOUBLE.*astype\\('Int64'\\)"),
        ({"id": [True], "x": [5]}, "'id' holds BOOLEAN"),
        ({"id": [1, None], "x": [5, 6]}, "unit column 'id' has no value"),
        ({"id": [2**63], "x": [5]}, "ids in 'id' are 2\\^63 or more"),
        ({"id": [1, 2], "x": [5, None]}, "'x' has no value .* nullable=True"),
    ],
)
def test_what_disagrees_with_the_declaration_is_refused_with_names_only(columns: dict[str, Any], problem: str) -> None:
    if columns["id"] == [2**63]:
        columns = {**columns, "id": pa.array([2**63], pa.uint64())}
    engine = DuckDBEngine()
    with pytest.raises(DataMismatch, match=problem) as caught:
        engine.register(private("t", {"x": Int(0, 9, nullable=False)}), pa.table(columns))
    assert "of them" not in str(caught.value)
    with engine._file.reading() as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'rows'").fetchone() == (0,)
    engine.close()


def test_counts_are_given_to_an_owner_who_asks() -> None:
    engine = DuckDBEngine()
    with pytest.raises(DataMismatch, match="3 of them"):
        engine.register(private("t", {}), pa.table({"id": pa.array([1, None, None, None], pa.int64())}), counts=True)
    engine.close()


def test_a_category_that_is_not_nullable_refuses_unlisted_values() -> None:
    with pytest.raises(DataMismatch, match="none that is listed"):
        engine_with((private("t", {"x": Category("a", nullable=False)}), {"id": [1, 2], "x": ["a", "b"]}))


def test_a_text_id_becomes_the_number_that_stands_for_it() -> None:
    table = private("t", {})
    engine = engine_with((table, {"id": ["é", "e\u0301", "x"]}))
    with engine._file.reading() as connection:
        found = connection.execute(f"SELECT unit FROM {rows_table(table)}").fetchall()
    assert sorted(found) == sorted([(identity("é"),), (identity("é"),), (identity("x"),)])
    engine.close()


def test_rows_lie_sorted_by_unit() -> None:
    table = private("t", {"x": Int(0, 9)})
    engine = engine_with((table, {"id": [5, -1, 3, -1, 9], "x": [1, 2, 3, 4, 5]}))
    with engine._file.reading() as connection:
        found = connection.execute(f"SELECT unit FROM {rows_table(table)} ORDER BY rowid").fetchall()
    assert found == [(-1,), (-1,), (3,), (5,), (9,)]
    engine.close()


def test_all_kinds_of_sources_give_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [3, 1, 2], "x": [1.5, 2.25, None], "city": ["Oslo", None, "Bodø"], "other": [1, 2, 3]})
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(arrow, tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("arrow", arrow)
        connection.execute("CREATE TABLE visits AS SELECT * FROM arrow")
    sources = [frame, arrow, pl.from_arrow(arrow), arrow.to_reader(), tmp_path / "t.parquet", tmp_path / "t.csv",
               str(tmp_path / "z.csv.gz"), (tmp_path / "t.duckdb", "visits")]  # fmt: skip
    engine = DuckDBEngine()
    for place, source in enumerate(sources):
        table = private(f"t{place}", {"x": Real(0, 2, step="0.1", nullable=True), "city": Text()})
        engine.register(table, source)
        assert stored_codes(engine, table, "x") == [20, None, 15]
        assert stored_codes(engine, table, "city") == [None, "Bodø", "Oslo"]
        with engine._file.reading() as connection:
            names = {row[0] for row in connection.execute(f"DESCRIBE {rows_table(table)}").fetchall()}
        assert names == {"unit", "column.x", "column.city"}
    engine.close()


def test_a_csv_with_a_header_only_and_an_empty_table_are_empty(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x,city\n")
    table = private("t", {"x": Int(0, 9), "city": Category("Oslo")})
    empty = private("e", {"x": Int(0, 9), "city": Category("Oslo")})
    nothing = pa.table(
        {"id": pa.array([], pa.int64()), "x": pa.array([], pa.int64()), "city": pa.array([], pa.string())}
    )
    engine = engine_with((table, tmp_path / "t.csv"), (empty, nothing))
    for each in (table, empty):
        assert exact(engine, aggregate(scanned(each, k0="city"), [Total("rows")])) == {}
        assert exact(engine, aggregate(scanned(each, k0="city"), [Total("rows")], keys=(), groups=None)) == {}
    engine.close()


def test_values_of_a_csv_are_read_as_declared(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        'id,n,r,b,d,at,zip\n1,007,1e400,true,2024-01-02,2024-01-02 03:04:05,007\n2,"1,5",,,,,\n'
    )
    columns: dict[str, Domain] = {
        "n": Int(0, 9), "r": Real(0, 2, step="0.5"), "b": Bool(), "d": Date("2024-01-01", "2024-12-31"),
        "at": Timestamp("2024-01-01 00:00", "2024-12-31 00:00"), "zip": Text(),
    }  # fmt: skip
    columns = {name: domain.or_null() for name, domain in columns.items()}
    engine = DuckDBEngine()
    with pytest.raises(DataMismatch, match="'n' cannot be read"):
        engine.register(private("t", columns), tmp_path / "t.csv")
    columns["n"] = Text()
    table = private("t", columns)
    engine.register(table, tmp_path / "t.csv")
    found = {name: stored_codes(engine, table, name) for name in columns}
    assert found["n"] == ["007", "1,5"]
    assert found["r"] == [4, None]
    assert found["b"] == [True, None]
    assert found["d"] == [19724, None]
    assert found["at"] == [1704164645000000, None]
    assert found["zip"] == ["007", None]
    engine.close()


def test_a_file_that_cannot_be_read_gives_names_only(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,x\n1,\xff\xfesecret\n")
    (tmp_path / "t.parquet").write_bytes(b"secret")
    heard: list[BaseException] = []
    engine = DuckDBEngine(log=heard.append)
    for name in ("t.csv", "t.parquet", "none.csv", "t.doc"):
        with pytest.raises(DataMismatch) as caught:
            engine.register(private("t", {"x": Text()}), tmp_path / name)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
    assert len(heard) == 2
    engine.close()


def test_a_version_is_imported_once_and_the_next_one_beside_it() -> None:
    first = private("t", {"x": Int(0, 9)})
    second = private("t", {"x": Int(0, 9)}, version=2)
    engine = engine_with((first, {"id": [1], "x": [1]}), (second, {"id": [1], "x": [2]}))
    assert stored_codes(engine, first, "x") + stored_codes(engine, second, "x") == [1, 2]
    with pytest.raises(DataMismatch):
        engine.register(first, pa.table({"id": [1], "x": [3]}))
    assert stored_codes(engine, first, "x") == [1]
    engine.close()


def test_equal_rows_are_units_of_their_own_whatever_their_order() -> None:
    table = private("t", {"x": Int(0, 9, nullable=True), "y": Text()}, unit=EachRow())
    ids = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        engine = engine_with(
            (table, {"x": [[1, 1, 1, None][i] for i in order], "y": [["a", "a", None, "a"][i] for i in order]})
        )
        with engine._file.reading() as connection:
            rows = connection.execute(f"SELECT * FROM {rows_table(table)} ORDER BY ALL").fetchall()
        ids.append(rows)
        assert len({row[0] for row in rows}) == 4
        engine.close()
    assert ids[0] == ids[1]


@pytest.mark.parametrize("declared", [False, True])
def test_along_a_key_path_a_row_belongs_to_the_unit_that_owns_its_key(declared: bool) -> None:
    orders = private("orders", {"number": Int(0, 9)} if declared else {}, keys=("number",))
    lines = private("lines", {"x": Int(0, 9)}, unit=ForeignKey("order", "orders", "number"))
    engine = engine_with(
        (orders, {"id": [1, 2, 2, 3], "number": [10, 11, 11, 13]}),
        (lines, {"order": [10, 11, 12, None], "x": [1, 2, 3, 4]}),
    )
    with engine._file.reading() as connection:
        found = connection.execute(f'SELECT unit, "column.x" FROM {rows_table(lines)} ORDER BY ALL').fetchall()
        names = {row[0] for row in connection.execute(f"DESCRIBE {rows_table(lines)}").fetchall()}
    assert found == [(1, 1), (2, 2)]
    assert names == {"unit", "column.x"}
    engine.close()


def test_a_key_path_needs_its_table_and_key() -> None:
    engine = engine_with((private("orders", {}), {"id": [1], "number": [10]}))
    for via in (ForeignKey("order", "orders", "number"), ForeignKey("order", "nobody", "number")):
        with pytest.raises(DataMismatch):
            engine.register(private("lines", {}, unit=via), pa.table({"order": [10]}))
    engine.close()


def test_a_public_table_has_no_unit() -> None:
    table = Table("places", (("city", Category("Oslo", "Bodø")), ("size", Int(0, 9))))
    engine = engine_with((table, {"city": ["Oslo", None], "size": [3, 99]}))
    with engine._file.reading() as connection:
        assert {row[0] for row in connection.execute(f"DESCRIBE {rows_table(table)}").fetchall()} == {
            "column.city",
            "column.size",
        }
    assert sorted(stored_codes(engine, table, "size")) == [3, 9]
    engine.close()


def test_names_with_quotes_are_names_only() -> None:
    name = 'x"; DROP TABLE people; --'
    table = private("t'; --\"", {name: Int(0, 9)}, population="p'; --")
    engine = engine_with((table, {"id": [1], name: [4]}))
    assert stored_codes(engine, table, name) == [4]
    engine.close()


def test_the_checks_notice_an_import_that_clamps_with_least_and_greatest(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = lambda lower, upper: lambda value: f"greatest(least({value}, {upper}), {lower})"  # noqa: E731
    monkeypatch.setattr(codes, "_clamp", planted)
    assert imported(Int(-5, 5), pa.array([1, None], pa.int64())) != [1, None]


def test_the_checks_notice_an_import_that_keeps_rows_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots.Import, "_require", lambda *arguments: None)
    engine_with((private("t", {}), {"id": pa.array([1, None], pa.int64())})).close()


def test_imports_within_one_opening_are_written_or_refused_each_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, opened = DuckDBEngine(), list[str]()
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *given, **named: opened.append("") or connect(*given, **named))
    tables = {name: private(name, {"x": Int(0, 9, nullable=False)}) for name in ("first", "second", "third")}
    with engine.importing():
        engine.register(tables["first"], pa.table({"id": [1], "x": [1]}))
        with pytest.raises(DataMismatch):
            engine.register(tables["second"], pa.table({"id": [1], "x": pa.array([None], pa.int64())}))
        engine.register(tables["third"], pa.table({"id": [1], "x": [3]}))
    assert len(opened) == 1
    assert engine.missing(tables.values()) == ["second"]
    engine.close()
