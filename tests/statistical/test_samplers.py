"""Every sampler follows its law: chi-square against exact probabilities, with a stated rate of false alarms.

A correct sampler fails one of these tests with probability ALARM = 1e-9 (the seeds are fixed, so it fails always or
never). Each has a twin that draws at a scale 10 % off and must be noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import pi, tanh

import numpy as np
import pytest
from flint import arb
from scipy import stats

from checks import ALARM, SeededEntropy, chi_square
from costs import cases
from dalenius import randomness
from dalenius.privacy.reals import ball, precise
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.gaussian import GaussianCells, gaussian_noise
from dalenius.randomness.laplace import GeometricCells, LaplaceCells, geometric_steps, laplace_noise
from dalenius.randomness.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from dalenius.randomness.tables import LawTable

Sampler = Callable[[Fraction, Entropy], np.ndarray]
ONE, MANY, OPEN = 12_000, 200_000, 11_000
WRONG = Fraction(11, 10)


def many(law: str, scale: Fraction, source: Entropy) -> np.ndarray:
    match law:
        case "laplace":
            return randomness.discrete_laplace(scale, MANY, entropy=source)
        case "gaussian":
            return randomness.discrete_gaussian(scale**2, MANY, entropy=source)
    return randomness.geometric(1 / scale, MANY, entropy=source)


def one(law: str, scale: Fraction, source: Entropy) -> np.ndarray:
    draw = {"laplace": laplace_noise, "gaussian": gaussian_noise, "geometric": geometric_steps}[law]
    parameter = scale**2 if law == "gaussian" else scale
    return np.array([draw(parameter.numerator, parameter.denominator, source) for _ in range(ONE)])


def often_open(law: str, scale: Fraction, source: Entropy) -> np.ndarray:
    """With boundaries of eight bits, many words leave the cell open and are refined."""
    cells = {"laplace": LaplaceCells, "gaussian": GaussianCells, "geometric": GeometricCells}[law]
    table, result = (
        LawTable(cells(scale**2 if law == "gaussian" else scale), bits=8, slices=4),
        np.empty(OPEN, np.int64),
    )
    table.fill(result, source)
    return result


@cache
def bin_chance(law: str, scale: Fraction, width: int, cell: int) -> float:
    """The exact probability of [cell * width, (cell + 1) * width)."""
    begin, end = cell * width, (cell + 1) * width
    if law == "geometric":
        with precise():
            fall = [(-ball(max(edge, 0) / scale)).exp() for edge in (begin, end)]
        return middle(fall[0] - fall[1])
    exact = DiscreteLaplaceLaw(scale) if law == "laplace" else DiscreteGaussianLaw(scale**2)
    return middle(exact.tail(begin) - exact.tail(end))


def middle(enclosure: arb) -> float:
    return float(enclosure.mid())


def p_value(law: str, scale: Fraction, samples: np.ndarray) -> float:
    width = max(1, int(scale) // 8)
    return chi_square(samples // width, lambda cell: bin_chance(law, scale, width, cell))


CASES = [(many, scale) for scale in ("1/3", "1", "10", "150", "1000000", "1000000000000")]
CASES += [(one, scale) for scale in ("5/2", "1000000000000")]


@pytest.mark.textbook("S2.2", "S2.4")
@pytest.mark.parametrize(("path", "scale"), CASES)
@pytest.mark.parametrize("law", ["laplace", "gaussian", "geometric"])
def test_noise_follows_its_law(law: str, scale: str, path: Callable[..., np.ndarray]) -> None:
    exact = Fraction(scale)
    assert p_value(law, exact, path(law, exact, SeededEntropy((law, scale)))) > ALARM


@pytest.mark.textbook("S2.2", "S2.4")
@cases(("path", "scale"), CASES, fast=1)
@pytest.mark.parametrize("law", ["laplace", "gaussian", "geometric"])
def test_the_test_above_notices_a_wrong_scale(law: str, scale: str, path: Callable[..., np.ndarray]) -> None:
    exact = Fraction(scale)
    assert p_value(law, exact, path(law, exact * WRONG, SeededEntropy((law, scale)))) < ALARM


@pytest.mark.textbook("S2.2")
@cases("law", ["laplace", "gaussian", "geometric"], fast=1)
def test_refined_draws_follow_their_law(law: str) -> None:
    exact = Fraction(3)
    assert p_value(law, exact, often_open(law, exact, SeededEntropy(law))) > ALARM
    assert p_value(law, exact, often_open(law, exact * WRONG, SeededEntropy(law))) < ALARM


@pytest.mark.textbook("S2.2")
@pytest.mark.parametrize("law", ["laplace", "gaussian", "geometric"])
@pytest.mark.parametrize("scale", ["1000000", "1000000000000", "30000000000000000"])
def test_every_low_bit_is_uniform_and_apart_from_the_high_ones(law: str, scale: str) -> None:
    """x mod 16 is uniform up to exp(-10^5), for draws below and above the median alike."""
    drawn = many(law, Fraction(scale), SeededEntropy(scale))
    for half in (drawn[drawn < np.median(drawn)], drawn[drawn >= np.median(drawn)]):
        assert stats.chisquare(np.bincount(half % 16, minlength=16)).pvalue > ALARM
        assert stats.chisquare(np.bincount((half | 1) % 16, minlength=16)).pvalue < ALARM


def test_neighbouring_draws_are_independent() -> None:
    """Signs and sizes of consecutive draws, rejected ones in between included."""
    drawn = randomness.discrete_laplace(10**6, 400_000, entropy=SeededEntropy("pairs"))
    quarters = np.searchsorted(np.quantile(drawn, [0.25, 0.5, 0.75]), drawn)
    pairs = np.bincount(4 * quarters[::2] + quarters[1::2], minlength=16)
    assert stats.chisquare(pairs).pvalue > ALARM


def coin_p_value(drawn: np.ndarray, chance: float) -> float:
    return float(stats.binomtest(int(drawn.sum()), drawn.size, chance).pvalue)


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(8, 9), Fraction(1, 50)])
def test_coins_follow_their_law_and_a_tenth_more_is_noticed(chance: Fraction) -> None:
    source = SeededEntropy(chance)
    single = np.array([randomness.bernoulli(chance, entropy=source) for _ in range(ONE)])
    drawn = randomness.bernoulli(chance, MANY, entropy=source)
    assert coin_p_value(single, float(chance)) > ALARM
    assert coin_p_value(drawn, float(chance)) > ALARM
    assert coin_p_value(drawn, float(chance * WRONG)) < ALARM


@pytest.mark.parametrize("x", ["0.1", "1", "3.5"])
def test_exponential_coins_follow_their_law_and_a_tenth_more_is_noticed(x: str) -> None:
    source = SeededEntropy(x)
    with precise():
        chance, wrong = (middle((-ball(Fraction(x) * factor)).exp()) for factor in (Fraction(1), WRONG))
    single = np.array([randomness.bernoulli_exp(x, entropy=source) for _ in range(ONE)])
    drawn = randomness.bernoulli_exp(x, MANY, entropy=source)
    assert coin_p_value(single, chance) > ALARM
    assert coin_p_value(drawn, chance) > ALARM
    assert coin_p_value(drawn, wrong) < ALARM


@pytest.mark.parametrize("n", [6, 100, 3 << 20])
def test_dice_are_fair_and_a_loaded_one_is_noticed(n: int) -> None:
    source = SeededEntropy(n)
    sides = min(n, 6)
    single = np.array([randomness.uniform_below(n, entropy=source) for _ in range(ONE)])
    for drawn in (single, randomness.uniform_below(n, MANY, entropy=source)):
        faces = np.bincount(drawn * sides // n, minlength=sides)
        expected = np.bincount(np.arange(n) * sides // n, minlength=sides) * drawn.size / n
        assert stats.chisquare(faces, expected).pvalue > ALARM
        assert stats.chisquare(faces + (np.arange(sides) == 0) * faces[0] // 5, None).pvalue < ALARM


def count_p_value(counts: np.ndarray, n: int, chance: Fraction) -> float:
    """In bins of half a standard deviation."""
    law = stats.binom(n, float(chance))
    width = max(1, int(law.std() / 2))
    return chi_square(counts // width, lambda cell: law.cdf((cell + 1) * width - 1) - law.cdf(cell * width - 1))


@pytest.mark.textbook("S2.4")
@cases(("n", "p"), [(20, "1/2"), (5000, "1/2"), (40, "1/7"), (10**6, "1/50000")], fast=2)
def test_binomial_counts_follow_their_law_and_a_wrong_coin_is_noticed(n: int, p: str) -> None:
    chance, source = Fraction(p), SeededEntropy((n, p))
    table = randomness.binomial(n, MANY, p=chance, entropy=source)
    single = np.array([randomness.binomial(n, p=chance, entropy=source) for _ in range(400)])
    assert count_p_value(table, n, chance) > ALARM
    assert count_p_value(single, n, chance) > ALARM
    assert count_p_value(table, n, chance * WRONG) < ALARM


@pytest.mark.textbook("S2.4")
@cases("scale", ["2/3", "13/2"], fast=(1,))
def test_cauchy_noise_follows_its_law_and_a_wrong_scale_is_noticed(scale: str) -> None:
    def near(exact: Fraction) -> np.ndarray:
        """Draws beyond 500 are set to one value, whose chance the test then pools."""
        drawn = randomness.discrete_cauchy(exact, 4 * ONE, entropy=SeededEntropy(scale))
        return np.where(np.abs(drawn) <= 500, drawn, 501).astype(int)

    size = float(Fraction(scale))
    whole = pi * size / tanh(pi * size)  # the sum of 1 / (1 + (z / size)^2) over all integers z

    def pmf(z: int) -> float:
        return 1 / (1 + (z / size) ** 2) / whole if abs(z) <= 500 else 0.0

    assert chi_square(near(Fraction(scale)), pmf) > ALARM
    assert chi_square(near(Fraction(scale) * WRONG), pmf) < ALARM


@pytest.mark.textbook("S2.4")
def test_wide_cauchy_noise_has_the_right_quartiles() -> None:
    """Half of the law lies within one scale of zero."""
    drawn = randomness.discrete_cauchy(10**9, ONE, entropy=SeededEntropy("wide"))
    inside = int(np.sum(np.abs(drawn) <= 10**9))
    assert stats.binomtest(inside, ONE, 0.5).pvalue > ALARM
    assert stats.binomtest(int(np.sum(np.abs(drawn) <= 11 * 10**8)), ONE, 0.5).pvalue < ALARM
