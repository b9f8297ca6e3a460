"""Iterative construction: find a question that the hypothesis answers wrong, measure it, learn, and repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Self

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import whole_units
from dalenius.accounting.calibration import per_use_epsilon
from dalenius.accounting.composition import compose, repeated
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.sparse.numeric_sparse import numeric_sparse_accuracy
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, probability, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import Entropy
from dalenius.synth.online.sealed import Release, bounded, require_computable, sealed_answers, wide
from dalenius.synth.online.update_rules import Hypothesis, UpdateRule, least_alpha, require_enough
from dalenius.tabular.workloads import Integers, Workload

_LARGEST = 2.0**61


@dataclass(frozen=True, kw_only=True, eq=False)
class IterativeConstruction:
    """In each round choose a question by the exponential mechanism, measure it with Laplace noise, and update; stop as
    soon as the measured value is near the hypothesis' answer, or after T rounds.

    Guarantee: the loss of T choices and T measurements, T = `rule.most_updates`. It is looked for as a whole before the
    first round, and drawn round by round. The text's algorithm lacks the halt after its output.
    Accuracy: see `error`. `rule.alpha` is what the theorem calls alpha / 2.
    With `MultiplicativeWeights` this is the offline form of private multiplicative weights.
    Reference: Dwork & Roth 2014, Algorithm 8 and Theorems 5.3 to 5.7, corrected.
    Textbook: S9.9, S9.8.
    """

    rule: UpdateRule
    workload: Workload
    distinguisher: ExponentialMechanism
    numbers: DiscreteLaplace
    moves: Fraction
    beta: Fraction

    def __post_init__(self) -> None:
        require_same(distinguisher=self.distinguisher.neighbours, numbers=self.numbers.neighbours)
        require_computable(people=self.rule.people, denominator=self.workload.denominator)
        object.__setattr__(self, "beta", inside_unit(beta=self.beta))

    @classmethod
    def calibrated(
        cls,
        rule: UpdateRule,
        workload: Workload,
        *,
        epsilon: Number,
        beta: Number,
        neighbours: Neighbours,
        delta: Number = 0,
        rows: int = 1,
    ) -> Self:
        """The noise for which all rounds together are (epsilon, delta)-DP, where a unit has at most `rows` rows.

        Each of the 2 T uses gets epsilon / 2T for delta = 0, otherwise the most that optimal composition allows, which
        is more than the text's epsilon / (4 sqrt(T ln(1 / delta))).
        """
        uses = 2 * max(1, rule.most_updates)
        each = whole_units(per_use_epsilon(epsilon=positive(epsilon=epsilon), delta=delta, count=uses))
        moves = bounded(workload, stated(neighbours), rows=rows).need("linf", mechanism="iterative construction")
        made = cls(
            rule=rule,
            workload=workload,
            distinguisher=ExponentialMechanism.calibrated(
                sensitivity=Sensitivity(linf=moves), epsilon=each, neighbours=neighbours
            ),
            numbers=DiscreteLaplace.calibrated(sensitivity=moves, epsilon=each, neighbours=neighbours),
            moves=moves,
            beta=inside_unit(beta=beta),
        )
        require_enough(rule, error=made.error())
        return made

    @property
    def rounds(self) -> int:
        """How often it may choose and measure."""
        return max(1, self.rule.most_updates)

    @property
    def threshold(self) -> int:
        """How far, in parts, a measured value must be from the hypothesis' answer for an update.

        One more than alpha, the noise of a measurement and half a part of rounding: then, but for beta, every update is
        one that the rule's bound counts.
        """
        needed = self.rule.alpha * self.rule.people * self.workload.denominator
        return floor(needed + self._noise + Fraction(1, 2)) + 1

    def loss(self) -> Loss:
        """The most that a release costs."""
        return self._loss(self.moves)

    def error(self) -> Fraction:
        """With probability 1 - beta, no answer is off by more people than this.

        Proof: half of beta goes to the T noises, half to the T choices. If it stops early, the chosen question is off
        by less than the threshold plus the noise, and no question by more than the choice's shortfall beyond that. If
        not, it has made as many updates as there can be, and no question is off by more than alpha.
        Half a part more comes from rounding.
        """
        missed = self.distinguisher.error(self.beta / (2 * self.rounds), candidates=self.workload.count)
        parts = self.threshold + self._noise + missed + Fraction(1, 2)
        return parts / self.workload.denominator

    def release(self, histogram: Exact[Integers], allowance: Allowance, entropy: Entropy) -> Release:
        """Run all rounds on a sealed histogram, if the allowance suffices for as many as there can be."""
        return self.release_from(sealed_answers(histogram, self.workload), allowance, entropy)

    def release_from(self, truth: Exact[Integers], allowance: Allowance, entropy: Entropy) -> Release:
        """The same from the sealed vector of all exact answers, in parts: for questions that are not linear, too."""
        allowance.require(self._loss(truth.sensitivity.need("linf", mechanism="iterative construction")))
        hypothesis, used, parts = self.rule.start(), 0, self.workload.denominator
        while used < self.rounds:
            used += 1
            public = self._public(hypothesis)
            question = self._distinguish(truth, public, allowance, entropy)
            value = self._measured(truth, question, allowance, entropy)
            if abs(value - int(public[question])) < self.threshold:
                break
            weights = self.workload.weights(question) / parts
            hypothesis = self.rule.updated(hypothesis, weights, value=value / parts, slack=self._noise / parts)
        return Release(
            answers=self.rule.answers(hypothesis, self.workload),
            histogram=self.rule.histogram(hypothesis),
            error=self.error(),
            beta=self.beta,
            rounds=used,
        )

    def _loss(self, moves: Fraction) -> Loss:
        """The loss of all rounds where one step moves an answer by so many parts."""
        choice = self.distinguisher.loss(sensitivity=Sensitivity(linf=moves))
        return repeated(compose([choice, self.numbers.loss(sensitivity=moves)]), self.rounds)

    @property
    def _noise(self) -> int:
        return self.numbers.error(self.beta / 2, count=self.rounds)

    def _public(self, hypothesis: Hypothesis) -> Integers:
        """The hypothesis' answers as integers, so that only integers meet the data; no larger than sums can hold."""
        answers = self.rule.answers(hypothesis, self.workload) * self.workload.denominator
        return np.rint(np.clip(np.nan_to_num(answers), -_LARGEST, _LARGEST)).astype(np.int64)

    def _distinguish(self, truth: Exact[Integers], public: Integers, allowance: Allowance, entropy: Entropy) -> int:
        def scores(exact: Integers) -> Integers:
            apart: Integers = np.abs(wide(exact, times=2) - public)
            return apart

        bound = Sensitivity(linf=truth.sensitivity.need("linf", mechanism="the distinguisher"))
        return measure(self.distinguisher, truth.map(scores, sensitivity=bound), allowance, entropy)

    def _measured(self, truth: Exact[Integers], question: int, allowance: Allowance, entropy: Entropy) -> int:
        def value(exact: Integers) -> int:
            return int(exact[question])

        single = truth.sensitivity.need("linf", mechanism="a measured question")
        return measure(self.numbers, truth.map(value, sensitivity=single), allowance, entropy)


def distinguisher_accuracy(*, queries: int, people: int, epsilon: Number, gamma: Number) -> Fraction:
    """F(epsilon) = 2 ln(#Q / gamma) / (n epsilon): how far the chosen question is from the worst one, as a share.

    Guarantee: with probability 1 - gamma. The exponential mechanism with score |f(x) - f(D)| is this distinguisher,
    and the same thing as an agnostic learner of the questions as concepts.
    Reference: Dwork & Roth 2014, Theorem 5.5 and Remark 5.1.
    Textbook: S9.8.
    """
    scale = 2 / (positive(epsilon=epsilon) * whole(1, people=people))
    with precise():
        return upper(ball(scale) * ball(whole(1, queries=queries) / inside_unit(gamma=gamma)).log())


def iterative_accuracy(
    updates: Callable[[Fraction], Fraction | int],
    *,
    queries: int,
    people: int,
    epsilon: Number,
    beta: Number,
    delta: Number = 0,
) -> Fraction:
    """The least alpha >= 32 T ln(2 T #Q / beta) / (epsilon n), or 64 sqrt(T ln(1 / delta)) ln(2 T #Q / beta) /
    (epsilon n) for delta > 0, with T = updates(alpha / 2): all answers are within alpha, as shares.

    The text has 8 and 16, which is not what its epsilon_0 gives in its own Theorem 5.6.
    Reference: Dwork & Roth 2014, Theorem 5.7, corrected.
    Textbook: S9.9.
    """
    count, target = whole(1, queries=queries), positive(epsilon=epsilon)
    event, risk = probability(delta=delta), inside_unit(beta=beta)

    def reached(alpha: Fraction, total: int) -> bool:
        rounds = max(Fraction(1), Fraction(updates(alpha / 2)))
        with precise():
            depth = ball(2 * rounds * count / risk).log()
            uses = 64 * (ball(rounds) * -ball(event).log()).sqrt() if event else 32 * ball(rounds)
            return upper(uses * depth / ball(target * total)) <= alpha

    return least_alpha(reached, people=whole(1, people=people))


def online_construction_accuracy(
    updates: Callable[[Fraction], Fraction | int],
    *,
    queries: int,
    people: int,
    epsilon: Number,
    beta: Number,
    delta: Number = 0,
) -> Fraction:
    """The least alpha for which OnlineIC answers all questions within 3 alpha, as shares.

    alpha >= 9 T (ln 2#Q + ln(4 T / beta)) / (epsilon n), or (sqrt(512) + 1)(ln 2#Q + ln(4 T / beta)) sqrt(T ln(2 /
    delta)) / (epsilon n) for delta > 0 (and the noise of the numbers, which the text forgets), with T = updates(alpha).
    Reference: Dwork & Roth 2014, Theorems 5.14 and 5.15.
    Textbook: S9.12.
    """
    count = whole(1, queries=queries)

    def reached(alpha: Fraction, total: int) -> bool:
        rounds = max(1, ceil(updates(alpha)))
        needed = numeric_sparse_accuracy(epsilon=epsilon, cutoff=rounds, queries=2 * count, beta=beta, delta=delta)
        return needed <= alpha * total

    return least_alpha(reached, people=whole(1, people=people))
