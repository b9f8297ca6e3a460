"""Short trainings on neighbours, a thousand each: no more is found than was claimed, and a training that is wrong is.

Each claim is tested at the confidence 1 - 10^-9, so that a right training fails less than once in 10^8 runs of this
file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.accounting.budget import Budget
from dalenius.audit.reporting import audit
from dalenius.learn.budgets import allowance_of, relation
from dalenius.learn.linear import gradient
from dalenius.learn.linear.gradient import Descent, descended
from dalenius.learn.rows import ONE, entries_of, sealed
from dalenius.learn.slopes import Slope
from dalenius.mechanisms.purse import Purse
from dalenius.randomness.entropy import fresh_entropy

TRAININGS = 1_000
SURE = "0.999999999"
CLAIM = 1
FEW = np.tile([[0.0, 0.0, 1.0]], (3, 1)), np.zeros(3, dtype=np.int64)
CANARY = np.array([[1.0, -1.0, 1.0]]), np.ones(1, dtype=np.int64)
WITH = tuple(np.concatenate(pair) for pair in zip(FEW, CANARY, strict=True))


def trained(plan: Descent) -> Callable[[Any], float]:
    """What shows the canary best: the weights along its features, after a short training."""
    hidden, norm = relation("add_remove"), 3 * ONE**2

    def release(rows: Any) -> float:
        data = sealed(entries_of(rows[0], rows[1], norm), norm, hidden)
        with allowance_of(Budget(CLAIM), hidden) as allowance:
            weights = descended(data, 1, Slope(steepest=0.5), plan, Purse(allowance), fresh_entropy())
        return round(float(CANARY[0][0] @ weights[:, 0]), 3)

    return release


PLAN = Descent(steps=2, momentum=0.0)


@pytest.mark.textbook("S14.8")
def test_no_training_shows_more_of_a_canary_than_was_claimed() -> None:
    found = audit(trained(PLAN), FEW, WITH, claim=CLAIM, samples=TRAININGS, confidence=SURE)
    assert not found.refuted, found


def test_a_training_that_does_not_cut_gradients_shows_its_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    right = gradient.pull
    monkeypatch.setattr(gradient, "pull", lambda *facts: 100 * right(*facts))
    found = audit(trained(PLAN), FEW, WITH, claim=CLAIM, samples=TRAININGS, confidence=SURE)
    assert found.refuted, found
