"""Passes mean what their docstrings say, on small tables that can be worked out by hand."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from dalenius.engines.duckdb import engine as running
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.dialect import DUCKDB, rows_table
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.hashing import kept
from dalenius.engines.reference.engine import ReferenceEngine
from dalenius.engines.sql import passes, relations
from dalenius.errors import QueryRefused
from dalenius.privacy.exact import unseal
from dalenius.query.expressions import Column
from dalenius.query.plan.passes import Aggregate, DistinctValues, Pass, Total, Values
from dalenius.query.plan.relations import (
    Bound,
    Clamp,
    Distinct,
    Filter,
    Group,
    Join,
    Project,
    Relation,
    Scan,
    Union,
    UnitFilter,
    UnitTotal,
)
from dalenius.query.tables import EachRow, Table
from dalenius.query.types import Bool, Category, Domain, Int, Number, Text
from duckdb_tables import aggregate, engine_with, exact, private, scanned

VISITS = private(
    "visits", {"city": Category("Oslo", "Bodø"), "icd": Text(), "cost": Int(-50, 100, nullable=True), "old": Bool()}
)
ROWS = {
    "id": [1, 1, 1, 1, 2, 2, 3, 4, 4, 4],
    "city": ["Oslo", "Oslo", "Oslo", None, "Oslo", "Bodø", "Bodø", None, None, "x"],
    "icd": ["a", "b", "b", "c", "a", "é", "e\u0301", "a", "a", "z"],
    "cost": [10, -7, None, 5, 100, 900, -900, 1, 2, None],
    "old": [True, True, False, True, False, False, True, True, True, True],
}


@pytest.fixture(scope="module")
def engine() -> Any:
    made = engine_with((VISITS, ROWS))
    yield made
    made.close()


@pytest.fixture(scope="module")
def reference() -> ReferenceEngine:
    return ReferenceEngine([VISITS], {"visits": pa.table(ROWS).to_pylist()})


def test_each_total_counts_what_it_says(engine: DuckDBEngine) -> None:
    totals = [Total("rows"), Total("units"), Total("present", "x.0"), Total("sum", "x.0")]
    found = exact(engine, aggregate(scanned(VISITS, k0="city", x0="cost"), totals))
    assert found == {("Oslo",): (4, 2, 3, 103), ("Bodø",): (2, 2, 2, 50), (None,): (4, 2, 3, 8)}


def test_what_exceeds_the_rows_of_a_unit_is_scaled_towards_zero(engine: DuckDBEngine) -> None:
    step = aggregate(scanned(VISITS, k0="city", x0="cost"), [Total("rows"), Total("sum", "x.0")], rows=1)
    # Oslo: of unit 1 three rows with two values, (10 - 7) * 1 div 2 = 1; of unit 2 one row. NULL: 5, and 3 div 2.
    assert exact(engine, step) == {("Oslo",): (2, 101), ("Bodø",): (2, 50), (None,): (2, 6)}
    table = private("t", {"x": Int(-9, 9)})
    other = engine_with((table, {"id": [1, 1], "x": [-2, -1]}))
    assert exact(other, aggregate(scanned(table, x0="x"), [Total("sum", "x.0")], keys=(), rows=1)) == {(): (-1,)}
    other.close()


def test_without_keys_there_is_one_total(engine: DuckDBEngine) -> None:
    step = aggregate(scanned(VISITS, x0="cost"), [Total("rows"), Total("units")], keys=(), groups=None)
    assert exact(engine, step) == {(): (10, 4)}


def test_a_unit_keeps_the_groups_with_the_smallest_hash(engine: DuckDBEngine) -> None:
    owned = {1: {"a", "b", "c"}, 2: {"a", "é"}, 3: {"é"}, 4: {"a", "z"}}
    for groups in (1, 2):
        expected: dict[tuple[str], tuple[int]] = {}
        for unit, icds in owned.items():
            for key in kept(unit, [(icd,) for icd in icds], groups):
                expected[key] = (expected.get(key, (0,))[0] + 1,)  # type: ignore[index, assignment, arg-type]
        assert exact(engine, aggregate(scanned(VISITS, k0="icd"), [Total("units")], groups=groups)) == expected


def test_values_beyond_the_limit_are_spaced_evenly(engine: DuckDBEngine) -> None:
    table = private("t", {"x": Int(0, 99, nullable=True), "y": Text()})
    rows = {"id": [1] * 7 + [2], "x": [5, 1, 4, 2, 3, None, 3, 9], "y": ["e", "a", "d", "b", "c", None, "c", "z"]}
    other = engine_with((table, rows))
    found = exact(other, Values(Bound(scanned(table, x0="x"), (), 3, None), "x.0"))
    assert found == {(2,): (1,), (3,): (1,), (5,): (1,), (9,): (1,)}  # places 2, 4 and 6 of 1 2 3 3 4 5
    texts = exact(other, Values(Bound(scanned(table, x0="y"), (), 3, None), "x.0"))
    assert texts == {("b",): (1,), ("c",): (1,), ("e",): (1,), ("z",): (1,)}
    other.close()


def visits(**names: str) -> Project:
    return scanned(VISITS, **names)


def rich_plans() -> list[Pass]:
    """A pass of each kind over each kind of relation."""
    scan = Scan(VISITS, "v")
    old = Filter(scan, Column(Bool(), "v.old"))
    again = Scan(VISITS, "w")
    on = ((Column(Text(), "v.icd"), Column(Text(), "w.icd")),)
    joined = Join(scan, again, on)
    left = Join(scan, Filter(again, Column(Bool(), "w.old")), on, "left")
    per_unit = Group(
        scan,
        (("g.city", Column(scan.schema["v.city"], "v.city")),),
        (
            ("g.n", UnitTotal("count", None, 2, Number(False, 0, 2))),
            ("g.s", UnitTotal("sum", Column(scan.schema["v.cost"], "v.cost"), 2, Number(True, -100, 200))),
            ("g.m", UnitTotal("min", Column(scan.schema["v.icd"], "v.icd"), 2, Text())),
            ("g.d", UnitTotal("distinct", Column(scan.schema["v.icd"], "v.icd"), 2, Number(False, 0, 2))),
        ),
    )
    parts: list[tuple[Relation, str, str]] = [
        (scan, "v.icd", "v.cost"),
        (old, "v.city", "v.cost"),
        (joined, "w.city", "v.cost"),
        (left, "w.icd", "w.cost"),
        (per_unit, "g.m", "g.s"),
        (per_unit, "g.city", "g.d"),
        (UnitFilter(scan, Filter(again, Column(Bool(), "w.old"))), "v.icd", "v.cost"),
        (UnitFilter(scan, Filter(again, Column(Bool(), "w.old")), negated=True), "v.icd", "v.cost"),
        (Union((_named(scan, "v"), _named(again, "w"))), "u.icd", "u.cost"),
        (Distinct(_named(scan, "v")), "u.icd", "u.cost"),
        (Clamp(scan, (("v.cost", -3, 3),)), "v.icd", "v.cost"),
    ]
    found: list[Pass] = []
    for relation, key, value in parts:
        for rows, groups in ((1, 1), (2, 2), (2, None)):
            bound = Bound(relation, (key,), rows, groups)
            found.append(
                Aggregate(bound, (Total("rows"), Total("units"), Total("present", value), Total("sum", value)))
            )
            found += [Values(bound, value), DistinctValues(Bound(relation, (), rows, groups), key)]
    return found


def _named(relation: Scan, label: str) -> Project:
    columns = {"u.icd": f"{label}.icd", "u.cost": f"{label}.cost"}
    return Project(relation, tuple((new, Column(relation.schema[old], old)) for new, old in columns.items()))


def test_every_relation_gives_what_the_reference_gives(engine: DuckDBEngine, reference: ReferenceEngine) -> None:
    for step in rich_plans():
        expected = {key: tuple(numbers) for key, numbers in reference.result(step).items()}
        assert exact(engine, step) == expected, step


def test_order_of_rows_and_number_of_threads_do_not_matter(engine: DuckDBEngine) -> None:
    order = Random(5).sample(range(10), 10)
    shuffled = {name: [values[place] for place in order] for name, values in ROWS.items()}
    other = engine_with((VISITS, shuffled), limits=QueryLimits(threads=2, memory="500MB"))
    for step in rich_plans()[::4]:
        first, second = unseal(engine.run(step)), unseal(other.run(step))
        assert [key.to_pylist() for key in first.keys] == [key.to_pylist() for key in second.keys]
        assert [total.tolist() for total in first.totals] == [total.tolist() for total in second.totals]
    other.close()


def test_the_check_above_notices_truncation_by_position(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "group_hash", lambda unit, key: "row_number() OVER () % 2147483647")
    order = Random(5).sample(range(10), 10)
    other = engine_with((VISITS, {name: [values[place] for place in order] for name, values in ROWS.items()}))
    step = aggregate(visits(k0="icd", k1="cost"), [Total("units")], keys=("k.0", "k.1"), groups=1)
    first, second = exact(engine, step), exact(other, step)
    other.close()
    assert first != second or first != exact(engine, step)


def test_units_of_two_populations_stay_apart() -> None:
    patients, staff = private("patients", {"x": Int(0, 9)}), private("staff", {"x": Int(0, 9)}, population="staff")
    engine = engine_with((patients, {"id": [1, 2], "x": [1, 1]}), (staff, {"id": ["1"], "x": [1]}))
    both = Union((scanned(patients, k0="x"), scanned(staff, k0="x")))
    assert exact(engine, aggregate(both, [Total("units"), Total("rows")], rows=1, groups=1)) == {(1,): (3, 3)}
    within = UnitFilter(both, scanned(staff, k0="x"))
    assert exact(engine, aggregate(within, [Total("units")], groups=1)) == {(1,): (1,)}
    engine.close()


def test_a_row_that_is_a_unit_needs_no_grouping_by_unit() -> None:
    table = private("t", {"k": Text(), "x": Int(0, 9, nullable=True)}, unit=EachRow())
    engine = engine_with((table, {"k": ["a", "a", None], "x": [1, None, 3]}))
    totals = [Total("rows"), Total("units"), Total("present", "x.0"), Total("sum", "x.0")]
    step = aggregate(scanned(table, k0="k", x0="x"), totals, rows=1, groups=1)
    assert exact(engine, step) == {("a",): (2, 2, 1, 1), (None,): (1, 1, 1, 3)}
    assert "per_unit" not in engine.compile_sql(step)
    engine.close()


def test_a_public_table_joins_without_a_unit() -> None:
    places = Table("places", (("city", Category("Oslo", "Bodø")), ("north", Bool())))
    engine = engine_with((VISITS, ROWS), (places, {"city": ["Oslo", "Bodø", None], "north": [False, True, True]}))
    left, right = Scan(VISITS, "v"), Scan(places, "p")
    on = ((Column(left.schema["v.city"], "v.city"), Column(right.schema["p.city"], "p.city")),)
    counts = aggregate(Join(left, right, on), [Total("rows")], keys=("p.north",))
    assert exact(engine, counts) == {(False,): (4,), (True,): (2,)}
    counts = aggregate(Join(left, right, on, "left"), [Total("rows")], keys=("p.north",))
    assert exact(engine, counts) == {(False,): (4,), (True,): (2,), (None,): (4,)}
    engine.close()


@pytest.mark.parametrize("power", [62, 85])
def test_sums_far_beyond_64_bits_are_exact(power: int) -> None:
    domain: Domain = Number(False, -(2**power), 2**power)
    table = private("t", {"x": domain})
    engine = engine_with((table, {"id": [1, 1, 2], "x": pa.array([2**53 + 1, 2**53 + 1, 2**62 - 1])}))
    found = exact(engine, aggregate(scanned(table, x0="x"), [Total("sum", "x.0")], keys=(), rows=1, groups=None))
    assert found == {(): (2**53 + 1 + 2**62 - 1,)}
    engine.close()


def test_a_total_beyond_64_bits_comes_as_python_integers() -> None:
    table = private("t", {"x": Int(0, 2**63 - 1)})
    engine = engine_with((table, {"id": list(range(9)), "x": [2**63 - 1] * 9}))
    step = aggregate(scanned(table, x0="x"), [Total("sum", "x.0"), Total("rows")], keys=(), rows=1, groups=None)
    cells = unseal(engine.run(step))
    assert cells.totals[0].dtype == object
    assert cells.totals[0].tolist() == [9 * (2**63 - 1)]
    assert cells.totals[1].tolist() == [9]
    engine.close()


def test_a_sum_that_could_overflow_is_refused_before_anything_is_read() -> None:
    table = private("t", {"x": Int(0, 2**90)})
    with pytest.raises(QueryRefused, match="128 bits"):
        passes.compile_sql(aggregate(scanned(table, x0="x"), [Total("sum", "x.0")], keys=(), rows=1), DUCKDB)
    passes.compile_sql(aggregate(scanned(table, x0="x"), [Total("rows")], keys=(), rows=1), DUCKDB)


def test_the_text_of_a_pass_depends_on_public_facts_alone() -> None:
    steps = rich_plans()
    before = [passes.compile_sql(step, DUCKDB) for step in steps]
    engine = engine_with((VISITS, {name: values[:1] for name, values in ROWS.items()}))
    assert [engine.compile_sql(step) for step in steps] == before
    engine.close()


def with_nobody() -> DuckDBEngine:
    """An engine whose snapshot has rows of nobody, which no import would write."""
    engine = engine_with((VISITS, ROWS))
    with engine._file.writing() as connection:
        connection.execute(f"UPDATE {rows_table(VISITS)} SET unit = NULL WHERE unit = 1")
    return engine


def test_a_null_unit_is_dropped() -> None:
    engine = with_nobody()
    assert exact(engine, aggregate(visits(), [Total("rows"), Total("units")], keys=())) == {(): (6, 3)}
    engine.close()


def test_the_test_above_notices_a_scan_that_keeps_null_units(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = with_nobody()
    spelled = engine.compile_sql(aggregate(visits(), [Total("rows"), Total("units")], keys=()))
    monkeypatch.setattr(running, "compile_sql", lambda step, dialect: spelled.replace('WHERE "unit" IS NOT NULL', ""))
    assert exact(engine, aggregate(visits(), [Total("rows"), Total("units")], keys=())) != {(): (6, 3)}
    engine.close()


def test_the_reference_notices_a_clamp_that_turns_null_into_a_bound(
    engine: DuckDBEngine, reference: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "clamped", lambda value, lower, upper: f"greatest(least({value}, {upper}), {lower})")
    step = aggregate(Clamp(visits(x0="cost"), (("x.0", -3, 3),)), [Total("present", "x.0")], keys=())
    assert exact(engine, step) != {key: tuple(numbers) for key, numbers in reference.result(step).items()}
