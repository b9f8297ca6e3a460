"""The net mechanism: choose, by the exponential mechanism, from candidates one of which is near every database."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Self

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import BoundedRange
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, not_negative, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy
from dalenius.synth.online.sealed import Release, bounded, require_computable, rows_moved, wide
from dalenius.tabular.workloads import Integers, Workload

MOST_DATABASES = 10**6
"""The most candidates of a net, each of which is looked at."""

MOST_NUMBERS = 3 * 10**7
"""The most numbers in the table of all candidates, and in that of their answers."""


def databases_of_size(cells: int, size: int) -> int:
    """How many databases of `size` rows there are over that many cells: C(cells + size - 1, size).

    Textbook: S9.2.
    """
    return comb(whole(1, cells=cells) + whole(0, size=size) - 1, size)


def iterative_net_size(*, queries: int, updates: int) -> int:
    """The size of the net that an update rule spans: its result is told by the at most T questions that were asked.

    With T = 4 ln(#X) / alpha^2 this is #X^(4 ln(#Q) / alpha^2): the net of small databases, but for the 4.
    Reference: Dwork & Roth 2014, Section 5.3.1.
    Textbook: S9.4.
    """
    return int(whole(1, queries=queries) ** whole(0, updates=updates))


@dataclass(frozen=True, eq=False)
class Net:
    """Databases of `size` rows each, a row of counts over the cells for each of them, such that every database has one
    of them within `alpha` on every question, as averages. Whoever makes a net vouches for its alpha."""

    databases: Integers
    size: int
    alpha: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", not_negative(alpha=self.alpha))
        if self.databases.ndim != 2 or not len(self.databases) or (self.databases < 0).any():
            raise InvalidParameter("databases", "others", allowed="a row of counts for each candidate")
        if (self.databases.sum(axis=1) != whole(1, size=self.size)).any():
            raise InvalidParameter("databases", "others", allowed=f"of {self.size} rows each")

    @classmethod
    def of_size(cls, cells: int, size: int, *, alpha: Number, most: int = MOST_DATABASES) -> Self:
        """All databases of a size, every one of them.

        Textbook: S9.2, S9.4.
        """
        count = databases_of_size(cells, size)
        if count > most or count * cells > MOST_NUMBERS:
            raise InvalidParameter(
                "cells",
                f"{cells} with databases of {size} rows, {_rounded(count)} of them",
                allowed=f"few enough for at most {min(most, MOST_NUMBERS // cells)} candidates, all looked at",
                hint="Take a larger alpha or fewer cells, or use IterativeConstruction with MultiplicativeWeights.",
            )
        return cls(_compositions(size, cells), size, not_negative(alpha=alpha))

    @property
    def count(self) -> int:
        return len(self.databases)


@dataclass(frozen=True, kw_only=True, eq=False)
class NetMechanism:
    """Publish a member of a net, chosen with probability growing in how well it answers all questions.

    A candidate's score is minus its largest error, in whole parts of 1 / (people * size * denominator).
    Guarantee: epsilon-DP. One step moves a question by at most s parts, so every score by at most size * s; the
    rate is epsilon / (2 size s), because scores may move in opposite directions (a slide forgets the 2, which makes it
    2 epsilon-DP).
    `people` is public where records are replaced; otherwise a public estimate, whose error adds to that of the answers.
    Reference: Dwork & Roth 2014, Algorithm 7 and Propositions 5.1 and 5.2.
    Textbook: S9.4.
    """

    net: Net
    workload: Workload
    people: int
    choice: ExponentialMechanism

    def __post_init__(self) -> None:
        require_computable(people=self.people, denominator=self.workload.denominator * self.net.size)
        if self.net.databases.shape[1] != self.workload.grid.cells:
            raise InvalidParameter("net", self.net.databases.shape[1], allowed=f"{self.workload.grid.cells} cells")
        numbers = self.net.count * self.workload.count
        if numbers > MOST_NUMBERS:
            raise InvalidParameter(
                "workload",
                f"{self.workload.count} questions on {self.net.count} candidates",
                allowed=f"at most {MOST_NUMBERS} answers in all",
                hint="Ask fewer questions, or use IterativeConstruction with MultiplicativeWeights.",
            )

    @classmethod
    def calibrated(
        cls, net: Net, workload: Workload, *, people: int, epsilon: Number, neighbours: Neighbours, rows: int = 1
    ) -> Self:
        """The sharpest choice that costs at most epsilon, where a unit has at most `rows` rows."""
        choice = ExponentialMechanism.calibrated(
            sensitivity=_score(net, workload, stated(neighbours), rows), epsilon=epsilon, neighbours=neighbours
        )
        return cls(net=net, workload=workload, people=people, choice=choice)

    def loss(self, *, rows: int = 1) -> BoundedRange:
        """What a release costs, where a unit has at most `rows` rows."""
        return self.choice.loss(sensitivity=_score(self.net, self.workload, self.choice.neighbours, rows))

    def scores(self, histogram: Integers) -> Integers:
        """The score of every candidate: minus the largest of |size f(x) - people f(y)| over all questions."""
        times = 2 * self.net.size * self.workload.denominator
        exact = self.net.size * np.asarray(self.workload.answers(wide(histogram, times=times)))
        return np.array([-np.abs(exact - row).max() for row in self._scaled], dtype=exact.dtype)

    def release(self, histogram: Exact[Integers], allowance: Allowance, entropy: Entropy, *, beta: Number) -> Release:
        """Pay, choose, and give the candidate's answers, scaled to all people."""
        relation, rows = histogram.neighbours, rows_moved(histogram)
        scores = histogram.map(self.scores, sensitivity=_score(self.net, self.workload, relation, rows))
        chosen = measure(self.choice, scores, allowance, entropy)
        share = self.people / self.net.size
        return Release(
            answers=self._scaled[chosen] / float(self.net.size * self.workload.denominator),
            histogram=self.net.databases[chosen] * share,
            error=self.error(beta),
            beta=inside_unit(beta=beta),
        )

    def error(self, beta: Number) -> Fraction:
        """With probability 1 - beta, no answer is off by more people than this, if the people are as many as stated."""
        short = self.choice.error(beta, candidates=self.net.count)
        return self.net.alpha * self.people + short / (self.net.size * self.workload.denominator)

    @cached_property
    def _scaled(self) -> Integers:
        answers = [np.asarray(self.workload.answers(row), dtype=np.int64) for row in self.net.databases]
        return self.people * np.stack(answers)


def net_accuracy(*, net: int, alpha: Number, epsilon: Number, people: int, beta: Number) -> Fraction:
    """The textbook's alpha + 2 (ln #N + ln(1 / beta)) / (epsilon n) for averages over n people, rounded up.

    Reference: Dwork & Roth 2014, Proposition 5.2.
    Textbook: S9.4.
    """
    scale = 2 / (positive(epsilon=epsilon) * whole(1, people=people))
    with precise():
        choice = upper(ball(scale) * ball(whole(1, net=net) / inside_unit(beta=beta)).log())
    return not_negative(alpha=alpha) + choice


def _score(net: Net, workload: Workload, neighbours: Neighbours, rows: int) -> Sensitivity:
    moves = bounded(workload, neighbours, rows=rows).need("linf", mechanism="the net mechanism")
    return Sensitivity(linf=net.size * moves, neighbours=neighbours)


def _compositions(total: int, parts: int) -> Integers:
    """All ways to share `total` rows among `parts` cells, a row each."""
    ways = np.zeros((1, 0), dtype=np.int64)
    left = np.array([total], dtype=np.int64)
    for _ in range(parts - 1):
        takes = left + 1
        owner = np.repeat(np.arange(len(left)), takes)
        taken = np.arange(len(owner)) - np.repeat(np.cumsum(takes) - takes, takes)
        ways, left = np.column_stack([ways[owner], taken]), left[owner] - taken
    return np.column_stack([ways, left])


def _rounded(count: int) -> str:
    digits = str(count)
    return digits if len(digits) <= 12 else f"about 10^{len(digits) - 1}"
