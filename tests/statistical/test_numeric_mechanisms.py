"""What the numeric mechanisms release follows their exact laws; a correct one fails a test once in 10^9 runs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from checks import ALARM, SeededEntropy, chi_square
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.noise.randomized_response import CoinResponse, RandomizedResponse, Response
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.randomness.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, LaplaceSumLaw, NoiseLaw

DRAWS = 100_000
SCALES = [Fraction(1, 2), Fraction(7, 3), Fraction(20)]


def probability(law: NoiseLaw) -> Callable[[int], float]:
    return lambda z: float(law.pmf(z))


def noise(mechanism: DiscreteLaplace | DiscreteGaussian, seed: object) -> NDArray[np.int64]:
    """The released array minus the value that went in."""
    value = np.arange(DRAWS, dtype=np.int64) * 1_000_003
    return mechanism.release(value, SeededEntropy(seed)) - value


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_noise_follows_its_law(scale: Fraction) -> None:
    drawn = noise(DiscreteLaplace(scale, AddRemove()), ("laplace", scale))
    assert chi_square(drawn, probability(DiscreteLaplaceLaw(scale))) > ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_the_test_above_notices_a_scale_that_is_a_tenth_off(scale: Fraction) -> None:
    drawn = noise(DiscreteLaplace(scale * Fraction(9, 10), AddRemove()), ("laplace", scale))
    assert chi_square(drawn, probability(DiscreteLaplaceLaw(scale))) < ALARM


@pytest.mark.parametrize("deviation", SCALES)
def test_gaussian_noise_follows_its_law(deviation: Fraction) -> None:
    drawn = noise(DiscreteGaussian(deviation**2, AddRemove()), ("gaussian", deviation))
    assert chi_square(drawn, probability(DiscreteGaussianLaw(deviation**2))) > ALARM


@pytest.mark.parametrize("deviation", SCALES)
def test_the_test_above_notices_a_deviation_that_is_a_tenth_off(deviation: Fraction) -> None:
    drawn = noise(DiscreteGaussian((deviation * Fraction(9, 10)) ** 2, AddRemove()), ("gaussian", deviation))
    assert chi_square(drawn, probability(DiscreteGaussianLaw(deviation**2))) < ALARM


def test_totals_of_noisy_cells_follow_the_law_of_the_sum() -> None:
    totals = noise(DiscreteLaplace(Fraction(3), AddRemove()), "cells").reshape(-1, 5).sum(axis=1)
    assert chi_square(totals, probability(LaplaceSumLaw(Fraction(3), 5))) > ALARM
    assert chi_square(totals, probability(LaplaceSumLaw(Fraction(33, 10), 5))) < ALARM


def reports(mechanism: Response, answer: int, seed: object) -> NDArray[np.int64]:
    return mechanism.release(np.full(DRAWS, answer), SeededEntropy(seed))


RESPONSES = [
    CoinResponse(neighbours=Replace()),
    RandomizedResponse(Fraction(1), Replace()),
    RandomizedResponse(Fraction(3, 2), Replace(), 5),
]


@pytest.mark.textbook("S4.1", "S4.2")
@pytest.mark.parametrize("mechanism", RESPONSES, ids=repr)
def test_reports_follow_their_probabilities_for_every_answer(mechanism: Response) -> None:
    for answer in range(mechanism.choices):
        drawn = reports(mechanism, answer, ("response", answer))
        chance = [float(mechanism.chance(answer=answer, report=report)) for report in range(mechanism.choices)]
        assert (
            chi_square(drawn, lambda report, chance=chance: chance[report] if 0 <= report < len(chance) else 0.0)
            > ALARM
        )


@pytest.mark.textbook("S4.2")
def test_a_lie_that_may_be_the_truth_is_flagged() -> None:
    """A known bug of others: the liar picks any choice, the true one too, and the truth is told too often."""
    mechanism, answer = RandomizedResponse(Fraction(3, 2), Replace(), 5), 2
    kept = float(mechanism.chance(answer=answer, report=answer))
    rng = np.random.default_rng(0)
    planted = np.where(rng.random(DRAWS) < kept, answer, rng.integers(0, 5, DRAWS))
    chance = [float(mechanism.chance(answer=answer, report=report)) for report in range(5)]
    assert chi_square(planted, lambda report: chance[report] if 0 <= report < 5 else 0.0) < ALARM


@pytest.mark.textbook("S4.2")
def test_the_reports_of_an_epsilon_that_is_a_tenth_off_are_flagged() -> None:
    drawn = reports(RandomizedResponse(Fraction(11, 10), Replace()), 1, "off")
    kept = float(RandomizedResponse(Fraction(1), Replace()).chance(answer=1, report=1))
    assert chi_square(drawn, {0: 1 - kept, 1: kept, -1: 0.0, 2: 0.0}.__getitem__) < ALARM


@pytest.mark.textbook("S4.1", "S4.2")
@pytest.mark.parametrize("mechanism", RESPONSES, ids=repr)
def test_the_estimate_lies_within_seven_standard_errors(mechanism: Response) -> None:
    """Seven normal standard errors are exceeded once in 3 * 10^11 runs."""
    answers = np.arange(DRAWS) * np.arange(DRAWS) % 7 % mechanism.choices
    shares = mechanism.estimate(mechanism.release(answers, SeededEntropy("estimate")))
    truth = np.bincount(answers, minlength=mechanism.choices) / DRAWS
    assert np.all(np.abs(shares.estimates - truth) < 7 * shares.standard_errors)
    raw = np.bincount(mechanism.release(answers, SeededEntropy("estimate")), minlength=mechanism.choices) / DRAWS
    assert np.any(np.abs(raw - truth) > 7 * shares.standard_errors)  # the reports themselves are biased
