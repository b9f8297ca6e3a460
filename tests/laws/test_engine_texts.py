"""What engines are given to run: no randomness, no sum of floats, no word of the analyst's; and names stay names.

The plans that are looked at are the engines' own (EXPLAIN), after all that their optimisers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pytest

from costs import cases
from dalenius.engines.conformance.comparing import ComparedTables
from dalenius.engines.conformance.plans import plans
from dalenius.engines.conformance.worlds import apart, owned, small_database, world
from dalenius.errors import DaleniusError
from dalenius.query.expressions import Column, Literal
from dalenius.query.functions.functions import call
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Filter, Scan
from dalenius.query.tables import Table
from dalenius.query.types import Int, Text
from duckdb_tables import aggregate, private
from opened_engines import ENGINES, engine

PLANS = 30
RANDOM = ("rand(", "randn(", "random", "uuid", "sample", "setseed", "nextval", "now()", "shuffle(", "monotonically")
FLOATS = re.compile(r"\b(?:double|float\d?|real)\b")


def drawn(plan: str) -> list[str]:
    return [word for word in RANDOM if word in plan]


def explained(name: str, sql: str) -> str:
    """The engine's plan of a query, in small letters."""
    if name == "spark":
        return str(engine(name).session.sql(f"EXPLAIN EXTENDED {sql}").head()[0]).lower()
    if name == "duckdb":
        with engine(name)._file.reading() as connection:
            return "\n".join(row[1] for row in connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()).lower()
    postgres = engine(name)
    with postgres._server.reading(60, lent=postgres._lends) as connection:
        return "\n".join(row[0] for row in connection.execute(f"EXPLAIN (VERBOSE) {sql}".encode()).fetchall()).lower()


def sums_of_floats(name: str, text: str) -> list[str]:
    """Sums and means with a float in their brackets; for DuckDB, which reads whole numbers only, any float at all."""
    text = re.sub(r"'-?(?:nan|infinity)'::(?:double precision|real)", "", text)  # what sources are compared with
    return [term for term in ([text] if name == "duckdb" else summed(text)) if FLOATS.search(term)]


def summed(text: str) -> list[str]:
    """What stands in the brackets of each sum or mean in a text."""
    return [_inside(text[found.end() :]) for found in re.finditer(r"\b(?:sum|avg)\(", text)]


def _inside(text: str) -> str:
    depth = 1
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[:place]
    return text


def generated_passes(name: str) -> Iterator[str]:
    """The engine's text of passes of generated plans."""
    here = world(0)
    ComparedTables(engine(name), here, owned(small_database(here, "texts")))
    for plan in plans(PLANS, where=0, worlds=50, tables=apart):
        yield from map(engine(name).compile_sql, plan.program.passes)


@cases(
    ("name", "number"),
    [("duckdb", 40), ("postgres", 40), ("spark", 15), pytest.param("spark", 40, marks=pytest.mark.deep)],
    fast=1,
)
def test_no_plan_draws_at_random_or_sums_floats(name: str, number: int) -> None:
    texts = list(islice(generated_passes(name), number))
    sums = 0
    for sql in texts:
        plan = explained(name, sql)
        assert drawn(plan) == []
        assert sums_of_floats(name, plan) == []
        assert sums_of_floats(name, sql.lower()) == []
        sums += len(summed(plan))
    assert len(texts) == number
    assert sums > number


ROWS = "(SELECT 1 AS x UNION ALL SELECT 2) t"


@cases("name", ENGINES, fast=1)
def test_the_look_at_plans_notices_both(name: str) -> None:
    drawing = "rand()" if name == "spark" else "random()"
    assert drawn(explained(name, f"SELECT x FROM {ROWS} WHERE {drawing} < 0.5"))
    plan = explained(name, f"SELECT sum(CAST(x AS DOUBLE{' PRECISION' * (name == 'postgres')})) AS s FROM {ROWS}")
    assert sums_of_floats(name, plan)


# ---- names

ODD = [
    "a`b", 'a"b', "a'b", "a;b--", "'; DROP TABLE t; --", "/* x */", "${spark.app.name}", "a\\b", "аge", "age",
    "\u202eage", "*", "\n", " age", "%s", "$1", "x" * 10_000, "a\0b", "\0",
]  # fmt: skip
"""Quotes, semicolons, comments, letters that look alike, 10,000 characters, NUL."""


def registered(name: str, column: str, value: int) -> Table:
    table = private("odd", {column: Int(0, 99)})
    engine(name).hold(())
    engine(name).register(table, pa.table({"id": [1, 2], column: [value, value]}))
    return table


def total(name: str, step: Aggregate) -> int:
    return int(engine(name).fetched(engine(name).compile_sql(step), 120, None).column(0)[0].as_py())


@cases("name", ENGINES, fast=1)
def test_odd_names_of_columns_pass_through_or_are_refused_and_never_run(name: str) -> None:
    passed = 0
    for place, column in enumerate(ODD):
        try:
            table = registered(name, column, place)
        except DaleniusError:
            continue
        step = aggregate(Scan(table, "t"), [Total("sum", f"t.{column}")], keys=(), groups=None)
        assert total(name, step) == 2 * place
        passed += 1
    assert passed >= len(ODD) - 4


@cases("name", ENGINES, fast=1)
@pytest.mark.parametrize("text", ["'; DROP TABLE t; --", "\\'; SELECT 1; --", "${spark.app.name}", "x" * 200, "аge"])
def test_a_text_of_the_analyst_is_compared_and_never_run(name: str, text: str) -> None:
    table = private("texts", {"x": Text()})
    engine(name).hold(())
    engine(name).register(table, pa.table({"id": [1, 2, 3], "x": [text, text + "y", None]}))
    kept = Filter(Scan(table, "t"), call("equal", Column(Text(), "t.x"), Literal(Text(), text)))
    step = aggregate(kept, [Total("rows")], keys=(), groups=None)
    assert total(name, step) == 1
