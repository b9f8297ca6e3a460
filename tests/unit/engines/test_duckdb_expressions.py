"""DuckDB computes what the reference says, for every function and every edge code, without a single error."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from dalenius.engines.duckdb import expressions
from dalenius.engines.duckdb.expressions import spell, text_literal, type_of
from dalenius.query.calendar import FIRST_DAY, LAST_DAY
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.functions.functions import FUNCTIONS, call, literal
from dalenius.query.functions.signatures import REFUSED
from dalenius.query.types import Days, Number
from scalars import COLUMNS, WIDE, column, crossed, database, disagreements, edge_codes, edge_rows, fill, quote, tried
from scalars import random_expressions as randoms

PAIRS = [
    ("n.long", "n.long"),
    ("n.small", "n.long"),
    ("n.cents", "n.thirds"),
    ("n.tens", "n.below"),
    ("n.int", "n.int"),
    ("n.age", 'odd "name".x'),
    ("n.huge", "n.small"),
    (7, "n.small"),
    ("n.long", -3),
    ("n.cents", Fraction(1, 4)),
]
DATED = [("d.any",), ("m.any",), ("d.now",), ("m.now",)]
TEXTUAL = [("t.any",), ("t.word",)]
TWO_TEXTS = [
    ("t.any", "t.word"),
    ("t.any", "a"),
    ("t.word", "t.word"),
    ("t.any", "%"),
    ("t.any", "it's"),
    ("t.any", "t.any"),
]
ALIKE: list[tuple[Any, ...]] = [
    ("n.small", "n.long"),
    ("n.cents", "n.thirds"),
    ("n.huge", "n.long"),
    ("n.huge", "n.huge"),
    ("d.any", "m.any"),
    ("d.any", "2024-02-29"),
    ("m.any", "2024-02-29 12:00"),
    ("b.flag", "b.sure"),
    ("b.flag", "b.flag"),
    ("t.any", "t.word"),
    ("t.word", "Oslo"),
    ("t.word", "not there"),
    ("t.any", "t.any"),
    ("t.word", "t.other"),
    ("n.small", None),
    ("t.word", None),
    ("d.any", dt.date(1, 1, 1)),
]
ONES = [
    ("n.small",),
    ("n.age",),
    ("n.long",),
    ("n.int",),
    ("n.huge",),
    ("n.cents",),
    ("n.thirds",),
    ("n.tens",),
    ("n.below",),
]
CASES: dict[str, list[tuple[Any, ...]]] = {
    **dict.fromkeys(("subtract", "multiply", "divide", "floor_divide", "modulo"), PAIRS),
    "add": [*PAIRS, ("d.any", "n.small"), ("n.int", "m.any")],
    **dict.fromkeys(("negate", "abs", "sign", "floor", "ceil", "to_bool"), ONES),
    "round": [*ONES, *((*one, digits) for one in ONES for digits in (1, -1, 3))],
    "clamp": [
        ("n.small", -1, 2),
        ("n.cents", Fraction(1, 3), 99),
        ("n.long", 2**70, 2**71),
        ("n.huge", -5, 5),
        ("d.any", "2020-01-01", "2024-02-29"),
        ("m.any", dt.date(2020, 1, 1), "2024-02-29 12:00:00.5"),
    ],
    "bin": [
        *((*one, width) for one in ONES for width in (1, 7, Fraction(1, 3), Fraction(5, 2))),
        *((*one, width) for one in DATED for width in (1, 7, 30)),
    ],
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "null_if", "in"), ALIKE),
    "least": [*ALIKE, ("n.small", "n.age", "n.tens")],
    "greatest": [*ALIKE, ("n.small", "n.age", "n.tens")],
    "coalesce": [*ALIKE, (None, "n.cents", "n.age")],
    "between": [(*pair, pair[0]) for pair in ALIKE] + [("n.small", "n.below", 1), ("n.small", None, "n.below")],
    "and": [("b.flag", "b.flag", "b.sure"), ("b.flag", None)],
    "or": [("b.flag", "b.sure"), ("b.flag", None)],
    "not": [("b.flag",), ("b.sure",)],
    "is_null": [*ONES, *DATED, *TEXTUAL, ("b.flag",)],
    "case": [
        ("b.flag", "n.small", "b.sure", "n.cents", None),
        ("b.flag", "t.word", "t.any"),
        ("b.flag", "d.any"),
        ("b.flag", None, "m.any"),
        ("b.flag", "n.huge", "n.small"),
    ],
    "like": [
        ("t.any", p) for p in ("a%", "%", "_", "%b_", "_%_", "a\\_", "50%", "%'%", "__", "", "é", "%\n", "._%", "(%_")
    ]
    + [("t.word", "%_o%"), ("t.word", None)],
    "concat": [("t.any", "t.word"), ("t.any", "t.any"), ("t.word", "-", "t.word"), ("t.any",)],
    **{name: [*TEXTUAL] for name in ("lower", "upper", "trim", "length", "to_date", "to_timestamp")},
    "substring": [
        (one, *rest)
        for one in ("t.any", "t.word")
        for rest in ((1, 1), (2,), (0, 3), (-5, 6), (3, 2**31 - 1), (2**31 - 1, 0))
    ],
    "replace": [
        ("t.any", "a", "bb"),
        ("t.any", "t.word", "x"),
        ("t.any", "", "x"),
        ("t.word", "t.word", "'"),
        ("t.any", "9", "98"),
    ],
    **dict.fromkeys(("starts_with", "ends_with", "contains"), TWO_TEXTS),
    **dict.fromkeys(("year", "quarter", "month", "day", "weekday", "day_of_year"), DATED),
    **{name: [("m.any",), ("m.now",)] for name in ("hour", "minute", "second")},
    "date_trunc": [(unit, *one) for unit in ("year", "quarter", "month", "week", "day") for one in DATED]
    + [(unit, "m.any") for unit in ("hour", "minute", "second")],
    "add_days": [("d.any", "n.small"), ("m.any", "n.int"), ("d.now", "n.tens"), ("d.now", 10**9), ("d.any", None)],
    "days_between": [("d.any", "d.any"), ("m.any", "d.any"), ("d.now", "m.now")],
    "to_int": [*ONES, *TEXTUAL, ("b.flag",)],
    "to_real": [(*one, size) for one in (*ONES, *TEXTUAL) for size in (Fraction(1, 100), Fraction(1, 4), 10)]
    + [("t.any",)],
    "to_text": [*ONES, *DATED, ("b.flag",), ("t.word",)],
}
CASES["to_bool"] = [*CASES["to_bool"], *TEXTUAL, ("b.flag",)]
CASES["to_date"] = [*CASES["to_date"], *DATED]
CASES["to_timestamp"] = [*CASES["to_timestamp"], *DATED]


def argument(value: Any) -> Expression:
    return column(value) if isinstance(value, str) and value in COLUMNS else literal(value)


@pytest.fixture(scope="module")
def edges() -> Iterator[duckdb.DuckDBPyConnection]:
    with database() as connection:
        for name, domain in COLUMNS.items():
            fill(connection, quote("edges " + name), {name: edge_codes(domain)})
        yield connection


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_agrees_on_all_edge_codes(name: str, edges: duckdb.DuckDBPyConnection) -> None:
    found = [tried(name, *map(argument, arguments)) for arguments in CASES[name]]
    made = [expression for expression in found if isinstance(expression, Call | Column)]
    assert len(made) >= len(found) / 2
    assert [difference for expression in made for difference in crossed(edges, expression)] == []


def test_the_cases_hold_all_functions() -> None:
    assert set(CASES) == set(FUNCTIONS)


def test_random_expressions_agree() -> None:
    assert disagreements(randoms(2_000, seed=31, heaviest=12), edge_rows(31, size=40)) == []


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
def test_many_random_expressions_agree(seed: int) -> None:
    assert disagreements(randoms(2_000, seed, heaviest=60), edge_rows(seed)) == []


def truncating(call: Call) -> str:
    x, y = call.arguments
    return f"TRY_CAST({spell(x)} AS HUGEINT) // NULLIF(TRY_CAST({spell(y)} AS HUGEINT), 0)"


PLANTED: dict[str, Callable[[Call], str]] = {
    "floor_divide": truncating,
    "least": lambda call: f"LEAST({', '.join(map(expressions.operand, call.arguments))})",
    "modulo": lambda call: f"{spell(call.arguments[0])} % NULLIF({spell(call.arguments[1])}, 0)",
    "lower": lambda call: f"lower({expressions.operand(call.arguments[0])})",
    "less": lambda call: f"{spell(call.arguments[0])} < {spell(call.arguments[1])}",
    "to_int": lambda call: f"TRY_CAST({expressions.operand(call.arguments[0])} AS BIGINT)",
    "in": lambda call: f"COALESCE({expressions.member(call)}, FALSE)",
    "clamp": lambda call: f"GREATEST({spell(call.arguments[1])}, LEAST({', '.join(map(spell, call.arguments[::2]))}))",
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_spelling_is_noticed(
    name: str, edges: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expressions, "SPELLINGS", {**expressions.SPELLINGS, name: PLANTED[name]})
    found = [tried(name, *map(argument, arguments)) for arguments in CASES[name] if "n.huge" not in arguments]
    assert any(crossed(edges, expression) for expression in found if isinstance(expression, Call))


@pytest.mark.parametrize("name", ["floor_divide", "least", "modulo"])
def test_the_random_expressions_notice_a_wrong_spelling(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "SPELLINGS", {**expressions.SPELLINGS, name: PLANTED[name]})
    calls = [each for each in randoms(600, 31, heaviest=12) if isinstance(each, Call) and each.function == name]
    assert any(disagreements([each], edge_rows(31, size=40)) for each in calls)


def one_column(name: str, arguments: tuple[Any, ...]) -> Iterator[tuple[Expression, Literal]]:
    """The call with one of the constants in a column, so that DuckDB computes it; with that constant."""
    for place, value in enumerate(arguments):
        constants = [literal(each) for each in arguments]
        for held in (
            [constants[place]]
            if value is not None
            else [Literal(COLUMNS[n], None) for n in ("n.small", "t.any", "d.any", "m.any", "b.flag")]
        ):
            made = tried(name, *constants[:place], Column(held.domain, "x.0"), *constants[place + 1 :])
            if made is not None:
                yield made, held


@pytest.mark.parametrize("cell", ["meaning", "null", "overflow", "outside"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_duckdb_gives_the_results_of_the_table(name: str, cell: str) -> None:
    stated = getattr(FUNCTIONS[name], cell)
    if stated.arguments is None or stated.result == REFUSED:
        return
    results = list(one_column(name, stated.arguments))
    assert results
    with database() as connection:
        for made, held in results:
            source = f'SELECT CAST({spell(held)} AS {type_of(held.domain)}) AS "x.0"'
            (row,) = connection.execute(f"SELECT {spell(made)} FROM ({source})").fetchall()
            assert made.domain.shown(row[0]) == stated.result
            assert made.domain.shown(evaluate(made, {"x.0": held.value})) == stated.result


def test_every_day_of_the_calendar_has_the_same_parts(edges: duckdb.DuckDBPyConnection) -> None:
    """Every 13th day, which meets every day of every month."""
    day = Column(Days(False, FIRST_DAY, LAST_DAY), "d.x")
    parts = [call(name, day) for name in ("year", "quarter", "month", "day", "weekday", "day_of_year", "to_text")]
    parts += [call("date_trunc", literal(unit), day) for unit in ("week", "month", "quarter", "year")]
    source = f'SELECT range AS "d.x" FROM range({FIRST_DAY}, {LAST_DAY + 1}, 397)'
    for code, *values in edges.execute(f'SELECT "d.x", {", ".join(map(spell, parts))} FROM ({source})').fetchall():
        assert values == [evaluate(part, {"d.x": code}) for part in parts]


@pytest.mark.parametrize("text", ["'; DROP TABLE edges; --", '"', "\\", "''", "E'\\n'", "$$", "\n", "%s", "?", "{}"])
def test_a_text_of_the_analyst_stays_a_text(text: str, edges: duckdb.DuckDBPyConnection) -> None:
    assert edges.execute(f"SELECT {text_literal(text)}").fetchone() == (text,)
    same = call("equal", Column(COLUMNS["t.any"], "t.any"), literal(text))
    assert edges.execute(f'SELECT {spell(same)} FROM (SELECT {text_literal(text)} AS "t.any")').fetchone() == (True,)


def test_a_name_is_quoted(edges: duckdb.DuckDBPyConnection) -> None:
    name = 'a"; DROP TABLE x; --'
    assert quote(name) == '"a""; DROP TABLE x; --"'
    assert edges.execute(f"SELECT {quote(name)} FROM (SELECT 1 AS {quote(name)})").fetchone() == (1,)


def test_no_spelling_computes_with_floats(edges: duckdb.DuckDBPyConnection) -> None:
    for name in FUNCTIONS:
        for arguments in CASES[name]:
            made = tried(name, *map(argument, arguments))
            sql = "" if made is None else spell(made)
            assert " / " not in sql
            assert "DOUBLE" not in sql
            assert "FLOAT" not in sql


def test_a_category_is_compared_by_its_bytes_and_not_by_its_place(edges: duckdb.DuckDBPyConnection) -> None:
    """Oslo is the first of the ENUM, and Bergen the second."""
    before = call("less", column("t.word"), literal("Oslo"))
    rows = edges.execute(f"SELECT {quote('t.word')}, {spell(before)} FROM {quote('edges t.word')}").fetchall()
    assert dict(rows)["Bergen"] is True
    assert dict(rows)["Tromsø"] is False


def test_the_heaviest_expression_is_planned_in_reasonable_time(edges: duckdb.DuckDBPyConnection) -> None:
    expression: Expression = column("n.small")
    while True:
        larger = tried("floor_divide", column("n.small"), expression)
        if larger is None:
            break
        expression = larger
    assert expression.weight <= 2_000
    assert crossed(edges, expression) == []


def test_numbers_beyond_64_bits_are_exact(edges: duckdb.DuckDBPyConnection) -> None:
    wide = Column(Number(True, -(2**126) + 1, 2**126 - 1), "n.huge")
    assert crossed(edges, call("greater", wide, literal(WIDE))) == []
    assert crossed(edges, call("abs", call("negate", wide))) == []
