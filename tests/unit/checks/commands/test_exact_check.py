"""`check exact` computes every claim, and refutes those that are a little too low."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dalenius.checks.commands import exact
from dalenius.checks.outcomes import CheckRequest
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.privacy.losses import BoundedRange
from dalenius.verify.cases.every import CASES

QUICK = [case for case in CASES if case.name in ("noisy max", "median", "geometric keys", "stable mode", "exponential")]


def test_a_divergence_of_another_mechanism_is_refuted_though_its_epsilon_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = next(case for case in QUICK if case.name == "noisy max")
    assert exact.holds(case, Fraction(1)) is True
    right = NoisyMax.loss
    monkeypatch.setattr(NoisyMax, "loss", lambda self, **given: BoundedRange(right(self, **given).epsilon))
    outcome = exact.check(CheckRequest(), cases=[case])
    assert not outcome.passed
    assert "noisy max" in outcome.findings[0]
