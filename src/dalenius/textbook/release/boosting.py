"""Boosting for queries: from synopses that are right on most questions to answers that are right on all.

How boosting weighs questions: up where synopses were wrong, down where they were right, and never abruptly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.accounting.composition import advanced_composition, compose, repeated
from dalenius.accounting.conversion import to_approximate
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.losses import ApproximateDP, Loss
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.selection import exponential_weights
from dalenius.synth.online.sealed import exact_answers, require_computable, wide
from dalenius.tabular.workloads import Integers, Reals, Workload
from dalenius.textbook.release.generators import BaseGenerator
from dalenius.textbook.release.syntheticizer import scaled_answers

_FINENESS = 2**32


def attenuated(apart: NDArray[Any], *, tolerance: int, gap: int) -> NDArray[Any]:
    """gap times the quality a of answers that are `apart` from the exact ones: a is 1 up to the tolerance, -1 from
    tolerance + gap on, and falls evenly in between.

    Guarantee: whole numbers in, whole numbers out; a change of `apart` by s changes the result by at most 2 s.
    Reference: Dwork & Roth 2014, Section 6.1.
    Textbook: S10.1.
    """
    width = whole(1, gap=gap)
    found: NDArray[Any] = np.clip(width - 2 * (apart - whole(0, tolerance=tolerance)), -width, width)
    return found


def step_size(eta: Number) -> Fraction:
    """alpha = ln((1 + 2 eta) / (1 - 2 eta)) / 2, rounded to a multiple of 2^-32: the rate of the weights.

    Reference: Dwork & Roth 2014, Claim 6.3; Section 6.2.3 lost the division.
    Textbook: S10.1.
    """
    half = _edge(eta)
    with precise():
        exact = (ball((1 + 2 * half) / (1 - 2 * half))).log() / 2
        return Fraction(floor(lower(exact) * _FINENESS + Fraction(1, 2)), _FINENESS)


def decay(eta: Number) -> Fraction:
    """What the sum of all weights is at most multiplied by in a round of a base generator that is right on a share of
    1/2 + eta: sqrt(1 - 4 eta^2) up to the rounding of the step, and so at most e^(-2 eta^2). Rounded up.

    Reference: the proof of Dwork & Roth 2014, Claim 6.3; the claim itself states e^(-eta^2).
    Textbook: S10.1.
    """
    half, step = _edge(eta), step_size(eta)
    with precise():
        rise, fall = ball(step).exp(), (-ball(step)).exp()
        return upper((rise + fall - 2 * ball(half) * (rise - fall)) / 2)


def rounds_needed(*, questions: int, eta: Number) -> int:
    """The least number of rounds after which fewer than one question can be answered wrongly: #Q decay^T < 1.

    Textbook: S10.1.
    """
    with precise():
        return floor(upper(ball(whole(1, questions=questions)).log() / -ball(decay(eta)).log())) + 1


def textbook_rounds(*, questions: int, eta: Number) -> int:
    """ln(#Q) / eta^2 rounds, rounded up: the textbook's figure, more than twice `rounds_needed`.

    Reference: Dwork & Roth 2014, Theorem 6.1.
    Textbook: S10.1.
    """
    half = _edge(eta)
    with precise():
        return ceil(upper(ball(whole(1, questions=questions)).log() / ball(half**2)))


def draw_epsilon(*, eta: Number, rounds: int, gap: Number, sensitivity: Number) -> Fraction:
    """epsilon* = 4 alpha T rho / mu: what one draw of a question costs at most, where one person changes every exact
    answer by at most rho.

    Reference: Dwork & Roth 2014, Lemma 6.4; the text's root covers too much in equation 6.2.
    Textbook: S10.1.
    """
    return 4 * step_size(eta) * whole(1, rounds=rounds) * positive(sensitivity=sensitivity) / positive(gap=gap)


def unattenuated_ratio(share: Number = Fraction(1, 10)) -> Fraction:
    """By how much one person can change the weight of a question if weights change by a fixed factor e instead: at
    least 1 / (share + (1 - share) / e^2), where a share of all questions goes from just right to just wrong.

    That is 4.5085 for a tenth, a loss of 1.506 for a single draw however large the table is: this is why boosting does
    not weigh so, and nothing here does. Rounded down.
    Reference: Dwork & Roth 2014, Section 6.1.
    Textbook: S10.2.
    """
    part = inside_unit(share=share)
    with precise():
        return lower(1 / (ball(part) + ball(1 - part) * (-ball(2)).exp()))


def unattenuated_loss(share: Number = Fraction(1, 10)) -> Fraction:
    """The logarithm of `unattenuated_ratio`: what a draw would cost at least. Rounded down.

    Textbook: S10.2.
    """
    with precise():
        return lower(ball(unattenuated_ratio(share)).log())


def _edge(eta: Number) -> Fraction:
    half = positive(eta=eta)
    if half >= Fraction(1, 2):
        raise InvalidParameter("eta", eta, allowed="between 0 and 1/2")
    return half


MOST_SCORE = 2**60
"""The largest score of a question: below it no sum of 64-bit integers can overflow."""


@dataclass(frozen=True, eq=False)
class BoostedSynopses:
    """The synopses of all rounds, as published answers in parts; a round without a synopsis says the uniform one.

    The answer to a question is the median over the rounds. `failed` counts the rounds whose generator found nothing.
    """

    workload: Workload
    rounds: Integers
    failed: int

    @property
    def answers(self) -> Reals:
        """The answers to all questions, in people."""
        found: Reals = np.median(self.rounds, axis=0) / self.workload.denominator
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryBoosting:
    """In each round, draw k questions with weights that grow where earlier synopses were wrong, and make a synopsis.

    The weight of question q in round t + 1 is proportional to exp(-alpha (a_1 + ... + a_t)), where a_j is 1 if synopsis
    j is within lambda of the exact answer, -1 beyond lambda + mu, and falls evenly in between. Questions drawn and
    weights stay inside: what is published are the synopses, and for each question the median of their answers.
    lambda (`base.tolerance`) and mu (`gap`) are in parts of 1 / denominator of a person.

    Guarantee: it costs the draws, each an exponential mechanism, and the synopses, composed. If the base is a
    (k, lambda, eta, beta)-generator, all answers are within lambda + mu with probability 1 - T beta.
    Proof: given the earlier synopses, one person changes each a_j by at most 2 rho / mu, so a draw in round t is the
    exponential mechanism on scores of sensitivity 2 (t - 1) rho / mu: at most epsilon* = 4 alpha T rho / mu. Draws and
    noisy answers could all be published at that price; everything else is computed from them. For accuracy, see
    `decay`: after T rounds the weights' sum is below 1, and a question that most synopses miss would weigh 1 or more.
    Reference: Dwork & Roth 2014, Section 6.1 and Theorem 6.1; Dwork, Rothblum & Vadhan 2010.
    Textbook: S10.1.
    """

    workload: Workload
    base: BaseGenerator
    rounds: int
    gap: int
    eta: Fraction

    def __post_init__(self) -> None:
        require_computable(people=self.base.people, denominator=self.workload.denominator)
        if whole(1, rounds=self.rounds) * max(whole(1, gap=self.gap), self.base.tolerance) > MOST_SCORE:
            raise InvalidParameter("gap", self.gap, allowed=f"at most {MOST_SCORE} in all rounds, with the tolerance")
        object.__setattr__(self, "eta", Fraction(self.eta))
        step_size(self.eta)

    @property
    def neighbours(self) -> Neighbours:
        return self.base.neighbours

    @cached_property
    def rate(self) -> Fraction:
        """The rate of the weights: alpha over mu, because scores are in units of 1 / mu."""
        return step_size(self.eta) / self.gap

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        """The loss for a histogram of this l1 sensitivity."""
        moved = self._moved(sensitivity)
        rounds = range(1, self.rounds)
        draws = [repeated(self._draw.loss(sensitivity=_scores(moved, earlier)), self.base.draws) for earlier in rounds]
        return compose([*draws, repeated(self.base.loss(sensitivity=moved), self.rounds)])

    def textbook_loss(self, *, sensitivity: SensitivityLike, draw_slack: Number, base_delta: Number) -> ApproximateDP:
        """(epsilon_sample + T epsilon_base, delta_sample + T delta_base), by the textbook's composition.

        epsilon_sample = sqrt(2 k T ln(1 / delta_sample)) epsilon* + k T epsilon* (e^epsilon* - 1); in the text a root
        covers both terms.
        Reference: Dwork & Roth 2014, equation 6.7.
        """
        moved = self._moved(sensitivity)
        each = draw_epsilon(eta=self.eta, rounds=self.rounds, gap=self.gap, sensitivity=moved)
        drawn = advanced_composition(epsilon=each, count=self.base.draws * self.rounds, slack=draw_slack)
        made = to_approximate(self.base.loss(sensitivity=moved), delta=base_delta)
        return ApproximateDP(drawn.epsilon + self.rounds * made.epsilon, drawn.delta + self.rounds * made.delta)

    def release(self, histogram: Integers, entropy: Entropy) -> BoostedSynopses:
        """The synopses' answers; which questions were drawn, and how likely each was, stays secret."""
        exact = exact_answers(self.workload, histogram)
        published, failed = [], 0
        for answers, found in self._synopses(exact, entropy):
            published.append(answers)
            failed += not found
        return BoostedSynopses(self.workload, np.stack(published), failed)

    def error(self) -> Fraction:
        """What all answers are within, in people, with probability 1 - `failure()`: lambda + mu."""
        return Fraction(self.base.tolerance + self.gap, self.workload.denominator)

    def failure(self) -> Fraction:
        """T beta, or an error where the theorem does not speak: too few rounds, or no theorem for the base."""
        needed = rounds_needed(questions=self.workload.count, eta=self.eta)
        if self.rounds < needed:
            raise TheoremDoesNotApply(
                "Theorem 6.1", needs=f"{needed} rounds", given=f"{self.rounds}", instead="more rounds"
            )
        return min(Fraction(1), self.rounds * self.base.failure())

    def _synopses(self, exact: Integers, entropy: Entropy) -> Iterator[tuple[Integers, bool]]:
        scores = np.zeros(self.workload.count, dtype=np.int64)
        uniform = np.ones(self.workload.grid.cells, dtype=np.int64)
        for _ in range(self.rounds):
            asked = self._drawn(scores, entropy)
            rows = self.base.synopsis(asked, exact[asked], entropy)
            answers = scaled_answers(self.workload, uniform if rows is None else rows, people=self.base.people)
            yield answers, rows is not None
            apart = np.abs(wide(exact, times=4) - answers)
            scores = scores - attenuated(apart, tolerance=self.base.tolerance, gap=self.gap)

    def _drawn(self, scores: Integers, entropy: Entropy) -> Integers:
        return exponential_weights(scores, self.rate, entropy, size=self.base.draws)

    @property
    def _draw(self) -> ExponentialMechanism:
        return ExponentialMechanism(rate=self.rate, neighbours=self.neighbours)

    def _moved(self, sensitivity: SensitivityLike) -> Fraction:
        """How far one step moves a single exact answer, in parts."""
        l1 = Sensitivity.of(sensitivity).need("l1", mechanism="boosting")
        rows = ceil(l1 / self.neighbours.add_remove_steps)
        if not rows:
            raise InvalidParameter("sensitivity", l1, allowed="greater than 0")
        return self.workload.sensitivity(self.neighbours, rows=rows).need("linf", mechanism="boosting")


def _scores(moved: Fraction, earlier: int) -> Sensitivity:
    """How far one step moves the score of a question after so many synopses."""
    return Sensitivity(linf=2 * moved * earlier)
