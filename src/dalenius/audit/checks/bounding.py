"""`check bounding`: one unit with 10,000 rows moves every exact result by at most what was declared, over joins too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from dalenius.audit.checks.outcomes import Asked, Figure, Outcome
from dalenius.audit.checks.sharing import Part, Tally, alone, numbered, shared
from dalenius.audit.replay.bounding import broken, hurtful
from dalenius.audit.replay.joins import MOST_JOINS, count_joins
from dalenius.audit.replay.loading import Databases, Loader
from dalenius.audit.replay.neighbours import HEAVY, Step
from dalenius.audit.replay.schemas import HEAVY as MADE_UP
from dalenius.audit.replay.schemas import Databases as MadeUp
from dalenius.audit.replay.schemas import Schema, questions, steps
from dalenius.engines.conformance.draws import Draws
from dalenius.engines.conformance.plans import Generated

PLANS = 500
MOST = 20
_NORMS = ("l0", "l1", "l2_squared", "linf", "monotone", "domain")


def check(asked: Asked) -> Outcome:
    """The plans of a generator, or questions about the catalog of a folder, on neighbours that hurt."""
    if asked.folder is not None:
        return _on_folder(asked, Schema.of(asked.folder))
    tally = Tally.of(shared(tried, asked, PLANS), MOST)
    tried_joins = {size: tally[f"joins {size}"] for size in range(1, MOST_JOINS + 1)}
    joins = [Figure(f"of these with {size} joins", number, "", "", True) for size, number in tried_joins.items()]
    return _outcome(tally, HEAVY, joins)


def tried(first: int, most: int) -> Iterator[Part]:
    """What comes of each of so many plans."""
    load = Databases()
    try:
        for plan in islice(numbered(first, joined_too=True), most):
            yield _of_plan(plan, hurtful(plan), load.of(plan), f"--seed {plan.seed}")
    finally:
        load.close()


def _on_folder(asked: Asked, schema: Schema) -> Outcome:
    load, every = MadeUp(schema), steps(schema)

    def tried_here(first: int, most: int) -> Iterator[Part]:
        for plan in islice(questions(schema, first), most):
            near = [step for step in every if step.population in plan.question.relation.populations]
            step = Draws(f"steps {plan.seed}").choice(near)
            yield _of_plan(plan, [step], load, f"{asked.folder} --seed {plan.seed}")

    try:
        return _outcome(Tally.of(alone(tried_here, asked, PLANS), MOST), MADE_UP, [])
    finally:
        load.close()


def _of_plan(plan: Generated, chosen: Sequence[Step], load: Loader, where: str) -> Part:
    found = list(broken(plan, chosen, load))
    counts = Counter(each.norm for each in found)
    counts |= Counter(
        {"plans": 1, "pairs": len(chosen), f"joins {min(MOST_JOINS, count_joins(plan.question.relation))}": 1}
    )
    again = f"dalenius check bounding --plans 1 {where}"
    return Part(dict(counts), tuple(f"plan {plan.seed}: {each}; {again}" for each in found[:3]))


def _outcome(tally: Tally, rows: int, more: list[Figure]) -> Outcome:
    pairs = tally["pairs"]
    what = f"plans, each with one unit of up to {rows} rows"
    first = Figure(what, tally["plans"], f"{pairs} pairs of neighbours", "some", pairs > 0)
    norms = [Figure(f"{norm} beyond declared", pairs, str(tally[norm]), "0", not tally[norm]) for norm in _NORMS]
    return Outcome("bounding", (first, *more, *norms), tuple(tally.findings[:MOST]))
