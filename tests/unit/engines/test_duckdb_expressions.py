"""DuckDB computes what the reference says, for every function and every edge code, without a single error."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import duckdb
import pytest

from dalenius.engines.conformance.cases import CASES, argument, tried
from dalenius.engines.conformance.cases import random_expressions as randoms
from dalenius.engines.conformance.edges import COLUMNS, WIDE, column, edge_codes, edge_rows
from dalenius.engines.duckdb.dialect import DUCKDB
from dalenius.engines.sql import expressions
from dalenius.engines.sql.dialect import Dialect
from dalenius.engines.sql.expressions import Spelling, operand, spell
from dalenius.query.calendar import FIRST_DAY, LAST_DAY
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.evaluation import MEANINGS, evaluate
from dalenius.query.functions.functions import FUNCTIONS, call, literal
from dalenius.query.functions.signatures import REFUSED
from dalenius.query.types import Days, Number
from scalars import crossed, database, disagreements, fill


@pytest.fixture(scope="module")
def edges() -> Iterator[duckdb.DuckDBPyConnection]:
    with database() as connection:
        for name, domain in COLUMNS.items():
            fill(connection, DUCKDB.quote("edges " + name), {name: edge_codes(domain)})
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


def truncating(d: Dialect, call: Call) -> str:
    x, y = call.arguments
    return f"TRY_CAST({spell(d, x)} AS HUGEINT) // NULLIF(TRY_CAST({spell(d, y)} AS HUGEINT), 0)"


PLANTED: dict[str, Spelling] = {
    "floor_divide": truncating,
    "least": lambda d, call: f"LEAST({', '.join(operand(d, each) for each in call.arguments)})",
    "modulo": lambda d, call: f"{spell(d, call.arguments[0])} % NULLIF({spell(d, call.arguments[1])}, 0)",
    "lower": lambda d, call: f"lower({operand(d, call.arguments[0])})",
    "less": lambda d, call: f"{spell(d, call.arguments[0])} < {spell(d, call.arguments[1])}",
    "to_int": lambda d, call: f"TRY_CAST({operand(d, call.arguments[0])} AS BIGINT)",
    "to_bool": lambda d, call: f"TRY_CAST({operand(d, call.arguments[0])} AS BOOLEAN)",
    "in": lambda d, call: f"COALESCE({expressions.member(d, call)}, FALSE)",
    "clamp": lambda d, call: (
        f"GREATEST({spell(d, call.arguments[1])}, LEAST({', '.join(spell(d, each) for each in call.arguments[::2])}))"
    ),
}


def test_all_that_functions_are_made_of_has_a_spelling() -> None:
    assert set(expressions.SPELLINGS) == set(MEANINGS)


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
            source = f'SELECT CAST({spell(DUCKDB, held)} AS {DUCKDB.type_of(held.domain)}) AS "x.0"'
            (row,) = connection.execute(f"SELECT {spell(DUCKDB, made)} FROM ({source})").fetchall()
            assert made.domain.decode(row[0]) == stated.result
            assert made.domain.decode(evaluate(made, {"x.0": held.value})) == stated.result


def test_every_day_of_the_calendar_has_the_same_parts(edges: duckdb.DuckDBPyConnection) -> None:
    """Every 13th day, which meets every day of every month."""
    day = Column(Days(False, FIRST_DAY, LAST_DAY), "d.x")
    parts = [call(name, day) for name in ("year", "quarter", "month", "day", "weekday", "day_of_year", "to_text")]
    parts += [call("date_trunc", literal(unit), day) for unit in ("week", "month", "quarter", "year")]
    source = f'SELECT range AS "d.x" FROM range({FIRST_DAY}, {LAST_DAY + 1}, 397)'
    columns = ", ".join(spell(DUCKDB, part) for part in parts)
    for code, *values in edges.execute(f'SELECT "d.x", {columns} FROM ({source})').fetchall():
        assert values == [evaluate(part, {"d.x": code}) for part in parts]


def test_words_for_true_and_false_are_read_in_all_spellings_and_no_others(edges: duckdb.DuckDBPyConnection) -> None:
    words = [
        "true",
        "t",
        "1",
        "false",
        "f",
        "0",
        "yes",
        "no",
        "on",
        "falſe",
        "true ",
        "\tt",
        "1\n",
        "tru",
        "01",
        "ｔ",
        "",
    ]
    texts = sorted({"".join(each) for word in words for each in product(*zip(word, word.swapcase(), strict=True))})
    read = call("to_bool", Column(COLUMNS["t.any"], "t.any"))
    source = 'SELECT unnest(?) AS "t.any"'
    found = edges.execute(f'SELECT "t.any", {spell(DUCKDB, read)} FROM ({source})', [texts]).fetchall()
    assert dict(found) == {text: evaluate(read, {"t.any": text}) for text in texts}
    assert sum(value is True for _, value in found) == 2**4 + 2 + 1
    assert sum(value is False for _, value in found) == 2**5 + 2 + 1


@pytest.mark.parametrize("text", ["'; DROP TABLE edges; --", '"', "\\", "''", "E'\\n'", "$$", "\n", "%s", "?", "{}"])
def test_a_text_of_the_analyst_stays_a_text(text: str, edges: duckdb.DuckDBPyConnection) -> None:
    assert edges.execute(f"SELECT {DUCKDB.text_literal(text)}").fetchone() == (text,)
    same = call("equal", Column(COLUMNS["t.any"], "t.any"), literal(text))
    source = f'SELECT {DUCKDB.text_literal(text)} AS "t.any"'
    assert edges.execute(f"SELECT {spell(DUCKDB, same)} FROM ({source})").fetchone() == (True,)


def test_a_name_is_quoted(edges: duckdb.DuckDBPyConnection) -> None:
    name = 'a"; DROP TABLE x; --'
    assert DUCKDB.quote(name) == '"a""; DROP TABLE x; --"'
    assert edges.execute(f"SELECT {DUCKDB.quote(name)} FROM (SELECT 1 AS {DUCKDB.quote(name)})").fetchone() == (1,)


def test_no_spelling_computes_with_floats(edges: duckdb.DuckDBPyConnection) -> None:
    for name in FUNCTIONS:
        for arguments in CASES[name]:
            made = tried(name, *map(argument, arguments))
            sql = "" if made is None else spell(DUCKDB, made)
            assert " / " not in sql
            assert "DOUBLE" not in sql
            assert "FLOAT" not in sql


def test_a_category_is_compared_by_its_bytes_and_not_by_its_place(edges: duckdb.DuckDBPyConnection) -> None:
    """Oslo is the first of the ENUM, and Bergen the second."""
    before = call("less", column("t.word"), literal("Oslo"))
    columns = f"{DUCKDB.quote('t.word')}, {spell(DUCKDB, before)}"
    rows = edges.execute(f"SELECT {columns} FROM {DUCKDB.quote('edges t.word')}").fetchall()
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
