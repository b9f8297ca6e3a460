"""The dear tests of `unit/checks/commands/test_exact_check.py`."""

from __future__ import annotations

from dalenius.checks.commands import exact
from dalenius.checks.outcomes import CheckRequest


def test_no_claim_of_any_case_is_refuted() -> None:
    assert exact.check(CheckRequest(count=3)).passed
