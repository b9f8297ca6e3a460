"""What an update rule is: a public hypothesis about the histogram that learns from each question it was wrong on."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor
from typing import Protocol, TypeAlias

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.privacy.reals import least
from dalenius.tabular.workloads import Reals, Workload

Hypothesis: TypeAlias = Reals
"""A vector of (real) counts over the cells, or a row of counts for each of several candidates."""


class UpdateRule(Protocol):
    """A T(alpha)-database update algorithm.

    Guarantee: if every update is for a question on which the hypothesis is off by more than `alpha * people` people,
    towards a value within `slack` people of the truth, and slack is less than the hypothesis is off, there are at most
    `most_updates` updates, whoever chooses the questions.
    A question is its weights in [0, 1], one for each cell. Everything here is public; no data is looked at.
    Reference: Dwork & Roth 2014, Definitions 5.3 and 5.4.
    """

    @property
    def people(self) -> int:
        """How many people the hypothesis is about."""

    @property
    def cells(self) -> int:
        """How many cells a question has weights for."""

    @property
    def alpha(self) -> Fraction:
        """How far off, as a share of all people, a question must be for an update to count."""

    @property
    def most_updates(self) -> int:
        """T(alpha), as a whole number."""

    @property
    def uses_values(self) -> bool:
        """Whether it moves as far as a value says, less the slack, and not only to the side that the value is on."""

    def start(self) -> Hypothesis:
        """The first hypothesis: that of this rule, U(nothing), which is not uniform for every rule."""

    def answer(self, hypothesis: Hypothesis, weights: Reals) -> float:
        """The hypothesis' answer to one question, in people."""

    def answers(self, hypothesis: Hypothesis, workload: Workload) -> Reals:
        """The hypothesis' answers to all questions, in people."""

    def updated(self, hypothesis: Hypothesis, weights: Reals, *, value: float, slack: float) -> Hypothesis:
        """The next hypothesis, from a question's value in people, which is off by at most `slack`."""

    def histogram(self, hypothesis: Hypothesis) -> Reals | None:
        """The hypothesis as one histogram, where it is one."""


def inner(weights: Reals, hypothesis: Reals) -> float:
    """The sum of counts times weights, in one thread: the many of a matrix product only wait for each other here."""
    return float(np.einsum("i,i->", weights, hypothesis))


def least_alpha(reached: Callable[[Fraction, int], bool], *, people: int) -> Fraction:
    """The least alpha below 1, in steps of 2^-20, from which on `reached(alpha, people)` holds.

    It is the solution of inequalities such as alpha >= bound(alpha) / people, whose right side falls with both.
    """
    steps = 1 << 20
    if not reached(Fraction(steps - 1, steps), people):
        needed = least(lambda count: count > 0 and reached(Fraction(1, 2), count), guess=people)
        raise InvalidParameter(
            "people",
            people,
            allowed=f"more: for an error of one half of all people it takes {needed}",
            hint="Ask fewer questions, use fewer cells, or spend more epsilon.",
        )

    def holds(step: int) -> bool:
        return step >= steps or (step > 0 and reached(Fraction(step, steps), people))

    return Fraction(least(holds, guess=steps // 8), steps)


def require_enough(rule: UpdateRule, *, error: Fraction) -> None:
    """Refuse, before anything is paid, a promise that is empty because the people are too few for the noise."""
    if error < rule.people:
        return
    needed = floor((error - rule.alpha * rule.people) / (1 - rule.alpha)) + 1
    raise InvalidParameter(
        "people",
        rule.people,
        allowed=f"at least {needed} for any accuracy at all",
        hint="Ask fewer questions, take a larger alpha or fewer cells, or spend more epsilon.",
    )
