"""The check of sensitivities notices every bug that is planted here: in the compiler, in the engine's SQL, at import.

Each test plants one bug that systems like this have had, and lets the same check look for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from dalenius.checks.replay.bounding import all_broken, broken
from dalenius.checks.replay.neighbours import database, shared_key_steps
from dalenius.engines.conformance.plans import Generated, nodes, plans
from dalenius.engines.conformance.worlds import world
from dalenius.engines.duckdb import snapshots
from dalenius.engines.duckdb.dialect import DUCKDB, OWNER, DuckDBDialect
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.sql import passes, relations
from dalenius.engines.sql.dialect import Dialect, SQLRelation
from dalenius.measuring import measurements
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.binding import sources
from dalenius.query.plan.passes import DistinctValues, Values
from dalenius.query.plan.relations import Bound, Group, Join, Scan, UnitFilter
from loaded import duckdb_of, duckdb_with, quick_results
from tests.planted.plans import groups_across_units, loose_join

PLANS = 150


def caught(only: Callable[[Generated], bool] = lambda plan: True, **how: Any) -> bool:
    """Whether the check notices anything, within a few hundred plans for each place."""
    places, count = how.pop("places", (0, 1, 4)), how.pop("count", PLANS)
    return any(True for where in places for _ in all_broken(count, where, only=only, **how))


def having(*names: str) -> Callable[[Generated], bool]:
    """Plans that have all these nodes."""
    return lambda plan: nodes(plan) >= set(names)


@contextmanager
def spelling(dispatcher: Any, node: type, wrong: Callable[[Any], Any]) -> Iterator[None]:
    """Another spelling of a node, for a while; it is given the right one too."""
    right = dispatcher.dispatch(node)
    dispatcher.register(node, lambda relation, d: wrong(relation, partial(right, d=d)))  # type: ignore[call-arg]
    try:
        yield
    finally:
        dispatcher.register(node, right)


# ---- the compiler


def test_no_bound_on_groups_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "Bound", lambda child, keys, rows, groups: Bound(child, keys, rows, None))
    assert caught()


def test_no_bound_on_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "Bound", lambda child, keys, rows, groups: Bound(child, keys, 10**9, groups))
    assert caught()


def test_the_sensitivity_of_an_addition_for_a_replacement_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measurements.bounded_change
    wrong = lambda neighbours, **facts: right(AddRemove(), **facts).under(neighbours)  # noqa: E731
    monkeypatch.setattr(measurements, "bounded_change", wrong)
    assert caught(places=(4, 0))


# ---- the engine


def test_sums_that_are_not_scaled_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "scaled", lambda d, total, count, most: total)
    assert caught()


def test_counts_that_are_not_cut_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "at_most", lambda count, most: count)
    assert caught()


def test_values_that_are_not_thinned_out_are_noticed() -> None:
    wrong = lambda step, right: right(replace(step, child=replace(step.child, rows=10**9)))  # noqa: E731
    with spelling(passes.compile_sql, Values, wrong):
        assert caught(having("Values"))


def test_different_values_without_a_bound_are_noticed() -> None:
    wrong = lambda step, right: right(replace(step, child=replace(step.child, groups=None)))  # noqa: E731
    with spelling(passes.compile_sql, DistinctValues, wrong):
        assert caught(having("DistinctValues"))


def test_groups_across_units_are_noticed() -> None:
    with spelling(relations.rows, Group, groups_across_units):
        assert caught(having("Group"), places=range(6))


def test_a_join_without_equal_units_is_noticed() -> None:
    with spelling(relations.rows, Join, loose_join):
        assert caught(having("private join"))


def few_rows_in_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "Join", partial(Join, most=3))


def test_rows_in_joins_cut_by_position_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_position(d: Dialect, join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str]:
        first = f"SELECT * FROM ({left.sql}) QUALIFY row_number() OVER (ORDER BY {OWNER} DESC) <= 20"
        return "", first, right.sql

    few_rows_in_joins(monkeypatch)
    monkeypatch.setattr(DuckDBDialect, "first_pairs", by_position)
    assert caught(having("private join"))


def test_a_condition_on_other_units_is_noticed() -> None:
    def averaged(relation: UnitFilter, right: Any) -> SQLRelation:
        child, within = relations.rows(relation.child, DUCKDB), relations.rows(relation.within, DUCKDB)
        compared = f"{OWNER} {'<' if relation.negated else '>='} (SELECT avg({OWNER}::DOUBLE) FROM ({within.sql}))"
        return SQLRelation(f"SELECT * FROM ({child.sql}) WHERE {compared}", child.coded)

    with spelling(relations.rows, UnitFilter, averaged):
        assert caught(having("UnitFilter"))


def test_rows_of_nobody_that_count_are_noticed() -> None:
    def all_rows(relation: Scan, right: Any) -> SQLRelation:
        found = right(relation)
        return SQLRelation(found.sql.replace(f" WHERE {OWNER} IS NOT NULL", ""), found.coded)

    def differs(plan: Generated) -> bool:
        before, after = (quick_results(duckdb_with(0, name), plan.program.passes) for name in ("base", "nobody"))
        return before != after

    with spelling(relations.rows, Scan, all_rows):
        assert any(differs(plan) for plan in plans(15, where=0))


# ---- the import


def test_texts_hashed_by_their_place_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "mixed", lambda folded: "(rank * 7919 + 17) % 104729")
    assert caught(lambda plan: plan.question.public_keys is None, load=fresh(), places=(1, 2))


def test_keys_given_to_the_first_of_all_who_state_them_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One owner is not enough: whoever has the smallest id and states the keys of 300 others would take them all."""
    one = f"SELECT claim, min({OWNER}) AS {OWNER}"
    monkeypatch.setattr(snapshots, "owned_keys", lambda d, stated, **_: f"{one} FROM ({stated}) GROUP BY claim")
    load = fresh()
    (hub,) = [step for step in shared_key_steps(world(3)) if step.name == "add, hub"]
    assert any(any(broken(plan, [hub], load)) for plan in filter(reading("lines"), plans(PLANS, where=3)))


def reading(*names: str) -> Callable[[Generated], bool]:
    """Plans that read all these tables."""
    return lambda plan: {table.name for table in plan.question.relation.tables} >= set(names)


def fresh() -> Callable[[int, str], DuckDBEngine]:
    """A loader that imports anew, so that a bug planted in the import shows."""
    engines: dict[tuple[int, str], DuckDBEngine] = {}

    def load(seed: int, name: str) -> DuckDBEngine:
        if (seed, name) not in engines:
            engines[seed, name] = duckdb_of(world(seed), database(world(seed), name))
        return engines[seed, name]

    return load
