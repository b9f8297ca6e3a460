"""Multiplicative weights: the cells that made an answer wrong lose weight."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.mechanisms.numeric_sparse import numeric_sparse_accuracy
from dalenius.privacy.numbers import Number, inside_unit, whole
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.release.textbook.update_rules import Hypothesis, inner, least_alpha
from dalenius.release.workloads.workload import Reals, Workload

_LEAST = 1e-200
"""The least count of a cell: what divides by it stays a number."""


@dataclass(frozen=True, kw_only=True)
class OneHistogram:
    """What rules have in common that keep one histogram of so many people, uniform at the start."""

    cells: int
    people: int
    alpha: Fraction

    def __post_init__(self) -> None:
        whole(2, cells=self.cells)
        whole(1, people=self.people)
        object.__setattr__(self, "alpha", inside_unit(alpha=self.alpha))

    def start(self) -> Hypothesis:
        return np.full(self.cells, self.people / self.cells)

    def answer(self, hypothesis: Hypothesis, weights: Reals) -> float:
        return inner(weights, hypothesis)

    def answers(self, hypothesis: Hypothesis, workload: Workload) -> Reals:
        return linear_answers(hypothesis, workload)

    def histogram(self, hypothesis: Hypothesis) -> Reals | None:
        return hypothesis


@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeights(OneHistogram):
    """Start uniform; where an answer was too high multiply every cell by exp(-eta f), where it was too low by
    exp(-eta (1 - f)), with eta = alpha / 2, and normalise.

    Guarantee: at most 4 ln(#X) / alpha^2 updates, if the people are as many as stated.
    Proof: each update lowers the relative entropy KL(x || hypothesis), which starts at ln #X at most and is never
    negative, by at least eta alpha - eta^2 = alpha^2 / 4. (The text's log-sum inequality lost a logarithm; only that it
    is not negative is needed.)
    Reference: Dwork & Roth 2014, Algorithm 5 and Theorem 4.10.
    Textbook: S9.5.
    """

    @property
    def most_updates(self) -> int:
        return floor(multiplicative_updates(cells=self.cells, alpha=self.alpha))

    @property
    def uses_values(self) -> bool:
        return False

    def updated(self, hypothesis: Hypothesis, weights: Reals, *, value: float, slack: float) -> Hypothesis:
        lost = weights if value < self.answer(hypothesis, weights) else 1 - weights
        return scaled(hypothesis * np.exp(-float(self.alpha / 2) * lost), self.people)


def multiplicative_updates(*, cells: int, alpha: Number) -> Fraction:
    """The textbook's 4 ln(#X) / alpha^2, rounded up by less than 10^-60 of it.

    Reference: Dwork & Roth 2014, Theorem 4.10.
    Textbook: S9.5.
    """
    with precise():
        return upper(4 * ball(whole(2, cells=cells)).log() / ball(inside_unit(alpha=alpha) ** 2))


def online_weights_accuracy(
    *, cells: int, queries: int, people: int, epsilon: Number, beta: Number, delta: Number = 0
) -> Fraction:
    """The least alpha that Theorem 4.14 (or 4.15 for delta > 0) allows: all answers are within 3 alpha, as shares.

    alpha >= 36 ln #X (ln #Q + ln(32 ln #X / (alpha^2 beta))) / (epsilon alpha^2 n) for delta = 0: the text has 32 for
    36 in two places, and 36 in a third. For delta > 0 alpha >= (2 + 32 sqrt 2) sqrt(ln #X ln(2 / delta)) times the
    same bracket, over alpha epsilon n, with the noise of the numbers that the text forgets (see
    `numeric_sparse_accuracy`): the two come from c = 4 ln #X / alpha^2 updates among 2 #Q comparisons.
    Reference: Dwork & Roth 2014, Theorems 4.14 and 4.15, corrected.
    Textbook: S9.6.
    """
    count = whole(1, queries=queries)

    def reached(alpha: Fraction, total: int) -> bool:
        updates = max(1, floor(multiplicative_updates(cells=cells, alpha=alpha)))
        needed = numeric_sparse_accuracy(epsilon=epsilon, cutoff=updates, queries=2 * count, beta=beta, delta=delta)
        return needed <= alpha * total

    return least_alpha(reached, people=whole(1, people=people))


def online_threshold(
    *, cells: int, queries: int, people: int, alpha: Number, epsilon: Number, beta: Number, delta: Number = 0
) -> Fraction:
    """The textbook's threshold T for a given alpha, as a share, rounded up: twice the accuracy of NumericSparse.

    18 c (ln 2#Q + ln(4 c / beta)) / (epsilon n) for delta = 0 and (2 + 32 sqrt 2) sqrt(c ln(2 / delta)) (ln 2#Q +
    ln(4 c / beta)) / (epsilon n) otherwise, with c = 4 ln #X / alpha^2; in print the root covers the bracket too, and
    the k under it is 2 #Q. For large c the noise of the numbers is the larger one, and it is taken.
    Reference: Dwork & Roth 2014, Algorithm 6, corrected.
    Textbook: S9.6.
    """
    updates = max(1, floor(multiplicative_updates(cells=cells, alpha=alpha)))
    needed = numeric_sparse_accuracy(
        epsilon=epsilon, cutoff=updates, queries=2 * whole(1, queries=queries), beta=beta, delta=delta
    )
    return 2 * needed / whole(1, people=people)


def entropy_drop(*, alpha: Number) -> Fraction:
    """How much one update lowers the relative entropy at least: alpha^2 / 4.

    Textbook: S9.5.
    """
    return inside_unit(alpha=alpha) ** 2 / 4


def most_entropy(cells: int) -> Fraction:
    """The relative entropy to the uniform distribution is at most ln #X, rounded down."""
    with precise():
        return lower(ball(whole(2, cells=cells)).log())


def linear_answers(hypothesis: Hypothesis, workload: Workload) -> Reals:
    """The answers of one histogram of real counts, in people."""
    found: NDArray[Any] = workload.answers(hypothesis)
    return np.asarray(found, dtype=np.float64) / workload.denominator


def scaled(hypothesis: Hypothesis, people: int) -> Hypothesis:
    """The hypothesis with all its counts scaled to this number of people, none so small that it cannot grow again."""
    result: Hypothesis = np.maximum(hypothesis * (people / hypothesis.sum()), _LEAST)
    return result
