"""The dear tests of `unit/checks/commands/test_e2e_check.py`."""

from __future__ import annotations

from dalenius.checks.commands import e2e
from dalenius.checks.outcomes import CheckRequest
from tests.unit.checks.commands.test_e2e_check import FEW


def test_the_curator_passes_over_http() -> None:
    outcome = e2e.check(CheckRequest(count=8), **{**FEW, "vias": ["http"]})
    assert outcome.passed, outcome.findings
    assert "over HTTP" in outcome.figures[0].what
