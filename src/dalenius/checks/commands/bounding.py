"""`check bounding`: one unit with 10,000 rows moves every exact result by at most what was declared, over joins too;
and nobody outside of a block moves what is charged to that block alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, islice
from shlex import quote

from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.checks.replay.blocks import Divisions, charged, divided, division, leaks
from dalenius.checks.replay.bounding import (
    Kinds,
    broken,
    broken_among,
    exact_results,
    hurtful,
    is_end_to_end,
    narrowed,
)
from dalenius.checks.replay.joins import MOST_JOINS, count_joins, is_any, leaves_out
from dalenius.checks.replay.loading import LoadedDatabases, Loader
from dalenius.checks.replay.neighbours import HEAVY, NeighbourStep, shared_key_steps
from dalenius.checks.replay.schemas import HEAVY as MADE_UP
from dalenius.checks.replay.schemas import Schema, questions, steps
from dalenius.checks.replay.schemas import SchemaDatabases as MadeUp
from dalenius.checks.replay.statistics import QUESTIONS, SHARED, along_shared_keys, each_statistic, far, reached
from dalenius.checks.sharing import WORLDS, PartOutcome, TotalOutcome, alone, numbered, shared
from dalenius.engines.conformance.plans import Generated, generated
from dalenius.engines.conformance.worlds import Draws

PLANS = 500
MOST = 20
_ONE_OF = 40
_AGAIN = "dalenius check bounding --plans 1"
_NORMS = ("l0", "l1", "l2_squared", "linf", "monotone", "domain")


def check(asked: CheckRequest) -> Outcome:
    """The plans of a generator, or questions about the catalog of a folder, on neighbours that hurt."""
    if asked.folder is not None:
        return _on_folder(asked, Schema.of(asked.folder))
    tally = TotalOutcome.of(chain(_of_statistics(), _of_shared_keys(), shared(tried, asked, PLANS)), MOST)
    figures = [
        _none("statistics of every kind, in no groups, public and found ones", tally, "statistics"),
        _all("of these are moved at least half as far as declared", tally["statistics"], tally["far"]),
        _none("statistics along keys that several people state, as of a victim and by a hub", tally, "shared keys"),
        _all("of these are moved further than one unit alone may", tally["shared keys"], tally["several"]),
        *(_none(f"of these over {_joins(size)}", tally, _joins(size)) for size in range(1, MOST_JOINS + 1)),
        _enough("of these leave out a bounding step above joins", tally["plans"], tally["left out"]),
        _none("of these with a unit replaced from end to end", tally, "end to end"),
        _none("of these also with narrower declarations", tally, "narrower"),
        _enough("questions about people cut into blocks, charged to one block", tally["cut"], tally["in a block"]),
        _none("questions charged to one block that read rows outside of it", tally, "in a block"),
    ]
    return _outcome(tally, HEAVY, [figure for figure in figures if figure.tried])


def _none(what: str, tally: TotalOutcome, name: str) -> Figure:
    """A figure about cases of which none may be broken."""
    wrong = tally[f"{name}, broken"]
    return Figure(what, tally[name], f"{wrong} broken", "0", not wrong)


def _enough(what: str, number: int, found: int) -> Figure:
    """A figure about what a part of all cases must be: without it, others would be held by nothing."""
    least = number // _ONE_OF
    return Figure(what, number, str(found), f"at least {least}", found >= least)


def _all(what: str, number: int, found: int) -> Figure:
    """A figure about cases that show nothing unless all of them are of this kind."""
    return Figure(what, number, str(found), "all", found == number)


def _joins(size: int) -> str:
    return "1 join" if size == 1 else f"{size} joins"


def _counted(name: str, tried: int, wrong: int) -> dict[str, int]:
    return {name: tried, f"{name}, broken": wrong}


def tried(first: int, most: int) -> Iterator[PartOutcome]:
    """What comes of each of so many plans; of those that are not made of joins, with narrower declarations, too. The
    number of each also names a question about people who are cut into blocks."""
    load, kinds, cut = LoadedDatabases(), Kinds(), Divisions()
    try:
        for plan in islice(numbered(first, joined_too=True), most):
            yield _of_plan(plan, hurtful(plan), kinds.beside(load.of(plan)), f"--seed {plan.seed}")
            if is_any(plan.seed, worlds=WORLDS) and (closer := generated(plan.seed, worlds=WORLDS, tables=narrowed)):
                yield _of_closer(closer, kinds.beside(load.of(closer)))
            yield _of_block(plan.seed, cut)
    finally:
        load.close()
        kinds.close()
        cut.close()


def _of_statistics() -> Iterator[PartOutcome]:
    """The questions that every run contains, whatever its seed and number of plans."""
    load, kinds = LoadedDatabases(), Kinds()
    try:
        for plan in each_statistic():
            chosen = far(plan)
            results = exact_results(plan, chosen, kinds.beside(load.of(plan)))
            found, shares = list(broken_among(plan, chosen, results)), reached(plan, chosen, results)
            counts = Counter(each.norm for each in found) | Counter(_counted("statistics", len(shares), len(found)))
            counts["far"] = sum(share >= Fraction(1, 2) for share in shares)
            yield PartOutcome(
                dict(counts), tuple(f"{QUESTIONS[plan.seed][:60]}: {each}; {_AGAIN}" for each in found[:3])
            )
    finally:
        load.close()
        kinds.close()


def _of_shared_keys() -> Iterator[PartOutcome]:
    """Questions along keys that several people may state, which every run contains too."""
    load = LoadedDatabases()
    try:
        for plan in along_shared_keys():
            chosen, steps = shared_key_steps(plan.world), plan.question.relation.steps
            results = exact_results(plan, chosen, load.of(plan))
            found, shares = list(broken_among(plan, chosen, results)), reached(plan, chosen, results)
            counts = Counter(each.norm for each in found) | Counter(_counted("shared keys", len(shares), len(found)))
            counts["several"] = sum(share * steps > 1 for share in shares)
            yield PartOutcome(dict(counts), tuple(f"{SHARED[plan.seed][-40:]}: {each}; {_AGAIN}" for each in found[:1]))
    finally:
        load.close()


def _of_closer(plan: Generated, load: Loader) -> PartOutcome:
    """A plan whose numbers are declared closer together than they were imported: its own clamps must do."""
    found = list(broken(plan, hurtful(plan), load))
    said = (f"plan {plan.seed}, with narrower declarations: {each}" for each in found[:3])
    return PartOutcome(_counted("narrower", 1, bool(found)), tuple(said))


def _of_block(number: int, load: Divisions) -> PartOutcome:
    """The question of a number about a divided world, where it is charged to one block alone."""
    cut = division(number % WORLDS)
    plan = divided(cut, number)
    if plan is None or (code := charged(cut, plan)) is None:
        return PartOutcome({"cut": plan is not None})
    found = list(leaks(cut, plan, code, load))
    again = f"dalenius check bounding --plans 1 --seed {number}"
    said = (f"question {number} is charged to one block and changes {each}; {again}" for each in found)
    return PartOutcome({"cut": 1, **_counted("in a block", 1, bool(found))}, tuple(said))


def _on_folder(asked: CheckRequest, schema: Schema) -> Outcome:
    load, every = MadeUp(schema), steps(schema)

    def tried_here(first: int, most: int) -> Iterator[PartOutcome]:
        for plan in islice(questions(schema, first), most):
            near = [step for step in every if step.population in plan.question.relation.populations]
            step = Draws(f"steps {plan.seed}").choice(near)
            yield _of_plan(plan, [step], load, f"{quote(str(asked.folder))} --seed {plan.seed}")

    try:
        return _outcome(TotalOutcome.of(alone(tried_here, asked, PLANS), MOST), MADE_UP, [])
    finally:
        load.close()


def _of_plan(plan: Generated, chosen: Sequence[NeighbourStep], load: Loader, where: str) -> PartOutcome:
    found = list(broken(plan, chosen, load))
    counts = Counter(each.norm for each in found)
    counts |= Counter({"plans": 1, "pairs": len(chosen), "left out": leaves_out(plan)})
    counts |= _counted(_joins(min(MOST_JOINS, count_joins(plan.question.relation))), 1, bool(found))
    far = [step for step in chosen if is_end_to_end(step)]
    counts |= _counted("end to end", bool(far), len({each.step for each in found} & {step.name for step in far}))
    again = f"dalenius check bounding --plans 1 {where}"
    return PartOutcome(dict(counts), tuple(f"plan {plan.seed}: {each}; {again}" for each in found[:3]))


def _outcome(tally: TotalOutcome, rows: int, more: list[Figure]) -> Outcome:
    pairs = tally["pairs"]
    what = f"plans, each with one unit of up to {rows} rows"
    first = Figure(what, tally["plans"], f"{pairs} pairs of neighbours", "some", pairs > 0)
    norms = [Figure(f"{norm} beyond declared", pairs, str(tally[norm]), "0", not tally[norm]) for norm in _NORMS]
    return Outcome("bounding", (first, *more, *norms), tuple(tally.findings[:MOST]))
