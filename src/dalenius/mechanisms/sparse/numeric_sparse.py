"""NumericSparse: give the values of those questions of a stream that are above their thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import whole_units
from dalenius.accounting.calibration import per_use_epsilon, textbook_epsilon
from dalenius.accounting.composition import compose, repeated
from dalenius.accounting.conversion import to_delta
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse.sparse_vector import (
    AboveThreshold,
    NumericSession,
    Sparse,
    sparse_accuracy,
    textbook_uses,
)
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.privacy.numbers import Number, inside_unit, positive, probability, whole
from dalenius.privacy.reals import ball, least_multiple, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy

_SEARCH = Fraction(8, 9)  # the part of epsilon that finds the questions; the rest answers them


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericSparse:
    """Find the questions above their thresholds by `search`, and answer each of them by `answers`, with fresh noise.

    Guarantee: the loss is that of the search together with one use of `answers` for each positive answer.
    The textbook's epsilon_1 + epsilon_2 = 10/9 epsilon is no slip: its scale for numbers, 2 c / epsilon_2, has a 2 that
    numbers do not need, so they cost epsilon / 9.
    A noisy threshold, a stop after `cutoff` numbers and fresh noise for each of them are what makes it private; popular
    forms lack one or the other.
    Reference: Dwork & Roth 2014, Algorithm 3 and Theorem 3.27.
    Textbook: S8.3, S8.4.
    """

    search: Sparse
    answers: DiscreteLaplace

    def __post_init__(self) -> None:
        require_same(search=self.search.neighbours, answers=self.answers.neighbours)

    @classmethod
    def calibrated(
        cls,
        *,
        sensitivity: SensitivityLike,
        epsilon: Number,
        cutoff: int,
        delta: Number = 0,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The least noise that is (epsilon, delta)-DP, if each round spends 8/9 on the search and 1/9 on the number."""
        target, event = positive(epsilon=epsilon), probability(delta=delta)
        each = per_use_epsilon(epsilon=target, delta=event, count=cutoff)

        def private(inverse: Fraction) -> bool:
            if inverse <= 0:
                return False
            loss = cls._of(_SEARCH / inverse, (1 - _SEARCH) / inverse, sensitivity, cutoff, neighbours).loss(
                sensitivity=sensitivity
            )
            return to_delta(loss, epsilon=target) <= event

        # A search and a number cost less than one release of their summed epsilon, which only shows with a delta.
        inverse = least_multiple(private, near=1 / each) if event else 1 / each
        return cls._of(_SEARCH / inverse, (1 - _SEARCH) / inverse, sensitivity, cutoff, neighbours)

    @classmethod
    def textbook(
        cls,
        *,
        sensitivity: SensitivityLike,
        epsilon: Number,
        cutoff: int,
        delta: Number,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The textbook's noise for delta > 0: sqrt(512) parts of epsilon for the search, one part for the numbers.

        Guarantee: (epsilon, delta)-DP if both parts are below 1. `calibrated` needs less noise and has no such limit.
        Reference: Dwork & Roth 2014, Algorithm 3, which rests on Corollary 3.21.
        Textbook: S8.3.
        """
        target, event = positive(epsilon=epsilon), inside_unit(delta=delta) / 2
        with precise():
            part = lower(1 / (ball(512).sqrt() + 1)) * target
        search = textbook_epsilon(epsilon=target - part, count=cutoff, slack=event)
        number = textbook_epsilon(epsilon=part, count=cutoff, slack=event)
        return cls._of(search, number, sensitivity, cutoff, neighbours)

    @classmethod
    def _of(
        cls,
        search: Fraction,
        number: Fraction,
        sensitivity: SensitivityLike,
        cutoff: int,
        neighbours: Neighbours | None,
    ) -> Self:
        rounds = AboveThreshold.calibrated(sensitivity=sensitivity, epsilon=whole_units(search), neighbours=neighbours)
        answers = DiscreteLaplace.calibrated(
            sensitivity=rounds.sensitivity, epsilon=whole_units(number), neighbours=rounds.neighbours
        )
        return cls(search=Sparse(rounds=rounds, cutoff=cutoff), answers=answers)

    @property
    def neighbours(self) -> Neighbours:
        """The relation that it is calibrated for."""
        return self.search.neighbours

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """The loss of a whole stream of questions that move by at most `sensitivity`."""
        moves = Sensitivity.of(sensitivity).need("linf", mechanism="NumericSparse")
        numbers = repeated(self.answers.loss(sensitivity=moves), self.search.cutoff)
        return compose([self.search.loss(sensitivity=moves), numbers])

    def start(self, allowance: Allowance, entropy: Entropy) -> NumericSession:
        """Pay for `cutoff` numbers, and begin."""
        terms = self.search.terms()
        loss = self.loss(sensitivity=terms.sensitivity)
        return NumericSession(
            replace(terms, mechanism="NumericSparse", loss=loss, answers=self.answers), allowance, entropy
        )

    def error(self, beta: Number, *, queries: int) -> int:
        """The alpha up to which all answers to `queries` questions are right, with probability 1 - beta.

        Right means: numbers are off by at most alpha, and the other questions have a value of at most their threshold +
        alpha. Half of beta goes to the search and half to the numbers.
        """
        risk = inside_unit(beta=beta) / 2
        numbers = self.answers.error(risk, count=min(self.search.cutoff, whole(1, queries=queries)))
        return max(self.search.error(risk, queries=queries), numbers)


def numeric_sparse_accuracy(
    *,
    epsilon: Number,
    cutoff: int,
    queries: int,
    beta: Number,
    delta: Number = 0,
    sensitivity: SensitivityLike = 1,
) -> Fraction:
    """The textbook's alpha for k questions of which at most c are above threshold - alpha, corrected and rounded up.

    9 c s (ln k + ln(4 c / beta)) / epsilon for delta = 0. For delta > 0 the text has (ln k + ln(4 c / beta))
    sqrt(c ln(2 / delta)) (sqrt(512) + 1) s / epsilon, which forgets the noise of the numbers: these need
    sqrt(8) ln(2 c / beta) in the place of the bracket, so the larger of the two is taken.
    Reference: Dwork & Roth 2014, Theorem 3.28; for c = k = 10 and beta = 0.05 its figure fails with probability 0.35.
    Textbook: S8.3.
    """
    rounds, target, risk = whole(1, cutoff=cutoff), positive(epsilon=epsilon), inside_unit(beta=beta) / 2
    moves, event = Sensitivity.of(sensitivity).need("linf", mechanism="NumericSparse"), probability(delta=delta) / 2
    with precise():
        part = lower(1 / (ball(512).sqrt() + 1 if event else ball(9))) * target
        numbers = upper(ball(textbook_uses(rounds, delta=event) * moves / part) * ball(rounds / risk).log())
    search = sparse_accuracy(
        epsilon=target - part, cutoff=rounds, queries=queries, beta=risk, delta=event, sensitivity=moves
    )
    return max(search, numbers)
