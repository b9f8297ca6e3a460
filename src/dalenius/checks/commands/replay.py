"""`check replay`: random questions on the way that paid ones take, between made-up databases that differ in one unit.

Every question follows from its seed: its world, the price, the neighbours that hurt. Few questions are tried in this
process, many in several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from shlex import quote

from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.checks.replay.bounding import by_shared_keys
from dalenius.checks.replay.loading import LoadedDatabases, Loader, duckdb_of, read_by
from dalenius.checks.replay.neighbours import NeighbourStep, database, steps_for
from dalenius.checks.replay.queries import describe, replayed, runs_on, shrunk, some_price
from dalenius.checks.replay.replaying import Finding
from dalenius.checks.replay.schemas import Schema, questions
from dalenius.checks.replay.schemas import SchemaDatabases as MadeUp
from dalenius.checks.replay.schemas import steps as made_up_steps
from dalenius.checks.sharing import WORLDS, PartOutcome, TotalOutcome, alone, numbered, shared
from dalenius.engines.conformance.plans import Generated
from dalenius.engines.conformance.worlds import Database, Draws
from dalenius.measuring.measurements import Mode, Quantiles
from dalenius.measuring.pricing import Priced

PLANS, ON_FOLDER = 2_000, 300
MOST = 20
"""After so many findings a check ends: what has so many has more."""
MOST_CHOICES = 200
_CONTROL = ("calls", "parameters", "leak", "error", "noise")


def check(asked: CheckRequest) -> Outcome:
    """Replay so many questions; nothing may differ but exact inputs, and these by no more than declared."""
    if asked.folder is not None:
        return _on_folder(asked, Schema.of(asked.folder))
    return _outcome(TotalOutcome.of(shared(tried, asked, PLANS), MOST))


def _outcome(tally: TotalOutcome) -> Outcome:
    found = {
        "control flow, parameters, errors and results that differ": _CONTROL,
        "inputs that moved further than declared": ("sensitivity",),
        "questions that cost more than was charged": ("charge",),
    }
    uses = tally["uses"]
    tried = Figure("questions between neighbours", tally["plans"], f"{uses:,} uses of mechanisms", "some", uses > 0)
    figures = [_none(what, uses, sum(tally[kind] for kind in kinds)) for what, kinds in found.items()]
    failed = _none("questions that fail on both sides alike", tally["plans"], tally["failed"])
    return Outcome("replay", (tried, *figures, failed), tuple(tally.findings[:MOST]))


def _none(what: str, tried: int, number: int) -> Figure:
    return Figure(what, tried, str(number), "0", number == 0)


def tried(first: int, most: int) -> Iterator[PartOutcome]:
    """What comes of each of so many plans that can be priced and run."""
    load, plans = LoadedDatabases(), numbered(first)
    try:
        while most > 0:
            plan = next(plans)
            part = _of_plan(plan, hurtful(plan), load.of(plan), f"--seed {plan.seed}", shrink=True)
            most -= part.counts.get("plans", 0)
            yield part
    finally:
        load.close()


def _on_folder(asked: CheckRequest, schema: Schema) -> Outcome:
    load, every = MadeUp(schema), made_up_steps(schema)

    def tried_here(first: int, most: int) -> Iterator[PartOutcome]:
        plans = questions(schema, first)
        while most > 0:
            plan = next(plans)
            near = [step for step in every if step.population in plan.question.relation.populations]
            step = Draws(f"replayed steps {plan.seed}").choice(near)
            part = _of_plan(plan, step, load, f"{quote(str(asked.folder))} --seed {plan.seed}")
            most -= part.counts.get("plans", 0)
            yield part

    try:
        return _outcome(TotalOutcome.of(alone(tried_here, asked, ON_FOLDER), MOST))
    finally:
        load.close()


def _of_plan(plan: Generated, step: NeighbourStep, load: Loader, where: str, *, shrink: bool = False) -> PartOutcome:
    question = None if _slow(plan) else some_price(plan.question, plan.seed)
    if question is None:
        return PartOutcome({})
    first, second = (load(plan.world.seed, name) for name in in_either_order(plan, step))
    if not runs_on(question, first):
        return PartOutcome({})
    quick = plan.seed // WORLDS % 4 != 0
    found = replayed(question, first, second, quick=quick)
    failed = [f"{found.error} on both sides"] * (found.error is not None and found.passed)
    kinds = (each.kind for each in found.findings)
    counts = Counter(["plans", *("uses" for _ in found.calls), *kinds, *("failed" for _ in failed)])
    again = f"plan {plan.seed}, {step.name}; dalenius check replay --plans 1 {where}"
    said = [f"{each} ({again})" for each in (*found.findings[:3], *failed)]
    if shrink and found.findings:
        said[0] += f"; {_small(plan, question, step, found.findings[0], quick=quick)}"
    return PartOutcome(dict(counts), tuple(said))


def _slow(plan: Generated) -> bool:
    """Whether values are chosen in each of so many public groups that the noise alone would take seconds."""
    chosen = [part for part in plan.program.measurements if isinstance(part, Quantiles | Mode)]
    return len(chosen) * (plan.question.public_keys or 0) > MOST_CHOICES


def hurtful(plan: Generated) -> NeighbourStep:
    """A step that hurts, of those that touch what the plan reads."""
    names = {table.name for table in plan.question.relation.tables}
    steps = steps_for(plan)
    close = [step for step in steps if not step.heavy or names & set(step.heavy)]
    draws = Draws(f"replayed steps {plan.seed}")
    found: NeighbourStep = draws.choice(close or steps)
    sharing = by_shared_keys(plan)
    return sharing[0] if sharing and draws.chance(50) else found


def in_either_order(plan: Generated, step: NeighbourStep) -> tuple[str, str]:
    """The two databases of a step, as they come or the other way round."""
    names = step.before, step.after
    return names if Draws(f"order {plan.seed}").chance(50) else (step.after, step.before)


def _small(plan: Generated, question: Priced, step: NeighbourStep, finding: Finding, *, quick: bool) -> str:
    """A small pair of databases, of the tables that the plan reads, that shows the same kind of finding."""
    names, turned = read_by(plan), in_either_order(plan, step)[0] != step.before

    def fails(first: Database, second: Database) -> bool:
        engines = [duckdb_of(plan.world, rows, names) for rows in (first, second)]
        try:
            found = replayed(question, *(reversed(engines) if turned else engines), quick=quick)
            return any(each.kind == finding.kind for each in found.findings)
        finally:
            for engine in engines:
                engine.close()

    before, after = (database(plan.world, name) for name in (step.before, step.after))
    return describe(shrunk(({name: before[name] for name in names}, {name: after[name] for name in names}), fails))
