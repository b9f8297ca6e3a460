"""The median mechanism's update rule: many databases vote, and those that voted wrong leave.

The halving algorithm: predict by majority, and drop those who were wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.synth.online.update_rules import Hypothesis
from dalenius.tabular.workloads import Reals, Workload
from dalenius.textbook.release.nets import Net


@dataclass(eq=False)
class Halving:
    """Learns one of finitely many concepts, each a row of yes or no for every example, from its own mistakes.

    Guarantee: at most log2(#C) mistakes, if the labels are those of one of the concepts: a mistake drops at least half
    of the concepts that are left, and the right one is never dropped. It looks at labels as they are and adds no noise:
    it is not private, and the ancestor of the median mechanism, which is.
    Reference: Dwork & Roth 2014, Section 5.2, after Definition 5.4.
    Textbook: S9.14.
    """

    concepts: NDArray[np.bool_]
    mistakes: int = 0

    def __init__(self, concepts: ArrayLike) -> None:
        table = np.asarray(concepts)
        if table.ndim != 2 or table.dtype.kind != "b" or not len(table):
            raise InvalidParameter("concepts", table.shape, allowed="a row of truth values for each concept")
        self.concepts, self.mistakes = table, 0

    @property
    def most_mistakes(self) -> int:
        """log2 of the number of concepts that are left, rounded down: no more mistakes than this can follow."""
        return len(self.concepts).bit_length() - 1

    def predict(self, example: int) -> bool:
        """What at least half of the concepts that are left say; yes where it is a draw."""
        says = self.concepts[:, whole(example=example)]
        return bool(2 * int(says.sum()) >= len(says))

    def learn(self, example: int, label: bool) -> None:
        """Hear the label of an example; after a mistake, drop all concepts that say otherwise."""
        if self.predict(example) == label:
            return
        right = self.concepts[:, example] == label
        if not right.any():
            raise InvalidParameter("label", "of no concept", allowed="the label of one of the concepts")
        self.concepts, self.mistakes = self.concepts[right], self.mistakes + 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Median:
    """Start with a net; answer by the median of what its databases answer; drop those on the wrong side of it.

    Guarantee: at most log2(#N) updates, if every update is for a question that is off by more than the net's alpha: one
    of the net's databases is within alpha of the truth on every question, is never on the wrong side, and stays, while
    each update drops at least half of all.
    The answers need not be those of any database, so there is no histogram. With `Net` rows that hold each
    candidate's answers in the place of its counts, and one question for each place, it serves any questions at all,
    linear or not.
    Reference: Dwork & Roth 2014, Algorithm 9 and Theorem 5.8.
    Textbook: S9.10.
    """

    net: Net
    people: int

    def __post_init__(self) -> None:
        whole(1, people=self.people)

    @property
    def cells(self) -> int:
        return int(self.net.databases.shape[1])

    @property
    def alpha(self) -> Fraction:
        return self.net.alpha

    @property
    def most_updates(self) -> int:
        return self.net.count.bit_length() - 1

    @property
    def uses_values(self) -> bool:
        return False

    def start(self) -> Hypothesis:
        return np.asarray(self.net.databases * (self.people / self.net.size), dtype=np.float64)

    def answer(self, hypothesis: Hypothesis, weights: Reals) -> float:
        return float(np.median(hypothesis @ weights))

    def answers(self, hypothesis: Hypothesis, workload: Workload) -> Reals:
        questions = (workload.weights(question) for question in range(workload.count))
        return np.array([self.answer(hypothesis, weights / workload.denominator) for weights in questions])

    def updated(self, hypothesis: Hypothesis, weights: Reals, *, value: float, slack: float) -> Hypothesis:
        votes = hypothesis @ weights
        middle = np.median(votes)
        right = votes < middle if value < middle else votes > middle
        # Only noise beyond its bound can leave nobody; then all stay, since a median of nobody answers nothing.
        return hypothesis[right] if right.any() else hypothesis

    def histogram(self, hypothesis: Hypothesis) -> Reals | None:
        return None


def trivial_net(answers: object, *, people: int) -> Net:
    """A net of answer vectors, of all databases that there can be: with it the median serves questions of any kind.

    `answers` has a row of whole answers, from 0 to `people`, for each database. Each row is completed by what is
    missing to a common total, in one more place that no question asks about.
    Reference: Dwork & Roth 2014, Theorem 5.9.
    Textbook: S9.10.
    """
    table = np.asarray(answers)
    if table.ndim != 2 or table.dtype.kind not in "iu" or table.min() < 0 or table.max() > whole(1, people=people):
        raise InvalidParameter("answers", "others", allowed=f"a row of integers from 0 to {people} for each database")
    total = people * table.shape[1]
    rest = total - table.sum(axis=1, keepdims=True)
    return Net(np.hstack([table, rest]).astype(np.int64), total, Fraction(0))


def median_accuracy(*, cells: int, queries: int, people: int, epsilon: Number, delta: Number, beta: Number) -> Fraction:
    """The corrected alpha of Theorem 5.10: any questions of sensitivity 1 / n, by the net of all databases of n rows.

    64 sqrt(T ln(1 / delta)) ln(2 T #Q / beta) / (epsilon n) with T = n log2(#X): the text has 16 for 64, the natural
    logarithm for the one of base two, and a root over all logarithms.
    Reference: Dwork & Roth 2014, Theorems 5.7 to 5.10, corrected.
    Textbook: S9.10.
    """
    total = whole(1, people=people)
    with precise():
        rounds = total * ball(whole(2, cells=cells)).log() / ball(2).log()
        spread = (rounds * -ball(inside_unit(delta=delta)).log()).sqrt()
        depth = (2 * rounds * whole(1, queries=queries) / ball(inside_unit(beta=beta))).log()
        return upper(64 * spread * depth / ball(positive(epsilon=epsilon) * total))


def median_updates(*, cells: int, queries: int, alpha: Number) -> int:
    """log2 of the number of small databases, #X^(ln #Q / alpha^2): the text's bound, with the logarithm of base two.

    Reference: Dwork & Roth 2014, Remark 5.2.
    Textbook: S9.10.
    """
    with precise():
        size = ball(whole(2, queries=queries)).log() / ball(inside_unit(alpha=alpha) ** 2)
        return floor(upper(size * ball(whole(2, cells=cells)).log() / ball(2).log()))
