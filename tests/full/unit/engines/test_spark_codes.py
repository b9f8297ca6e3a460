"""Spark makes the codes that the reference makes, of every type of column and with ANSI mode on or off."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.engines.reference.canonical import canonical
from dalenius.engines.spark import codes
from dalenius.engines.spark.engine import SparkEngine
from dalenius.errors import DataMismatch
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.calendar import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from dalenius.query.plan.relations import Scan
from dalenius.query.tables import EachRow, Protection, Table, TableLocation
from dalenius.query.types import Bool, Category, Code, Days, Domain, Int, Moments, Number, Text
from spark_servers import session

WIDEST = 2**126
DAY, MOMENT = Days(True, FIRST_DAY, LAST_DAY), Moments(True, FIRST_MOMENT, LAST_MOMENT)
CENTS, THIRDS = (Number(True, -(10**5), 10**5, step) for step in (Fraction(1, 100), Fraction(1, 3)))
WHOLE, HUGE = Number(True, -(2**62), 2**62), Number(True, 1 - WIDEST, WIDEST - 1)
BIG = Number(True, -(2**100), 2**100)
FLOATS = [
    8.41e21, 2.0e-3, 5e-324, 1e23, 2.0**60, -(2.0**60), 0.005, -0.005, 0.015, 1.005, 2.675, 0.1 + 0.2, 1e15 + 0.3,
    -0.0, 1 / 6, -1 / 6, 0.16666666666666669, 999.995, 1e308, -1e308, math.inf, -math.inf, math.nan, 4503599627370497.5,
    4.999999999999999e-3, 5.000000000000001e-3, 1e-7, -1e-7,
]  # fmt: skip
SMALL = [0, 1, -1, 7, 127, -128]
LONG = [2**63 - 1, -(2**63), 2**53 + 1, 10**15, 5, -5, 15, 14]
WORDS = [
    "a",
    "",
    "e\u0301",
    "é",
    "A\u030a",
    "\u212b",
    "\u1100\u1161",
    "a\0b",
    "\0",
    "🧑‍⚕️",
    "a ",
    "ß",
    "x" * 3_000,
    "Oslo",
    "oslo",
]
DAYS = [dt.date(1, 1, 1), dt.date(1500, 2, 28), dt.date(1582, 10, 10), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]
MOMENTS = [dt.datetime.combine(day, dt.time(23, 59, 59, 999_999)) for day in DAYS] + [dt.datetime(1969, 12, 31, 1)]
FEW = ["0.00", "-0.01", "12.34", "99999999.99"]
FINER = ["0E-20", "1E-20", "-1E-10", "0.005", "-0.005", "123456789012345678.5", "-999999999999999999.99"]
FINEST = ["0E-38", "-1E-38", "0.5", "-0.5", "5E-21", "-5E-21", "0.49999999999999999999999999999999999999"]
LARGE = [0, 10**38 - 1, 1 - 10**38, 12345678901234567890123456789012345678]
TENS, SEVENTHS = Number(True, -9, 9, Fraction(10)), Number(True, -9, 9, Fraction(7, 3))
TINY, COARSE = Number(True, -9, 9, Fraction(1, 10**20)), Number(True, 0, 3, Fraction(10**9))
SOURCES: dict[str, tuple[pa.DataType, list[Any], list[Domain]]] = {
    "byte": (pa.int8(), SMALL, [WHOLE, CENTS, TENS]),
    "short": (pa.int16(), SMALL, [Int(0, 5, nullable=True)]),
    "int": (pa.int32(), [*SMALL, 2**31 - 1, -(2**31)], [WHOLE, THIRDS]),
    "long": (pa.int64(), LONG, [WHOLE, HUGE, CENTS, TENS, SEVENTHS]),
    "unsigned": (pa.uint64(), [0, 5, 2**64 - 1], [WHOLE, HUGE]),
    "money": (pa.decimal128(10, 2), list(map(Decimal, FEW)), [CENTS, WHOLE, THIRDS]),
    "fine": (pa.decimal128(38, 20), list(map(Decimal, FINER)), [CENTS, WHOLE, BIG]),
    "finest": (pa.decimal128(38, 38), list(map(Decimal, FINEST)), [CENTS, WHOLE, TINY]),
    "wide": (pa.decimal128(38, 0), list(map(Decimal, LARGE)), [HUGE, WHOLE]),
    "single": (pa.float32(), [0.1, 2.5, -3.5, math.nan, math.inf, -math.inf, 1e-40, 16777217.0], [CENTS, WHOLE]),
    "double": (pa.float64(), FLOATS, [CENTS, THIRDS, WHOLE, BIG, TINY, COARSE]),
    "flag": (pa.bool_(), [True, False], [Bool(True)]),
    "text": (pa.string(), WORDS, [Text(), Category("a", "é", "Oslo")]),
    "day": (pa.date32(), DAYS, [DAY, MOMENT, Days(True, 0, 9)]),
    "moment": (pa.timestamp("us"), MOMENTS, [MOMENT, DAY, Moments(True, -5, 5), Days(True, -1, 1)]),
    "zoned": (pa.timestamp("us", tz="Europe/Oslo"), MOMENTS[2:4], [MOMENT, DAY]),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[SparkEngine]:
    found = SparkEngine(session())
    yield found
    found.close()


@pytest.fixture(scope="module")
def poisons(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Parquet file with every type, in which each value stands in some row beside NULLs."""
    size = max(len(values) for _, values, _ in SOURCES.values()) + 1
    columns = {name: pa.array([*values, *[None] * (size - len(values))], kind)
               for name, (kind, values, _) in SOURCES.items()}  # fmt: skip
    path = str(tmp_path_factory.mktemp("spark") / "poisons.parquet")
    pq.write_table(pa.table(columns), path)
    return path


def codes_of(engine: SparkEngine, path: str, columns: dict[str, tuple[str, Domain]]) -> dict[str, list[Code]]:
    """The codes that the engine makes of columns of a file, in the order of its rows."""
    engine.hold([])
    table = Table("poisons", tuple((name, domain) for name, (_, domain) in columns.items()))
    rename = tuple((name, source) for name, (source, _) in columns.items())
    engine.hold([Table(table.name, table.columns, place=TableLocation("spark", path, rename))])
    rows = engine.fetched(engine.dialect.scan(Scan(table, "r")).sql, 300, None)
    return {name: rows.column(f"r.{name}").to_pylist() for name in columns}


def declared() -> dict[str, tuple[str, Domain]]:
    return {f"{name} {place}": (name, domain) for name, (_, _, domains) in SOURCES.items()
            for place, domain in enumerate(domains)}  # fmt: skip


def differences(engine: SparkEngine, path: str, columns: dict[str, tuple[str, Domain]]) -> list[str]:
    raw = pq.read_table(path)
    found = codes_of(engine, path, columns)
    wrong = []
    for name, (source, domain) in columns.items():
        for value, code in zip(raw.column(source).to_pylist(), found[name], strict=True):
            if canonical(domain, value) != code:
                wrong.append(f"{name} of {value!r} as {domain}: {code!r}, meant {canonical(domain, value)!r}")
    return wrong


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_every_type_of_column_gives_the_codes_of_the_reference(engine: SparkEngine, poisons: str, ansi: str) -> None:
    engine.session.conf.set("spark.sql.ansi.enabled", ansi)
    assert differences(engine, poisons, declared()) == []


def test_the_check_above_notices_halves_that_go_down_and_texts_that_are_not_composed(
    engine: SparkEngine, poisons: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_NFC", "{0}")
    monkeypatch.setattr(codes, "_floored", lambda written, value, places: codes._whole_part(written, places))
    wrong = differences(engine, poisons, declared())
    assert any(text.startswith("text") for text in wrong)
    assert any(text.startswith("double") for text in wrong)


def many_floats() -> list[float]:
    chance = random.Random(5)
    return [chance.uniform(-1, 1) * 10.0 ** chance.randint(-6, 8) for _ in range(100_000)]


FINE = Number(True, -(10**28), 10**28, Fraction(1, 10**20))
"""So fine that a code shows every digit of a float."""


def test_100000_floats_are_read_as_the_shortest_decimals_that_print_them(engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": many_floats()}), tmp_path / "floats.parquet")
    assert differences(engine, str(tmp_path / "floats.parquet"), {"x": ("x", FINE)}) == []


def test_the_check_above_notices_the_digits_that_java_prints(
    engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_SHORTEST", "CAST({0} AS STRING)")
    pq.write_table(
        pa.table({"x": [2.0**60, 2.0e-3, 8.41e21, 2.2250738585072014e-5, *many_floats()[:2_000]]}),
        tmp_path / "few.parquet",
    )
    assert differences(engine, str(tmp_path / "few.parquet"), {"x": ("x", FINE), "y": ("x", BIG)})


def test_texts_that_are_not_valid_and_texts_with_a_collation_are_read_by_their_bytes(
    engine: SparkEngine, tmp_path: Path
) -> None:
    given = (
        "SELECT 0 AS id, CAST(X'ff61' AS STRING) AS x UNION ALL SELECT 1, 'a' UNION ALL SELECT 2, CAST(X'c3' AS STRING)"
    )
    session().sql(f"{given} UNION ALL SELECT 3, CAST(X'eda080' AS STRING)").coalesce(1).write.parquet(
        str(tmp_path / "bad")
    )
    found = codes_of(engine, str(tmp_path / "bad"), {"id": ("id", Int(0, 9)), "x": ("x", Text())})
    assert dict(zip(found["id"], found["x"], strict=True)) == {0: None, 1: "a", 2: None, 3: None}
    session().sql("CREATE DATABASE IF NOT EXISTS other")
    session().sql("SELECT 'A' COLLATE UNICODE_CI AS x UNION ALL SELECT 'a' COLLATE UNICODE_CI").write.mode(
        "overwrite"
    ).option("path", str(tmp_path / "folded")).saveAsTable("other.folded")
    engine.hold([Table("folded", (("x", Text()),), place=TableLocation("spark", "other.folded"))])
    sql = engine.dialect.scan(Scan(Table("folded", (("x", Text()),)), "r")).sql
    distinct = engine.fetched(f"SELECT DISTINCT `r.x` AS x FROM ({sql}) q", 300, None)
    assert sorted(distinct.column("x").to_pylist()) == ["A", "a"]


def test_columns_that_cannot_hold_a_domain_are_refused(engine: SparkEngine, poisons: str) -> None:
    for source, domain in (
        ("text", WHOLE),
        ("long", Text()),
        ("flag", DAY),
        ("day", Bool()),
        ("double", Days(True, 0, 1)),
    ):
        with pytest.raises(DataMismatch, match="which is not read as"):
            engine.hold([Table("wrong", (("x", domain),), place=TableLocation("spark", poisons, (("x", source),)))])
    finer = Number(True, 0, 2**125, Fraction(1, 3))
    with pytest.raises(DataMismatch, match="which is not read as"):
        engine.hold([Table("wrong", (("x", finer),), place=TableLocation("spark", poisons, (("x", "double"),)))])


def test_each_row_is_a_unit_of_its_own_although_columns_are_called_like_ours(
    engine: SparkEngine, tmp_path: Path
) -> None:
    names = ["content", "copy", "unit", "c0", "s", "place"]
    pq.write_table(pa.table({name: [1, 1, 2] for name in names}), tmp_path / "rows.parquet")
    protection = Protection("rows", EachRow(), AddRemove(), None)
    table = Table("rows", tuple((name, Int(0, 9)) for name in names), protection)
    engine.register(table, TableLocation("spark", str(tmp_path / "rows.parquet")))
    found = engine.fetched(
        f"SELECT count(DISTINCT unit) AS n FROM ({engine.dialect.scan(Scan(table, 'r')).sql}) q", 300, None
    )
    assert found.column("n").to_pylist() == [3]
