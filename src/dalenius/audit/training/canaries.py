"""Many fits with and without a canary, a row that is unlike all others: no more is found of it than was claimed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dalenius.accounting.budget import Budget
from dalenius.audit.replay.recording import Call, Recorder
from dalenius.audit.reporting import AuditReport, audit
from dalenius.audit.training.arrays import Arrays
from dalenius.audit.training.forms import Form
from dalenius.learn.budgets import allowance_of, relation
from dalenius.learn.linear import batches, gradient
from dalenius.learn.linear.gradient import Descent
from dalenius.learn.rows import ONE, entries_of, sealed
from dalenius.learn.slopes import Slope
from dalenius.mechanisms.door import witnessed
from dalenius.mechanisms.purse import Purse, deviation
from dalenius.privacy.numbers import Number
from dalenius.randomness.entropy import fresh_entropy

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
        return shown(form.made(epsilon=paid or claim, delta=delta).fit(*rows.given(form.learns)))

    stated = (claim, delta) if delta else claim
    return audit(release, FEW, WITH, claim=stated, samples=trainings, confidence=confidence)


def shown(model: Any) -> tuple[float, ...]:
    """The numbers of a fitted model that depend most on the canary: what it says of it, and what was counted."""
    if hasattr(model, "best_index_"):
        return model.best_index_, *shown(model.best_estimator_)
    features = np.array([CANARY[0]])
    if hasattr(model, "coef_"):
        return _rounded(float((features @ np.atleast_2d(model.coef_).T + model.intercept_)[0, 0]))
    if hasattr(model, "shapes_"):
        places = model.layout_.places(np.rint(features * ONE))[0]
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
            gradient.descended(*facts, Purse(allowance), fresh_entropy())
        else:
            batches.descended(*facts, share, Purse(allowance), fresh_entropy())
    return round(sum(_along(call) for call in seen.calls[-SHORT.steps :]), 1)


def _along(call: Call) -> float:
    noise = getattr(call.mechanism, "noise", call.mechanism)
    return float(-ALONG @ call.output[:, 0]) / deviation(noise)
