"""Attacks on float noise score on a planted float mechanism and find nothing on ours."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from checks import SeededEntropy
from costs import cases
from dalenius.attacks.floating_point import porous_noise_attack, precision_attack
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.neighbours import AddRemove

Run = Callable[[int, int], NDArray[Any]]


def float_laplace(value: int, size: int) -> NDArray[np.float64]:
    """What most code does: the sum of a float and float noise."""
    return value + np.random.default_rng(value).laplace(size=size)


def float_gaussian(value: int, size: int) -> NDArray[np.float64]:
    return value + np.random.default_rng(value).normal(size=size)


def ours(mechanism: DiscreteLaplace | DiscreteGaussian) -> Run:
    entropy = SeededEntropy("attacked")
    return lambda value, size: mechanism.release(np.full(size, value), entropy)


@pytest.mark.textbook("S2.2")
@pytest.mark.parametrize(("planted", "share"), [(float_laplace, 0.272), (float_gaussian, 0.257)])
def test_the_precision_attack_gives_a_quarter_of_all_float_outputs_away(planted: Run, share: float) -> None:
    finding = precision_attack(planted, draws=1_000_000)
    assert float(finding.only_first) == pytest.approx(share, abs=0.003)
    assert finding.only_second == 0
    assert finding.share >= Fraction(1, 5)


@pytest.mark.textbook("S2.2")
@cases("mechanism", [DiscreteLaplace, DiscreteGaussian], fast=1)
@pytest.mark.parametrize("scale", [1, 1000, 10**6])
def test_the_precision_attack_finds_nothing_in_a_million_draws_of_ours(mechanism: type[Any], scale: int) -> None:
    finding = precision_attack(ours(mechanism(scale, neighbours=AddRemove())), draws=1_000_000)
    assert (finding.only_first, finding.only_second) == (0, 0)


@pytest.mark.textbook("S2.2")
def test_float_noise_leaves_most_outputs_possible_on_one_value_only() -> None:
    def noise(u: NDArray[np.float64]) -> NDArray[np.float64]:
        """NumPy's Laplace noise as a function of its uniform variable."""
        return np.where(u >= 0.5, -np.log(2 - u - u), np.log(u + u))

    def uniform(z: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(z >= 0, 1 - np.exp(-z) / 2, np.exp(z) / 2)

    finding = porous_noise_attack(float_laplace, noise=noise, uniform=uniform, draws=100_000)
    assert finding.only_first > Fraction(3, 4)
    assert finding.only_second > Fraction(3, 4)


@pytest.mark.textbook("S2.2")
def test_an_output_that_the_attacker_cannot_explain_is_no_hit() -> None:
    def run(value: int, size: int) -> NDArray[np.float64]:
        return value + np.linspace(0.1, 0.2, size)

    finding = porous_noise_attack(run, noise=np.zeros_like, uniform=np.zeros_like, draws=100)
    assert finding.share == 0


def test_the_grid_of_an_output_is_found_exactly() -> None:
    def run(value: int, size: int) -> NDArray[Any]:
        return np.array([0.0, 0.5, -0.75, 2.0**-40, 3.0, 2.0**70]) if value == 0 else np.array([0.0, 1, 8, -4, 2, 0.25])

    finding = precision_attack(run, draws=6)
    assert (finding.only_first, finding.only_second) == (Fraction(1, 6), 0)


def test_integers_are_compared_by_their_bits_too() -> None:
    finding = precision_attack(lambda value, size: np.array([2, 4]) if value == 0 else np.array([3, 0]), draws=2)
    assert (finding.only_first, finding.only_second) == (0, Fraction(1, 2))
    assert "50.0% the other way round (2 draws each)" in str(finding)


@pytest.mark.parametrize("coarse", [2, 4, 32])
def test_noise_in_coarser_steps_than_the_values_is_told_by_its_remainders(coarse: int) -> None:
    noise = DiscreteLaplace(Fraction(100), neighbours=AddRemove("row"))

    def in_steps(value: int, size: int) -> NDArray[Any]:
        return value + coarse * np.asarray(noise.release(np.zeros(size, dtype=np.int64), SeededEntropy(value)))

    def in_steps_but_one(value: int, size: int) -> NDArray[Any]:
        outputs = in_steps(value, size)
        outputs[0] += 1  # one odd output hides nothing
        return outputs

    for run in (in_steps, in_steps_but_one):
        assert precision_attack(run, draws=10_000).share > Fraction(9, 10)


def test_outputs_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        precision_attack(lambda value, size: np.array(["a"] * size), draws=3)


@pytest.mark.parametrize("draws", [0, 1.5, -3])
def test_bad_numbers_of_draws_are_refused(draws: Any) -> None:
    with pytest.raises(InvalidParameter):
        precision_attack(float_laplace, draws=draws)
