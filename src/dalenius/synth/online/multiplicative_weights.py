"""Multiplicative weights: the cells that made an answer wrong lose weight.

A sharper form of multiplicative weights: move exactly as far as the measured value proves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.mechanisms.sparse.numeric_sparse import numeric_sparse_accuracy
from dalenius.privacy.numbers import Number, inside_unit, whole
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.synth.online.update_rules import Hypothesis, inner, least_alpha
from dalenius.tabular.workloads import Reals, Workload

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


_HALVINGS = 60
_STEEPEST = 600.0  # exp of it is still a number
_EDGE = Fraction(1, 2**20)  # of a person: what stays in a cell, and in all others, because an empty cell learns nothing


@dataclass(frozen=True, kw_only=True)
class InformationProjection(OneHistogram):
    """Replace the hypothesis by the nearest one, in relative entropy, whose answer is `slack` short of the value.

    Guarantee: if every update is for a question whose value is more than `alpha * people + slack` from the hypothesis'
    answer, there are at most ln(#X) / (2 alpha^2) updates: an eighth of the textbook's, and each goes further.
    Proof: the truth lies in the half-space of histograms whose answer is at least (at most) the value less (plus)
    slack; projecting on a convex set that holds the truth lowers KL(truth || hypothesis) by at least the relative
    entropy between the new and the old hypothesis, which is at least twice the square of the change of the answer's
    share (Pinsker's inequality for the question's answer as a coin).
    A hypothesis may be projected on old half-spaces again: that never takes it further from the truth. No answer is
    moved closer than 2^-20 of a person to nobody or everybody, which is counted in `most_updates`.
    Reference: Csiszar 1975, Theorem 2.2, for the projection; the counting argument is that of Dwork & Roth 2014,
    Theorem 4.10.
    """

    @property
    def most_updates(self) -> int:
        return floor(projection_updates(cells=self.cells, alpha=self.alpha - _EDGE / self.people))

    @property
    def uses_values(self) -> bool:
        return True

    def updated(self, hypothesis: Hypothesis, weights: Reals, *, value: float, slack: float) -> Hypothesis:
        now = self.answer(hypothesis, weights)
        target = max(value - slack, now) if value > now else min(value + slack, now)
        least, most = self._reach(weights)
        inside = min(max(target, least), most)
        return hypothesis if inside == now else self._tilted(hypothesis, weights, inside)

    def _reach(self, weights: Reals) -> tuple[float, float]:
        """The answers that a tilt can reach, short of giving any cell up."""
        low, high = float(weights.min()), float(weights.max())
        edge = (high - low) * float(_EDGE)
        return low * self.people + edge, high * self.people - edge

    def _tilted(self, hypothesis: Hypothesis, weights: Reals, target: float) -> Hypothesis:
        if ((weights == 0) | (weights == 1)).all():
            inside = inner(weights, hypothesis)
            outside = self.people - inside
            if min(inside, outside) <= 0:
                return hypothesis
            factors = np.where(weights == 1, target / inside, (self.people - target) / outside)
            return scaled(hypothesis * factors, self.people)
        low, high = -_STEEPEST, _STEEPEST
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tilted = scaled(
                hypothesis * np.exp(middle * (weights - weights.max() if middle > 0 else weights)), self.people
            )
            low, high = (middle, high) if inner(weights, tilted) < target else (low, middle)
        return tilted


def projection_updates(*, cells: int, alpha: Number) -> Fraction:
    """ln(#X) / (2 alpha^2), rounded up."""
    with precise():
        return upper(ball(whole(2, cells=cells)).log() / ball(2 * inside_unit(alpha=alpha) ** 2))
