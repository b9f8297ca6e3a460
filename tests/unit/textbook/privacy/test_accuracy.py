"""Accuracy notions judge runs as their definitions say; alpha is the error and beta the chance to fail."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import Distribution
from dalenius.textbook.privacy.accuracy import NumericAccuracy, SurveyAccuracy, ThresholdAccuracy, Utility

HALF = Fraction(1, 2)


@pytest.mark.textbook("S1.12")
@pytest.mark.parametrize(
    ("answers", "kept"),
    [
        ((True, False), True),  # 12 is at least 10 - 3, and 11 at most 10 + 3
        ((False, False), True),
        ((True, True), True),
        ((True,), False),  # it halted early
    ],
)
def test_threshold_accuracy_near_the_threshold(answers: Sequence[bool], kept: bool) -> None:
    assert ThresholdAccuracy(threshold=10, alpha=3, beta=HALF).holds(answers, [12, 11]) is kept


@pytest.mark.textbook("S1.12")
def test_threshold_accuracy_binds_on_its_own_side_only() -> None:
    notion = ThresholdAccuracy(threshold=10, alpha=3, beta=HALF)
    assert notion.holds([True, False], [7, 13])
    assert not notion.holds([True], [Fraction(69, 10)])
    assert not notion.holds([False], [Fraction(131, 10)])
    assert notion.holds([True, False], [10**6, -(10**6)])


@pytest.mark.textbook("S1.12")
def test_numeric_accuracy_bounds_numbers_by_error_and_refusals_by_the_threshold() -> None:
    notion = NumericAccuracy(threshold=10, alpha=3, beta=HALF)
    assert notion.holds([Fraction(23), None], [20, 13])
    assert not notion.holds([Fraction(24), None], [20, 13])
    assert not notion.holds([Fraction(23), None], [20, 14])
    assert not notion.holds([Fraction(23)], [20, 13])


@pytest.mark.textbook("S1.12")
def test_utility_forgives_a_part_gamma_of_the_queries() -> None:
    answers, truths = [Fraction(x) for x in (1, 2, 3, 9)], [1, 2, 3, 4]
    assert Utility(alpha=1, beta=HALF, gamma="0.25").holds(answers, truths)
    assert not Utility(alpha=1, beta=HALF, gamma="0.24").holds(answers, truths)
    assert not Utility(alpha=1, beta=HALF).holds(answers, truths)
    assert Utility(alpha=5, beta=HALF).holds(answers, truths)


@pytest.mark.textbook("S1.12")
def test_beta_bounds_the_chance_of_a_broken_run() -> None:
    """An estimate of 0 that is off by 0, 1 or 2 with chances 5/10, 3/10, 2/10."""
    runs = Distribution({(Fraction(0),): "0.5", (Fraction(1),): "0.3", (Fraction(-2),): "0.2"})
    assert Utility(alpha=1, beta="0.2").failure(runs, [0]) == Fraction(1, 5)
    assert Utility(alpha=1, beta="0.2").kept_by(runs, [0])
    assert not Utility(alpha=1, beta="0.19").kept_by(runs, [0])
    assert not Utility(alpha="0.2", beta=1 - HALF).holds([Fraction(1)], [0])


@pytest.mark.textbook("S1.12")
def test_the_surveyor_asks_for_less_than_alpha_in_two_runs_of_three() -> None:
    right, wrong = (Fraction(0),), (Fraction(1),)
    two_thirds = Distribution({right: Fraction(2, 3), wrong: Fraction(1, 3)})
    assert SurveyAccuracy(alpha=1).kept_by(two_thirds, [0])
    assert not SurveyAccuracy(alpha=1).holds(wrong, [0])  # an error of exactly alpha counts as a failure
    fewer = Distribution({right: Fraction(65, 100), wrong: Fraction(35, 100)})
    assert not SurveyAccuracy(alpha=1).kept_by(fewer, [0])
    assert SurveyAccuracy(alpha="1.01").kept_by(fewer, [0])


@pytest.mark.textbook("S1.12")
def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        Utility(alpha=-1, beta=HALF)
    with pytest.raises(InvalidParameter):
        ThresholdAccuracy(threshold=float("nan"), alpha=1, beta=HALF)
    with pytest.raises(InvalidParameter):
        NumericAccuracy(threshold=1, alpha=1, beta=2)
