"""Permute-and-flip: its exact law, which is the one-sided noisy arg-max; its loss, which is not of bounded range."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from choices import RELATIONS, ROUNDING, changes, grid, is_law, losses, remembered, worst_loss
from dalenius.errors import InvalidParameter, MissingNeighbours, TheoremDoesNotApply
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.privacy.losses import BoundedRange, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity

EPSILON = Fraction(1)
COUNTS = {AddRemove("row"): Sensitivity(linf=1, monotone=True), Replace("row"): Sensitivity(linf=1)}


def calibrated(neighbours: Neighbours) -> PermuteAndFlip:
    return PermuteAndFlip.calibrated(sensitivity=COUNTS[neighbours], epsilon=EPSILON, neighbours=neighbours)


@pytest.mark.textbook("S5.2")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_exact_worst_loss_is_the_claim(relation: Neighbours) -> None:
    mechanism = calibrated(relation)
    claim = mechanism.loss(sensitivity=COUNTS[relation]).epsilon
    worst = worst_loss(remembered(mechanism.probabilities), grid(3, 2), changes(3, relation))
    assert claim == EPSILON
    assert claim - ROUNDING <= worst <= claim + ROUNDING


@pytest.mark.textbook("S5.2", "S5.5")
def test_the_monotone_rate_under_replace_is_flagged() -> None:
    worst = worst_loss(remembered(calibrated(AddRemove("row")).probabilities), grid(3, 2), changes(3, Replace("row")))
    assert worst > 2 * EPSILON - ROUNDING
    with pytest.raises(TheoremDoesNotApply):
        PermuteAndFlip.calibrated(sensitivity=COUNTS[AddRemove("row")], epsilon=1, neighbours=Replace("row"))


@pytest.mark.textbook("S5.2")
def test_its_law_is_not_that_of_the_exponential_mechanism() -> None:
    flip = PermuteAndFlip(rate=Fraction(1), neighbours=AddRemove()).probabilities([0, 1, 2])
    weights = ExponentialMechanism(rate=Fraction(1), neighbours=AddRemove()).probabilities([0, 1, 2])
    assert is_law(flip)
    assert [round(float(p), 3) for p in flip] == [0.059, 0.176, 0.765]
    assert [round(float(p), 3) for p in weights] == [0.09, 0.245, 0.665]


def noisy_argmax(scores: list[int], rate: Fraction) -> list[float]:
    """The law of the arg-max of scores plus one-sided exponential noise, by numerical integration of its definition."""
    lam, best = mpmath.mpf(rate.numerator) / rate.denominator, max(scores)

    def wins(i: int) -> float:
        def density(x: float) -> float:
            others = [1 - mpmath.exp(-lam * (x + scores[i] - s)) for j, s in enumerate(scores) if j != i]
            return lam * mpmath.exp(-lam * x) * mpmath.fprod(others)

        return float(mpmath.quad(density, [best - scores[i], best - scores[i] + 4 / lam, mpmath.inf]))

    return [wins(i) for i in range(len(scores))]


@pytest.mark.textbook("S5.2")
@pytest.mark.parametrize(("scores", "rate"), [([0, 1, 2], 1), ([0, 0, 0, 3], "1/2"), ([5, 2, 2], "1/3")])
def test_one_sided_exponential_noise_gives_permute_and_flip(scores: list[int], rate: int | str) -> None:
    law = PermuteAndFlip(rate=Fraction(rate), neighbours=AddRemove()).probabilities(scores)
    assert [float(p) for p in law] == pytest.approx(noisy_argmax(scores, Fraction(rate)), abs=1e-10)


@pytest.mark.textbook("S5.2", "S5.6")
@given(gap=st.integers(0, 40), epsilon=st.fractions(Fraction(1, 10), 2))
def test_of_two_counts_the_smaller_wins_with_probability_half_of_exp_minus_gap_epsilon(
    gap: int, epsilon: Fraction
) -> None:
    monotone = Sensitivity(linf=1, monotone=True)
    mechanism = PermuteAndFlip.calibrated(sensitivity=monotone, epsilon=epsilon, neighbours=AddRemove())
    assert float(mechanism.probabilities([0, gap])[0]) == pytest.approx(math.exp(-gap * epsilon) / 2, rel=1e-12)


def renyi(first: list[arb], second: list[arb], alpha: int) -> Fraction:
    with precise():
        moment = sum((p**alpha * q ** (1 - alpha) for p, q in zip(first, second, strict=True)), arb(0))
        return lower(moment.log() / ball(alpha - 1))


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_charging_it_as_bounded_range_is_flagged(relation: Neighbours) -> None:
    mechanism = PermuteAndFlip.calibrated(sensitivity=COUNTS[relation], epsilon="0.1", neighbours=relation)
    there = (1, 0) if relation == AddRemove("row") else (1, -1)
    first, second = mechanism.probabilities([0, 0]), mechanism.probabilities(there)
    claim = mechanism.loss(sensitivity=COUNTS[relation])
    spread = losses(mechanism.probabilities, (0, 0), there)
    assert max(spread) - min(spread) > Fraction(19, 10) * claim.epsilon
    assert renyi(first, second, 2) > 3 * BoundedRange(claim.epsilon).renyi(2)
    assert type(claim) is PureDP
    assert renyi(first, second, 2) <= claim.renyi(2)


@given(scores=st.lists(st.integers(0, 9), min_size=2, max_size=5))
def test_its_expected_score_is_never_below_that_of_the_exponential_mechanism(scores: list[int]) -> None:
    def mean(law: list[arb]) -> arb:
        return sum((p * s for p, s in zip(law, scores, strict=True)), arb(0))

    flip = mean(PermuteAndFlip(rate=Fraction(1, 2), neighbours=Replace()).probabilities(scores))
    weights = mean(ExponentialMechanism(rate=Fraction(1, 2), neighbours=Replace()).probabilities(scores))
    assert upper(flip) >= lower(weights)


@pytest.mark.textbook("S5.2")
def test_the_error_with_several_best_ones_holds_and_is_not_far_too_wide() -> None:
    mechanism, beta = PermuteAndFlip(rate=Fraction(1, 10), neighbours=Replace()), Fraction(1, 20)
    gap = int(mechanism.error(beta, candidates=9, best=3)) + 1
    missed = 1 - sum(float(chance) for chance in mechanism.probabilities([gap] * 3 + [0] * 6)[:3])
    assert beta * Fraction(4, 5) < missed <= beta


def test_the_error_at_95_percent_holds_and_is_tight_for_two() -> None:
    mechanism = PermuteAndFlip(rate=Fraction(1, 2), neighbours=Replace())
    for candidates in (2, 5):
        error = int(mechanism.error("0.05", candidates=candidates))
        missed = [1 - float(mechanism.probabilities([gap] + [0] * (candidates - 1))[0]) for gap in (error, error + 1)]
        assert missed[1] <= 0.05
        assert missed[0] > 0.05 or candidates > 2
    assert mechanism.error("0.05", candidates=5) < ExponentialMechanism(
        rate=Fraction(1, 2), neighbours=Replace()
    ).error("0.05", candidates=5)
    assert mechanism.error("0.05", candidates=1) == 0


def test_bad_input_is_refused() -> None:
    with pytest.raises(MissingNeighbours):
        PermuteAndFlip.calibrated(sensitivity=1, epsilon=1)
    with pytest.raises(InvalidParameter, match="epsilon"):
        PermuteAndFlip.calibrated(sensitivity=1, epsilon=0, neighbours=Replace())
    with pytest.raises(InvalidParameter, match="candidates"):
        PermuteAndFlip(rate=Fraction(1), neighbours=Replace()).probabilities([])
    with pytest.raises(InvalidParameter, match="best"):
        PermuteAndFlip(rate=Fraction(1), neighbours=Replace()).error("0.1", candidates=2, best=3)
