"""The check of an engine: generated expressions over poisoned rows, and generated plans over small databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TypeAlias

from dalenius.engines.conformance.cases import few_cases, known_cases, random_expressions
from dalenius.engines.conformance.comparing import CheckedEngine, ComparedTables, Difference, Edges
from dalenius.engines.conformance.edges import COLUMNS, column
from dalenius.engines.conformance.plans import Generated, generated
from dalenius.engines.conformance.worlds import apart, owned, small_database, world
from dalenius.errors import DataMismatch
from dalenius.measuring.measurements import lower
from dalenius.query.binding.binder import bind
from dalenius.query.expressions import Expression
from dalenius.query.sql.reader import read
from dalenius.query.tables import ContributionBounds

Tick: TypeAlias = Callable[[float], object]
BATCH = 50
"""Expressions in one pass: more take longer to plan than they save."""
POOL = 1_000
"""Expressions that are made of each other."""
LIGHT, HEAVY = 12, 60
"""How many columns the expressions of a pool read at most: every fifth pool has heavy ones, which take long to plan."""
EACH = 20
"""Plans over one world."""
MOST = 25
"""Differences after which a check ends: an engine that has so many has more."""
_WORLDS, _SHARING = 50, 1
_QUICK_ROWS, _SHORT = 200, (4450, 16950, 9500, 19700, 5050, 16850, 21250, 15650)


@dataclass
class ConformanceReport:
    """What a check has compared, and what it found."""

    cases: int = 0
    """Functions with arguments at which engines differ."""
    expressions: int = 0
    """Random ones."""
    rows: int = 0
    plans: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.differences


def check(
    engine: CheckedEngine,
    *,
    expressions: int = 2_000,
    rows: int = 5_000,
    plans: int = 200,
    seed: int = 0,
    tick: Tick | None = None,
) -> ConformanceReport:
    """Compare an engine with the reference, cell by cell, over tables that are made up and registered for it.

    If there are to be expressions, every function comes first with the arguments at which engines differ. The engine
    must hold no table of its own. `tick` is called as time goes by with the percent done.
    """
    report = ConformanceReport(rows=rows if expressions else 0)
    whole = max(1, (expressions and expressions + len(known_cases())) + plans)
    for part in _parts(engine, expressions, rows, plans, seed):
        report.cases += part.cases
        report.expressions += part.expressions
        report.plans += part.plans
        report.differences += map(str, part.differences)
        if tick is not None:
            tick(100 * (report.cases + report.expressions + report.plans) / whole)
        if len(report.differences) >= MOST:
            break
    engine.hold(())
    return report


def quick_check(engine: CheckedEngine) -> str | None:
    """Why an engine is not fit, naming a function or a form of plan and no value; None if nothing was found.

    It takes seconds: every function with a few lists of arguments over few rows, and a few plans. The engine must
    hold no table of its own.
    """
    try:
        found = next(_quick_differences(engine), None)
    except DataMismatch as mismatch:
        return f"it takes no made-up rows, because {mismatch.problem}"
    finally:
        engine.hold(())
    return None if found is None else found.what


def _quick_differences(engine: CheckedEngine) -> Iterator[Difference]:
    table = Edges(engine, rows=_QUICK_ROWS)
    for expressions in (list(map(column, COLUMNS)), few_cases()):
        yield from table.differences(expressions)
    here = world(0)
    tables = ComparedTables(engine, here, owned(small_database(here, "conformance 0")))
    for plan in few_plans():
        yield from tables.differences(plan)
    sharing = shared_keys_plan()
    rows = owned(small_database(sharing.world, "conformance 0"))
    yield from ComparedTables(engine, sharing.world, rows, ("orders", "lines")).differences(sharing)


@dataclass(frozen=True)
class _Differences:
    differences: Sequence[Difference]
    cases: int = 0
    expressions: int = 0
    plans: int = 0


def _parts(engine: CheckedEngine, expressions: int, rows: int, plans: int, seed: int) -> Iterator[_Differences]:
    if expressions:
        table = Edges(engine, rows=rows, seed=seed)
        yield from _parts_over_edges(table, expressions, seed)
    for place in range(0, plans, EACH):
        here = world(place // EACH)
        tables = ComparedTables(engine, here, owned(small_database(here, f"conformance {seed}")))
        for plan in islice(_plans(here.seed, seed), min(EACH, plans - place)):
            yield _Differences(list(tables.differences(plan)), plans=1)


def _parts_over_edges(table: Edges, expressions: int, seed: int) -> Iterator[_Differences]:
    first = _some(table.differences(list(map(column, COLUMNS))))
    yield _Differences(first)
    if first:  # nothing that is computed from such columns can be right
        return
    for batch in _cut(known_cases()):
        yield _Differences(_some(table.differences(batch)), cases=len(batch))
    for pool, start in enumerate(range(0, expressions, POOL)):
        table.forget()
        heaviest = HEAVY if pool % 5 == 4 else LIGHT
        for batch in _cut(random_expressions(min(POOL, expressions - start), f"{seed} {pool}", heaviest)):
            yield _Differences(_some(table.differences(batch)), expressions=len(batch))


def _cut(expressions: Sequence[Expression]) -> Iterator[Sequence[Expression]]:
    return (expressions[start : start + BATCH] for start in range(0, len(expressions), BATCH))


def _some(differences: Iterable[Difference]) -> list[Difference]:
    return list(islice(differences, MOST))


def few_plans() -> list[Generated]:
    """Short plans over the first world that have all kinds of nodes, passes and bounds between them."""
    found = [generated(number, worlds=_WORLDS, tables=apart) for number in _SHORT]
    return [plan for plan in found if plan is not None]


def shared_keys_plan() -> Generated:
    """A short plan along keys that several people state: whose they are decides every number of it."""
    here = world(_SHARING)
    query = read("SELECT city, COUNT(*) AS n, COUNT(DISTINCT person) AS units FROM lines GROUP BY city")
    question = bind(query, apart(here), most=ContributionBounds(rows=2, groups=1))
    return Generated(0, here, query, question, lower(question))


def _plans(where: int, seed: int) -> Iterator[Generated]:
    """Plans over a world."""
    numbers = count(where + _WORLDS * 10**6 * seed, _WORLDS)
    return (plan for number in numbers if (plan := generated(number, worlds=_WORLDS, tables=apart)) is not None)
