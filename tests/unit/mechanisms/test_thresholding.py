"""Noisy counts above a threshold: the least threshold, and how often a lonely key shows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy
from dalenius.accounting.composition import compose
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.keys.key_selection import KeyCounts
from dalenius.mechanisms.keys.thresholding import ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.verify.cases.planted import ThresholdOneTooLow, planted

ADD = AddRemove()
DELTA = Fraction(1, 1000)
NOISES = [DiscreteLaplace(Fraction(1), ADD), DiscreteGaussian(Fraction(9), ADD), DiscreteLaplace(Fraction(1, 3), ADD)]
every_noise = pytest.mark.parametrize("noise", NOISES, ids=str)


def above(noise: DiscreteLaplace | DiscreteGaussian, groups: int = 1, delta: Fraction = DELTA) -> ThresholdedCounts:
    return ThresholdedCounts(noise=noise, delta=delta, groups=groups)


def any_shows(mechanism: ThresholdedCounts) -> tuple[Fraction, Fraction]:
    """Bounds on the probability that any of a lonely unit's keys is shown."""
    with precise():
        chance = 1 - (1 - mechanism.keep_probability(1)) ** mechanism.groups
        return lower(chance), upper(chance)


@every_noise
@pytest.mark.parametrize("groups", [1, 3, 50])
@pytest.mark.parametrize("delta", [DELTA, Fraction(1, 10**9)])
def test_the_threshold_is_the_least_that_keeps_delta(
    noise: DiscreteLaplace | DiscreteGaussian, groups: int, delta: Fraction
) -> None:
    mechanism = above(noise, groups, delta)
    assert delta * Fraction(999_999, 1_000_000) < any_shows(mechanism)[0]
    assert any_shows(mechanism)[1] <= delta
    assert any_shows(planted(ThresholdOneTooLow, mechanism))[0] > delta
    assert any_shows(planted(CoinTooOften, mechanism))[0] > delta


class CoinTooOften(ThresholdedCounts):
    """Shows counts just below the threshold a little more often than it may."""

    @property
    def chance(self) -> Fraction:
        return super().chance + Fraction(1, 1000)


def test_the_coin_is_tossed_as_often_as_it_is_counted() -> None:
    """Among noisy counts of one less than the threshold, as many are shown as `chance` says."""
    mechanism = above(NOISES[0])
    edge, many = mechanism.threshold - 1, 100_000
    value = KeyCounts([(index,) for index in range(many)], np.full(many, edge, dtype=np.int64))
    shown = sum(count == edge for count in mechanism.release(value, SeededEntropy("coin")).values())
    often = float(mechanism.chance * Fraction(lower(mechanism.noise.law.pmf(0))))
    assert 0.05 < mechanism.chance < 0.95
    assert stats.binomtest(shown, many, often).pvalue > ALARM


@every_noise
def test_lonely_keys_show_no_more_often_than_delta_and_a_threshold_one_too_low_is_noticed(
    noise: DiscreteLaplace | DiscreteGaussian,
) -> None:
    """A hundred thousand keys of one unit each (THREATS D1)."""
    lonely = KeyCounts([(index,) for index in range(100_000)], np.ones(100_000, dtype=np.int64))
    mechanism = above(noise)
    shown = len(mechanism.release(lonely, SeededEntropy("lonely")))
    assert stats.binomtest(shown, 100_000, float(DELTA), alternative="greater").pvalue > ALARM
    broken = planted(ThresholdOneTooLow, mechanism)
    shown = len(broken.release(lonely, SeededEntropy("lonely")))
    assert stats.binomtest(shown, 100_000, float(DELTA), alternative="greater").pvalue < ALARM


@every_noise
def test_the_least_count_that_shows_every_other_time(noise: DiscreteLaplace | DiscreteGaussian) -> None:
    mechanism = above(noise, groups=2)
    half = mechanism.half_kept()
    assert lower(mechanism.keep_probability(half)) >= Fraction(1, 2) > upper(mechanism.keep_probability(half - 1))
    assert upper(mechanism.keep_probability(0)) == 0


def test_noisy_counts_are_shown_with_their_keys_in_order() -> None:
    value = KeyCounts([("c",), ("a",), (None,), ("b",)], np.array([500, 700, 900, 0]))
    shown = above(NOISES[0]).release(value, SeededEntropy("shown"))
    assert list(shown) == [("a",), ("c",), (None,)]
    assert all(abs(shown[key] - count) < 40 for key, count in {("a",): 700, ("c",): 500, (None,): 900}.items())


def test_equal_randomness_shows_equal_counts_for_permuted_rows() -> None:
    names, units = [(f"key {i}",) for i in range(300)], np.arange(300) % 30
    order = np.random.default_rng(3).permutation(300)
    first = above(NOISES[1]).release(KeyCounts(names, units), SeededEntropy("same"))
    mixed = KeyCounts([names[place] for place in order], units[order])
    assert first == above(NOISES[1]).release(mixed, SeededEntropy("same"))
    assert list(first) == sorted(first)


def test_the_loss_is_that_of_the_noise_and_an_event() -> None:
    change = Sensitivity.sparse(coordinates=3, each=1, monotone=True)
    for noise in NOISES:
        mechanism = ThresholdedCounts.calibrated(noise=noise, delta=DELTA, sensitivity=change)
        assert mechanism.groups == 3
        expected = compose([noise.loss(sensitivity=change), ApproximateDP(0, DELTA)])
        assert mechanism.loss(sensitivity=change) == expected
        assert mechanism.loss(sensitivity=change).delta == DELTA


def test_replacing_a_unit_doubles_the_sensitivity_and_not_the_event() -> None:
    noise = DiscreteLaplace(Fraction(2), Replace())
    change = Sensitivity.sparse(coordinates=6, each=1)
    mechanism = ThresholdedCounts.calibrated(noise=noise, delta=DELTA, sensitivity=change)
    assert mechanism.groups == 3
    assert mechanism.loss(sensitivity=change).delta == DELTA


def test_what_the_proof_does_not_cover_is_refused() -> None:
    mechanism = above(NOISES[0], groups=2)
    with pytest.raises(TheoremDoesNotApply, match="at most 2 keys"):
        mechanism.loss(sensitivity=Sensitivity.sparse(coordinates=3, each=1))
    with pytest.raises(TheoremDoesNotApply, match="once in each key"):
        mechanism.loss(sensitivity=Sensitivity.sparse(coordinates=1, each=2))
    with pytest.raises(InvalidParameter, match="noise"):
        ThresholdedCounts(noise="much", delta=DELTA, groups=1)  # type: ignore[arg-type]
