"""How far one unit moves the exact result of every pass of a plan, and whether that is within what was declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.checks.replay.distances import Excess, beyond
from dalenius.checks.replay.joins import leaves_out
from dalenius.checks.replay.loading import Loader, OpenEngines, duckdb_of, duckdb_with, results
from dalenius.checks.replay.neighbours import (
    NeighbourStep,
    database,
    extreme,
    newcomer,
    shared_key_steps,
    steps_for,
    weight,
    with_unit,
)
from dalenius.engines.conformance.comparing import Key, Totals
from dalenius.engines.conformance.plans import WORLDS, Generated, plans
from dalenius.engines.conformance.worlds import Database, Draws, RawRow, World, world
from dalenius.errors import QueryRefused
from dalenius.measuring.measurements import Measurement, MeasurementPlan, Numbers, SplitSums, TopKeys
from dalenius.measuring.moments import split_sums
from dalenius.privacy.neighbours import Replace
from dalenius.query.plan.passes import Aggregate, Values
from dalenius.query.tables import EachRow, Table
from dalenius.query.types import Choice, Code, Domain, Number, Ranged

_ENDS, _ALIKE = ("lower", "upper"), ("alike", "same")
_FORMS = {"lower": _ALIKE, "upper": _ALIKE, "alike": ("alike",), "same": ("same",)}
_ROWS, _MOST_ROWS = {"lower": 60, "upper": 60, "alike": 20, "same": 20}, 200_000


@dataclass(frozen=True)
class Broken:
    """A bound that did not hold: of which plan, at which step, in which norm, and by how much."""

    seed: int
    step: str
    measurement: str
    norm: str
    moved: object
    declared: object

    def __str__(self) -> str:
        return f"{self.measurement} moved by {self.moved} in {self.norm}, declared {self.declared} ({self.step})"


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
    kinds = Kinds()
    try:
        for plan in plans(count, where=where, worlds=worlds, tables=tables):
            if only(plan):
                yield from broken(plan, hurtful(plan), kinds.beside(load))
    finally:
        kinds.close()


def hurtful(plan: Generated) -> list[NeighbourStep]:
    """One or two steps that hurt: units with many rows in the tables that the plan reads, now and then others; and
    units that are far apart, or all alike instead, where that hurts most."""
    draws = Draws(f"steps {plan.seed}")
    names = {table.name for table in plan.question.relation.tables}
    steps = steps_for(plan)
    size = {step.name: max((rows for table, rows in step.heavy.items() if table in names), default=0) for step in steps}
    heavy = [step for step in steps if size[step.name] == max(size.values())]
    chosen = [draws.choice(heavy), *([draws.choice(steps)] if draws.chance(8) else [])]
    alike = all_alike(plan)
    return [*(alike if alike and draws.chance(75) else chosen), *from_end_to_end(plan), *by_shared_keys(plan)]


def broken(plan: Generated, steps: Sequence[NeighbourStep], load: Loader = duckdb_with) -> Iterator[Broken]:
    """What goes wrong for a plan when one unit comes, goes or is replaced.

    A plan with declarations of its own promises no more than the largest number of each pass: what was imported is
    within those of its world.
    """
    try:
        found = exact_results(plan, steps, load)
    except QueryRefused:  # by the engine, before anything is read
        return
    yield from broken_among(plan, steps, found)


def exact_results(plan: Generated, steps: Sequence[NeighbourStep], load: Loader) -> dict[str, list[Totals]]:
    """The results of a plan on every database of these steps."""
    names = dict.fromkeys(name for step in steps for name in (step.before, step.after))
    return {name: results(load(plan.world.seed, name), plan.program.passes) for name in names}


def broken_among(
    plan: Generated, steps: Sequence[NeighbourStep], found: Mapping[str, Sequence[Totals]]
) -> Iterator[Broken]:
    """What is wrong with these results."""
    for step in steps:
        for part, excess in moves(plan.program, found[step.before], found[step.after]):
            if plan.tables is None or excess.norm == "linf":
                yield Broken(plan.seed, step.name, part.title, excess.norm, excess.moved, excess.declared)
        if plan.tables is None and stray_keys(plan.program, found[step.after]):
            yield Broken(plan.seed, step.name, "keys", "domain", "a key outside", "all keys in their domains")


def moves(
    program: MeasurementPlan, before: Sequence[Totals], after: Sequence[Totals]
) -> Iterator[tuple[Measurement, Excess]]:
    """The declared bounds of measurements that a step from one database to another broke."""
    for part in program.measurements:
        moved = change(part, before, after)
        yield from ((part, excess) for excess in _broken(program, part, moved))


def change(part: Measurement, before: Sequence[Totals], after: Sequence[Totals]) -> dict[Key, int]:
    """What changed of what is measured, key by key; of a split, by key and part."""
    both = before[part.source], after[part.source]
    if not isinstance(part, SplitSums):
        return difference(*both, part.total)
    moved = [difference(*both, total) for total in part.totals]
    keys = list(dict.fromkeys(key for each in moved for key in each))
    totals = [np.array([each.get(key, 0) for key in keys], dtype=object) for each in moved]
    sums = split_sums(part.whole, part.factors, totals).tolist()
    return {(*key, place): size for key, row in zip(keys, sums, strict=True) for place, size in enumerate(row) if size}


def difference(before: Totals, after: Totals, total: int) -> dict[Key, int]:
    """What changed, key by key."""
    keys = {**before, **after}
    moved = {
        key: (after[key][total] if key in after else 0) - (before[key][total] if key in before else 0) for key in keys
    }
    return {key: change for key, change in moved.items() if change}


def _broken(program: MeasurementPlan, part: Measurement, moved: dict[Key, int]) -> Iterator[Excess]:
    """Every norm that is larger than declared, more keys than declared, and changes of both signs if monotone."""
    step = program.passes[part.source]
    if _of_chosen_keys(program, part):
        moved = dict(sorted(moved.items(), key=lambda item: -abs(item[1]))[: part.groups])
    yield from beyond({key: Fraction(step) for key, step in moved.items()}, part.sensitivity)
    keys = {key[:-1] for key in moved} if isinstance(step, Values) or isinstance(part, SplitSums) else set(moved)
    allowed = None if part.groups is None else part.groups * program.neighbours.add_remove_steps
    if allowed is not None and len(keys) > allowed:
        yield Excess("l0", len(keys), allowed)


def _of_chosen_keys(program: MeasurementPlan, part: Measurement) -> bool:
    """Whether only so many keys, chosen by a private selection over the same pass, are measured."""
    chosen = [other.source for other in program.measurements if isinstance(other, TopKeys)]
    return isinstance(part, Numbers) and part.source in chosen


def stray_keys(program: MeasurementPlan, results: Sequence[Totals]) -> list[Key]:
    """Keys outside the domains that the plan states for them."""
    domains = program.question.key_domains
    return [
        key
        for result in results
        for key in result
        if not all(holds(domain, code) for domain, code in zip(domains, key, strict=False))
    ]


def holds(domain: Domain, code: Code) -> bool:
    """Whether a code belongs to a domain."""
    if code is None:
        return domain.nullable
    if isinstance(domain, Ranged):
        return isinstance(code, int) and domain.lower <= code <= domain.upper
    return code in domain.values if isinstance(domain, Choice) else True


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


# ---- units that are far apart, or all alike


def from_end_to_end(plan: Generated) -> list[NeighbourStep]:
    """Where units are replaced, and numbers summed: one whose numbers are the lowest by one whose numbers are the
    highest, with the same keys. No two other units are as far apart in a group that both are in."""
    if not isinstance(plan.program.neighbours, Replace) or not _sums(plan):
        return []
    return _light(plan, [_step(plan, each, *_ENDS) for each in plan.question.relation.populations])


def by_shared_keys(plan: Generated) -> list[NeighbourStep]:
    """Where several people may state the keys of a path that is read: one whose keys all others state, or one that
    states those of all others."""
    if plan.question.relation.steps == 1:
        return []
    return [Draws(f"keys {plan.seed}").choice(shared_key_steps(plan.world))]


def _sums(plan: Generated) -> bool:
    totals = [total for step in plan.program.passes if isinstance(step, Aggregate) for total in step.totals]
    return any(total.kind == "sum" for total in totals)


def all_alike(plan: Generated) -> list[NeighbourStep]:
    """Where bounding is left out above joins: a unit whose rows are all alike, so that all pairs of them fall into one
    group and have one value."""
    if not leaves_out(plan):
        return []
    pairs = [_ALIKE] if isinstance(plan.program.neighbours, Replace) else [("", kind) for kind in _ALIKE]
    return _light(plan, [_step(plan, each, *pair) for each in plan.question.relation.populations for pair in pairs])


def from_nobody(plan: Generated, population: str) -> list[NeighbourStep]:
    """A unit comes whose numbers are all the lowest, or all the highest."""
    return [_step(plan, population, "", end) for end in _ENDS]


def is_end_to_end(step: NeighbourStep) -> bool:
    """Whether a step goes from one end of all numbers to the other."""
    return step.before.endswith(_ENDS) and step.after.endswith(_ENDS)


def _light(plan: Generated, steps: list[NeighbourStep]) -> list[NeighbourStep]:
    return [step for step in steps if weight(plan.question.relation, step.heavy) <= _MOST_ROWS]


def _step(plan: Generated, population: str, before: str, after: str) -> NeighbourStep:
    """The step from one kind of unit, or from none, to another kind."""
    first, second = f"{population} {before}" if before else "base", f"{population} {after}"
    return NeighbourStep(f"{first} to {second}", population, first, second, _loads(plan.world, population, after))


def _loads(here: World, population: str, kind: str) -> dict[str, int]:
    """How many rows the unit has in each table: one, where each row is a unit."""
    own = [table for table in here.tables.values() if table.protection and table.protection.population == population]
    return {table.name: 1 if _each_row(table) else _ROWS[kind] for table in own}


def _each_row(table: Table) -> bool:
    return table.protection is not None and isinstance(table.protection.unit, EachRow)


def with_kind(here: World, name: str) -> Database:
    """The base and one unit more, of a kind: the database of a name such as `people lower` or `people alike`."""
    population, kind = name.split()
    base, rows = database(here, "base"), _loads(here, population, kind)
    grown = with_unit(here, base, population, newcomer(here), rows, "mixed")
    came = {table: _formed(here.tables[table], grown[table][len(base[table]) :], kind) for table in rows}
    if population == "people" and kind in _ALIKE:
        came |= _under_one_number(came)
    return {**base, **{table: base[table] + mine for table, mine in came.items()}}


def _under_one_number(came: Database) -> Database:
    """All lines of a unit belong to all its orders, and to nobody else's."""
    number = {"number": came["orders"][-1]["number"]}
    return {table: [row | number for row in came[table]] for table in ("orders", "lines")}


def _formed(table: Table, rows: list[RawRow], kind: str) -> list[RawRow]:
    """The rows in one form if they are alike, else in two, so that each group gets many of them."""
    columns = [(name, domain) for name, domain in table.columns if name != "number"]
    forms = [{name: _value(name, domain, form, kind) for name, domain in columns} for form in _FORMS[kind]]
    return [row | forms[place % len(forms)] for place, row in enumerate(rows)]


def _value(name: str, domain: Domain, form: str, kind: str) -> Any:
    """The same in all tables that have such a column, which joins may compare, and never NULL."""
    draws = Draws(f"{form} {name}")
    end = kind if kind in _ENDS and isinstance(domain, Number) else draws.choice(_ENDS)
    return extreme(domain, draws, end)


class Kinds(OpenEngines[tuple[int, str]]):
    """The engines with a unit of a kind."""

    def __init__(self) -> None:
        super().__init__(lambda key: duckdb_of(world(key[0]), with_kind(world(key[0]), key[1])))

    def beside(self, load: Loader) -> Loader:
        """Loads these databases, and all others as `load` does."""
        return lambda seed, name: self.engine((seed, name)) if name.endswith(tuple(_ROWS)) else load(seed, name)
