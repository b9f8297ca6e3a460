"""The dear tests of `statistical/test_selection.py`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy
from dalenius.mechanisms.selection.top_k import OneShotTopK
from dalenius.privacy.neighbours import Replace
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.selection import exponential_weights
from tests.statistical.test_selection import DRAWS, NOTCH, SCORES, dependence, grouped, noisy


@pytest.mark.textbook("S5.8")
def test_the_first_of_a_list_in_one_shot_is_the_noisy_max() -> None:
    assert first_listed(Fraction(5, 2)) > ALARM


def first_listed(scale: Fraction) -> float:
    """The first of a list in one shot against the law of noisy max."""
    drawn, entropy = OneShotTopK(k=3, scale=scale, neighbours=Replace()), SeededEntropy(scale)
    samples = [drawn.release(SCORES, entropy)[0] for _ in range(DRAWS)]
    return grouped(samples, [float(p) for p in noisy(Fraction(2, 5)).probabilities(SCORES)])


def test_the_first_of_a_list_at_a_scale_a_tenth_off_is_noticed() -> None:
    assert first_listed(Fraction(5, 2) / NOTCH) < ALARM


def best_of_many(drawn_at: Fraction, law: Fraction) -> float:
    """One candidate leads a hundred thousand others by 46: at rate 1/4 it wins about every second time."""
    scores, entropy, draws = np.zeros(100_001, dtype=np.int64), SeededEntropy(("many", drawn_at)), 200
    scores[77_777] = 46
    wins = sum(exponential_weights(scores, drawn_at, entropy) == 77_777 for _ in range(draws))
    return float(stats.binomtest(wins, draws, 1 / (1 + 100_000 * np.exp(-46 * float(law)))).pvalue)


@pytest.mark.textbook("S2.4")
def test_a_choice_among_a_hundred_thousand_follows_its_law_and_a_rate_a_tenth_off_is_noticed() -> None:
    assert best_of_many(Fraction(1, 4), Fraction(1, 4)) > ALARM
    assert best_of_many(Fraction(1, 4) * NOTCH, Fraction(1, 4)) < ALARM


def test_a_choice_by_trial_and_error_tells_who_won() -> None:
    def telling(entropy: Entropy) -> int:
        winner = exponential_weights(SCORES, Fraction(2, 5), entropy)
        entropy.read(8 * winner)  # as if every candidate before the winner had been tried
        return winner

    assert dependence(telling) < ALARM
