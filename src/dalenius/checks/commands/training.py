"""`check training`: no fit of an estimator tells more of a row, or of a person with many, than it paid for.

Every estimator is fitted to made-up rows and to neighbours of them, recorded and replayed; then often, with a canary
among the rows; and batches are compared with what they are billed as.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext

from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.checks.replay.replaying import Replayed
from dalenius.checks.sampling.reporting import AuditReport
from dalenius.checks.training.arrays import neighbouring, pairs
from dalenius.checks.training.forms import FORMS, Form, estimators, first_of_each, left_out, shortened
from dalenius.checks.training.replays import (
    ALARM,
    GRADIENT_CLAIMS,
    SURE,
    inclusions,
    of_form,
    of_gradients,
    on_arrays,
    on_tables,
)

NAME = "training"
TRAININGS = 200
MANY = 1_000
"""From so many trainings on, every form is replayed in full length and on all neighbours."""
STEPS = 100
"""Batches for each training that is asked for."""
_MOST = 20


def check(asked: CheckRequest, /) -> Outcome:
    """Replay fits of every estimator on neighbours, and audit `count` trainings a side with a canary."""
    trainings = asked.count or TRAININGS
    few = trainings < MANY
    missing = left_out()
    figures = [Figure("estimators", len(estimators()), ", ".join(missing) or "none left out", "all", not missing)]
    findings, above = [], f"0 above the claim, sure to {SURE} each"
    kinds = {
        "fits of arrays, replayed": (on_neighbours(FORMS, few=few), "0 differences", 30),
        "fits of private tables, replayed": (on_private_tables(FORMS, few=few), "0 differences", 60),
        f"estimators, {trainings:,} fits a side with a canary": (with_canaries(first_of_each(), trainings), above, 85),
        f"gradients, {trainings:,} trainings a side with a canary": (with_gradients(trainings), above, 95),
        "counts of rows in batches": (in_batches(STEPS * trainings), f"0 less likely than {ALARM:g}", 100),
    }
    for what, (tried, goal, done) in kinds.items():
        said = list(tried)
        wrong = [each for each in said if each]
        figures.append(Figure(what, len(said), str(len(wrong)), goal, not wrong))
        findings += wrong
        asked.tick(done)
    return Outcome(NAME, tuple(figures), tuple(findings[:_MOST]))


def on_neighbours(forms: Sequence[Form], *, few: bool) -> Iterator[str]:
    """For each form and pair of arrays what is wrong with it, or nothing."""
    with shortened() if few else nullcontext():
        for form in forms:
            for way in form.ways(few=few):
                for pair in pairs(way["neighbours"], few=few):
                    found = on_arrays(form, pair, **way)
                    yield _said(f"{form}, {way['neighbours']}, {pair.name}", found)


def on_private_tables(forms: Sequence[Form], *, few: bool) -> Iterator[str]:
    """The same for pairs of databases; of few, one for each form."""
    with shortened() if few else nullcontext(), neighbouring() as every:
        for place, form in enumerate(form for form in forms if form.table):
            fitting = [tables for tables in every if tables.neighbours in form.relations]
            for tables in [fitting[place % len(fitting)]] if few else fitting:
                yield _said(f"{form}, {tables.name}", on_tables(form, tables))


def _said(where: str, found: Replayed) -> str:
    if found.error:
        return f"{where}: it ended with {found.error}"
    return f"{where}: {found.findings[0]}" if found.findings else ""


def with_canaries(forms: Sequence[Form], trainings: int) -> Iterator[str]:
    """For each form what an audit refutes, or nothing."""
    with shortened():
        for form in forms:
            yield _refuted(str(form), of_form(form, trainings))


def with_gradients(trainings: int, shares: Iterable[float | None] = tuple(GRADIENT_CLAIMS)) -> Iterator[str]:
    """For full batches and for Poisson batches what an audit refutes, or nothing."""
    for share in shares:
        yield _refuted("full batches" if share is None else "Poisson batches", of_gradients(share, trainings))


def _refuted(where: str, report: AuditReport) -> str:
    return f"{where}: epsilon is at least {float(report.epsilon):.3g}, {report.event}" if report.refuted else ""


def in_batches(steps: int) -> Iterator[str]:
    """For each thing that is counted in batches, whether it is too unlikely, or nothing."""
    for what, chance in inclusions(steps).items():
        yield f"{what}: as unlikely as {chance:.1e}" if chance < ALARM else ""
