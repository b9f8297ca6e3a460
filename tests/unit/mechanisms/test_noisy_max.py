"""Report noisy max: its exact law, ties included; its worst loss; and the forms that leak, each flagged."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from checks import SeededEntropy
from choices import RELATIONS, ROUNDING, changes, grid, is_law, losses, remembered, shifted, worst_loss
from dalenius.errors import InvalidParameter, MissingNeighbours, TheoremDoesNotApply
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.noisy_max import NoisyMax, noisy_scores, union_error
from dalenius.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, LaplaceSumLaw, NoiseLaw

EPSILON = Fraction(1)
COUNTS = {AddRemove("row"): Sensitivity(linf=1, monotone=True), Replace("row"): Sensitivity(linf=1)}
LAST = (0,) + (6,) * 20
"""The first candidate wins only by positive noise, so a step of its score is worth its full price."""
STEP = {AddRemove("row"): (1,) + (0,) * 20, Replace("row"): (1,) + (-1,) * 20}


def calibrated(neighbours: Neighbours) -> NoisyMax:
    return NoisyMax.calibrated(sensitivity=COUNTS[neighbours], epsilon=EPSILON, neighbours=neighbours)


def loss_of_first(mechanism: NoisyMax, step: tuple[int, ...]) -> Fraction:
    return abs(losses(mechanism.probabilities, LAST, shifted(LAST, step))[0])


@pytest.mark.textbook("S5.1")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_exact_worst_loss_is_the_claim(relation: Neighbours) -> None:
    mechanism = calibrated(relation)
    claim = mechanism.loss(sensitivity=COUNTS[relation])
    assert claim == PureDP(EPSILON)
    assert worst_loss(remembered(mechanism.probabilities), grid(3, 1), changes(3, relation)) <= claim.epsilon
    assert claim.epsilon - Fraction(1, 10**9) < loss_of_first(mechanism, STEP[relation]) <= claim.epsilon + ROUNDING


@pytest.mark.textbook("S5.1")
def test_the_scale_is_one_over_epsilon_for_counts_under_add_remove_and_twice_that_otherwise() -> None:
    assert calibrated(AddRemove("row")).scale == 1
    assert calibrated(Replace("row")).scale == 2
    assert NoisyMax.calibrated(sensitivity=3, epsilon="0.5", neighbours=AddRemove()).scale == 12
    with pytest.raises(TheoremDoesNotApply):
        NoisyMax.calibrated(sensitivity=COUNTS[AddRemove("row")], epsilon=1, neighbours=Replace("row"))


@pytest.mark.textbook("S5.1")
def test_the_small_scale_for_scores_that_are_not_monotone_is_flagged() -> None:
    broken = NoisyMax(scale=1 / EPSILON, neighbours=Replace("row"))
    assert loss_of_first(broken, STEP[Replace("row")]) > Fraction(199, 100) * EPSILON
    assert broken.loss(sensitivity=1).epsilon == 2 * EPSILON


@pytest.mark.textbook("S5.1")
def test_releasing_the_winning_noisy_count_is_flagged() -> None:
    """With five conditions, the index together with the noisy count that won costs 5.0, not 1.0."""
    law, conditions, value = DiscreteLaplaceLaw(1 / EPSILON), 5, -30

    def density(counts: tuple[int, ...]) -> list[arb]:
        with precise():
            chance = law.pmf(value - counts[0])
            for count in counts[1:]:
                chance *= law.cdf(value - count)
        return [chance]

    (loss,) = losses(density, (0,) * conditions, (1,) * conditions)  # one more person, who has all five
    assert abs(abs(loss) - 5 * EPSILON) < ROUNDING


def wins_by_one(law: NoiseLaw, candidates: int) -> Fraction:
    """The loss of the first of `candidates` equal counts when only it rises by one."""

    def first_wins(score: int) -> arb:
        with precise():
            return sum((law.pmf(y - score) * law.cdf(y) ** (candidates - 1) for y in range(-150, 151)), arb(0))

    with precise():
        return lower((first_wins(1) / first_wins(0)).log())


@pytest.mark.textbook("S4.9")
def test_gaussian_noise_is_flagged_when_candidates_outnumber_one_over_delta() -> None:
    """A variance of 14 makes one count (1, 1e-5)-DP; the largest of a million such noises is a tail event."""
    gauss, laplace = DiscreteGaussianLaw(14), DiscreteLaplaceLaw(1 / EPSILON)
    assert wins_by_one(gauss, 10) < EPSILON < wins_by_one(gauss, 10**6) < wins_by_one(gauss, 10**9)
    assert all(wins_by_one(laplace, candidates) <= EPSILON for candidates in (10, 10**6, 10**9))


@pytest.mark.textbook("S5.1")
def test_the_law_includes_ties_which_go_to_the_first() -> None:
    law = NoisyMax(scale=Fraction(1), neighbours=AddRemove()).probabilities([0, 0, 0])
    assert is_law(law)
    assert law[0] > law[1] > law[2]
    assert is_law(NoisyMax(scale=Fraction(1, 3), neighbours=AddRemove()).probabilities([5, -2, 0, 4]))


@pytest.mark.textbook("S5.6")
@given(gap=st.integers(0, 30), scale=st.fractions(Fraction(1, 2), 3, max_denominator=5))
def test_the_rarer_of_two_conditions_wins_if_its_noise_leads_by_the_gap(gap: int, scale: Fraction) -> None:
    wrong = NoisyMax(scale=scale, neighbours=AddRemove()).probabilities([0, gap])[0]
    assert wrong.overlaps(LaplaceSumLaw(scale, 2).tail(gap))


@pytest.mark.textbook("S5.6")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_curves_of_best_of_two_are_the_stated_ones_and_do_not_cross(relation: Neighbours) -> None:
    """At a small epsilon, with x = gap epsilon (half of it for scores that are not monotone), the rarer wins with
    probability e^-x (1 + x/2) / 2 by Laplace noise, 1 / (1 + e^x) by the exponential mechanism and e^-x / 2 by permute
    and flip, and this is their order at every gap."""
    epsilon, slope = Fraction(1, 20), Fraction(1) if relation == AddRemove("row") else Fraction(1, 2)
    mechanisms = [
        kind.calibrated(sensitivity=COUNTS[relation], epsilon=epsilon, neighbours=relation)
        for kind in (NoisyMax, ExponentialMechanism, PermuteAndFlip)
    ]
    for gap in (10, 40, 80, 160):
        x = float(gap * epsilon * slope)
        noisy, tilted, flipped = (float(mechanism.probabilities([0, gap])[0]) for mechanism in mechanisms)
        assert noisy == pytest.approx(math.exp(-x) * (1 + x / 2) / 2, rel=0.04)
        assert tilted == pytest.approx(1 / (1 + math.exp(x)), rel=1e-12)
        assert flipped == pytest.approx(math.exp(-x) / 2, rel=1e-12)
        assert noisy > tilted > flipped


@pytest.mark.textbook("S5.1")
@pytest.mark.parametrize("candidates", [2, 5])
def test_the_error_at_95_percent_holds_for_every_place_of_the_best(candidates: int) -> None:
    mechanism = NoisyMax(scale=Fraction(1), neighbours=AddRemove())
    error = mechanism.error("0.05", candidates=candidates)
    for best in range(candidates):
        law = mechanism.probabilities([error + 1 if i == best else 0 for i in range(candidates)])
        assert upper(1 - law[best]) <= Fraction(5, 100)
    looser = mechanism.probabilities([0] * (candidates - 1) + [error])  # one step less does not suffice
    assert lower(1 - looser[-1]) > Fraction(5, 100) or candidates > 2


@pytest.mark.textbook("S5.1")
@given(candidates=st.integers(2, 10**6), epsilon=st.fractions(Fraction(1, 10), 1), beta=st.fractions("0.001", "0.2"))
def test_the_error_is_below_two_ln_of_m_over_beta_by_epsilon(
    candidates: int, epsilon: Fraction, beta: Fraction
) -> None:
    figure = union_error(scale=1 / epsilon, candidates=candidates, beta=beta)
    assert float(figure) == pytest.approx(2 * math.log(candidates / beta) / epsilon, rel=1e-12)
    assert NoisyMax(scale=1 / epsilon, neighbours=AddRemove()).error(beta, candidates=candidates) <= figure


@pytest.mark.textbook("S5.7")
def test_the_most_common_condition_is_found_although_everybody_has_many() -> None:
    conditions = [400, 380, 90, 30]
    mechanism = calibrated(AddRemove("row"))
    assert mechanism.error("0.01", candidates=4) < 20
    law = mechanism.probabilities(conditions)
    assert lower(law[0]) > Fraction(99, 100)
    assert upper(law[1]) < Fraction(1, 10**7)
    close = mechanism.probabilities([400, 399, 90, 30])  # a lead of one is not enough
    assert lower(close[1]) > Fraction(1, 6)
    assert upper(close[2]) < Fraction(1, 10**30)


def test_only_the_index_leaves() -> None:
    assert type(calibrated(Replace("row")).release([1, 2, 3], SeededEntropy(0))) is int


@pytest.mark.parametrize("scores", [[2**63 - 1, -(2**63)], [10**30, 0], np.array([2**63 - 1, 0])])
def test_large_scores_do_not_overflow(scores: list[int]) -> None:
    for seed in range(20):
        noisy = noisy_scores(scores, scale=Fraction(10), entropy=SeededEntropy(seed))
        assert abs(int(noisy[0]) - int(scores[0])) < 10**3
        assert NoisyMax(scale=Fraction(10), neighbours=Replace()).release(scores, SeededEntropy(seed)) == 0
    assert NoisyMax(scale=Fraction(2**60), neighbours=Replace()).release(scores, SeededEntropy(1)) in (0, 1)


def test_bad_input_is_refused() -> None:
    with pytest.raises(MissingNeighbours):
        NoisyMax.calibrated(sensitivity=1, epsilon=1)
    for scale in (0, -1, float("nan")):
        with pytest.raises(InvalidParameter, match="scale"):
            NoisyMax(scale=scale, neighbours=Replace())  # type: ignore[arg-type]
    for scores in ([], [0.5], [float("nan")]):
        with pytest.raises(InvalidParameter):
            NoisyMax(scale=Fraction(1), neighbours=Replace()).release(scores, SeededEntropy(0))  # type: ignore[arg-type]
    assert NoisyMax(scale=Fraction(1), neighbours=Replace()).error("0.1", candidates=1) == 0
