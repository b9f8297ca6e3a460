"""`check planted`: every bug of tests/planted turns the check that should find it, and nothing else does.

Small forms of the checks, for planted bugs: the same code over few cases, until the first finding.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from pathlib import Path
from unittest.mock import patch

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import price
from dalenius.checks.commands import audit as audits
from dalenius.checks.commands import e2e, escape, exact, ledger, rng, semantics, static, training
from dalenius.checks.commands import float as floats
from dalenius.checks.commands import replay as replays
from dalenius.checks.escapes import corpus, fields
from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.checks.registry import BUGS, CHECKS
from dalenius.checks.replay.blocks import Divisions, charged, divided, division, leaks
from dalenius.checks.replay.bounding import Kinds, broken, hurtful, narrowed
from dalenius.checks.replay.joins import leaves_out
from dalenius.checks.replay.loading import LoadedDatabases, duckdb_with
from dalenius.checks.replay.neighbours import NeighbourStep, shared_key_steps
from dalenius.checks.replay.queries import replayed, runs_on, some_price
from dalenius.checks.replay.replaying import Finding
from dalenius.checks.replay.statistics import along_shared_keys, each_statistic, far
from dalenius.checks.sampling.black_boxes import black_boxes
from dalenius.checks.sampling.reporting import audit
from dalenius.checks.sampling.shapes import QuestionShape
from dalenius.checks.sharing import numbered
from dalenius.checks.training.forms import FORMS
from dalenius.checks.training.replays import GRADIENT_CLAIMS
from dalenius.engines.conformance.plans import Generated, nodes, plans
from dalenius.errors import InvalidParameter
from dalenius.measuring.pricing import Priced
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse.sparse_vector import AboveThreshold, Sparse
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove
from dalenius.randomness.entropy import system_entropy
from dalenius.verify.cases.every import CASES
from dalenius.verify.cases.sparse_vectors import SparseVectorVersion

_WORLDS, _FAR = 8, 7
_ROW = AddRemove("row")


@dataclass(frozen=True)
class Planted:
    """A bug that systems like this have had: what it is called, its THREATS ids, which check finds it, and how it is
    planted for the length of a block.

    `part` says where a check is to look: a kind of plan, a mechanism, a promise of the ledger; `anew` that rows must be
    imported while the bug is there; `count` how many cases are enough.
    """

    name: str
    threats: tuple[str, ...]
    check: str
    plant: Callable[[], AbstractContextManager[object]]
    part: str = ""
    count: int = 150
    where: tuple[int, ...] = (0, 1, 4)
    anew: bool = False

    def caught(self) -> Caught:
        """What its check finds while it is there, and on the same cases without it."""
        with self.plant():
            tried, said = found(self)
        return Caught(said, found(self, tried)[1] if said else "")


@dataclass(frozen=True)
class Caught:
    """What a check says of a planted bug, and what it says without it: nothing, if it means the bug."""

    said: str
    without: str

    def __bool__(self) -> bool:
        return bool(self.said) and not self.without


def found(bug: Planted, most: int | None = None) -> tuple[int, str]:
    """How many cases the small form of a bug's check tries until it finds something, and what; it finds nothing,
    unless the bug is there. `most` ends it after so many cases."""
    tried = 0
    for tried, said in enumerate(islice(SMALL[bug.check](bug), most), start=1):
        if said:
            return tried, said
    return tried, ""


# ---- plans


def _plans(bug: Planted) -> Iterator[Generated]:
    wanted = set(bug.part.split(" + ")) - {"", "narrowed"}
    for where in bug.where:
        tables = narrowed if bug.part == "narrowed" else None
        for plan in plans(bug.count, where=where, worlds=_WORLDS, tables=tables):
            if wanted <= nodes(plan):
                yield plan


def _bounding(bug: Planted) -> Iterator[str]:
    """For each plan what is wrong with it, or nothing."""
    if bug.part == "blocks":
        yield from _blocks(bug)
        return
    load, kinds = LoadedDatabases() if bug.anew else duckdb_with, Kinds()
    try:
        for plan, steps in _with_steps(bug):
            yield next((f"plan {plan.seed}: {each}" for each in broken(plan, steps, kinds.beside(load))), "")
    finally:
        kinds.close()
        if isinstance(load, LoadedDatabases):
            load.close()


def _with_steps(bug: Planted) -> Iterator[tuple[Generated, Sequence[NeighbourStep]]]:
    """The plans that a bug is looked for in, each with neighbours that hurt."""
    if bug.part == "statistics":
        return ((plan, far(plan)) for plan in each_statistic())
    if bug.part == "shared keys":
        return ((plan, shared_key_steps(plan.world)) for plan in along_shared_keys())
    return ((plan, hurtful(plan)) for plan in (_joined(bug) if bug.part == "joins" else _plans(bug)))


def _joined(bug: Planted) -> Iterator[Generated]:
    """Those plans of `check bounding` that leave out a step of the bounding above joins of units."""
    every = (plan for where in bug.where for plan in islice(numbered(where, joined_too=True), bug.count))
    return filter(leaves_out, every)


def _blocks(bug: Planted) -> Iterator[str]:
    """For each question about people who are cut into blocks, how it reads somebody outside of the one it pays."""
    load = Divisions()
    try:
        for where, number in product(bug.where, range(bug.count)):
            cut = division(where)
            plan = divided(cut, number)
            if plan is not None and (code := charged(cut, plan)) is not None:
                yield next((f"question {number} changes {each}" for each in leaks(cut, plan, code, load)), "")
    finally:
        load.close()


def _replay(bug: Planted) -> Iterator[str]:
    for plan in _plans(bug):
        question = some_price(plan.question, plan.seed)
        if question is not None:
            yield next((f"plan {plan.seed}: {each}" for each in _replayed(plan, question)), "")


def _replayed(plan: Generated, question: Priced) -> Iterator[Finding]:
    names = replays.in_either_order(plan, replays.hurtful(plan))
    first, second = (duckdb_with(plan.world.seed, name) for name in names)
    if runs_on(question, first):
        yield from replayed(question, first, second).findings


# ---- mechanisms


def _audit(bug: Planted) -> Iterator[str]:
    if bug.part == "empty groups":
        noise, entropy = DiscreteLaplace.calibrated(sensitivity=1, epsilon=1, neighbours=_ROW), system_entropy()
        report = audit(
            lambda value, size: noise.release(np.tile(value, (size, 1)), entropy), (0, 0), (1, 0),
            claim=1, samples=bug.count, confidence="0.999999", vectorised=True,
        )  # fmt: skip
        yield f"noise of two groups: epsilon is at least {float(report.epsilon):.3g}" if report.refuted else ""
        return
    cases = [case for case in CASES if case.name == bug.part]
    boxes = [box for box in black_boxes() if box.name == bug.part]
    with patch.object(audits, "cores", lambda: 1):
        yield from audits.check(
            CheckRequest(count=bug.count), epsilons=(Fraction(1),), cases=cases, boxes=boxes
        ).findings


def _sparse(samples: int) -> Iterator[str]:
    """Streams out of one session of the sparse vector technique, beside the exact law of what they tell."""
    moves, questions = Fraction(1, 1000), (-2, -1, 2)
    rounds = AboveThreshold(threshold_scale=Fraction(3), query_scale=Fraction(3), sensitivity=moves, neighbours=_ROW)
    search, version = Sparse(rounds=rounds, cutoff=samples), SparseVectorVersion.of(rounds)
    paid = Allowance(price(search.loss(sensitivity=moves), order=None), neighbours=_ROW)
    session, told = search.start(paid, system_entropy()), Counter[tuple[int | None, ...]]()

    def above(value: int) -> bool:
        return session.ask(Exact(value, sensitivity=moves, neighbours=_ROW), threshold=0)

    for _ in range(samples):
        stream: tuple[int | None, ...] = ()
        for value in questions:
            stream = (*stream, 1 if above(value) else None)
            if stream[-1]:
                break
        else:
            above(10**9)  # a sure answer ends the stream, and the next has a threshold of its own
        told[stream] += 1
    for name in version.transcripts(len(questions)):
        chance = float(version.probability(questions, name))
        if abs(told[name] - samples * chance) > 10 + _FAR * (samples * chance * (1 - chance)) ** 0.5:
            yield f"{name} was told {told[name]} times of {samples}, by its law {samples * chance:.0f}"


def _exact(bug: Planted) -> Iterator[str]:
    if bug.part == "sparse":
        yield from _sparse(bug.count)
    for case in CASES:
        if case.name == bug.part:
            yield f"{case}: the exact law refutes its claim" if exact.holds(case, Fraction(1)) is False else ""


# ---- the others


def _e2e(bug: Planted) -> Iterator[str]:
    """The plainest question, whose statistic is the part, asked in this process of so many groups."""
    with patch.object(e2e, "shapes", lambda count, seed: [QuestionShape("add", "alone", bug.part)]):
        yield from e2e.check(CheckRequest(count=1), vias=("process",), groups=bug.count).findings


def _ledger(bug: Planted) -> Iterator[str]:
    chosen = [promise for promise in ledger.PROMISES if promise[0] == bug.part]
    with patch.object(ledger, "PROMISES", chosen):
        yield from _all(ledger.check(CheckRequest(count=bug.count)))


def _escape(bug: Planted) -> Iterator[str]:
    few = [text for place, text in enumerate(corpus.escapes()) if place % 30 == 0 or text in _TELLING]
    asked = {name: ask for name, ask in fields.ANALYSTS.items() if name in _FIELDS}
    with (
        patch.object(escape, "escapes", lambda: iter(few)),
        patch.object(fields, "ANALYSTS", asked),
        patch.object(fields, "OWNERS", {}),
    ):
        yield from escape.check(CheckRequest(count=bug.count)).findings


_TELLING = ("SELECT * FROM read_text('{canary}')", "'; DROP TABLE visits; --", "COPY (SELECT 1) TO '{folder}/new.csv'",
            "visits'", 'visits"', "INSTALL httpfs FROM 'http://127.0.0.1:{port}'")  # fmt: skip
_FIELDS = ("SQL: a whole question", "SQL: a constant", "SQL: a list of constants", "Python: a constant")


def _rng(bug: Planted) -> Iterator[str]:
    with patch.object(rng, "WORKERS", 2):
        yield from _all(rng.check(CheckRequest(count=bug.count)))


def _float(bug: Planted) -> Iterator[str]:
    yield from floats.check(CheckRequest(count=bug.count)).findings


def _semantics(bug: Planted) -> Iterator[str]:
    yield from semantics.check(CheckRequest(count=bug.count)).findings


def _static(bug: Planted) -> Iterator[str]:
    yield from static.check(CheckRequest()).findings


def _training(bug: Planted) -> Iterator[str]:
    what, _, which = bug.part.partition(": ")
    if what == "batches":
        yield from training.in_batches(bug.count)
    elif what == "gradients":
        shares = [share for share in GRADIENT_CLAIMS if (share is None) == (which == "full")]
        yield from training.with_gradients(bug.count, shares)
    else:
        forms = [form for form in FORMS if str(form) == which]
        if what == "tables":
            yield from training.on_private_tables(forms, few=False)
        else:
            yield from training.on_neighbours(forms, few=what != "replay in full")


def _all(outcome: Outcome) -> Sequence[str]:
    broken = [
        f"{figure.what}: {figure.found}, the goal is {figure.goal}" for figure in outcome.figures if not figure.held
    ]
    return [*outcome.findings, *broken]


SMALL: Mapping[str, Callable[[Planted], Iterator[str]]] = {
    "replay": _replay,
    "bounding": _bounding,
    "audit": _audit,
    "exact": _exact,
    "e2e": _e2e,
    "ledger": _ledger,
    "escape": _escape,
    "rng": _rng,
    "float": _float,
    "semantics": _semantics,
    "static": _static,
    "training": _training,
}


NAME = "planted"
LEAST = 25


def check(asked: CheckRequest, /) -> Outcome:
    """Plant each bug and run a small form of its check with and without it; `count` tries the first few bugs alone."""
    bugs = list(planted_bugs())[: asked.count or None]
    figures, wrong = [], []
    idle = {bug.check for bug in bugs} | (set() if asked.count else needed())
    for place, bug in enumerate(bugs, start=1):
        caught = bug.caught()
        shown = f"{bug.check}: {caught.said[:90]}" if caught.said else f"not by {bug.check}"
        figures.append(Figure(f"{bug.name} ({', '.join(bug.threats)})", 1, shown, f"by {bug.check}", bool(caught)))
        if caught:
            idle.discard(bug.check)
        elif caught.said:
            wrong.append(f"{bug.check} finds something without {bug.name}: {caught.without}")
        else:
            wrong.append(f"{bug.name} is not found by {bug.check}")
        asked.tick(100 * place / len(bugs))
    wrong += [f"{name} catches nothing" for name in sorted(idle)]
    number = sum(figure.held for figure in figures)
    enough = number == len(bugs) and (bool(asked.count) or number >= LEAST)
    total = Figure("planted bugs", len(bugs), f"{number} caught", f"all, {LEAST} or more", enough)
    return Outcome(NAME, (*figures, total), tuple(wrong))


def needed() -> set[str]:
    """The checks that a bug must turn: all but this one, and exact laws, which have no command of their own."""
    return {*CHECKS, *SMALL} - {NAME}


def planted_bugs() -> Sequence[Planted]:
    """The bugs of the source checkout, file by file."""
    if not BUGS.is_dir():
        raise InvalidParameter(
            "planted", "an installed package", allowed="run in a checkout of the source: the bugs lie in tests/planted"
        )
    return [bug for path in sorted(BUGS.glob("*.py")) for bug in _bugs(path)]


def _bugs(path: Path) -> Sequence[Planted]:
    spec = importlib.util.spec_from_file_location(f"planted_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    bugs: Sequence[Planted] = module.BUGS
    return bugs
