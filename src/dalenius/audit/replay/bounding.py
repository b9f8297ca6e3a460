"""How far one unit moves the exact result of every pass of a plan, and whether that is within what was declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dalenius.audit.replay.distances import Excess, beyond
from dalenius.audit.replay.loading import Loader, duckdb_with, results
from dalenius.audit.replay.neighbours import Step, steps_for
from dalenius.engines.conformance.comparing import Key, Totals
from dalenius.engines.conformance.draws import Draws
from dalenius.engines.conformance.plans import WORLDS, Generated, plans
from dalenius.engines.conformance.worlds import World
from dalenius.errors import QueryRefused
from dalenius.query.plan.passes import Values
from dalenius.query.pricing.measurements import Measurement, Numbers, Program, TopKeys
from dalenius.query.tables import Table
from dalenius.query.types import Choice, Code, Domain, Number, Ranged


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
    """What goes wrong for a plan when one unit comes, goes or is replaced.

    A plan with declarations of its own promises no more than the largest number of each pass: what was imported is
    within those of its world.
    """
    found = {}
    for name in dict.fromkeys(name for step in steps for name in (step.before, step.after)):
        try:
            found[name] = results(load(plan.world.seed, name), plan.program.passes)
        except QueryRefused:  # by the engine, before anything is read
            return
    for step in steps:
        for part, excess in moves(plan.program, found[step.before], found[step.after]):
            if plan.tables is None or excess.norm == "linf":
                yield Broken(plan.seed, step.name, part.title, excess.norm, excess.moved, excess.declared)
        if plan.tables is None and stray_keys(plan.program, found[step.after]):
            yield Broken(plan.seed, step.name, "keys", "domain", "a key outside", "all keys in their domains")


def moves(program: Program, before: Sequence[Totals], after: Sequence[Totals]) -> Iterator[tuple[Measurement, Excess]]:
    """The declared bounds of measurements that a step from one database to another broke."""
    for part in program.measurements:
        moved = difference(before[part.source], after[part.source], part.total)
        yield from ((part, excess) for excess in _broken(program, part, moved))


def difference(before: Totals, after: Totals, total: int) -> dict[Key, int]:
    """What changed, key by key."""
    keys = {**before, **after}
    moved = {
        key: (after[key][total] if key in after else 0) - (before[key][total] if key in before else 0) for key in keys
    }
    return {key: change for key, change in moved.items() if change}


def _broken(program: Program, part: Measurement, moved: dict[Key, int]) -> Iterator[Excess]:
    """Every norm that is larger than declared, more keys than declared, and changes of both signs if monotone."""
    step = program.passes[part.source]
    if _of_chosen_keys(program, part):
        moved = dict(sorted(moved.items(), key=lambda item: -abs(item[1]))[: part.groups])
    yield from beyond({key: Fraction(step) for key, step in moved.items()}, part.sensitivity)
    keys = {key[:-1] for key in moved} if isinstance(step, Values) else set(moved)
    allowed = None if part.groups is None else part.groups * program.neighbours.add_remove_steps
    if allowed is not None and len(keys) > allowed:
        yield Excess("l0", len(keys), allowed)


def _of_chosen_keys(program: Program, part: Measurement) -> bool:
    """Whether only so many keys, chosen by a private selection over the same pass, are measured."""
    chosen = [other.source for other in program.measurements if isinstance(other, TopKeys)]
    return isinstance(part, Numbers) and part.source in chosen


def stray_keys(program: Program, results: Sequence[Totals]) -> list[Key]:
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
