"""The dear tests of `unit/checks/sampling/test_what_is_seen.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalenius as dl
from tests.unit.checks.sampling.test_what_is_seen import SURE, draws


def test_a_right_answer_among_many_noisy_entries_is_refuted_no_more_often_than_stated() -> None:
    """Randomized response attains its claim; 100 audits at 90 % may refute it about 10 times, 30 once in 10^8."""
    odds = np.e / (1 + np.e)

    def release(value: int, size: int) -> Any:
        found = draws.integers(0, 10**6, size=(size, 30))
        found[:, 25] = draws.random(size) < (odds if value else 1 - odds)
        return found

    wrong = sum(
        dl.audit(release, 0, 1, claim=1, samples=400, confidence="0.9").refuted  # type: ignore[operator]
        for _ in range(100)
    )
    assert wrong < 30
    assert dl.audit(release, 0, 1, claim="0.5", samples=4000, confidence=SURE).refuted  # type: ignore[operator]
