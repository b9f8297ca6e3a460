"""Joins of private tables keep so many rows of each unit, chosen by the public hash and never by position."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from costs import cases
from dalenius.engines.duckdb.dialect import DUCKDB, DuckDBDialect
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.reference.engine import ReferenceEngine
from dalenius.engines.sql import passes, relations
from dalenius.query.expressions import Column, Literal
from dalenius.query.functions.functions import call
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import (
    JOIN_ROWS,
    Bound,
    Distinct,
    Filter,
    Group,
    Join,
    LimitPerUnit,
    Project,
    Scan,
    UnitFilter,
    UnitTotal,
)
from dalenius.query.tables import EachRow
from dalenius.query.types import Bool, Int, Number, Text
from duckdb_tables import aggregate, engine_with, exact, private

VISITS = private("v", {"x": Int(0, 10**6), "t": Text(), "b": Bool(nullable=True)})
SCAN, AGAIN = Scan(VISITS, "v"), Scan(VISITS, "w")
HEAVY = 10_000


def rows(*units: tuple[int, int]) -> pa.Table:
    """So many different rows of each of these units, in a mixed order."""
    made = [(unit, place, f"t{place % 7}", (True, False, None)[place % 3]) for unit, n in units for place in range(n)]
    Random(len(made)).shuffle(made)
    return pa.table(dict(zip(["id", "x", "t", "b"], map(list, zip(*made, strict=True)), strict=True)))


def joined_rows(engine: DuckDBEngine, join: Join) -> int:
    """How many rows a join has."""
    ((count,),) = exact(engine, aggregate(join, [Total("rows")], keys=(), rows=2**40)).values()
    return count


def test_a_unit_with_ten_thousand_rows_on_both_sides_has_few_pairs_and_changes_nobody_elses() -> None:
    light = [(2, 17), (3, 1)]
    with_it, without = (engine_with((VISITS, rows(*units))) for units in ([(1, HEAVY), *light], light))
    assert joined_rows(without, Join(SCAN, AGAIN, ())) == 17**2 + 1
    assert joined_rows(with_it, Join(SCAN, AGAIN, ())) == 17**2 + 1 + JOIN_ROWS
    with_it.close()
    without.close()


@pytest.mark.parametrize("kind", ["inner", "left"])
def test_which_rows_stay_depends_on_neither_their_order_nor_other_units(kind: str) -> None:
    on = ((Column(Int(0, 10**6), "v.x"), Column(Int(0, 10**6), "w.x")),)
    step = aggregate(Join(SCAN, AGAIN, on, kind, most=5), [Total("rows"), Total("sum", "v.x")], keys=("v.t",))  # type: ignore[arg-type]
    source = rows((1, 200), (2, 4), (3, 6))
    mixed = source.take(Random(1).sample(range(source.num_rows), source.num_rows))
    alone = [exact(engine_with((VISITS, rows((unit, n)))), step) for unit, n in ((1, 200), (2, 4), (3, 6))]
    together, reordered = (exact(engine_with((VISITS, each)), step) for each in (source, mixed))
    assert together == reordered == summed(alone)
    reference = ReferenceEngine([VISITS], {"v": mixed.to_pylist()})
    assert {key: tuple(totals) for key, totals in reference.result(step).items()} == together


def summed(parts: list) -> dict:
    """Totals of all parts, key by key."""
    keys = {key for part in parts for key in part}
    return {key: tuple(map(sum, zip(*(part[key] for part in parts if key in part), strict=True))) for key in keys}


# ---- pairs of a unit


def pairs_of_units(engine: DuckDBEngine, join: Join) -> dict[int, int]:
    """How many rows a join has of each unit."""
    with engine._file.reading() as connection:
        sql = f"SELECT unit, count(*) FROM ({relations.rows(join, DUCKDB).sql}) GROUP BY unit"
        return dict(connection.execute(sql).fetchall())


def expected_pairs(source: pa.Table, kind: str, most: int) -> dict[int, int | None]:
    """How many pairs of equal t a unit has, or None where they are too many."""
    counts = Counter(zip(source["id"].to_pylist(), source["t"].to_pylist(), strict=True))
    found: Counter[int] = Counter()
    for (unit, text), n in counts.items():
        found[unit] += n * n if text is not None else n * (kind == "left")
    return {unit: n if n <= most else None for unit, n in found.items()}


def crowded(seed: int) -> pa.Table:
    """Units of very different sizes, with one text in most of their rows, and with none in some."""
    random = Random(seed)
    units = [unit for unit in range(60) for _ in range(random.choice([1, 3, 8, 40]))]
    texts = [random.choice(["a", "a", "a", "b", "c", None]) for _ in units]
    return pa.table({"id": units, "x": list(range(len(units))), "t": texts, "b": [None] * len(units)}).cast(
        rows((1, 3)).schema
    )


TEXTS = ((Column(Text(nullable=True), "v.t"), Column(Text(nullable=True), "w.t")),)


@cases("most", [1, 7, 40], fast=1)
@pytest.mark.parametrize("kind", ["inner", "left"])
def test_a_unit_has_all_of_its_pairs_or_as_many_as_are_allowed_at_most(kind: Any, most: int) -> None:
    for seed in range(4):
        engine, join = engine_with((VISITS, crowded(seed))), Join(SCAN, AGAIN, TEXTS, kind, most)
        found = pairs_of_units(engine, join)
        expected = expected_pairs(crowded(seed), kind, most)
        assert max(found.values()) <= most
        assert {unit: n for unit, n in expected.items() if n} == {
            unit: found.get(unit) for unit, n in expected.items() if n
        }
        reference = ReferenceEngine([VISITS], {"v": crowded(seed).to_pylist()})
        step = aggregate(join, [Total("rows"), Total("sum", "v.x"), Total("sum", "w.x")], keys=("w.t",), rows=most)
        assert {key: tuple(totals) for key, totals in reference.result(step).items()} == exact(engine, step)
        engine.close()


def test_without_the_bound_a_unit_has_more_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBDialect, "first_pairs", lambda d, join, left, right: ("", left.sql, right.sql))
    engine = engine_with((VISITS, crowded(0)))
    assert max(pairs_of_units(engine, Join(SCAN, AGAIN, TEXTS, "inner", 40)).values()) > 40
    engine.close()


def most_rows_made(engine: DuckDBEngine, join: Join) -> int:
    """How many rows the operator makes that makes the most of them, with a condition that needs pairs."""
    unequal = call("not_equal", *(Column(Int(0, 10**6), name) for name in ("v.x", "w.x")))
    step = passes.compile_sql(aggregate(Filter(join, unequal), [Total("rows")], keys=(), rows=2**40), DUCKDB)
    with engine._file.reading() as connection:
        ((_, profile),) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {step}").fetchall()
    return max(map(int, re.findall(r'"(?:intermediate_rows|operator_cardinality)": *([0-9]+)', profile)))


@pytest.mark.parametrize("kind", ["inner", "left"])
def test_no_more_pairs_are_ever_made_than_stay(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with((VISITS, rows((1, HEAVY))))
    assert most_rows_made(engine, Join(SCAN, AGAIN, (), kind)) <= HEAVY
    assert most_rows_made(engine, Join(SCAN, AGAIN, TEXTS, kind)) <= HEAVY
    monkeypatch.setattr(DuckDBDialect, "first_pairs", lambda d, join, left, right: ("", left.sql, right.sql))
    assert most_rows_made(engine, Join(SCAN, AGAIN, TEXTS, kind)) > HEAVY**2 / 10
    engine.close()


def test_equal_rows_are_kept_each_by_itself() -> None:
    source = pa.table({"id": [1] * 9, "x": [4] * 9, "t": ["a"] * 9, "b": [None] * 9}).cast(rows((1, 3)).schema)
    engine = engine_with((VISITS, source))
    assert joined_rows(engine, Join(SCAN, AGAIN, (), most=10)) == 9
    assert joined_rows(engine, Join(SCAN, AGAIN, (), most=20)) == 18
    assert joined_rows(engine, Join(SCAN, AGAIN, (), most=4)) == 4
    engine.close()


def test_tables_without_columns_are_bounded_too() -> None:
    table = private("n", {})
    engine = engine_with((table, {"id": [1] * 9 + [2]}))
    assert joined_rows(engine, Join(Scan(table, "a"), Scan(table, "b"), (), most=3)) == 3 + 1
    engine.close()


def test_nothing_is_hashed_where_a_unit_cannot_have_more_rows() -> None:
    total = UnitTotal("count", None, 5, Number(False, 1, 5))
    grouped = Group(SCAN, (), (("d.0", total),))
    assert "heavy" not in passes.compile_sql(aggregate(Join(grouped, grouped, ()), [Total("units")], keys=()), DUCKDB)
    assert "heavy" in passes.compile_sql(aggregate(Join(grouped, AGAIN, ()), [Total("units")], keys=()), DUCKDB)


def test_a_unit_is_known_to_have_few_rows_by_the_form_of_the_plan_alone() -> None:
    each = Scan(private("e", {"x": Int(0, 9)}, unit=EachRow()), "e")
    total = UnitTotal("count", None, 5, Number(False, 1, 5))
    yes = Literal(Bool(), True)
    for one in (each, Group(SCAN, (), (("d.0", total),)), LimitPerUnit(each, 7)):
        assert passes.rows_each(Filter(UnitFilter(Project(one, ()), SCAN), yes)) == 1
    assert passes.rows_each(Filter(LimitPerUnit(SCAN, 7), yes)) == 7
    single = Project(SCAN, (("d.1", Literal(Int(3, 3), 3)),))
    assert Distinct(single).rows_of_unit == 1
    uncut = LimitPerUnit(Distinct(single), 7)
    for many in (Distinct(single), uncut, Group(SCAN, single.columns, ()), SCAN, Join(each, each, ())):
        assert passes.rows_each(many) is None


def test_rows_are_added_up_whosever_they_are_only_where_no_unit_has_more_than_count() -> None:
    few = LimitPerUnit(SCAN, 7)

    def by_unit(rows: int, groups: int | None, kind: Any) -> bool:
        step = Aggregate(Bound(few, ("v.x",), rows, groups), (Total(kind),))
        return "per_unit" in passes.compile_sql(step, DUCKDB)

    assert not by_unit(7, None, "rows")
    assert by_unit(6, None, "rows")
    assert by_unit(7, 2, "rows")
    assert by_unit(7, None, "units")
