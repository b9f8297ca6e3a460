"""`check exact` computes every claim, and refutes those that are a little too low."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dalenius.audit.checks import exact
from dalenius.audit.checks.outcomes import Asked
from dalenius.audit.checks.registry import CHECKS
from dalenius.mechanisms.noisy_max import NoisyMax
from dalenius.privacy.losses import BoundedRange
from dalenius.verify.cases.every import CASES

QUICK = [case for case in CASES if case.name in ("noisy max", "median", "geometric keys", "stable mode", "exponential")]


def test_no_claim_is_refuted() -> None:
    told: list[float] = []
    outcome = exact.check(Asked(count=CHECKS["exact"].full, tick=told.append), cases=QUICK)
    assert outcome.passed
    assert told == sorted(told)
    assert told[-1] == 100
    assert [figure.tried for figure in outcome.figures] == [len(QUICK)] * 3
    assert outcome.figures[0].found == "8 claims proved, 2 met as far as computed, 0 refuted"


@pytest.mark.deep
def test_no_claim_of_any_case_is_refuted() -> None:
    assert exact.check(Asked(count=3)).passed


def test_a_divergence_of_another_mechanism_is_refuted_though_its_epsilon_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = next(case for case in QUICK if case.name == "noisy max")
    assert exact.holds(case, Fraction(1)) is True
    right = NoisyMax.loss
    monkeypatch.setattr(NoisyMax, "loss", lambda self, **given: BoundedRange(right(self, **given).epsilon))
    outcome = exact.check(Asked(), cases=[case])
    assert not outcome.passed
    assert "noisy max" in outcome.findings[0]
