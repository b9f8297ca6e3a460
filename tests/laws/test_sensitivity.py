"""One unit moves every exact result by at most what was declared, however many rows it has and whatever they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from changes import Excess, excesses, stray_keys
from loaded import duckdb_with, quick_results
from plans import Generated, plans, steps_for
from worlds import Step

from dalenius.errors import QueryRefused

WORLDS = 8
EACH = 250


def broken(plan: Generated, steps: Sequence[Step]) -> Iterator[tuple[int, str, Excess | str]]:
    """What goes wrong for a plan when one unit comes, goes or is replaced."""
    found = {}
    for name in dict.fromkeys(name for step in steps for name in (step.before, step.after)):
        try:
            found[name] = quick_results(duckdb_with(plan.world.seed, name), plan.program.passes)
        except QueryRefused:  # by the engine, before anything is read
            return
    for step in steps:
        for excess in excesses(plan.program, found[step.before], found[step.after]):
            yield plan.seed, step.name, excess
        if stray_keys(plan.program, found[step.after]):
            yield plan.seed, step.name, "a key outside its domain"


def hurtful(plan: Generated) -> list[Step]:
    """One or two steps that hurt: units with many rows in the tables that the plan reads, now and then others."""
    random = Random(f"steps {plan.seed}")
    names = {table.name for table in plan.question.relation.tables}
    steps = steps_for(plan)
    size = {step.name: max((rows for table, rows in step.heavy.items() if table in names), default=0) for step in steps}
    heavy = [step for step in steps if size[step.name] == max(size.values())]
    return [random.choice(heavy), *([random.choice(steps)] if random.random() < 0.2 else [])]


def all_broken(count: int, where: int, worlds: int = WORLDS) -> Iterator[tuple[int, str, Excess | str]]:
    """What goes wrong for so many plans over a world."""
    for plan in plans(count, where=where, worlds=worlds):
        yield from broken(plan, hurtful(plan))


@pytest.mark.parametrize("where", range(WORLDS))
def test_one_unit_moves_every_measurement_by_at_most_what_was_declared(where: int) -> None:
    assert list(all_broken(EACH, where)) == []


@pytest.mark.deep
@pytest.mark.parametrize("where", range(20))
def test_one_unit_moves_every_measurement_of_5000_plans_by_at_most_what_was_declared(where: int) -> None:
    assert list(all_broken(250, where, worlds=20)) == []
