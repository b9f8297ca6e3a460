"""Batches as they were billed: every row in every batch with the same chance, independently of all other rows and
batches.

Fits on neighbours, recorded and replayed: all that a fitted model holds must follow from what was released.

Many fits with and without a canary, a row that is unlike all others: no more is found of it than was claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.budget import Budget
from dalenius.checks.replay.recording import RecordedMeasure, Recorder
from dalenius.checks.replay.replaying import Finding, Replayed, replay
from dalenius.checks.sampling.reporting import AuditReport, audit
from dalenius.checks.training.arrays import EPSILON, Arrays, NeighbouringArrays, NeighbouringTables
from dalenius.checks.training.forms import Form
from dalenius.lazy import optional
from dalenius.learn.budgets import allowance_of, budget_of, rectangle_of, relation
from dalenius.learn.linear import batches, gradient
from dalenius.learn.linear.batches import BatchGradient
from dalenius.learn.linear.gradient import Descent
from dalenius.learn.losses_tabulated import Slope
from dalenius.learn.rows import ONE, Entries, entries_of, sealed
from dalenius.mechanisms.budget_parts import BudgetPart, deviation
from dalenius.mechanisms.door import witnessed
from dalenius.privacy.numbers import Number
from dalenius.query.frames.frames import Frame
from dalenius.randomness.entropy import fresh_entropy
from dalenius.session.databases import Database

special = optional("scipy.special", function="check training", extra="checks")

ROWS = 24
RATE = Fraction(1, 4)
ALARM = 1e-6
"""A right sampler fails less often than this."""
_FEWEST = 10


def inclusions(steps: int) -> Mapping[str, float]:
    """The chance of what so many batches show, or worse, by what they are billed as: of their sizes, of how often each
    row is in them, and of how often it is in two that follow each other."""
    came = drawn(steps)
    pairs = came[:-1:2] & came[1::2]
    return {
        "sizes of batches": _sizes(came.sum(axis=1)),
        "rows in batches": _rows(came, float(RATE)),
        "rows in two batches in a row": _rows(pairs, float(RATE) ** 2),
    }


def drawn(steps: int) -> NDArray[np.bool_]:
    """For each of so many batches, which rows are in it."""
    places = np.arange(ROWS) * (ONE // ROWS)
    entries = Entries(places[:, None].astype(np.int16), np.zeros(ROWS, dtype=np.int64), np.ones(ROWS, dtype=np.int64))
    entropy, came = fresh_entropy(), np.zeros((steps, ROWS), dtype=np.bool_)
    for step in range(steps):
        chosen = batches.batch(entries, RATE, entropy)
        came[step, chosen.features[:, 0] // (ONE // ROWS)] = True
    return came


def _sizes(sizes: NDArray[np.int64]) -> float:
    """Pearson's test against the binomial law; sizes that are expected seldom are one."""
    expected = len(sizes) * _binomial(ROWS, float(RATE))
    observed = np.bincount(sizes, minlength=ROWS + 1).astype(np.float64)
    common = expected >= _FEWEST
    cells = [np.append(each[common], each[~common].sum()) for each in (observed, expected)]
    return float(special.chdtrc(common.sum(), ((cells[0] - cells[1]) ** 2 / cells[1]).sum()))


def _rows(came: NDArray[np.bool_], rate: float) -> float:
    """How often each row came, all together against independent coins."""
    apart = (came.sum(axis=0) - len(came) * rate) ** 2 / (len(came) * rate * (1 - rate))
    return 2 * min(float(special.chdtrc(ROWS, apart.sum())), float(special.chdtr(ROWS, apart.sum())))


def _binomial(count: int, rate: float) -> NDArray[np.float64]:
    sizes = np.arange(count + 1)
    return np.asarray(special.binom(count, sizes) * rate**sizes * (1 - rate) ** (count - sizes))


def facts(model: Any) -> dict[str, Any]:
    """Everything that a fitted model holds, shown or not, but for the number of its receipt."""
    held = dict(vars(model))
    guarantee = held.pop("guarantee_")
    if "best_estimator_" in held:
        held["best_estimator_"] = facts(held["best_estimator_"])
    return {**held, "loss": guarantee.loss, "neighbours": guarantee.neighbours}


def parts_too_long(calls: Iterable[RecordedMeasure]) -> Iterator[Finding]:
    """Rows that add more to the gradient of a batch than its price is for, each row by itself.

    A batch is drawn inside of the mechanism, so its input is the rows: that one more row comes is all that is seen.
    """
    for place, call in enumerate(calls):
        if isinstance(call.mechanism, BatchGradient):
            paid, rows = call.mechanism.part_squared, call.value.entries
            longest = max((_squared(call.mechanism, rows, row) for row in range(len(rows))), default=0)
            if longest > paid:
                said = f"a row adds {longest} to call {place} ({type(call.mechanism).__name__}), paid for was {paid}"
                yield Finding("sensitivity", said, place, "l2_squared", longest, paid)


def _squared(mechanism: BatchGradient, rows: Entries, row: int) -> int:
    alone = Entries(rows.features[[row]], rows.target[[row]], np.ones(1, dtype=np.int64))
    return int((mechanism.gradient(alone).astype(object) ** 2).sum())


def _whole(found: Replayed) -> Replayed:
    """With what the calls show by themselves; they are those on the neighbour that has the row that hurts."""
    return replace(found, findings=(*found.findings, *parts_too_long(found.calls)))


def on_arrays(form: Form, pair: NeighbouringArrays, **way: Any) -> Replayed:
    """A fit on two arrays, each after the other with the outputs of the first handed back."""

    def run(rows: Arrays) -> Any:
        model, told = form.made(**way), list[float]()
        more = {"progress": told.append} if hasattr(model, "save") else {}
        return facts(model.fit(*rows.given(form.learns), **more)), told

    paid = form.made(**way)
    base = getattr(paid, "estimator", paid)
    cap = None if form.free else rectangle_of(budget_of(base.epsilon, base.delta, base.budget))
    return _whole(replay(run, pair.second, pair.first, charged=cap))


def on_tables(form: Form, tables: NeighbouringTables) -> Replayed:
    """A fit on two private tables, charged to both ledgers, on the way that all fits take."""
    assert form.table is not None
    target, columns = form.table

    def rows(db: Database) -> Frame:
        return db.table("visits").contributing(max_rows=form.rows_of_unit, max_groups=1)

    def run(db: Database) -> dict[str, Any]:
        return facts(form.for_tables(epsilon=EPSILON).fit(rows(db), target, columns=list(columns), fresh=True))

    _, training = form.for_tables(epsilon=EPSILON)._planned(rows(tables.before), target, columns=list(columns))
    return _whole(replay(run, tables.after, tables.before, charged=list(training.charge.values())))


CANARY = ([1.0, 1.0], 1, 1.0)
FEW = Arrays(np.zeros((1, 2)), np.zeros(1, dtype=np.int64), np.zeros(1))
WITH = FEW.and_one(*CANARY)
SURE = "0.999999999"
"""A right training is refuted less than once in 10^9 audits."""
CLAIM = "1/4"
"""Of a form: so small that few fits refute what is grossly wrong."""
_DIGITS = 4


def of_form(
    form: Form, trainings: int, *, claim: Number = CLAIM, paid: Number | None = None, confidence: Number = SURE
) -> AuditReport:
    """Audit fits of a form that cost `claim`; a twin that costs more is `paid` for so."""
    delta = form.deltas[0]

    def release(rows: Arrays) -> tuple[float, ...]:
        return observe(form.made(epsilon=paid or claim, delta=delta).fit(*rows.given(form.learns)))

    stated = (claim, delta) if delta else claim
    return audit(release, FEW, WITH, claim=stated, samples=trainings, confidence=confidence)


def observe(model: Any) -> tuple[float, ...]:
    """The numbers of a fitted model that depend most on the canary: what it says of it, and what was counted."""
    if hasattr(model, "best_index_"):
        return model.best_index_, *observe(model.best_estimator_)
    features = np.array([CANARY[0]])
    if hasattr(model, "coef_"):
        return _rounded(float((features @ np.atleast_2d(model.coef_).T + model.intercept_)[0, 0]))
    if hasattr(model, "shapes_"):
        places = model.layout_.indices(np.rint(features * ONE))[0]
        learnt = model.learnt_
        return _rounded(learnt["counts"][places].sum(), learnt["scores"][places, 0].sum() + learnt["intercept"][0])
    numbers = np.concatenate([np.ravel(array) for array in model.learnt_.values()])
    return _rounded(float(numbers.sum()), *numbers[:6].tolist())


def _rounded(*numbers: float) -> tuple[float, ...]:
    """Few digits, so that what an audit sees of a number is its size."""
    return tuple(round(float(number), _DIGITS) for number in numbers)


# ---- gradients

SHORT = Descent(steps=2, momentum=0.0)
GRADIENT_CLAIMS: dict[float | None, Budget] = {None: Budget(1), 0.8: Budget(1, "1e-5")}
"""What a training costs, along gradients of all rows and of Poisson batches with a share of them."""
ALONG = np.array([1.0, -1.0, 1.0])
"""The features of the canary: the corner of all that a row can hold."""


def of_gradients(share: float | None, trainings: int, *, confidence: Number = SURE) -> AuditReport:
    """Audit short trainings with a canary as the only row, and without it.

    All noisy gradients are shown, which is more than the weights that are made of them, and no more than is paid for.
    """
    budget = GRADIENT_CLAIMS[share]
    claim = (budget.epsilon, budget.delta) if budget.delta else budget.epsilon
    release = partial(trained, share=share, budget=budget)
    return audit(release, 0, 1, claim=claim, samples=trainings, confidence=confidence, vectorised=False)


def trained(canaries: int, share: float | None, budget: Budget) -> float:
    """How far the noisy gradients of a training lie along the canary's, in deviations of their noise."""
    hidden, norm, seen = relation("add_remove"), len(ALONG) * ONE**2, Recorder()
    entries = entries_of(np.tile(ALONG, (canaries, 1)), np.ones(canaries, dtype=np.int64), norm)
    with allowance_of(budget, hidden) as allowance, witnessed(seen):
        facts = sealed(entries, norm, hidden), 1, Slope(steepest=0.5), SHORT
        if share is None:
            gradient.descended(*facts, BudgetPart(allowance), fresh_entropy())
        else:
            batches.descended(*facts, share, BudgetPart(allowance), fresh_entropy())
    return round(sum(_along(call) for call in seen.calls[-SHORT.steps :]), 1)


def _along(call: RecordedMeasure) -> float:
    noise = getattr(call.mechanism, "noise", call.mechanism)
    return float(-ALONG @ call.output[:, 0]) / deviation(noise)
