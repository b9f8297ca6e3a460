"""Choices among runs of equal points: lengths of every size weigh as they should, next to scores of every size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from checks import ALARM, SeededEntropy
from costs import cases
from dalenius.privacy.reals import ball, precise
from dalenius.randomness.selection import exponential_runs

DRAWS = 1500
RUNS = {
    "plain": ([0, -1, -2, -3], [1, 2, 3, 4], Fraction(1, 2)),
    "long and far": ([0, -60, -120], [1, 2**78, 2**156], Fraction(9, 10)),
    "one class of lengths": ([-5, -4, -4, -9], [9, 10, 11, 15], Fraction(1, 3)),
    "steep": ([3, 2, 2], [1, 1000, 40_000], Fraction(10)),
    "large scores": ([2**62, 2**62 - 1, -(2**62)], [3, 5, 10**9], Fraction(1)),
}


def law(scores: list[int], lengths: list[int], rate: Fraction) -> np.ndarray:
    with precise(512):
        weights = [
            ball(length) * ball(rate * (score - max(scores))).exp()
            for score, length in zip(scores, lengths, strict=True)
        ]
        total = sum(weights[1:], weights[0])
        return np.array([float(weight / total) for weight in weights])


def drawn(scores: list[int], lengths: list[int], rate: Fraction) -> np.ndarray:
    entropy, sizes = SeededEntropy("runs"), np.array(lengths)
    found = [exponential_runs(np.array(scores), sizes, rate, entropy) for _ in range(DRAWS)]
    return np.bincount(found, minlength=len(scores))


def fit(observed: np.ndarray, chances: np.ndarray) -> float:
    likely = chances * DRAWS > 5
    assert observed[chances * DRAWS < 1e-9].sum() == 0
    expected = chances[likely] * observed[likely].sum() / chances[likely].sum()
    return float(stats.chisquare(observed[likely], expected).pvalue)


@cases("name", RUNS, fast=2)
def test_runs_are_chosen_by_length_times_the_exponential_of_their_score(name: str) -> None:
    scores, lengths, rate = RUNS[name]
    assert fit(drawn(scores, lengths, rate), law(scores, lengths, rate)) > ALARM


def test_the_test_above_notices_lengths_that_are_left_out() -> None:
    scores, lengths, rate = RUNS["plain"]
    assert fit(drawn(scores, lengths, rate), law(scores, [1] * 4, rate)) < ALARM
