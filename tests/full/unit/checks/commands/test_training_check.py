"""The dear tests of `unit/checks/commands/test_training_check.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.commands import training
from dalenius.checks.outcomes import CheckRequest
from tests.unit.checks.commands import test_training_check

_few = test_training_check._few


def test_an_estimator_without_a_form_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "left_out", lambda: ["NewForest"])
    outcome = training.check(CheckRequest(count=4))
    assert not outcome.passed
    assert outcome.figures[0].found == "NewForest"
