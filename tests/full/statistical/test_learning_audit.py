"""The dear tests of `statistical/test_learning_audit.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.training.replays import GRADIENT_CLAIMS, of_gradients
from tests.statistical import test_learning_audit

_short = test_learning_audit._short

TRAININGS, MANY = 1_000, 10_000


@pytest.mark.textbook("S14.8")
@pytest.mark.parametrize("share", GRADIENT_CLAIMS, ids=["full batches", "Poisson batches"])
def test_no_training_shows_more_of_a_canary_than_was_claimed(share: float | None) -> None:
    found = of_gradients(share, TRAININGS)
    assert not found.refuted, found
