"""The perceptron's update rule: add to, or take from, the cells of a question that was answered wrong."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.synth.online.multiplicative_weights import linear_answers
from dalenius.synth.online.update_rules import Hypothesis, inner, least_alpha
from dalenius.tabular.workloads import Reals, Workload


@dataclass(frozen=True, kw_only=True)
class PerceptronUpdate:
    """Start with no people at all; after a wrong answer add the question's weights, or take them away, times
    alpha * people / (sum of the squared weights).

    Guarantee: at most (norm2(x) / norm1(x))^2 #X / alpha^2 updates.
    Proof: a step of length s lowers the squared distance to the true counts, which starts at norm2(x)^2, by at least
    2 s alpha n - s^2 |f|^2 = (alpha n)^2 / |f|^2, and |f|^2 <= #X. The text proves it for alpha n / #X, which
    is the same for the widest question and shorter for all others.
    The norm of the data is not public, so what is declared takes its place: no cell has more than `most_in_a_cell`
    people, hence norm2(x)^2 <= most_in_a_cell * people. Good for dense data: a graph has at most one edge in each cell.
    The step in print, alpha / |f|, lacks the n: on counts it is n times too short. Counts may be negative: this is no
    database.
    Reference: Dwork & Roth 2014, Algorithm 10 and Theorem 5.11, corrected.
    Textbook: S9.11.
    """

    cells: int
    people: int
    alpha: Fraction
    most_in_a_cell: int

    def __post_init__(self) -> None:
        whole(1, cells=self.cells)
        whole(1, people=self.people)
        whole(1, most_in_a_cell=self.most_in_a_cell)
        object.__setattr__(self, "alpha", inside_unit(alpha=self.alpha))

    @property
    def most_updates(self) -> int:
        return floor(
            perceptron_updates(
                cells=self.cells, people=self.people, alpha=self.alpha, most_in_a_cell=self.most_in_a_cell
            )
        )

    @property
    def uses_values(self) -> bool:
        return False

    def start(self) -> Hypothesis:
        return np.zeros(self.cells)

    def answer(self, hypothesis: Hypothesis, weights: Reals) -> float:
        return inner(weights, hypothesis)

    def answers(self, hypothesis: Hypothesis, workload: Workload) -> Reals:
        return linear_answers(hypothesis, workload)

    def updated(self, hypothesis: Hypothesis, weights: Reals, *, value: float, slack: float) -> Hypothesis:
        length = inner(weights, weights)
        step = float(self.alpha * self.people) / length if length else 0.0
        sign = -1 if value < self.answer(hypothesis, weights) else 1
        return hypothesis + sign * step * weights

    def histogram(self, hypothesis: Hypothesis) -> Reals | None:
        return None


def perceptron_updates(*, cells: int, people: int, alpha: Number, most_in_a_cell: int) -> Fraction:
    """most_in_a_cell #X / (alpha^2 n), which is at least (norm2 / norm1)^2 #X / alpha^2.

    Reference: Dwork & Roth 2014, Theorem 5.11, with a declared bound on the norm.
    Textbook: S9.11.
    """
    most = min(whole(1, most_in_a_cell=most_in_a_cell), whole(1, people=people))
    return most * whole(1, cells=cells) / (inside_unit(alpha=alpha) ** 2 * people)


def perceptron_accuracy(
    *,
    cells: int,
    queries: int,
    people: int,
    most_in_a_cell: int,
    epsilon: Number,
    delta: Number,
    beta: Number,
) -> Fraction:
    """The least alpha >= 64 sqrt(T ln(1 / delta)) ln(2 T #Q / beta) / (epsilon n) with T the updates at alpha / 2.

    It is Theorem 5.12, whose beta belongs inside of the logarithm.
    Reference: Dwork & Roth 2014, Theorem 5.12, corrected.
    Textbook: S9.11.
    """
    event = inside_unit(delta=delta)

    def reached(alpha: Fraction, total: int) -> bool:
        rounds = max(
            Fraction(1),
            perceptron_updates(cells=cells, people=total, alpha=alpha / 2, most_in_a_cell=most_in_a_cell),
        )
        with precise():
            spread = (ball(rounds) * -ball(event).log()).sqrt()
            depth = ball(2 * rounds * whole(1, queries=queries) / inside_unit(beta=beta)).log()
            return upper(64 * spread * depth / ball(positive(epsilon=epsilon) * total)) <= alpha

    return least_alpha(reached, people=whole(1, people=people))
