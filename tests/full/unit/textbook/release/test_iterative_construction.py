"""The dear tests of `unit/textbook/release/test_iterative_construction.py`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.textbook.release.test_iterative_construction import (
    BETA,
    HISTOGRAMS,
    RULES,
    RUNS,
    Given,
    construction,
    failures,
)


def never(self: object, hypothesis: np.ndarray, weights: np.ndarray, **value: float) -> np.ndarray:
    return hypothesis


@pytest.mark.parametrize("name", RULES)
def test_the_test_above_notices_a_rule_that_does_not_learn(
    name: str, sealed: Given, paid: Given, broken_too_often: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(RULES[name]), "updated", never)
    made = construction(RULES[name])
    assert broken_too_often(failures(made, HISTOGRAMS[0], sealed, paid), RUNS, BETA)
