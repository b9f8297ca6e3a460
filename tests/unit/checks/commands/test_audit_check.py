"""`check audit` finds every planted mechanism by running it, and nothing in the library's own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from checks import ALARM, SeededEntropy
from costs import cases
from dalenius.checks.commands import audit as checked
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.sampling import draws as drawing
from dalenius.checks.sampling.black_boxes import BlackBox, Trial, black_boxes
from dalenius.checks.sampling.draws import has_singles, unlike_its_law
from dalenius.checks.sampling.reporting import AuditReport, audit
from dalenius.mechanisms.robust.stability import StabilityTest
from dalenius.randomness.entropy import system_entropy
from dalenius.verify.cases import every
from dalenius.verify.cases.case import Case
from dalenius.verify.cases.every import CASES
from dalenius.verify.cases.planted import PLANTED, PLANTED_EVENTS

ONE = (Fraction(1),)
TOGETHER = [case for case in CASES if drawing.at_once(case, case.at(Fraction(1)))]


def only(name: str) -> Case:
    return next(case for case in (*CASES, *PLANTED, *PLANTED_EVENTS) if case.name == name)


@cases(
    "name",
    [
        "replace priced as add/remove",
        "two counts priced as one",
        "noisy max without the half",
        "a mode of three values priced as one",
    ],
    fast=1,
)
def test_planted_mechanisms_are_flagged(name: str) -> None:
    outcome = checked.check(CheckRequest(count=40_000), epsilons=ONE, cases=[only(name)], boxes=())
    assert not outcome.passed
    assert name in outcome.findings[0]


TESTED = ("StableVoteOfBlocks", "SubsampledStability")


@cases("box", [box for box in black_boxes() if box.name not in TESTED], ids=str, fast=1)
def test_noise_for_a_far_higher_price_is_found_in_each_of_them(box: BlackBox) -> None:
    """Nearly none, while the claim is that of an epsilon of 0.1."""
    trial = replace(box.at(Fraction(1000)), claim=box.at(Fraction(1, 10)).claim)
    assert audited(trial).refuted


@pytest.mark.parametrize("name", TESTED)
def test_answers_that_come_whether_they_are_stable_or_not_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = [box for box in black_boxes() if box.name == name]
    assert not any(audited(box.at(Fraction(1, 10))).refuted for box in boxes)
    monkeypatch.setattr(StabilityTest, "passes", lambda self, distance, entropy: True)
    assert any(audited(box.at(Fraction(1, 10))).refuted for box in boxes)


def audited(trial: Trial) -> AuditReport:
    return audit(trial.released, trial.first, trial.second, claim=trial.claim, samples=400, confidence="0.999999")


def test_a_mechanism_that_nobody_tries_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tuple(box for box in black_boxes() if box.name != "VoteOfBlocks")
    monkeypatch.setattr(checked, "black_boxes", lambda: kept)
    assert checked._missing().found == "VoteOfBlocks"


def test_a_mechanism_without_a_case_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every, "CASES", CASES[1:2])
    missing = checked._missing()
    assert not missing.held
    assert "NoisyMax" in missing.found


@cases("case", [case for case in TOGETHER if hasattr(case.at(Fraction(1)), "release")], ids=str, fast=12)
def test_many_draws_at_once_follow_the_exact_law(case: Case) -> None:
    """Of the likeliest outcomes, as often as they should come; a correct draw fails once in 10^9 runs."""
    mechanism, value, size = case.at(Fraction(1)), case.values[-1], 4_000
    draw = drawing.at_once(case, mechanism)
    assert draw is not None
    outputs = draw(value, size, SeededEntropy(str(case)))
    assert len(outputs) == size
    law = case.law(mechanism, value)
    names = drawing.key_names(case)
    counts: dict[object, int] = {}
    for row in outputs.tolist():
        outcome = drawing.as_listed(mechanism, row, names)
        counts[outcome] = counts.get(outcome, 0) + 1
    for outcome in sorted(law, key=lambda o: float(law[o].mid()))[-3:]:
        chance = float(law[outcome].mid())
        assert abs(counts.get(outcome, 0) - size * chance) < 6.2 * (size * chance * (1 - chance)) ** 0.5 + 1


def test_what_is_sampled_all_at_once_is_released_one_by_one_too_and_a_law_that_is_off_is_noticed() -> None:
    assert has_singles(only("Laplace"))
    assert not has_singles(only("three quartiles"))
    case, risk = only("exponential"), Fraction(ALARM)
    value = checked.worst_pair(case, Fraction(1))[0]
    assert not list(unlike_its_law(case, Fraction(1), value, risk=risk, runs=500))
    other = Case(**{**vars(case), "law": lambda mechanism, value: case.law(case.at(Fraction(4)), (0, 3))})
    assert list(unlike_its_law(other, Fraction(1), value, risk=risk, runs=500))


def test_the_draws_of_the_check_are_not_seeded() -> None:
    case = only("Laplace")
    draw = drawing.at_once(case, case.at(Fraction(1)))
    assert draw is not None
    first, second = (draw(0, 200, system_entropy()) for _ in range(2))
    assert not np.array_equal(first, second)
