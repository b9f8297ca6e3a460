"""The dear tests of `unit/checks/commands/test_exact_check.py`."""

from __future__ import annotations

from dalenius.checks.commands import exact
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.registry import CHECKS
from tests.unit.checks.commands.test_exact_check import QUICK


def test_no_claim_is_refuted() -> None:
    told: list[float] = []
    outcome = exact.check(CheckRequest(count=CHECKS["exact"].full, tick=told.append), cases=QUICK)
    assert outcome.passed
    assert told == sorted(told)
    assert told[-1] == 100
    assert [figure.tried for figure in outcome.figures] == [len(QUICK)] * 3
    assert outcome.figures[0].found == "8 claims proved, 2 met as far as computed, 0 refuted"
