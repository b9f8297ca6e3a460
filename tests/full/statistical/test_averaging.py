"""Who asks the same again and again until the budget ends knows no more than who asks once for all of it."""

from __future__ import annotations

import math

import pytest

from clinics import clinic, visits
from dalenius.accounting.budget import Budget
from dalenius.errors import BudgetExceeded

COUNT = "SELECT COUNT(*) AS n FROM visits"
PATIENTS, ROWS = 400, 3
ATTACKERS, TIMES = 24, 9
ONCE = ROWS * math.sqrt(2)  # the deviation of one answer for a whole epsilon, at which a unit adds three rows


def root_mean_square_error(each: str, *, epsilon: int) -> float:
    """Of averages, each by an analyst with an equal part of the budget who asks until a question is refused."""
    db, errors = clinic(Budget(epsilon), data=visits(PATIENTS, ROWS)), []
    for number in range(ATTACKERS):
        db.grant(f"analyst{number}", tables=["visits"], share=f"1/{ATTACKERS}")
        question = db.as_analyst(f"analyst{number}").sql(COUNT)
        answers = [float(question.run(epsilon=each, fresh=True)["n"][0]) for _ in range(TIMES)]
        with pytest.raises(BudgetExceeded):
            question.run(epsilon=each, fresh=True)
        errors.append(sum(answers) / TIMES - PATIENTS * ROWS)
    return math.sqrt(sum(error**2 for error in errors) / ATTACKERS)


def test_an_average_of_all_that_can_be_paid_for_is_further_off_than_one_answer() -> None:
    """Nine parts have three times the deviation of the whole; 1.2 times happens once in ten million runs."""
    assert root_mean_square_error("0.1111", epsilon=ATTACKERS) > 1.2 * ONCE


def test_the_test_above_notices_answers_that_cost_too_little() -> None:
    """Nine times the budget pays for nine whole answers, and their average is three times as close as one."""
    assert root_mean_square_error("0.9999", epsilon=ATTACKERS * TIMES) < ONCE / 1.2
