"""Draws of the selection mechanisms follow their exact laws; each test has a twin that must notice a 10 % wrong rate.

A correct mechanism fails one of these tests with a probability of at most 10^-9 (`ALARM`); the draws are seeded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy, chi_square
from costs import cases
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.selection.top_k import TopK
from dalenius.privacy.neighbours import Replace
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.selection import exponential_coins, exponential_weights

DRAWS = 3_000
SCORES = [0] * 20 + [5, 8]
"""Twenty poor candidates together weigh about as much as the best one, so that a wrong rate shows."""
NOTCH = Fraction(9, 10)


class Counting(SeededEntropy):
    """Reproducible bytes that remember how many were asked for."""

    asked = 0

    def read(self, count: int) -> bytes:
        self.asked += count
        return super().read(count)


def weights(rate: Fraction) -> ExponentialMechanism:
    return ExponentialMechanism(rate=rate, neighbours=Replace())


def weights_with_base(rate: Fraction) -> ExponentialMechanism:
    base = (Fraction(1, 2), Fraction(2)) * 10 + (Fraction(0), Fraction(1))
    return ExponentialMechanism(rate=rate, neighbours=Replace(), base=base)


def flips(rate: Fraction) -> PermuteAndFlip:
    return PermuteAndFlip(rate=rate, neighbours=Replace())


def noisy(rate: Fraction) -> NoisyMax:
    return NoisyMax(scale=1 / rate, neighbours=Replace())


KINDS: list[Callable[[Fraction], Any]] = [weights, weights_with_base, flips, noisy]


def grouped(samples: list[int], probabilities: list[float]) -> float:
    """The p-value of five candidates at a time, so that few cells carry all the evidence."""
    cells = [sum(probabilities[start : start + 5]) for start in range(0, len(SCORES), 5)]
    return chi_square([index // 5 for index in samples], lambda cell: cells[cell] if 0 <= cell < len(cells) else 0.0)


def fit(drawn: Any, law: Any) -> float:
    entropy = SeededEntropy(repr(drawn))
    samples = [drawn.release(SCORES, entropy) for _ in range(DRAWS)]
    return grouped(samples, [float(p) for p in law.probabilities(SCORES)])


@pytest.mark.textbook("S5.1", "S5.2", "S5.3", "S5.4")
@cases("kind", KINDS, fast=1)
def test_the_chosen_index_follows_its_exact_law(kind: Callable[[Fraction], Any]) -> None:
    assert fit(kind(Fraction(2, 5)), kind(Fraction(2, 5))) > ALARM


@cases("kind", KINDS, fast=1)
def test_a_rate_that_is_a_tenth_off_is_noticed(kind: Callable[[Fraction], Any]) -> None:
    assert fit(kind(Fraction(2, 5) * NOTCH), kind(Fraction(2, 5))) < ALARM


@pytest.mark.textbook("S5.2")
def test_drawing_permute_and_flip_for_the_exponential_mechanism_is_noticed() -> None:
    assert fit(flips(Fraction(2, 5)), weights(Fraction(2, 5))) < ALARM


def list_fit(drawn: TopK, law: TopK) -> float:
    """Where the one good candidate of ten is listed: first, second, or not at all."""
    scores, entropy = [0] * 9 + [6], SeededEntropy(repr(drawn))
    places = [0.0, 0.0, 0.0]
    for listed, chance in law.probabilities(scores).items():
        places[place_of(9, listed)] += float(chance)
    samples = [place_of(9, drawn.release(scores, entropy)) for _ in range(DRAWS)]
    return chi_square(samples, lambda place: places[place] if 0 <= place < 3 else 0.0)


def place_of(candidate: int, listed: tuple[int, ...]) -> int:
    return listed.index(candidate) if candidate in listed else len(listed)


def peeled(rate: Fraction) -> TopK:
    return TopK(k=2, rate=rate, neighbours=Replace())


@pytest.mark.textbook("S5.8")
def test_peeled_lists_follow_their_exact_law() -> None:
    assert list_fit(peeled(Fraction(1, 2)), peeled(Fraction(1, 2))) > ALARM


def test_peeled_lists_at_a_rate_a_tenth_off_are_noticed() -> None:
    assert list_fit(peeled(Fraction(1, 2) * NOTCH), peeled(Fraction(1, 2))) < ALARM


def coins_fit(drawn_at: Fraction, law: Fraction) -> float:
    """A million coins of many gaps: the number of heads for each gap is binomial; the smallest p-value, corrected."""
    gaps = np.arange(20)
    scores = np.repeat(-gaps, 50_000)
    heads = exponential_coins(scores, drawn_at, SeededEntropy(drawn_at)).reshape(20, -1).sum(axis=1)
    chances = np.exp(-float(law) * gaps)
    tests = [stats.binomtest(int(n), 50_000, float(p)).pvalue for n, p in zip(heads, chances, strict=True)]
    return min(1.0, 20 * min(tests))


@pytest.mark.textbook("S2.4")
def test_coins_show_heads_as_often_as_stated() -> None:
    assert coins_fit(Fraction(1, 4), Fraction(1, 4)) > ALARM
    assert coins_fit(Fraction(1, 4) * NOTCH, Fraction(1, 4)) < ALARM


def dependence(draw: Callable[[Entropy], int]) -> float:
    """The p-value of independence between the winner and the random bytes that were used."""
    entropy, table = Counting("bytes"), np.zeros((len(SCORES), 2))
    for _ in range(5_000):
        before = entropy.asked
        winner = draw(entropy)
        table[winner, int(entropy.asked - before > 8)] += 1
    cells = table[table.sum(axis=1) >= 20][:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(cells).pvalue) if cells.shape[1] > 1 else 1.0


def test_the_work_does_not_tell_who_won() -> None:
    assert dependence(lambda entropy: exponential_weights(SCORES, Fraction(2, 5), entropy)) > ALARM
