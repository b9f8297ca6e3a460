"""How operators nest: what is read without brackets computes in DuckDB the same as with all of them written out."""

from __future__ import annotations

import contextlib
import random
from itertools import product

import duckdb
import pytest

from dalenius.errors import QueryRefused
from dalenius.query.sql.reader import read
from dalenius.query.syntax import Apply, Constant, Name, Select, Term

VALUES = (-2, 0, 1, 3, None)
INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "floor_divide": "//", "modulo": "%", "equal": "=", "not_equal": "<>",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "and": "AND", "or": "OR",
}  # fmt: skip


def number(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(("a", "b", "c", "2", "5"))
    one, other = number(chance, depth - 1), number(chance, chance.randrange(depth))
    forms = [f"{one} {sign} {other}" for sign in ("+", "-", "*", "//", "%")]
    return chance.choice([*forms, f"- {one}", f"({one})"])


def truth(chance: random.Random, depth: int) -> str:
    if depth == 0:
        sign = chance.choice(("=", "<>", "<", "<=", ">", ">="))
        one, other, third = (number(chance, chance.randrange(3)) for _ in range(3))
        return chance.choice(
            [f"{one} {sign} {other}", f"{one} {sign} {other}", f"{one} BETWEEN {other} AND {third}", f"{one} IS NULL",
             f"{one} NOT BETWEEN {other} AND {third}", f"{one} IN ({other}, {third})", f"{one} IS NOT NULL",
             f"{one} {sign} {other} {chance.choice(('IS NULL', '= ' + third, 'IS TRUE'))}"]
        )  # fmt: skip
    one, other = truth(chance, depth - 1), truth(chance, chance.randrange(depth))
    return chance.choice([f"{one} AND {other}", f"{one} OR {other}", f"NOT {one}", f"({one})", f"({one}) IS TRUE"])


def bracketed(term: Term) -> str:
    """The term with every bracket written."""
    if isinstance(term, Name):
        return term.name
    if isinstance(term, Constant):
        return "NULL" if term.value is None else str(term.value)
    assert isinstance(term, Apply)
    parts = [f"({bracketed(argument)})" for argument in term.arguments]
    if term.function in INFIX:
        return f" {INFIX[term.function]} ".join(parts)
    return {
        "not": lambda: f"NOT {parts[0]}",
        "negate": lambda: f"-{parts[0]}",
        "is_null": lambda: f"{parts[0]} IS NULL",
        "coalesce": lambda: f"COALESCE({', '.join(parts)})",
        "between": lambda: f"{parts[0]} BETWEEN {parts[1]} AND {parts[2]}",
        "in": lambda: f"{parts[0]} IN ({', '.join(parts[1:])})",
    }[term.function]()


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    with contextlib.suppress(duckdb.Error):  # older versions have no such setting, and give NULL
        connection.execute("SET error_on_division_by_zero = false")
    connection.execute("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", list(product(VALUES, repeat=3)))
    return connection


def values(text: str, connection: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return connection.execute(f"SELECT {text} FROM t ORDER BY a, b, c").fetchall()


def terms(count: int, seed: int) -> list[tuple[str, Term]]:
    """Random texts that are read, and what they are read as."""
    chance, found = random.Random(seed), []
    for _ in range(count):
        text = truth(chance, chance.randrange(4))
        try:
            query = read(f"SELECT {text} FROM t")
        except QueryRefused:
            continue
        assert isinstance(query, Select)
        found.append((text, query.items[0].term))
    return found


def test_what_is_read_nests_as_in_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
    read_ones = terms(400, seed=5)
    assert len(read_ones) > 200
    for text, term in read_ones:
        assert values(text, connection) == values(bracketed(term), connection), text


def test_the_comparison_above_notices_wrong_nesting(connection: duckdb.DuckDBPyConnection) -> None:
    assert values("a + b * c", connection) != values("(a + b) * c", connection)
    assert values("NOT a = b", connection) != values("(NOT a) = b", connection)
