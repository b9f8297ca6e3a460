"""One unit moves every exact result by at most what was declared, however many rows it has and whatever they hold."""

from __future__ import annotations

from collections.abc import Iterator

from costs import cases
from dalenius.checks.replay.bounding import all_broken, change, narrowed
from dalenius.checks.replay.neighbours import steps
from dalenius.engines.conformance.plans import Generated, plans
from dalenius.errors import QueryRefused
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.plan.passes import DistinctValues
from loaded import duckdb_with, quick_results

WORLDS = 6
EACH = 50


@cases("where", range(WORLDS), fast=1)
def test_one_unit_moves_every_measurement_by_at_most_what_was_declared(where: int) -> None:
    assert list(all_broken(EACH, where, worlds=WORLDS)) == []


@cases("where", [1, 3], fast=1)
def test_a_unit_adds_what_it_would_give_alone_and_leaves_the_parts_of_others_as_they_are(where: int) -> None:
    assert list(not_additive(30, where)) == []


@cases("where", [0, 1], fast=1)
def test_rows_of_nobody_never_count(where: int) -> None:
    for plan in plans(15, where=where):
        assert results(plan, "base") == results(plan, "nobody")


@cases("where", [0, 1], fast=1)
def test_no_number_moves_further_even_where_a_column_holds_more_than_was_declared(where: int) -> None:
    assert list(all_broken(40, where, tables=narrowed)) == []


def not_additive(count: int, where: int) -> Iterator[tuple[int, str]]:
    """Plans and steps where the change is not what the newcomer gives alone."""
    for plan in plans(count, where=where):
        for step in steps(plan.world):
            after = f"alone {step.after}"
            heavy = step.population in plan.question.relation.populations and step.heavy and "light" in step.name
            if heavy and isinstance(plan.program.neighbours, AddRemove):
                before, grown, alone = (results(plan, name) for name in (step.before, step.after, after))
                if changes_of(plan, before, grown) != changes_of(plan, [{}] * len(alone), alone):
                    yield plan.seed, step.name


def changes_of(plan: Generated, before: list, after: list) -> list[dict]:
    """The differences of all totals that are sums over units."""
    return [
        change(part, before, after)
        for part in plan.program.measurements
        if not isinstance(plan.program.passes[part.source], DistinctValues)
    ]


def results(plan: Generated, database: str) -> list:
    try:
        return quick_results(duckdb_with(plan.world.seed, database), plan.program.passes)
    except QueryRefused:  # by the engine, before anything is read
        return [{} for _ in plan.program.passes]
