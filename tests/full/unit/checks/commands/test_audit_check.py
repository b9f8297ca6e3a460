"""The dear tests of `unit/checks/commands/test_audit_check.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.commands import audit as checked
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.sampling import draws as drawing
from dalenius.checks.sampling.black_boxes import black_boxes
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES, EXCUSED
from tests.unit.checks.commands.test_audit_check import ONE, only

QUICK = [case for case in CASES if not drawing.is_slow(case)]


def test_the_library_keeps_its_claims() -> None:
    told: list[float] = []
    outcome = checked.check(CheckRequest(count=4_000, tick=told.append), epsilons=ONE, cases=QUICK, boxes=())
    assert outcome.passed, outcome.findings
    assert told == sorted(told)
    assert told[-1] == pytest.approx(100)
    assert "none left out" in outcome.figures[0].found


def test_mechanisms_without_an_exact_law_keep_their_claims() -> None:
    told = checked.check(CheckRequest(count=1_000), epsilons=ONE, cases=CASES[:1])
    assert told.passed, told.findings
    (figure,) = (figure for figure in told.figures if "without an exact law" in figure.what)
    assert figure.tried == len({box.name for box in black_boxes()}) == len(EXCUSED)


def test_tightness_is_demanded_of_tight_mechanisms_and_shown_to_fail_for_others() -> None:
    tight = checked.check(
        CheckRequest(count=100_000), epsilons=ONE, cases=[only("Laplace"), only("randomized response")], boxes=()
    )
    assert tight.passed
    assert tight.figures[-1].what == "tight mechanisms at epsilon 1"
    loose = [case for case in CASES if case.name == "noisy max"]
    pretended = [Case(**{**vars(case), "tight": True}) for case in loose]
    assert not checked.check(CheckRequest(count=100_000), epsilons=ONE, cases=pretended, boxes=()).passed
