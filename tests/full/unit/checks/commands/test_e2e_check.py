"""The dear tests of `unit/checks/commands/test_e2e_check.py`."""

from __future__ import annotations

from dalenius.checks.commands import e2e
from dalenius.checks.outcomes import CheckRequest
from tests.unit.checks.commands.test_e2e_check import FEW


def test_the_curator_passes() -> None:
    told: list[float] = []
    outcome = e2e.check(CheckRequest(count=e2e.ALL_MECHANISMS, tick=told.append), **{**FEW, "groups": 1_000})
    assert outcome.passed, outcome.findings
    assert outcome.figures[0].tried == e2e.ALL_MECHANISMS
    assert told[-1] == 100
