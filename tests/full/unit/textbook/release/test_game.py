"""The dear tests of `unit/textbook/release/test_game.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.privacy.neighbours import Replace
from dalenius.textbook.release.game import synthetic_from
from dalenius.textbook.release.per_query import PerQuery
from tests.unit.textbook.release.test_game import BETA, WORKLOAD

Given: TypeAlias = Callable[..., Any]


@pytest.mark.textbook("S9.18")
def test_synthetic_data_from_released_answers_is_within_the_stated_error(
    sealed: Given, paid: Given, broken_too_often: Given
) -> None:
    """With the twin: a uniform histogram is not."""
    people, runs = 20_000, 12
    counts = (people * np.eye(8)[3]).astype(int)
    truth, failures = WORKLOAD.answers(counts), 0
    made = PerQuery.laplace(WORKLOAD, epsilon=1, neighbours=Replace())
    for run in range(runs):
        noisy = made.release(sealed(counts), paid(made.loss()), SeededEntropy(run), beta=BETA)
        release = synthetic_from(noisy, WORKLOAD, people=people)
        assert release.histogram is not None
        assert release.histogram.min() >= 0
        assert release.histogram.sum() == pytest.approx(people)
        assert release.answers == pytest.approx(WORKLOAD.answers(release.histogram))
        assert release.error < people / 4
        failures += bool(np.abs(release.answers - truth).max() > release.error)
    assert not broken_too_often(failures, runs, BETA)
    assert np.abs(WORKLOAD.answers(np.full(8, people / 8)) - truth).max() > release.error
