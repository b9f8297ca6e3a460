"""PostgreSQL computes what the reference says, for every function and every edge code, without a single error."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from dalenius.engines.conformance.cases import known_cases, random_expressions, tried
from dalenius.engines.conformance.comparing import Edges
from dalenius.engines.conformance.edges import COLUMNS, column
from dalenius.engines.hashing import identity
from dalenius.engines.postgres import dialect as words
from dalenius.engines.postgres.dialect import PostgresDialect
from dalenius.engines.postgres.engine import PostgresEngine
from dalenius.engines.sql.expressions import spell
from dalenius.errors import QueryRefused
from dalenius.query import calendar
from dalenius.query.expressions import Call, Column, Expression
from dalenius.query.functions.evaluation import evaluate, like, read_decimal, to_int
from dalenius.query.functions.functions import call, literal
from dalenius.query.tables import Table
from dalenius.query.types import Days, Text
from postgres_server import database


@pytest.fixture(scope="module")
def address() -> str:
    return database()


@pytest.fixture(scope="module")
def engine(address: str) -> Iterator[PostgresEngine]:
    made = PostgresEngine(address)
    yield made
    made.close()


@pytest.fixture(scope="module")
def edges(address: str) -> Iterator[Edges]:
    made = PostgresEngine(address)
    yield Edges(made, rows=150)
    made.close()


def differing(edges: Edges, expressions: Sequence[Expression], size: int = 40) -> Iterator[str]:
    for start in range(0, len(expressions), size):
        yield from map(str, edges.differences(expressions[start : start + size]))


def test_every_function_agrees_on_edge_values(edges: Edges) -> None:
    assert list(differing(edges, [*map(column, COLUMNS), *known_cases()])) == []


def test_random_expressions_agree(edges: Edges) -> None:
    assert list(differing(edges, random_expressions(300, "postgres", heaviest=30))) == []


PLANTED: dict[str, tuple[str, Callable[..., str]]] = {
    "quotient": ("floor_divide", lambda self, x, y, kind: f"{x} / {y}"),
    "matches": ("like", lambda self, text, pattern: f"{text} LIKE {pattern}"),
    "trimmed": ("trim", lambda self, text: f"trim({text})"),
    "lower": ("lower", lambda self, text: f'lower({text} COLLATE "en-x-icu")'),
    "as_text": ("less", lambda self, column: f'({column} COLLATE "en-x-icu")'),
    "ends_with": ("ends_with", lambda self, text, piece: f"{text} LIKE '%' || {piece}"),
    "read_integer": ("to_int", lambda self, text: f"CAST(substring({text} FROM '^[0-9]+$') AS BIGINT)"),
    "read_day": ("to_date", lambda self, text: f"CAST(substring({text} FROM '^[0-9-]+$') AS DATE) - DATE '1970-01-01'"),
    "written_moment": ("to_text", lambda self, moment: f"CAST(to_timestamp({moment} / 1000000) AS TEXT)"),
    "fitted": ("add_days", lambda self, sql, kind: f"CAST({sql} AS INTEGER)"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_word_is_noticed(name: str, edges: Edges, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrong = PLANTED[name]
    monkeypatch.setattr(PostgresDialect, name, wrong)
    cases = [case for case in known_cases() if isinstance(case, Call) and _reads(case, function)]
    assert any(True for _ in differing(edges, cases))


def _reads(case: Call, function: str) -> bool:
    wanted = {"trim": {"trim"}, "to_text": {"moment_text"}, "add_days": {"case", "add"}}.get(function, {function})
    return case.function in wanted or any(isinstance(each, Call) and _reads(each, function) for each in case.arguments)


# ---- words one by one, on many more texts


def computed(engine: PostgresEngine, texts: Sequence[str | None], word: Callable[[str], str]) -> list[Any]:
    """What a word makes of these texts, in their order."""
    rows = pa.table({"n": pa.array(range(len(texts)), pa.int64()), "x": pa.array(texts, pa.string())})
    source, _ = engine.lent(Table("words", ()), rows)
    found = word(engine.dialect.as_text("s.x"))
    with engine._server.reading(60, lent=True) as connection:
        rows_found = connection.execute(f"SELECT {found} FROM {source} s ORDER BY s.n".encode()).fetchall()
    return [value for (value,) in rows_found]


def digits(count: int) -> list[str]:
    """Texts that are nearly numbers, and numbers near the largest ones."""
    random = Random(3)
    near = [str(sign * (2**63 + more)) for sign in (-1, 1) for more in range(-3, 4)]
    near += [f"{sign}{'0' * zeros}{size}" for sign in ("", "+", "-") for zeros in (0, 1, 70) for size in (0, 9, 10**18)]
    near += [str(2**63)[:place] + str(random.randrange(10**18))[: 19 - place] for place in range(1, 19)]
    near += ["9" * 10_000, "0" * 10_000 + "7", "-" + "0" * 200_000 + "7", "1" + "0" * 10_000, "." * 10_000]
    return near + ["".join(random.choices("0123456789+-. ", k=random.randrange(1, 8))) for _ in range(count)]


def test_whole_numbers_are_read_as_they_are_meant(engine: PostgresEngine) -> None:
    texts = digits(3_000)
    assert computed(engine, texts, engine.dialect.read_integer) == [to_int(text) for text in texts]


@pytest.mark.parametrize(("places", "most"), [(1, 10), (2, 99_999), (7, (2**63 - 1) * 10), (15, 2**100)])
def test_decimals_are_read_as_they_are_meant(engine: PostgresEngine, places: int, most: int) -> None:
    texts = [*digits(3_000), *(text[:3] + "." + text[3:] for text in digits(10)), "0." + "9" * 10_000, "1.", ".", "-.5"]
    found = computed(engine, texts, lambda text: engine.dialect.read_decimal(text, places, most))
    meant = [read_decimal(text, places, most) for text in texts]
    assert [None if value is None else int(value) for value in found] == meant
    assert len(set(meant)) > 9


def days() -> list[str]:
    years = (0, 1, 4, 96, 100, 200, 400, 1582, 1900, 2000, 2023, 2024, 2100, 9996, 9999)
    return [f"{y:04}-{m:02}-{d:02}" for y, m, d in itertools.product(years, range(14), (0, 1, 28, 29, 30, 31, 32))]


def test_days_are_read_if_the_calendar_has_them(engine: PostgresEngine) -> None:
    texts = [*days(), "2024-1-01", " 2024-01-01", "2024-01-01 ", "2024-01-01\n", "12024-01-01", "2024-01-01 BC", "now"]
    assert computed(engine, texts, engine.dialect.read_day) == [calendar.read_day(text) for text in texts]


def test_a_pattern_without_leap_years_is_noticed(engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_DAY", words._DAY.replace(words._LEAP_YEAR, words._YEAR))
    with pytest.raises(psycopg.Error):
        computed(engine, days(), engine.dialect.read_day)


def test_moments_are_read_and_written_as_they_are_meant(engine: PostgresEngine) -> None:
    times = ["", " 00:00", "T23:59", " 24:00", " 12:60", " 12:30:59", " 12:30:60", " 12:30:00.5", " 12:30:00.123456",
             "T", " 12:30:00.", " 12:30:00.1234567", " 12:30Z", "  12:30", " 1:30", "t12:30"]  # fmt: skip
    texts = [day + time for day in days()[::17] for time in times]
    found = computed(engine, texts, engine.dialect.read_moment)
    assert found == [calendar.read_moment(text) for text in texts]
    moments = [*{moment for moment in found if moment is not None}, calendar.LAST_MOMENT, -1, 253_402_300_799_999_999]
    written = computed(engine, [*map(str, moments), None],
                       lambda text: engine.dialect.written_moment(f"CAST({text} AS BIGINT)"))  # fmt: skip
    assert written == [*map(calendar.moment_text, moments), None]


def test_patterns_match_as_they_are_meant_in_reasonable_time(engine: PostgresEngine) -> None:
    texts = ["", "a", "ab", "a\\b", "a%b", "é", "漢字", "a" * 10_000, "a" * 9_999 + "b", "\n", "a\nb", "\\", "\\%"]
    for pattern in ("", "%", "_", "__", "\\_", "\\%", "%\\%", "a%b", "%a_", "a\\b", "%" + "a%" * 40 + "c", "%_" * 40):
        found = computed(engine, texts, lambda text, like=pattern: engine.dialect.matches(
            text, engine.dialect.text_literal(like)))  # fmt: skip
        assert found == [like(text, pattern) for text in texts], pattern


def test_the_identity_of_a_text_is_that_of_every_engine(engine: PostgresEngine) -> None:
    texts = ["", "a", "é", "🧑‍⚕️", "x" * 10_000, "\\x41", *map(str, range(200))]
    found = computed(engine, [*texts, None], engine.dialect.identity)
    assert [None if value is None else int(value) for value in found] == [*map(identity, texts), None]


def test_every_day_of_the_calendar_has_the_same_parts(engine: PostgresEngine) -> None:
    """Every 397th day, which meets every day of every month."""
    day = Column(Days(False, calendar.FIRST_DAY, calendar.LAST_DAY), "d.x")
    parts = [call(name, day) for name in ("year", "quarter", "month", "day", "weekday", "day_of_year", "to_text")]
    parts += [call("date_trunc", literal(unit), day) for unit in ("week", "month", "quarter", "year")]
    spelled = ", ".join(spell(engine.dialect, part) for part in parts)
    days = f"generate_series({calendar.FIRST_DAY}::bigint, {calendar.LAST_DAY}, 397)"
    with engine._server.reading(60) as connection:
        rows = connection.execute(f'SELECT "d.x", {spelled} FROM {days} g("d.x")'.encode()).fetchall()
    for code, *values in rows:
        assert values == [evaluate(part, {"d.x": code}) for part in parts]


def test_a_day_that_the_calendar_lacks_raises_nothing(engine: PostgresEngine) -> None:
    for day in (calendar.LAST_DAY + 1, calendar.FIRST_DAY - 1, 10**12, -(10**12), 2**62):
        with engine._server.reading(60) as connection:
            made = [engine.dialect.part_of_day("year", f"CAST({day} AS BIGINT)"), engine.dialect.written_day(f"{day}"),
                    engine.dialect.first_of("month", f"{day}"), engine.dialect.written_moment(f"{day}"),
                    engine.dialect.fitted(f"{day} * 10000000000000000000000.0", "BIGINT")]  # fmt: skip
            assert connection.execute(f"SELECT {', '.join(made)}".encode()).fetchone() is not None


# ---- names and literals


@pytest.mark.parametrize("text", ["'; DROP TABLE x; --", '"', "\\", "''", "E'\\n'", "$$", "\n", "%s", "?", "{}", "\\'"])
def test_a_text_of_the_analyst_stays_a_text(engine: PostgresEngine, text: str) -> None:
    literal_text = engine.dialect.text_literal(text)
    same = call("equal", Column(Text(), "t.any"), literal(text))
    with engine._server.reading(60) as connection:
        sql = f'SELECT {literal_text}, {spell(engine.dialect, same)} FROM (SELECT {literal_text} AS "t.any") r'
        assert connection.execute(sql.encode()).fetchone() == (text, True)


def test_a_text_with_nul_is_refused(engine: PostgresEngine) -> None:
    with pytest.raises(QueryRefused, match="NUL"):
        engine.dialect.text_literal("a\0b")


def test_the_heaviest_expression_is_planned(edges: Edges) -> None:
    expression: Expression = column("n.small")
    while (larger := tried("floor_divide", column("n.small"), expression)) is not None:
        expression = larger
    assert list(differing(edges, [expression])) == []


def test_no_spelling_computes_with_floats(engine: PostgresEngine) -> None:
    for case in known_cases():
        sql = spell(engine.dialect, case).upper()
        assert not [word for word in ("DOUBLE", "FLOAT", "REAL", "RANDOM") if word in sql]
