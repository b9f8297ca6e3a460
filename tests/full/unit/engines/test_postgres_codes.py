"""What a scan of a PostgreSQL table makes of every value of every type is what the reference says, without an error."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from dalenius.engines.postgres import codes
from dalenius.engines.postgres.engine import PostgresEngine
from dalenius.engines.reference.canonical import canonical
from dalenius.errors import DataMismatch
from dalenius.query.calendar import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from dalenius.query.plan.relations import Scan
from dalenius.query.tables import TableLocation
from dalenius.query.types import LONGEST_READ, Bool, Category, Days, Domain, Moments, Number, Text
from duckdb_tables import private
from postgres_server import database

INF = math.inf
SMALL, LONG, HUGE = Number(True, -3, 3), Number(True, -(10**18), 10**18), Number(True, 1 - 2**126, 2**126 - 1)
CENTS, THIRDS, TENS = (Number(True, -900, 1000, Fraction(step)) for step in ("1/100", "1/3", "10"))
DAYS, NOW = Days(True, FIRST_DAY, LAST_DAY), Days(True, 18_000, 20_000)
MOMENTS, LATELY = Moments(True, FIRST_MOMENT, LAST_MOMENT), Moments(True, 10**15, 2 * 10**15 + 7)
WHOLE = [-(2**63), -(2**31), -4, -3, -1, 0, 1, 5, 15, 149, 2**15 - 1, 2**31 - 1, 2**63 - 1]
FLOATS = [
    -INF, INF, math.nan, -0.0, 5e-324, -5e-324, 1e308, -1e308, 0.005, -0.005, 1.005, 0.015, 2.5, -2.5, 1 / 6, 0.1 + 0.2,
    1e15 + 0.3, 1e22, 1e23, -1e23, 9007199254740993.0, 2.0**70, 4999999999999999.5,
]  # fmt: skip
TEXTS = [
    "", " ", "a", "A", "é", "e\u0301", "\u212b", "한", "\u1112\u1161\u11ab", "x " * 2, "it's", '"', "\\", "\n",
    "\ufeffa", "Oslo", "oslo", "Oslo ", "a" * 3_000, "e\u0301" * 1_500, "🧑‍⚕️",
]  # fmt: skip
WORDS = Category("Oslo", "é", "", "한")


@pytest.fixture(scope="module")
def address() -> str:
    return database()


@pytest.fixture(scope="module")
def engine(address: str) -> Iterator[PostgresEngine]:
    made = PostgresEngine(address)
    yield made
    made.close()


def read(engine: PostgresEngine, address: str, kind: str, written: Sequence[str | None], domain: Domain) -> list[Any]:
    """The codes of values that were written into a column of this type, in their order."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS values")
        connection.execute(f"CREATE TABLE values (id int, x {kind})".encode())
        with connection.cursor() as cursor, cursor.copy("COPY values FROM STDIN") as copy:
            for row in enumerate(written):
                copy.write_row(row)
    table = private("values", {"x": domain})
    engine.hold(())
    engine.register(table, TableLocation(address, "values"))
    return scanned(engine, table)


def scanned(engine: PostgresEngine, table: Any) -> list[Any]:
    rows = engine.dialect.scan(Scan(table, "v")).sql
    found = engine.fetched(f'SELECT "v.x" AS x FROM ({rows}) r ORDER BY "unit"', 60, None).column(0).to_pylist()
    return [int(code) if isinstance(code, Decimal) else code for code in found]


@pytest.mark.parametrize("domain", [SMALL, LONG, HUGE, CENTS, THIRDS, TENS], ids=str)
@pytest.mark.parametrize(("kind", "bits"), [("smallint", 15), ("integer", 31), ("bigint", 63)])
def test_whole_numbers(engine: PostgresEngine, address: str, kind: str, bits: int, domain: Number) -> None:
    values = [value for value in WHOLE if -(2**bits) <= value < 2**bits] + [-(2**bits)]
    found = read(engine, address, kind, [*map(str, values), None], domain)
    assert found == [canonical(domain, value) for value in (*values, None)]


@pytest.mark.parametrize("domain", [SMALL, LONG, HUGE, CENTS, THIRDS, TENS], ids=str)
def test_decimals(engine: PostgresEngine, address: str, domain: Number) -> None:
    written = [
        "0.005",
        "-0.005",
        "0.00499999999999999999999999",
        "1e100",
        "-1e-100",
        "5",
        "-5.0000",
        "0.16666666666667",
    ]
    written += ["9" * 10_000, "-" + "9" * 10_000, "0." + "3" * 10_000, "1e131000", f"-1e-{16_000}"]
    found = read(engine, address, "numeric", [*written, "NaN", "Infinity", "-Infinity", None], domain)
    exact = [domain.clamped(math.floor(_fraction(text) / domain.step + Fraction(1, 2))) for text in written]
    assert found == [*exact, None, domain.upper, domain.lower, None]


def _fraction(text: str) -> Fraction:
    digits, _, exponent = text.partition("e")
    return Fraction(Decimal(digits)) * Fraction(10) ** int(exponent or 0)


@pytest.mark.parametrize("domain", [SMALL, LONG, HUGE, CENTS, THIRDS, TENS], ids=str)
@pytest.mark.parametrize("kind", ["real", "double precision"])
def test_floats(engine: PostgresEngine, address: str, kind: str, domain: Number) -> None:
    values: list[Any] = [*FLOATS, None]
    if kind == "real":
        small = pa.array([value for value in FLOATS if abs(value) < 1e38 or math.isinf(value)], pa.float32())
        values = small.to_pylist()
    found = read(engine, address, kind, [None if value is None else repr(value) for value in values], domain)
    assert found == [canonical(domain, value) for value in values]


def random_floats(count: int) -> list[float]:
    """Floats of every size, many of them where the shortest decimal lies in the middle of two floats."""
    random, found = Random(7), []
    while len(found) < count:
        power = random.randrange(1, 23)
        middle = (random.randrange(2**53 // 5**power, 2**54 // 5**power + 1) | 1) * 10**power
        large = random.randrange(2**53) * 2 ** random.randrange(70)
        found += [float(middle), -2.0 * middle, float(large), random.uniform(-1, 1) * 10.0 ** random.randrange(-9, 39)]
    return found


def floats_that_differ(engine: PostgresEngine) -> int:
    values = random_floats(4_000)
    source = pa.table({"id": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, pa.float64())})
    table = private("floats", {"x": HUGE})
    engine.hold(())
    engine.register(table, source)
    pairs = zip(scanned(engine, table), values, strict=True)
    return sum(found != canonical(HUGE, value) for found, value in pairs)


def test_a_float_is_the_shortest_decimal_that_prints_it(engine: PostgresEngine) -> None:
    assert floats_that_differ(engine) == 0


def test_the_check_notices_decimals_as_postgres_prints_them(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_EXACT", 2**200)
    assert floats_that_differ(engine) > 100


@pytest.mark.parametrize("domain", [DAYS, NOW, MOMENTS, LATELY], ids=str)
def test_dates(engine: PostgresEngine, address: str, domain: Days | Moments) -> None:
    days = [dt.date(*parts) for parts in ((1, 1, 1), (4, 2, 29), (1582, 10, 10), (1969, 12, 31), (1970, 1, 1),
                                          (2001, 9, 9), (2020, 2, 29), (9999, 12, 31))]  # fmt: skip
    far = ["infinity", "5874897-12-31", "10000-01-01", "294277-01-01"]
    found = read(
        engine, address, "date", [*map(str, days), *far, "-infinity", "4713-01-01 BC", "0001-12-31 BC"], domain
    )
    assert found == [*(canonical(domain, day) for day in days), *[domain.upper] * 4, *[domain.lower] * 3]


@pytest.mark.parametrize("domain", [DAYS, NOW, MOMENTS, LATELY], ids=str)
@pytest.mark.parametrize("zone", ["without", "with"])
def test_moments(engine: PostgresEngine, address: str, zone: str, domain: Days | Moments) -> None:
    naive = [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
             dt.datetime(2020, 2, 29, 0, 30, 1, 5), dt.datetime(2001, 9, 9, 1, 46, 40),
             dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)]  # fmt: skip
    moments = naive if zone == "without" else [moment.replace(tzinfo=dt.UTC) for moment in naive]
    ahead = dt.datetime(2020, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))
    moments += [ahead.replace(tzinfo=None) if zone == "without" else ahead]
    written = [*map(str, moments), "infinity", "294276-12-31", "10000-01-01", "-infinity", "4713-01-01 BC"]
    written = [text + "+00" if zone == "with" and text[-1].isdigit() and "+" not in text else text for text in written]
    found = read(engine, address, f"timestamp {zone} time zone", written, domain)
    assert found == [*(canonical(domain, each) for each in moments), *[domain.upper] * 3, *[domain.lower] * 2]


@pytest.mark.parametrize("kind", ["text", "varchar", "varchar(4000)", 'text COLLATE "C"', 'text COLLATE "de-x-icu"'])
@pytest.mark.parametrize("domain", [Text(), WORDS], ids=["text", "listed"])
def test_texts(engine: PostgresEngine, address: str, kind: str, domain: Domain) -> None:
    assert read(engine, address, kind, [*TEXTS, None], domain) == [canonical(domain, each) for each in (*TEXTS, None)]


def test_of_a_very_long_text_the_beginning_is_kept(engine: PostgresEngine, address: str) -> None:
    values = ["e\u0301" * 400_000, "a" * 3_000_000]
    assert read(engine, address, "text", values, Text()) == [canonical(Text(), each) for each in values]


def test_an_id_that_is_too_long_to_compare_names_nobody(engine: PostgresEngine) -> None:
    rows = {"id": ["é" * LONGEST_READ, "é" * LONGEST_READ + "a"], "x": [1, 2]}
    with pytest.raises(DataMismatch, match="has no value in some rows"):
        engine.register(private("t", {"x": SMALL}), pa.table(rows))


def test_blanks_at_the_end_of_char_mean_nothing(engine: PostgresEngine, address: str) -> None:
    assert read(engine, address, "char(5)", ["Oslo", "a b", "", None], Text()) == ["Oslo", "a b", "", None]


def test_truth_values_enums_uuids_and_domains(engine: PostgresEngine, address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('z', 'e\u0301', 'Oslo')")
        connection.execute("CREATE DOMAIN money_amount AS numeric CHECK (VALUE > -5)")
        connection.execute("CREATE DOMAIN amount AS money_amount")
    assert read(engine, address, "boolean", ["t", "f", None], Bool(True)) == [True, False, None]
    assert read(engine, address, "mood", ["z", "e\u0301", None], WORDS) == [None, "é", None]
    name = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    assert read(engine, address, "uuid", [name.upper(), None], Text()) == [name, None]
    assert read(engine, address, "amount", ["1.005", "NaN", None], CENTS) == [101, None, None]


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("json", Text()), ("bytea", Text()), ("integer", Text()), ("text", SMALL), ("boolean", SMALL), ("money", CENTS),
        ("time", MOMENTS), ("interval", DAYS), ("integer[]", SMALL), ("text", Bool()), ("integer", Bool()),
        ("integer", DAYS), ("name", Text()), ('"char"', Text()), ("text COLLATE alike", Text()), ("likeness", Text()),
        ("double precision", Number(False, 0, 1, Fraction(10**400))),
    ],
)  # fmt: skip
def test_other_types_are_refused(engine: PostgresEngine, address: str, kind: str, domain: Domain) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE COLLATION IF NOT EXISTS alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        connection.execute("DROP DOMAIN IF EXISTS likeness CASCADE; CREATE DOMAIN likeness AS text COLLATE alike")
    with pytest.raises(DataMismatch, match="column 'x' holds"):
        read(engine, address, kind, [], domain)


@pytest.mark.parametrize("kind", ["numeric", "double precision", "date", "json", "text COLLATE alike"])
def test_what_names_nobody_is_no_id(engine: PostgresEngine, address: str, kind: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE COLLATION IF NOT EXISTS alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        connection.execute("DROP TABLE IF EXISTS nameless")
        connection.execute(f"CREATE TABLE nameless (id {kind}, x int)".encode())
    with pytest.raises(DataMismatch, match="names nobody"):
        engine.register(private("nameless", {"x": SMALL}), TableLocation(address, "nameless"))


def test_a_cast_before_the_clamp_is_noticed(
    engine: PostgresEngine, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_steps", lambda domain, value, present, result: f"CAST({value} * 100 AS {result})")
    with pytest.raises(psycopg.Error):
        read(engine, address, "numeric", ["Infinity"], CENTS)


def test_texts_as_they_are_stored_are_noticed(
    engine: PostgresEngine, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "text", lambda column: f"CAST({column} AS TEXT)")
    assert read(engine, address, "text", TEXTS, Text()) != [canonical(Text(), each) for each in TEXTS]
