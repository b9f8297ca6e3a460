"""The dear tests of `unit/checks/commands/test_audit_check.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.commands import audit as checked
from dalenius.checks.outcomes import CheckRequest
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES
from dalenius.verify.cases.planted import PLANTED
from tests.full.unit.checks.commands.test_audit_check import QUICK
from tests.unit.checks.commands.test_audit_check import ONE

SLOW = [case for case in CASES if case not in QUICK]

SELECTED = {
    "exponential without the half",
    "permute and flip without the half",
    "three groups priced as one",
    "smooth noise for a quarter of its price",
}


def test_the_library_keeps_its_claims_one_by_one_as_well() -> None:
    assert checked.check(CheckRequest(count=20_000), epsilons=ONE, cases=SLOW, boxes=()).passed


@pytest.mark.parametrize("case", [case for case in PLANTED if case.name in SELECTED], ids=str)
def test_planted_mechanisms_that_are_run_one_by_one_are_flagged(case: Case) -> None:
    assert not checked.check(CheckRequest(count=40_000), epsilons=ONE, cases=[case], boxes=()).passed
