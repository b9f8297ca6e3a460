"""The weights of boosting: how fast they decide, what one person changes, and why a fixed factor would leak."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.neighbours import Replace
from dalenius.textbook.release.boosting import (
    attenuated,
    decay,
    draw_epsilon,
    rounds_needed,
    step_size,
    textbook_rounds,
    unattenuated_loss,
    unattenuated_ratio,
)
from dalenius.textbook.release.generators import database_bits, sample_factor, samples_needed

ETA = Fraction(1, 3)


@pytest.mark.textbook("S10.1")
def test_quality_is_one_within_and_minus_one_beyond_and_even_in_between() -> None:
    found = attenuated(np.array([0, 5, 6, 10, 11, 15, 99]), tolerance=5, gap=10)
    assert found.tolist() == [10, 10, 8, 0, -2, -10, -10]


def largest_step(rule: object) -> int:
    assert callable(rule)
    return max(abs(one - other) for one, other in pairwise(rule(np.arange(60)).tolist()))


@pytest.mark.textbook("S10.1")
def test_one_person_moves_quality_by_two_over_mu() -> None:
    assert largest_step(lambda apart: attenuated(apart, tolerance=7, gap=20)) == 2


@pytest.mark.textbook("S10.2")
def test_the_check_above_notices_weights_that_jump() -> None:
    assert largest_step(lambda apart: np.where(apart <= 7, 20, -20)) == 40


@pytest.mark.textbook("S10.1")
def test_the_step_makes_the_decay_least() -> None:
    half = float(ETA)
    assert float(step_size(ETA)) == pytest.approx(log((1 + 2 * half) / (1 - 2 * half)) / 2)
    assert float(decay(ETA)) == pytest.approx((1 - 4 * half**2) ** 0.5)
    assert decay(ETA) < Fraction(exp(-2 * half**2))
    assert rounds_needed(questions=200, eta=ETA) == 19
    assert textbook_rounds(questions=200, eta=ETA) == 48
    with pytest.raises(InvalidParameter, match="eta"):
        step_size(Fraction(1, 2))


def wrong_after(rounds: int, questions: int, eta: Fraction) -> int:
    """How many medians an adversary keeps wrong who may spoil a share of 1/2 - eta of the weight in each round."""
    quality = np.zeros(questions)
    for _ in range(rounds):
        weights = np.exp(-float(step_size(eta)) * quality)
        order = np.argsort(quality, kind="stable")  # the ones that are most often wrong, and weigh most
        spoilt = order[weights[order].cumsum() <= float(Fraction(1, 2) - eta) * weights.sum()]
        change = np.ones(questions)
        change[spoilt] = -1
        quality += change
    return int((quality <= 0).sum())


@pytest.mark.textbook("S10.1")
@pytest.mark.parametrize("eta", [Fraction(1, 3), Fraction(1, 5), Fraction(1, 8)])
def test_after_enough_rounds_no_adversary_keeps_a_median_wrong(eta: Fraction) -> None:
    assert wrong_after(rounds_needed(questions=500, eta=eta), 500, eta) == 0


@pytest.mark.textbook("S10.1")
def test_the_check_above_notices_too_few_rounds() -> None:
    assert wrong_after(rounds_needed(questions=500, eta=Fraction(1, 8)) // 8, 500, Fraction(1, 8)) > 0


TOLERANCE, GAP, ROUNDS = 3, 40, 6


def worst_log_ratio(rule: object) -> float:
    """The largest log-ratio of the weight of a question on neighbours, given the same synopses."""
    assert callable(rule)
    rng, worst = np.random.default_rng(3), 0.0
    mechanism = ExponentialMechanism(rate=step_size(ETA) / GAP, neighbours=Replace())
    for _ in range(5):
        exact = rng.integers(0, 60, size=20)
        other = exact + rng.integers(-1, 2, size=20)
        synopses = rng.integers(0, 60, size=(ROUNDS - 1, 20))
        laws = [
            mechanism.probabilities((-rule(np.abs(truth - synopses)).sum(axis=0)).tolist()) for truth in (exact, other)
        ]
        worst = max(worst, *(abs(float((one / two).log())) for one, two in zip(*laws, strict=True)))
    return worst


@pytest.mark.textbook("S10.1")
def test_no_weight_changes_by_more_than_the_draw_costs() -> None:
    stated = draw_epsilon(eta=ETA, rounds=ROUNDS, gap=GAP, sensitivity=1)
    found = worst_log_ratio(lambda apart: attenuated(apart, tolerance=TOLERANCE, gap=GAP))
    assert 0 < found <= float(stated)


@pytest.mark.textbook("S10.2")
def test_the_check_above_notices_a_fixed_factor() -> None:
    stated = draw_epsilon(eta=ETA, rounds=ROUNDS, gap=GAP, sensitivity=1)
    assert worst_log_ratio(lambda apart: np.where(apart <= TOLERANCE, GAP, -GAP)) > float(stated)


@pytest.mark.textbook("S10.2")
def test_a_fixed_factor_loses_one_and_a_half_however_many_people_there_are() -> None:
    """All questions are just right on y; on x, with one person more, a tenth is just wrong."""
    assert float(unattenuated_ratio()) == pytest.approx(4.5085, abs=5e-5)
    assert float(unattenuated_loss()) == pytest.approx(1.506, abs=5e-4)
    for people in (10**3, 10**9):
        exact = np.full(100, people)
        other = exact + (np.arange(100) < 10)
        synopsis = exact - TOLERANCE
        wrong = np.where(np.abs(other - synopsis) <= TOLERANCE, exp(-1), exp(1))
        right = np.where(np.abs(exact - synopsis) <= TOLERANCE, exp(-1), exp(1))
        assert wrong[0] / wrong.sum() * right.sum() / right[0] == pytest.approx(float(unattenuated_ratio()))
        gentle = [attenuated(np.abs(truth - synopsis), tolerance=TOLERANCE, gap=GAP) for truth in (exact, other)]
        assert np.abs(gentle[0] - gentle[1]).max() == 2


def chance_of_bad_fit(questions: int, gamma: Fraction) -> float:
    """The chance, at most, that some synopsis of 5 bits fits random questions and yet misses a sixth of all."""
    rng = np.random.default_rng(8)
    shares = np.sort(rng.uniform(0.1, 0.6, size=2**5))  # on how much of the distribution each synopsis is wrong
    shares[:8] = 1 / 6 + 1e-6  # as hard to notice as can be
    return float(((1 - shares[shares > 1 / 6]) ** questions).sum())


@pytest.mark.textbook("S10.3")
def test_a_synopsis_that_fits_enough_questions_fits_most() -> None:
    gamma = Fraction(1, 100)
    needed = samples_needed(bits=5, eta=ETA, gamma=gamma)
    assert needed == pytest.approx(6 * (5 + log(100)), abs=1)
    assert sample_factor(bits=5, eta=ETA, gamma=gamma) * 5 <= needed
    assert chance_of_bad_fit(needed, gamma) <= float(gamma)
    assert database_bits(rows=5, cells=8) == pytest.approx(15)


@pytest.mark.textbook("S10.3")
def test_the_check_above_notices_too_few_questions() -> None:
    gamma = Fraction(1, 100)
    assert chance_of_bad_fit(samples_needed(bits=5, eta=ETA, gamma=gamma) // 3, gamma) > float(gamma)
