"""What stands above a filter fails for no row, even where an engine computes it before it drops rows."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from dalenius.engines.duckdb.dialect import DUCKDB
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.sql import relations
from dalenius.query.expressions import Column
from dalenius.query.functions.functions import call, literal
from dalenius.query.plan.passes import Total
from dalenius.query.plan.relations import Filter, Project, Scan
from dalenius.query.types import Int
from duckdb_tables import aggregate, engine_with, exact, private

LARGE, MOST = 2**62, 3 * 10**9
TABLE = private("t", {"x": Int(-LARGE, LARGE, nullable=True)})
SCAN = Scan(TABLE, "t")
WHOLE, NARROWED = SCAN.schema["t.x"], Int(0, MOST, nullable=False)
CONDITION = call("between", Column(WHOLE, "t.x"), literal(0), literal(MOST))
SMALL = Filter(SCAN, CONDITION, (("t.x", NARROWED),))
SQUARE = Project(SMALL, (("p.x", call("multiply", Column(NARROWED, "t.x"), Column(NARROWED, "t.x"))),))
VALUES = [-LARGE, -1, 0, 3, MOST, MOST + 1, LARGE, None]


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    made = engine_with((TABLE, {"id": list(range(len(VALUES))), "x": VALUES}))
    yield made
    made.close()


def computed_before_filtering(engine: DuckDBEngine) -> list[int | None]:
    """The squares of all rows, as if the engine computed them first and looked at the condition later."""
    sql, condition = relations.rows(SQUARE, DUCKDB).sql, f"WHERE {relations.spell(DUCKDB, CONDITION)}"
    assert sql.count(condition) == 1
    unfiltered = f'SELECT "p.x" FROM ({sql.replace(condition, "")}) ORDER BY "unit"'
    with engine._file.reading() as connection:
        return [square for (square,) in connection.execute(unfiltered).fetchall()]


def test_the_squares_fit_the_narrow_type_that_they_are_computed_in() -> None:
    assert DUCKDB.type_of(SQUARE.schema["p.x"]) == "BIGINT"
    assert LARGE**2 >= 2**63


def test_what_a_filter_narrows_stays_narrow_in_the_rows_that_it_drops(engine: DuckDBEngine) -> None:
    found = computed_before_filtering(engine)
    assert found == [None if x is None else max(0, min(x, MOST)) ** 2 for x in VALUES]
    total = exact(engine, aggregate(SQUARE, [Total("rows"), Total("sum", "p.x")], keys=()))
    assert total == {(): (3, 9 + MOST**2)}


def test_the_test_above_notices_columns_that_are_not_clamped(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "clamped", lambda value, lower, upper: value)
    with pytest.raises(duckdb.OutOfRangeException):
        computed_before_filtering(engine)
