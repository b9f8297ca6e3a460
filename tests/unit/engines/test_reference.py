"""The reference engine means what the docstrings of `plan` say, in cases small enough to work out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from dalenius.engines.hashing import kept
from dalenius.engines.reference.engine import ReferenceEngine, evenly_spaced
from dalenius.engines.reference.relations import scaled_sum
from dalenius.privacy.exact import unseal
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.expressions import Column
from dalenius.query.functions.functions import call, literal
from dalenius.query.plan.passes import Aggregate, DistinctValues, Total, Values
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
from dalenius.query.tables import ContributionBounds, Protection, Table, UnitColumn
from dalenius.query.types import Int, Text

X = Int(0, 100, nullable=True)
PEOPLE = Protection("people", UnitColumn("who"), AddRemove(), ContributionBounds(rows=9, groups=9))
STAFF = Protection("staff", UnitColumn("who"), AddRemove(), ContributionBounds(rows=9, groups=9))
VISITS = Table("visits", (("city", Text()), ("x", X)), PEOPLE)
WORK = Table("work", (("city", Text()), ("x", X)), STAFF)
PLACES = Table("places", (("city", Text()), ("size", X)))
ROWS: dict[str, list[dict[str, Any]]] = {
    "visits": [
        {"who": "a", "city": "Oslo", "x": 10},
        {"who": "a", "city": "Oslo", "x": 10},
        {"who": "a", "city": "Oslo", "x": None},
        {"who": "a", "city": "Bergen", "x": 4},
        {"who": "b", "city": "Oslo", "x": 500},
        {"who": "b", "city": None, "x": 1},
        {"who": None, "city": "Oslo", "x": 7},
    ],
    "work": [{"who": "a", "city": "Oslo", "x": 3}],
    "places": [{"city": "Oslo", "size": 1}, {"city": "Oslo", "size": 2}, {"city": None, "size": 3}],
}
ENGINE = ReferenceEngine([VISITS, WORK, PLACES], ROWS)
CITY, VALUE = Column(Text(), "visits.city"), Column(X, "visits.x")


def totals(
    relation: Relation, *wanted: Total, keys: tuple[str, ...] = (), rows: int = 9, groups: int | None = None
) -> Any:
    return ENGINE.result(Aggregate(Bound(relation, keys, rows, groups), wanted))


def count(relation: Relation, key: str, **limits: int) -> Any:
    return {city: number for (city,), (number,) in totals(relation, Total("rows"), keys=(key,), **limits).items()}


VISITED = Scan(VISITS, "visits")


def test_a_count_takes_at_most_so_many_rows_of_a_unit() -> None:
    assert count(VISITED, "visits.city") == {"Oslo": 4, "Bergen": 1, None: 1}
    assert count(VISITED, "visits.city", rows=2) == {"Oslo": 3, "Bergen": 1, None: 1}


def test_totals_of_every_kind() -> None:
    wanted = (Total("rows"), Total("present", "visits.x"), Total("units"), Total("sum", "visits.x"))
    assert totals(VISITED, *wanted) == {(): [6, 5, 2, 24 + 101]}
    # a has 4 rows and 3 values of sum 24; at most 2 of them are 24 * 2 // 3.
    assert totals(VISITED, *wanted, rows=2) == {(): [4, 4, 2, 16 + 101]}


def test_a_unit_keeps_the_groups_with_the_smallest_hashes() -> None:
    (mine,), (theirs,) = kept("a", [("Oslo",), ("Bergen",)], 1), kept("b", [("Oslo",), (None,)], 1)
    found = totals(VISITED, Total("units"), keys=("visits.city",), groups=1)
    assert sum(number for (number,) in found.values()) == 2
    assert set(found) == {mine, theirs}


def test_a_scaled_sum_is_cut_towards_zero() -> None:
    assert [scaled_sum([x, x, x, x], 3) for x in (3, -3, 0)] == [9, -9, 0]
    assert [scaled_sum([1, 1, x], 2) for x in (3, -7)] == [3, -3]


@pytest.mark.parametrize(("count", "most", "chosen"), [(3, 5, [1, 2, 3]), (5, 2, [3, 5]), (7, 3, [3, 5, 7])])
def test_values_are_thinned_out_evenly(count: int, most: int, chosen: list[int]) -> None:
    values = list(range(count, 0, -1))
    assert sorted(evenly_spaced(values, most), key=int) == chosen  # type: ignore[arg-type]


def test_values_and_different_values_leave_nulls_out() -> None:
    bound = Bound(VISITED, ("visits.city",), 9, None)
    assert ENGINE.result(Values(bound, "visits.x")) == {
        ("Oslo", 10): [2], ("Bergen", 4): [1], ("Oslo", 100): [1], (None, 1): [1],
    }  # fmt: skip
    assert ENGINE.result(DistinctValues(bound, "visits.x")) == {("Oslo",): [2], ("Bergen",): [1], (None,): [1]}


def test_a_filter_keeps_what_is_true_only() -> None:
    small = Filter(VISITED, call("less", VALUE, literal(50)))
    assert count(small, "visits.city") == {"Oslo": 2, "Bergen": 1, None: 1}


def test_null_joins_nothing_and_a_left_join_keeps_its_row() -> None:
    on = ((CITY, Column(Text(), "places.city")),)
    inner, outer = (Join(VISITED, Scan(PLACES, "places"), on, kind) for kind in ("inner", "left"))  # type: ignore[arg-type]
    assert count(inner, "visits.city") == {"Oslo": 8}
    assert count(outer, "visits.city") == {"Oslo": 8, "Bergen": 1, None: 1}


def test_private_rows_join_within_their_unit() -> None:
    again = Scan(VISITS, "again")
    assert count(Join(VISITED, again, ()), "visits.city", rows=100) == {"Oslo": 3 * 4 + 2, "Bergen": 4, None: 2}


def test_a_unit_filter_asks_about_the_row_s_own_unit() -> None:
    within = Filter(VISITED, call("equal", CITY, literal("Bergen")))
    assert count(UnitFilter(VISITED, within), "visits.city") == {"Oslo": 3, "Bergen": 1}
    assert count(UnitFilter(VISITED, within, negated=True), "visits.city") == {"Oslo": 1, None: 1}


def test_distinct_removes_duplicates_within_a_unit() -> None:
    cities = Distinct(Project(VISITED, (("k.0", CITY),)))
    assert count(cities, "k.0") == {"Oslo": 2, "Bergen": 1, None: 1}


def test_units_of_two_populations_stay_apart() -> None:
    part = Project(Scan(WORK, "work"), (("k.0", Column(Text(), "work.city")),))
    both = Union((Project(VISITED, (("k.0", CITY),)), part))
    assert totals(both, Total("units")) == {(): [3]}


def test_an_inner_group_is_one_row_for_each_unit_and_key() -> None:
    kinds = ("count", "sum", "min", "max", "distinct")
    made = tuple((f"t.{kind}", UnitTotal(kind, VALUE, 9, Int(0, 900, nullable=True))) for kind in kinds)
    grouped = Group(VISITED, (("k.0", CITY),), made)
    for name, oslo in zip([name for name, _ in made], [2 + 1, 20 + 100, 10 + 100, 10 + 100, 1 + 1], strict=True):
        found = totals(grouped, Total("sum", name), Total("rows"), keys=("k.0",))
        assert found["Oslo",] == [oslo, 2]


def test_a_clamp_moves_numbers_and_leaves_null() -> None:
    clamped = Clamp(VISITED, (("visits.x", 5, 20),))
    assert totals(clamped, Total("sum", "visits.x"), Total("present", "visits.x")) == {(): [10 + 10 + 5 + 20 + 5, 5]}


def test_results_come_sealed_and_sorted() -> None:
    cells = unseal(ENGINE.run(Aggregate(Bound(VISITED, ("visits.city",), 9, None), (Total("rows"),))))
    assert cells.keys[0].to_pylist() == [None, "Bergen", "Oslo"]
    assert cells.totals[0].tolist() == [1, 1, 4]
