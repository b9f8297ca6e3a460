"""The k best: exact laws of whole lists by enumeration, their worst loss for both relations, what a list is worth."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from checks import SeededEntropy
from choices import RELATIONS, ROUNDING, Scores, changes, grid, is_law, losses, remembered, shifted, worst_loss
from dalenius.accounting.amounts import DIVERGENCE_UNIT
from dalenius.accounting.composition import repeated
from dalenius.accounting.conversion import to_approximate, to_pure
from dalenius.errors import InvalidParameter, MissingNeighbours, TheoremDoesNotApply
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.noisy_max import NoisyMax
from dalenius.mechanisms.selection.top_k import OneShotTopK, TopK, each_round
from dalenius.privacy.losses import BoundedRange, LaplaceDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import upper
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.laws import LaplaceSumLaw
from dalenius.verify.cases.selection import one_shot_chance, one_shot_law

EPSILON = Fraction(1)
COUNTS = {AddRemove("row"): Sensitivity(linf=1, monotone=True), Replace("row"): Sensitivity(linf=1)}
STEP = {AddRemove("row"): (1, 1) + (0,) * 20, Replace("row"): (1, 1) + (-1,) * 20}


def peeling(neighbours: Neighbours, k: int = 2) -> TopK:
    return TopK.calibrated(k=k, sensitivity=COUNTS[neighbours], epsilon=EPSILON, neighbours=neighbours)


def one_shot(neighbours: Neighbours, k: int = 2) -> OneShotTopK:
    return OneShotTopK.calibrated(k=k, sensitivity=COUNTS[neighbours], epsilon=EPSILON, neighbours=neighbours)


@pytest.mark.textbook("S5.8")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_exact_worst_loss_of_peeling_is_at_most_the_claim(relation: Neighbours) -> None:
    mechanism = peeling(relation)
    claim = to_pure(mechanism.loss(sensitivity=COUNTS[relation])).epsilon
    law = remembered(mechanism.probabilities)
    assert claim == EPSILON
    assert worst_loss(law, grid(3, 2), changes(3, relation)) <= claim + ROUNDING
    far = (0, 0, 300)  # the first two are listed before a far better third: every choice costs its full share
    worst = worst_loss(law, [far], changes(3, relation))
    assert claim - ROUNDING <= worst <= claim + ROUNDING


@pytest.mark.textbook("S5.8")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_exact_worst_loss_in_one_shot_is_the_claim(relation: Neighbours) -> None:
    mechanism = one_shot(relation)
    claim = mechanism.loss(sensitivity=COUNTS[relation])
    assert claim == PureDP(EPSILON)
    law = remembered(lambda scores: one_shot_law(mechanism, scores))
    assert worst_loss(law, grid(3, 1), changes(3, relation)) <= EPSILON + ROUNDING
    assert EPSILON - Fraction(1, 1000) < loss_of_listing_the_worst(mechanism, STEP[relation]) <= EPSILON + ROUNDING


def loss_of_listing_the_worst(mechanism: OneShotTopK, step: Scores) -> Fraction:
    here = (0, 0) + (2 * int(mechanism.scale),) * 20
    return abs(losses(lambda scores: [one_shot_chance(mechanism, (0, 1), scores)], here, shifted(here, step))[0])


@pytest.mark.textbook("S5.8")
def test_one_shot_noise_that_does_not_grow_with_k_is_flagged() -> None:
    broken = OneShotTopK(k=2, scale=1 / EPSILON, neighbours=AddRemove("row"))
    assert loss_of_listing_the_worst(broken, STEP[AddRemove("row")]) > Fraction(19, 10) * EPSILON
    assert broken.loss(sensitivity=COUNTS[AddRemove("row")]).epsilon == 2 * EPSILON


@pytest.mark.textbook("S5.8")
def test_the_monotone_forms_under_replace_are_flagged() -> None:
    assert loss_of_listing_the_worst(one_shot(AddRemove("row")), STEP[Replace("row")]) > Fraction(19, 10) * EPSILON
    worst = worst_loss(remembered(peeling(AddRemove("row")).probabilities), [(0, 0, 300)], changes(3, Replace("row")))
    assert worst > Fraction(19, 10) * EPSILON
    for kind in (TopK, OneShotTopK):
        with pytest.raises(TheoremDoesNotApply):
            kind.calibrated(k=2, sensitivity=COUNTS[AddRemove("row")], epsilon=1, neighbours=Replace("row"))


@pytest.mark.textbook("S5.8")
def test_scales_of_one_shot_are_two_k_over_epsilon_and_k_over_epsilon_for_monotone_counts() -> None:
    assert one_shot(Replace("row"), k=7).scale == 14
    assert one_shot(AddRemove("row"), k=7).scale == 7
    assert peeling(Replace("row"), k=8).rate == EPSILON / 16
    assert peeling(AddRemove("row"), k=8).rate == EPSILON / 8
    # A seventh is not a whole number of a ledger's units, so it is rounded down: seven of them fit into epsilon.
    assert EPSILON / 7 - DIVERGENCE_UNIT < peeling(AddRemove("row"), k=7).rate < EPSILON / 7


@pytest.mark.textbook("S5.8")
def test_perturbing_a_histogram_once_costs_its_l1_sensitivity_whatever_k_is() -> None:
    histogram = Sensitivity(l1=1, monotone=True)
    mechanism = OneShotTopK.calibrated(k=5, sensitivity=histogram, epsilon=EPSILON, neighbours=AddRemove())
    assert mechanism.scale == 1 / EPSILON
    assert mechanism.loss(sensitivity=histogram) == LaplaceDP(EPSILON, 1)
    replaced = Sensitivity.sparse(coordinates=2, each=1)
    assert OneShotTopK(k=5, scale=Fraction(1), neighbours=Replace()).loss(sensitivity=replaced) == LaplaceDP(
        Fraction(2), 2
    )
    many = Sensitivity(l1=100, linf=1, monotone=True)
    assert mechanism.loss(sensitivity=many) == PureDP(Fraction(5))
    law = remembered(lambda scores: one_shot_law(OneShotTopK(k=2, scale=Fraction(1), neighbours=AddRemove()), scores))
    cells = [tuple(sign * (i == j) for i in range(3)) for j in range(3) for sign in (1, -1)]
    assert worst_loss(law, grid(3, 1), cells) <= 1 + ROUNDING


def test_lists_of_one_are_the_exponential_mechanism_and_noisy_max() -> None:
    scores = (0, 2, 1)
    single = peeling(Replace("row"), k=1)
    weights = ExponentialMechanism(rate=single.rate, neighbours=Replace()).probabilities(scores)
    assert all(p.overlaps(single.probabilities(scores)[(i,)]) for i, p in enumerate(weights))
    shot = one_shot(Replace("row"), k=1)
    noisy = NoisyMax(scale=shot.scale, neighbours=Replace()).probabilities(scores)
    assert all(p.overlaps(one_shot_law(shot, scores)[(i,)]) for i, p in enumerate(noisy))


def test_laws_sum_to_one() -> None:
    assert is_law(TopK(k=3, rate=Fraction(1), neighbours=Replace()).probabilities([3, 1, 4, 1]).values())
    assert is_law(one_shot_law(OneShotTopK(k=2, scale=Fraction(1), neighbours=Replace()), (3, 1, 4, 1)).values())


def useful(listed: Scores, scores: Scores, alpha: Fraction) -> bool:
    """Nobody listed is below S_k - alpha, and everybody above S_k + alpha is listed."""
    threshold = sorted(scores, reverse=True)[len(listed) - 1]
    sound = all(scores[i] >= threshold - alpha for i in listed)
    return sound and all(i in listed for i, score in enumerate(scores) if score > threshold + alpha)


@pytest.mark.textbook("S5.8")
def test_lists_are_sound_and_complete_with_the_stated_probability() -> None:
    soft, shot = (
        TopK(k=2, rate=Fraction(1), neighbours=Replace()),
        OneShotTopK(k=2, scale=Fraction(1), neighbours=Replace()),
    )
    for mechanism, law in ((soft, soft.probabilities), (shot, lambda scores: one_shot_law(shot, scores))):
        alpha = Fraction(mechanism.error("0.05", candidates=4))
        step = int(alpha) + 1
        for scores in [(0, 0, step, step), (step, 0, step, 0), (0, 0, 0, step), (2 * step, step, 0, 0), (0, 0, 0, 0)]:
            useless = [chance for listed, chance in law(scores).items() if not useful(listed, scores, alpha)]
            assert upper(sum(useless, arb(0))) <= Fraction(5, 100)
        tight = [
            chance
            for listed, chance in law((step, step, 0, 0)).items()
            if not useful(listed, (step, step, 0, 0), alpha)
        ]
        assert float(sum(tight, arb(0))) > 0.005


@pytest.mark.textbook("S5.8")
def test_errors_share_their_risk_among_all_rounds_and_all_pairs() -> None:
    beta, candidates = Fraction(1, 20), 30
    soft = TopK(k=5, rate=Fraction(1, 10), neighbours=Replace())
    alpha = float(soft.error(beta, candidates=candidates))
    assert 5 * candidates * math.exp(-alpha / 10) == pytest.approx(float(beta))
    shot = OneShotTopK(k=5, scale=Fraction(10), neighbours=Replace())
    reach = shot.error(beta, candidates=candidates)
    pairs, gap = 5 * (candidates - 5), LaplaceSumLaw(shot.scale, 2)
    assert pairs * float(gap.tail(reach + 1)) <= beta < pairs * float(gap.tail(reach))


@pytest.mark.textbook("S5.8")
@given(rounds=st.integers(2, 1000), epsilon=st.fractions(Fraction(1, 20), Fraction(19, 20)), digits=st.integers(4, 15))
def test_a_round_gets_at_least_the_textbooks_share(rounds: int, epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    each = each_round(rounds=rounds, epsilon=epsilon, delta=delta)
    textbook = float(epsilon) / math.sqrt(8 * rounds * digits * math.log(10))
    together = repeated(BoundedRange(each), rounds)
    even = each_round(rounds=rounds, epsilon=epsilon)
    assert textbook < each >= even
    assert epsilon * (1 - Fraction(1, 10**9)) < even * rounds <= epsilon
    assert to_approximate(together, delta=delta).epsilon <= epsilon
    if each > even:
        more = repeated(BoundedRange(each * Fraction(101, 100)), rounds)
        assert 4 * textbook < each
        assert to_approximate(more, delta=delta).epsilon > epsilon


@pytest.mark.textbook("S5.8")
def test_fifty_names_at_a_small_delta_get_far_better_weights_than_an_even_split() -> None:
    even = TopK.calibrated(k=50, sensitivity=1, epsilon=1, neighbours=Replace())
    mechanism = TopK.calibrated(k=50, sensitivity=1, epsilon=1, delta="1e-9", neighbours=Replace())
    assert mechanism.rate > Fraction(2) * even.rate
    loss = mechanism.loss(sensitivity=1)
    assert Fraction(99, 100) < to_approximate(loss, delta="1e-9").epsilon <= 1
    assert to_pure(loss).epsilon > 2


def test_lists_name_different_candidates_and_all_of_them_if_asked() -> None:
    for seed in range(30):
        for listed in (
            TopK(k=4, rate=Fraction(1, 9), neighbours=Replace()).release([1, 2, 3, 4], SeededEntropy(seed)),
            OneShotTopK(k=4, scale=Fraction(9), neighbours=Replace()).release([1, 2, 3, 4], SeededEntropy(seed)),
        ):
            assert sorted(listed) == [0, 1, 2, 3]


def test_clear_leads_are_listed_in_order() -> None:
    scores = [5, 10**6, 10**30, -4]
    assert TopK(k=2, rate=Fraction(1), neighbours=Replace()).release(scores, SeededEntropy(0)) == (2, 1)
    assert OneShotTopK(k=2, scale=Fraction(1), neighbours=Replace()).release(scores, SeededEntropy(0)) == (2, 1)


def test_bad_input_is_refused() -> None:
    for kind in (TopK, OneShotTopK):
        with pytest.raises(MissingNeighbours):
            kind.calibrated(k=1, sensitivity=1, epsilon=1)
        for k in (0, -1, 1.5):
            with pytest.raises(InvalidParameter):
                kind.calibrated(k=k, sensitivity=1, epsilon=1, neighbours=Replace())
        mechanism = kind.calibrated(k=3, sensitivity=1, epsilon=1, neighbours=Replace())
        for scores in ([], [1, 2], [0.5, 1, 2]):
            with pytest.raises(InvalidParameter):
                mechanism.release(scores, SeededEntropy(0))
        with pytest.raises(InvalidParameter, match="candidates"):
            mechanism.error("0.1", candidates=2)
        assert mechanism.error("0.1", candidates=3) >= 0
