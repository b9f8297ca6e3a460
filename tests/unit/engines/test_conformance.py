"""The check of engines compares what it says, over rows that hold what engines differ in, and blames the right part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dalenius.engines.conformance import comparing, edges
from dalenius.engines.conformance import comparing as columns
from dalenius.engines.conformance.cases import few_cases, known_cases, parts, random_expressions, written
from dalenius.engines.conformance.checking import MOST, check, few_plans
from dalenius.engines.conformance.comparing import Codes, Edges, Meanings, values_of
from dalenius.engines.conformance.plans import NODES, nodes
from dalenius.engines.conformance.worlds import Draws
from dalenius.engines.duckdb.dialect import DuckDBDialect
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.reference.canonical import canonical
from dalenius.query.functions.evaluation import LENIENT, STRICT, evaluate
from dalenius.query.functions.functions import call
from dalenius.query.types import LONGEST_KEPT, Number
from duckdb_tables import ONE_THREAD

ROWS = 400


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    made = DuckDBEngine(limits=ONE_THREAD)
    yield made
    made.close()


# ---- what is compared


def test_a_seed_gives_the_same_choices_and_another_one_others() -> None:
    first, again, other = (Draws(seed) for seed in ("a", "a", "b"))
    drawn = [[draws.between(-3, 2**70) for _ in range(50)] for draws in (first, again, other)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert sorted(first.shuffled(range(20))) == list(range(20))


def test_choices_are_about_equally_frequent() -> None:
    draws = Draws("counts")
    counts = np.bincount([draws.below(10) for _ in range(10_000)], minlength=10)
    # Each is near 1000 with a standard deviation of 30.
    assert all(abs(count - 1000) < 180 for count in counts)


def test_the_rows_hold_what_engines_differ_in() -> None:
    rows = edges.source(0, ROWS)
    floats = rows["n.cents"].to_pylist()
    assert any(value is not None and math.isnan(value) for value in floats)
    assert {math.inf, -math.inf, 5e-324, 1e308} <= set(floats)
    assert any(value == 0 and math.copysign(1, value) < 0 for value in floats if value is not None)
    texts = rows["t.any"].to_pylist()
    assert {"e\N{COMBINING ACUTE ACCENT}", "é", "ABC ", "\tx\n"} <= set(texts)
    assert max(len(text) for text in texts if text) > LONGEST_KEPT
    assert str(rows.schema.field("m.now").type) == "timestamp[us, tz=Europe/Oslo]"
    assert all(rows[name].null_count > 0 for name, domain in edges.COLUMNS.items() if domain.nullable)


def test_every_edge_code_of_every_column_occurs() -> None:
    found = edges.codes(edges.source(0, ROWS))
    for name, domain in edges.COLUMNS.items():
        meant = {canonical(domain, code) if isinstance(code, str) else code for code in edges.edge_codes(domain)}
        assert meant <= set(found[name])
        assert all(edges.holds(domain, code) for code in found[name])


def test_every_function_is_compared_by_the_quick_check_too() -> None:
    names = {part.function for case in few_cases() for part in parts(case)}
    assert names == {*STRICT, *LENIENT}
    assert len(few_cases()) < len(known_cases())


def test_the_plans_of_the_quick_check_have_all_nodes_and_passes() -> None:
    assert set.union(*map(nodes, few_plans())) >= NODES


def test_random_expressions_have_many_values_and_all_functions() -> None:
    made = random_expressions(1_500, 0, 12)
    assert {part.function for each in made for part in parts(each)} == {*STRICT, *LENIENT}
    meanings = Meanings(edges.codes(edges.source(0, ROWS)))
    assert sum(len(meanings.of(each).codes) > 1 for each in made) > 0.7 * len(made)


# ---- the meaning of many rows at once


def differing(count: int) -> int:
    """In how many expressions the values for all rows at once differ from those row by row."""
    codes = edges.codes(edges.source(1, 60))
    meanings, rows = Meanings(codes), edges.as_rows(codes)
    wrong = 0
    for expression in random_expressions(count, 1, 30):
        found = meanings.of(expression)
        wrong += [found.codes[place] for place in found.places] != [evaluate(expression, row) for row in rows]
    return wrong


def test_values_for_all_rows_at_once_are_those_row_by_row() -> None:
    assert differing(400) == 0


def test_the_test_above_notices_combinations_that_are_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    right = columns._combinations
    monkeypatch.setattr(columns, "_combinations", lambda arguments: right(list(arguments)[:1]))
    assert differing(400) > 0


def test_numbers_of_many_combinations_do_not_overflow() -> None:
    many = [Codes.of([place * k for place in range(2_000)]) for k in range(1, 8)]  # 2000^7 combinations
    rows, places = columns._combinations(many)
    assert len(rows) == 2_000
    assert sorted(places.tolist()) == list(range(2_000))


# ---- what is found


@pytest.fixture
def table(engine: DuckDBEngine) -> Edges:
    return Edges(engine, rows=ROWS)


def test_the_innermost_part_that_differs_is_blamed(table: Edges, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBDialect, "trimmed", lambda d, text: f"trim({text})")
    inside = call("trim", edges.column("t.any"))
    found = list(table.differences([call("length", call("upper", inside)), call("is_null", inside)]))
    assert [difference.what for difference in found] == ["trim gives other values than defined"]
    assert "length(upper(trim(t.any)))" in str(found[0])


def test_one_expression_that_fails_is_found_among_many(table: Edges, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBDialect, "read_day", lambda d, text: f"CAST({text} AS DATE) - DATE '1970-01-01'")
    others = [call("length", edges.column("t.any")), call("abs", edges.column("n.long"))]
    found = list(table.differences([*others, call("to_date", edges.column("t.any")), *others]))
    assert [difference.what for difference in found] == ["to_date fails"]


def test_another_type_is_a_difference(table: Edges, monkeypatch: pytest.MonkeyPatch) -> None:
    right = comparing.result_type
    monkeypatch.setattr(
        comparing, "result_type", lambda domain: pa.int32() if isinstance(domain, Number) else right(domain)
    )
    monkeypatch.setattr(
        columns, "result_type", lambda domain: pa.int32() if isinstance(domain, Number) else right(domain)
    )
    (found,) = table.differences([call("length", edges.column("t.any"))])
    assert found.what == "length gives another type than defined"


def test_lost_rows_are_a_difference(table: Edges, monkeypatch: pytest.MonkeyPatch) -> None:
    right = DuckDBEngine.fetched
    monkeypatch.setattr(DuckDBEngine, "fetched", lambda *facts: right(*facts).slice(1))
    (found,) = table.differences([edges.column("n.small")])
    assert found.what.startswith("rows are lost")


def test_columns_are_compared_first_and_nothing_that_is_computed_from_wrong_ones(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = edges.codes
    monkeypatch.setattr(edges, "codes", lambda rows: right(rows) | {"n.cents": [1] * len(rows)})
    report = check(engine, expressions=100, rows=ROWS, plans=0)
    assert [each.split(":")[0] for each in report.differences] == [
        "reading double as number gives other values than defined"
    ]
    assert report.cases == report.expressions == 0


def test_a_check_ends_after_many_differences(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBDialect, "as_text", lambda d, column: f"reverse(CAST({column} AS VARCHAR))")
    report = check(engine, expressions=2_000, rows=50, plans=0)
    assert MOST <= len(report.differences) < 3 * MOST
    assert report.expressions < 2_000


def test_signs_of_life_grow_to_a_hundred(engine: DuckDBEngine) -> None:
    told: list[float] = []
    report = check(engine, expressions=60, rows=50, plans=3, tick=told.append)
    assert report.passed
    assert told == sorted(told)
    assert told[-1] == 100


def test_the_engine_holds_nothing_after_a_check(engine: DuckDBEngine) -> None:
    check(engine, expressions=0, plans=1)
    assert engine._tables == {}


def test_a_pass_that_gives_values_back_depends_on_no_value(engine: DuckDBEngine) -> None:
    step: Any = values_of([call("length", edges.column("t.any"))])
    assert engine.compile_sql(step) == engine.compile_sql(step)
    assert step.child.keys == ("k.row", "x.0")


def test_expressions_are_written_for_people() -> None:
    assert written(call("concat", edges.column("t.any"), call("lower", edges.column("t.word")))).startswith(
        "concat(t.any, "
    )
