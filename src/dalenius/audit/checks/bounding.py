"""`check bounding`: one unit with 10,000 rows moves every exact result by at most what was declared, over joins too;
and nobody outside of a block moves what is charged to that block alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from shlex import quote

from dalenius.audit.checks.outcomes import Asked, Figure, Outcome
from dalenius.audit.checks.sharing import WORLDS, Part, Tally, alone, numbered, shared
from dalenius.audit.replay.blocks import Divisions, charged, divided, division, leaks
from dalenius.audit.replay.bounding import broken, hurtful, narrowed
from dalenius.audit.replay.joins import MOST_JOINS, count_joins, is_any
from dalenius.audit.replay.loading import Databases, Loader
from dalenius.audit.replay.neighbours import HEAVY, Step
from dalenius.audit.replay.schemas import HEAVY as MADE_UP
from dalenius.audit.replay.schemas import Databases as MadeUp
from dalenius.audit.replay.schemas import Schema, questions, steps
from dalenius.engines.conformance.draws import Draws
from dalenius.engines.conformance.plans import Generated, generated

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
    past = tally["clamped"]
    clamped = Figure("of these also with narrower declarations", tally["narrower"], str(past), "0", not past)
    outside = tally["outside"]
    blocks = Figure(
        "questions charged to one block that read rows outside of it",
        tally["in a block"], str(outside), "0", not outside,
    )  # fmt: skip
    return _outcome(tally, HEAVY, [*joins, clamped, blocks])


def tried(first: int, most: int) -> Iterator[Part]:
    """What comes of each of so many plans; of those that are not made of joins, with narrower declarations, too. The
    number of each also names a question about people who are cut into blocks."""
    load, cut = Databases(), Divisions()
    try:
        for plan in islice(numbered(first, joined_too=True), most):
            yield _of_plan(plan, hurtful(plan), load.of(plan), f"--seed {plan.seed}")
            if is_any(plan.seed, worlds=WORLDS) and (closer := generated(plan.seed, worlds=WORLDS, tables=narrowed)):
                yield _of_closer(closer, load)
            yield _of_block(plan.seed, cut)
    finally:
        load.close()
        cut.close()


def _of_closer(plan: Generated, load: Databases) -> Part:
    """A plan whose numbers are declared closer together than they were imported: its own clamps must do."""
    found = list(broken(plan, hurtful(plan), load.of(plan)))
    said = (f"plan {plan.seed}, with narrower declarations: {each}" for each in found[:3])
    return Part({"narrower": 1, "clamped": len(found)}, tuple(said))


def _of_block(number: int, load: Divisions) -> Part:
    """The question of a number about a divided world, where it is charged to one block alone."""
    cut = division(number % WORLDS)
    plan = divided(cut, number)
    if plan is None or (code := charged(cut, plan)) is None:
        return Part({})
    found = list(leaks(cut, plan, code, load))
    again = f"dalenius check bounding --plans 1 --seed {number}"
    said = (f"question {number} is charged to one block and changes {each}; {again}" for each in found)
    return Part({"in a block": 1, "outside": bool(found)}, tuple(said))


def _on_folder(asked: Asked, schema: Schema) -> Outcome:
    load, every = MadeUp(schema), steps(schema)

    def tried_here(first: int, most: int) -> Iterator[Part]:
        for plan in islice(questions(schema, first), most):
            near = [step for step in every if step.population in plan.question.relation.populations]
            step = Draws(f"steps {plan.seed}").choice(near)
            yield _of_plan(plan, [step], load, f"{quote(str(asked.folder))} --seed {plan.seed}")

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
