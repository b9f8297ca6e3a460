"""The check of declared sensitivities: plans of the generator, run on databases that differ in one unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from changes import excesses, stray_keys
from dalenius.engines.conformance.draws import Draws
from dalenius.engines.conformance.plans import WORLDS, Generated, plans
from dalenius.engines.conformance.worlds import World
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.errors import QueryRefused
from dalenius.query.tables import Table
from dalenius.query.types import Domain, Number
from loaded import duckdb_with, quick_results
from neighbours import Step, steps_for

Loader = Callable[[int, str], DuckDBEngine]


@dataclass(frozen=True)
class Broken:
    """A bound that did not hold: of which plan, at which step, in which norm, and by how much."""

    seed: int
    step: str
    measurement: str
    norm: str
    moved: object
    declared: object


def all_broken(
    count: int,
    where: int,
    *,
    worlds: int = WORLDS,
    only: Callable[[Generated], bool] = lambda plan: True,
    load: Loader = duckdb_with,
    tables: Callable[[World], Mapping[str, Table]] | None = None,
) -> Iterator[Broken]:
    """What goes wrong for so many plans over a world, of those that `only` picks."""
    for plan in plans(count, where=where, worlds=worlds, tables=tables):
        if only(plan):
            yield from broken(plan, hurtful(plan), load)


def hurtful(plan: Generated) -> list[Step]:
    """One or two steps that hurt: units with many rows in the tables that the plan reads, now and then others."""
    draws = Draws(f"steps {plan.seed}")
    names = {table.name for table in plan.question.relation.tables}
    steps = steps_for(plan)
    size = {step.name: max((rows for table, rows in step.heavy.items() if table in names), default=0) for step in steps}
    heavy = [step for step in steps if size[step.name] == max(size.values())]
    return [draws.choice(heavy), *([draws.choice(steps)] if draws.chance(8) else [])]


def broken(plan: Generated, steps: Sequence[Step], load: Loader = duckdb_with) -> Iterator[Broken]:
    """What goes wrong for a plan when one unit comes, goes or is replaced."""
    found = {}
    for name in dict.fromkeys(name for step in steps for name in (step.before, step.after)):
        try:
            found[name] = quick_results(load(plan.world.seed, name), plan.program.passes)
        except QueryRefused:  # by the engine, before anything is read
            return
    for step in steps:
        for excess in excesses(plan.program, found[step.before], found[step.after]):
            yield Broken(plan.seed, step.name, excess.measurement, excess.norm, excess.moved, excess.declared)
        if plan.tables is None and stray_keys(plan.program, found[step.after]):
            yield Broken(plan.seed, step.name, "keys", "domain", "a key outside", "all keys in their domains")


def narrowed(here: World) -> Mapping[str, Table]:
    """The catalog with numbers declared far narrower than what was imported, as if an engine computed them wrongly."""
    return {
        name: replace(table, columns=tuple((column, _narrow(domain)) for column, domain in table.columns))
        for name, table in here.tables.items()
    }


def _narrow(domain: Domain) -> Domain:
    if not isinstance(domain, Number):
        return domain
    return domain.within(domain.lower, domain.lower + (domain.upper - domain.lower) // 4)
