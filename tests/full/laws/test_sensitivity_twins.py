"""The dear tests of `laws/test_sensitivity_twins.py`."""

from __future__ import annotations

from typing import Any

import pytest

from dalenius.checks.replay.bounding import all_broken, broken, narrowed
from dalenius.checks.replay.neighbours import steps
from dalenius.engines.conformance.plans import plans
from dalenius.engines.duckdb.dialect import DUCKDB, OWNER
from dalenius.engines.duckdb.snapshots import Import
from dalenius.engines.sql import keeping as units
from dalenius.engines.sql import passes, relations
from dalenius.engines.sql.dialect import Dialect, SQLRelation
from dalenius.measuring import measurements
from dalenius.query.plan.relations import Bound, Distinct, Union
from tests.laws.test_sensitivity_twins import PLANS, caught, few_rows_in_joins, fresh, having, reading, spelling
from tests.planted.plans import across_units


def columns(relation: Any) -> str:
    return ", ".join(DUCKDB.quote(name) for name in relation.schema)


def test_no_clamp_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "Clamp", lambda child, bounds: child)
    assert any(list(all_broken(PLANS, where, tables=narrowed)) for where in (0, 1))


def test_the_sensitivity_of_one_group_for_several_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measurements.bounded_change
    monkeypatch.setattr(
        measurements, "bounded_change", lambda neighbours, groups, **facts: right(neighbours, groups=1, **facts)
    )
    assert caught()


def test_the_sensitivity_of_the_upper_bound_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measurements.bounded_change
    monkeypatch.setattr(
        measurements, "bounded_change", lambda neighbours, lower, **facts: right(neighbours, lower=0, **facts)
    )
    assert caught()


def test_groups_cut_by_position_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_position(
        d: Dialect, steps: passes.CommonTables, bound: Bound, keys: list[passes.KeyPart], *_: Any, **__: Any
    ) -> None:
        order = ", ".join([f"{OWNER} DESC", *(part.column for part in keys)])
        steps.add("kept", "*", f"QUALIFY row_number() OVER (ORDER BY {order}) <= 10")

    monkeypatch.setattr(passes, "_keep", by_position)
    assert caught(places=(1, 2, 3))


def test_distinct_across_units_is_noticed() -> None:
    with spelling(relations.rows, Distinct, across_units):
        assert caught(having("Distinct"), places=range(6))


def test_joins_that_keep_few_rows_are_as_stable_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    few_rows_in_joins(monkeypatch)
    assert not caught(having("private join"), places=(0,))


def test_units_of_two_populations_taken_for_one_are_noticed() -> None:
    def merged(relation: Union, right: Any) -> SQLRelation:
        found = right(relation)
        if len(relation.populations) == 1:
            return found
        numbered = f"{OWNER} - ({OWNER} % {units.TAGS} + {units.TAGS}) % {units.TAGS} AS {OWNER}"
        return SQLRelation(f"SELECT {numbered}, {columns(relation)} FROM ({found.sql})")

    with spelling(relations.rows, Union, merged):
        assert caught(lambda plan: len(plan.question.relation.populations) > 1, places=(5, 3), count=600)


def test_rows_named_by_their_position_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    position = f"SELECT row_number() OVER () * 7919 AS {OWNER}, * FROM staged"
    monkeypatch.setattr(Import, "_each_row", lambda self: position)
    load = fresh()
    found = (
        excess
        for where in (5, 6, 0)
        for plan in plans(4 * PLANS, where=where)
        if reading("events", "places")(plan)
        for excess in broken(plan, [step for step in steps(plan.world) if step.name == "remove, row"], load)
    )
    assert any(True for _ in found)
