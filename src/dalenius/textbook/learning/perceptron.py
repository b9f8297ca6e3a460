"""The perceptron on statistical queries: every round adds up the rows that are still wrong, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.rows import ONE, Entries, Integers, SealedRows, product
from dalenius.mechanisms.budget_parts import BudgetPart, Noise
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.randomness.entropy import Entropy
from dalenius.textbook.learning.queries import Oracle, StatisticalQuery

_HEAVIEST = 2**40
_TOLERANCES = 32


@dataclass(frozen=True)
class Perceptron:
    """Weights w of a rule that calls x positive if <w, x> > 0.

    Guarantee: `learn` costs the whole budget part. In each round a row adds its features with the sign of its label,
    and 1 to the number of wrong rows, if the public weights of that round get it wrong: an l2 norm of at most that of
    the rows, and one more coordinate. The weights are the sum of all noisy sums before; the result is that of the round
    with the fewest wrong rows, by the noisy numbers.
    Reference: Blum, Dwork, McSherry & Nissim 2005, Section 5.1 (a private perceptron); Novikoff 1962.
    Textbook: S14.11.
    """

    weights: tuple[int, ...]

    @classmethod
    def learn(cls, rows: SealedRows, budget_part: BudgetPart, entropy: Entropy, *, rounds: int) -> Perceptron:
        """Weights for the rows, whose positive target is 1, after so many rounds."""
        count = whole(1, rounds=rounds)
        oracle = Oracle.of(rows, budget_part, entropy, queries=count * (rows.width + 1))
        weights, fewest = np.zeros(rows.width, dtype=np.int64), None
        best = weights
        for _ in range(count):
            *correction, wrong = oracle.totals(wrong_rows(weights, rows)).tolist()
            if fewest is None or wrong < fewest:
                fewest, best = wrong, weights
            weights = np.clip(weights + np.array(correction), -_HEAVIEST, _HEAVIEST).astype(np.int64)
        return cls(tuple(best.tolist()))

    def predict(self, features: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Which rows are positive."""
        return np.asarray(_scores(features, np.array(self.weights)) > 0)

    @staticmethod
    def noise(rows: SealedRows, budget_part: BudgetPart, *, rounds: int) -> Noise:
        """The noise that each round would have."""
        each, weights = budget_part.equal(rounds * (rows.width + 1)), np.zeros(rows.width, dtype=np.int64)
        return budget_part.noise((rows.width + 1) * each, wrong_rows(weights, rows).change(rows))


def wrong_rows(weights: Integers, rows: SealedRows) -> StatisticalQuery:
    """What the rows that public weights get wrong add up to, label times features, and how many they are."""

    def part(entries: Entries) -> Integers:
        signs = np.where(entries.target == 1, 1, -1)
        wrong = signs * _scores(entries.features, weights) <= 0
        corrections = signs[:, None] * entries.features.astype(np.int64)
        return np.hstack([corrections, np.full((len(entries), 1), ONE)]) * wrong[:, None]

    return StatisticalQuery(
        part=part, length=rows.width + 1, lower=-ONE, l2_squared=rows.norm_squared + ONE**2, l1=(rows.width + 1) * ONE
    )


def perceptron_rounds(*, margin: Number, error: Number, tolerance: Number = 0) -> int:
    """After so many rounds, some round had a share of less than `error` of the rows wrong, or noise beyond tolerance.

    Guarantee: if some unit vector v has label <v, x> >= margin for all rows, whose norm is at most 1, and the noise of
    a round with the share m of wrong rows has a norm of at most tolerance m n, then fewer than (1 + 2 tolerance) /
    (error (margin - 2 tolerance)^2) + 1 rounds have m >= error.
    Proof: with weights divided by n, a round raises <v, w> by at least m (margin - tolerance). It adds a vector of norm
    at most m (1 + tolerance) whose part without noise does not point along w, so |w|^2 grows to at most
    (|w| + m tolerance)^2 + m^2 (1 + 2 tolerance); by induction |w| <= tolerance M + sqrt((1 + 2 tolerance) M) for
    M = sum of m, as m^2 <= m. With <v, w> <= |w| this gives M <= (1 + 2 tolerance) / (margin - 2 tolerance)^2.
    Reference: Novikoff 1962 for single rows without noise.
    Textbook: S14.11.
    """
    gap, share = positive(margin=margin), positive(error=error)
    slack = Fraction(0) if tolerance == 0 else positive(tolerance=tolerance)
    room = positive(margin_less_two_tolerances=gap - 2 * slack)
    return ceil((1 + 2 * slack) / (share * room**2)) + 1


def perceptron_error(*, margin: Number, rounds: int, rows: int, width: int, noise: Noise, beta: Number) -> Fraction:
    """With probability 1 - beta, the learnt weights get at most this share of separable rows wrong.

    With E the size that no noise of any round exceeds: for every tolerance t, some round has a share of wrong rows of
    at most m = max(sqrt(d) E / (t n), what `perceptron_rounds` allows at t); the least m of some tolerances is taken.
    The noisy numbers of wrong rows tell rounds apart up to 2 E / n. The weights must not have been cut at 2^40.
    Textbook: S14.11.
    """
    gap, count = positive(margin=margin), whole(2, rounds=rounds)
    people, features = whole(1, rows=rows), whole(1, width=width)
    largest = Fraction(noise.error(inside_unit(beta=beta), count=count * (features + 1)), ONE)
    with precise():
        length = upper(ball(features).sqrt() * ball(largest / people))
    tolerances = [gap * place / (2 * _TOLERANCES) for place in range(1, _TOLERANCES)]
    shares = (max(length / t, (1 + 2 * t) / ((count - 1) * (gap - 2 * t) ** 2)) for t in tolerances)
    return min(shares) + 2 * largest / people


def _scores(features: NDArray[np.int16], weights: Integers) -> Integers:
    return product(features, weights, largest=ONE * _HEAVIEST)
