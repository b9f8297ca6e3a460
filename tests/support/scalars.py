"""A comparison of what DuckDB makes of scalar expressions with what they mean, straight from the engine's text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from dalenius.engines.conformance.edges import WORDS, holds
from dalenius.engines.duckdb.dialect import DUCKDB
from dalenius.engines.sql.expressions import spell
from dalenius.query.expressions import Call, Expression
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.types import Code

TYPES = {"n.int": "INTEGER", "n.age": "UTINYINT", "n.huge": "HUGEINT", "t.word": "words", "t.other": "words"}


def sql_type(name: str) -> str:
    family = {"n": "BIGINT", "d": "BIGINT", "m": "BIGINT", "b": "BOOLEAN", "t": "VARCHAR"}
    return TYPES.get(name, family.get(name.split(".")[0], "BIGINT"))


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that knows the categories as an ENUM, in an order that is not bytewise."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TYPE words AS ENUM ({', '.join(map(DUCKDB.text_literal, WORDS))})")
    try:
        yield connection
    finally:
        connection.close()


def fill(connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Sequence[Code]]) -> None:
    """A table of codes in the types in which a snapshot might keep them."""
    places = range(len(next(iter(columns.values()))))
    arrays = {f"a{i}": _array(sql_type(name), codes) for i, (name, codes) in enumerate(columns.items())}
    connection.register("codes", pa.table({"place": list(places), **arrays}))
    casts = ", ".join(f"CAST(a{i} AS {sql_type(name)}) AS {DUCKDB.quote(name)}" for i, name in enumerate(columns))
    connection.execute(f"CREATE TABLE {table} AS SELECT place, {casts} FROM codes")
    connection.unregister("codes")


def _array(sql: str, codes: Sequence[Code]) -> Any:
    wide = pa.decimal128(38, 0)
    kinds = {"BOOLEAN": pa.bool_(), "VARCHAR": pa.string(), "words": pa.string()}
    values = codes if sql in kinds else [None if code is None else Decimal(int(code)) for code in codes]
    return pa.array(values, kinds.get(sql, wide))


def disagreements(
    expressions: Sequence[Expression],
    rows: Sequence[Mapping[str, Code]],
    batch: int = 20,
) -> list[str]:
    """Where DuckDB differs from the reference, or a value leaves its domain; each as a text. Errors are not caught."""
    found: list[str] = []
    with database() as connection:
        fill(connection, "edges", {name: [row[name] for row in rows] for name in rows[0]})
        for start in range(0, len(expressions), batch):
            part = expressions[start : start + batch]
            columns = ", ".join(spell(DUCKDB, expression) for expression in part)
            answer = connection.execute(f"SELECT {columns} FROM edges ORDER BY place")
            found += wrong_types(part, answer.description)
            for row, values in zip(rows, answer.fetchall(), strict=True):
                found += _differences(part, row, values)
    return found


def crossed(connection: duckdb.DuckDBPyConnection, expression: Expression) -> list[str]:
    """The same for one expression, on every combination of edge codes; table `<column>` has those of a column."""
    names = list(dict.fromkeys(expression.columns()))
    sources = ", ".join(f"(SELECT {DUCKDB.quote(name)} FROM {DUCKDB.quote('edges ' + name)})" for name in names)
    columns = ", ".join([*map(DUCKDB.quote, names), spell(DUCKDB, expression)])
    answer = connection.execute(f"SELECT {columns} FROM {sources}")
    found = wrong_types([expression], answer.description[-1:])
    for *codes, value in answer.fetchall():
        found += _differences([expression], dict(zip(names, codes, strict=True)), [value])
    return found


def wrong_types(expressions: Sequence[Expression], description: Sequence[Any]) -> list[str]:
    """Calls whose values have another type than their domain says; columns keep the type in which they are stored."""
    pairs = [pair for pair in zip(expressions, description, strict=True) if isinstance(pair[0], Call)]
    return [f"{each}: type {entry[1]}" for each, entry in pairs if str(entry[1]) != DUCKDB.type_of(each.domain)]


def _differences(part: Sequence[Expression], row: Mapping[str, Code], answer: Sequence[Any]) -> Iterator[str]:
    for expression, given in zip(part, answer, strict=True):
        expected = evaluate(expression, row)
        if given != expected or type(given) is not type(expected):
            yield f"{expression}: DuckDB {given!r}, meant {expected!r} at {row}"
        if not holds(expression.domain, expected):
            yield f"{expression}: {expected!r} is outside {expression.domain!r} at {row}"
