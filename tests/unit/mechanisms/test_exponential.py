"""The exponential mechanism: its exact worst loss, its bounded range, its accuracy, and the broken forms flagged."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from checks import SeededEntropy
from choices import RELATIONS, ROUNDING, changes, grid, is_law, losses, remembered, worst_loss
from dalenius.errors import InvalidParameter, MissingNeighbours, TheoremDoesNotApply
from dalenius.mechanisms.selection.exponential import ExponentialMechanism, best_of_two_bound
from dalenius.privacy.losses import BoundedRange
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity

EPSILON = Fraction(1)
COUNTS = {AddRemove("row"): Sensitivity(linf=1, monotone=True), Replace("row"): Sensitivity(linf=1)}
FAR = [(0, 200), (0, 200, 200)]
"""Scores where the worst case is attained to 20 digits."""


def calibrated(neighbours: Neighbours, base: tuple[int, ...] | None = None) -> ExponentialMechanism:
    return ExponentialMechanism.calibrated(
        sensitivity=COUNTS[neighbours], epsilon=EPSILON, neighbours=neighbours, base=base
    )


def real_loss(mechanism: ExponentialMechanism, moves: Neighbours) -> Fraction:
    law = remembered(mechanism.probabilities)
    near = worst_loss(law, grid(3, 2), changes(3, moves))
    return max(near, *(worst_loss(law, [scores], changes(len(scores), moves)) for scores in FAR))


@pytest.mark.textbook("S5.3", "S5.5")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_exact_worst_loss_is_the_claim(relation: Neighbours) -> None:
    mechanism = calibrated(relation)
    claim = mechanism.loss(sensitivity=COUNTS[relation]).epsilon
    assert claim == EPSILON
    assert claim - ROUNDING <= real_loss(mechanism, relation) <= claim + ROUNDING


@pytest.mark.textbook("S5.3")
def test_scores_that_are_not_monotone_need_half_the_rate_under_add_remove_too() -> None:
    mechanism = ExponentialMechanism.calibrated(sensitivity=1, epsilon=EPSILON, neighbours=AddRemove("row"))
    assert mechanism.rate == EPSILON / 2
    any_direction = changes(3, Replace("row"))
    assert worst_loss(remembered(mechanism.probabilities), grid(3, 2), any_direction) <= EPSILON + ROUNDING


@pytest.mark.textbook("S5.3")
def test_weights_without_the_half_are_flagged() -> None:
    broken = ExponentialMechanism(rate=EPSILON, neighbours=Replace("row"))  # e^(epsilon q), as a slide has it
    assert real_loss(broken, Replace("row")) > 2 * EPSILON - ROUNDING
    assert broken.loss(sensitivity=1).epsilon == 2 * EPSILON


@pytest.mark.textbook("S5.5")
def test_the_monotone_rate_under_replace_is_flagged() -> None:
    monotone = calibrated(AddRemove("row"))
    assert real_loss(monotone, AddRemove("row")) <= EPSILON + ROUNDING
    assert real_loss(monotone, Replace("row")) > 2 * EPSILON - ROUNDING
    with pytest.raises(TheoremDoesNotApply):
        ExponentialMechanism.calibrated(
            sensitivity=Sensitivity(linf=1, monotone=True), epsilon=1, neighbours=Replace("row")
        )


@pytest.mark.textbook("S5.4")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_a_public_base_measure_costs_nothing(relation: Neighbours) -> None:
    mechanism = calibrated(relation, base=(1, 10, 0))
    law = remembered(lambda scores: mechanism.probabilities(scores)[:2])
    worst = worst_loss(law, [*grid(3, 2), (0, 200, 0), (200, 0, 0)], changes(3, relation))
    assert EPSILON - ROUNDING <= worst <= EPSILON + ROUNDING
    assert mechanism.probabilities([0, 0, 99])[2] == 0
    assert mechanism.probabilities([0, 0, 0])[1].overlaps(10 * mechanism.probabilities([0, 0, 0])[0])


@pytest.mark.textbook("S5.4")
def test_a_base_measure_that_follows_the_data_is_flagged() -> None:
    def law(scores: tuple[int, ...]) -> list[arb]:
        private = tuple(score + 2 for score in scores)  # taken from the scores: not public
        return calibrated(Replace("row"), base=private).probabilities(scores)

    assert worst_loss(law, grid(2, 2), changes(2, Replace("row"))) > EPSILON + Fraction(1, 10)


@given(
    scores=st.lists(st.integers(0, 9), min_size=3, max_size=3),
    steps=st.lists(st.integers(-1, 1), min_size=3, max_size=3),
    alpha=st.sampled_from([Fraction(3, 2), Fraction(2), Fraction(8), Fraction(50)]),
)
def test_the_exact_renyi_divergence_stays_within_bounded_range(
    scores: list[int], steps: list[int], alpha: Fraction
) -> None:
    mechanism = calibrated(Replace("row"))
    there = [score + step for score, step in zip(scores, steps, strict=True)]
    first, second = mechanism.probabilities(scores), mechanism.probabilities(there)
    spread = losses(mechanism.probabilities, tuple(scores), tuple(there))
    assert max(spread) - min(spread) <= EPSILON + ROUNDING
    with precise():
        moment = sum((p ** ball(alpha) * q ** ball(1 - alpha) for p, q in zip(first, second, strict=True)), arb(0))
        divergence = moment.log() / ball(alpha - 1)
    assert lower(divergence) <= mechanism.loss(sensitivity=1).renyi(alpha)


def test_the_loss_is_of_bounded_range() -> None:
    loss = calibrated(Replace("row")).loss(sensitivity=1)
    assert isinstance(loss, BoundedRange)
    assert loss.renyi(2) == 2 * EPSILON**2 / 8


@pytest.mark.textbook("S5.2", "S5.3")
def test_probabilities_of_three_neighbouring_scores() -> None:
    law = ExponentialMechanism(rate=Fraction(1), neighbours=AddRemove()).probabilities([0, 1, 2])
    assert is_law(law)
    assert [round(float(p), 3) for p in law] == [0.09, 0.245, 0.665]


def gumbel_argmax(scores: list[int], rate: Fraction, base: list[int]) -> list[mpmath.mpf]:
    """The law of the arg-max of scores with Gumbel noise of scale 1 / rate, integrated over the winning value.

    A base weight w counts as w copies of a candidate. Density and distribution function are those of the noise:
    e^-(z + e^-z) and e^-(e^-z), with z in units of the scale.
    """
    units = mpmath.mpf(rate.numerator) / rate.denominator

    def wins(index: int, level: mpmath.mpf) -> mpmath.mpf:
        own = level - units * scores[index]
        below = mpmath.fsum(
            (share - (other == index)) * mpmath.exp(-(level - units * score))
            for other, (share, score) in enumerate(zip(base, scores, strict=True))
        )
        return base[index] * mpmath.exp(-(own + mpmath.exp(-own))) * mpmath.exp(-below)

    centre = float(units * max(scores))
    cuts = [centre + step for step in (-6, -2, 0, 2, 5, 10, 20, 60)]  # less than e^-60 is outside
    return [mpmath.quad(lambda level, i=index: wins(i, level), cuts) for index in range(len(scores))]


@pytest.mark.textbook("S5.2", "S2.4")
@pytest.mark.parametrize(
    ("scores", "rate", "base"),
    [([0, 1, 2], 1, [1, 1, 1]), ([4, 0, 3, 3], "1/2", [1, 1, 1, 1]), ([0, 2], "1/3", [3, 1])],
)
def test_the_largest_of_scores_with_gumbel_noise_has_the_law_of_the_exponential_mechanism(
    scores: list[int], rate: int | str, base: list[int]
) -> None:
    law = ExponentialMechanism(rate=Fraction(rate), neighbours=Replace(), base=base).probabilities(scores)
    noisy = gumbel_argmax(scores, Fraction(rate), base)
    assert [float(p) for p in law] == pytest.approx([float(p) for p in noisy], abs=1e-12)
    wrong = gumbel_argmax(scores, Fraction(rate) * Fraction(9, 10), base)
    assert max(abs(float(p) - float(q)) for p, q in zip(law, wrong, strict=True)) > 1e-3


@pytest.mark.textbook("S5.3")
@given(
    scores=st.lists(st.integers(0, 12), min_size=2, max_size=6),
    rate=st.fractions(Fraction(1, 10), 2),
    t=st.fractions(0, 5),
)
def test_the_chance_of_a_bad_score_is_at_most_that_of_theorem_3_11(
    scores: list[int], rate: Fraction, t: Fraction
) -> None:
    mechanism = ExponentialMechanism(rate=rate, neighbours=AddRemove())
    best = scores.count(max(scores))
    limit = max(scores) - mechanism.shortfall(t, candidates=len(scores), best=best)
    with precise():
        bad = sum((p for p, s in zip(mechanism.probabilities(scores), scores, strict=True) if s <= limit), arb(0))
        assert upper(bad) <= upper(ball(-t).exp())


@pytest.mark.textbook("S5.3")
def test_corollary_3_12_is_theorem_3_11_with_one_best_candidate() -> None:
    mechanism = ExponentialMechanism.calibrated(sensitivity=1, epsilon="0.1", neighbours=Replace())
    with precise():
        figure = upper((ball(1000).log() + 3) * 20)
    assert abs(mechanism.shortfall(3, candidates=1000) - figure) < ROUNDING
    assert mechanism.shortfall(3, candidates=1000, best=10) < mechanism.shortfall(3, candidates=1000)


@pytest.mark.textbook("S5.3", "S5.4")
@pytest.mark.parametrize("base", [None, (1, 5, 2, 3, 4)])
def test_the_error_at_95_percent_holds_for_every_placement_of_scores(base: tuple[int, ...] | None) -> None:
    mechanism = ExponentialMechanism(rate=Fraction(1, 2), neighbours=Replace(), base=base)
    error = int(mechanism.error("0.05", candidates=5))
    for best in range(5):
        for gap in range(error + 1, error + 9):
            scores = [0 if index == best else -gap for index in range(5)]
            assert 1 - float(mechanism.probabilities(scores)[best]) <= 0.05


@pytest.mark.textbook("S5.6")
def test_two_candidates_miss_by_at_most_ln_2_plus_5_with_probability_e_to_the_minus_5() -> None:
    mechanism = ExponentialMechanism.calibrated(sensitivity=1, epsilon="0.1", neighbours=Replace())
    assert float(mechanism.shortfall(5, candidates=2)) == pytest.approx(20 * (0.6931471805599453 + 5), rel=1e-12)


@pytest.mark.textbook("S5.6")
@given(gap=st.integers(0, 60), epsilon=st.fractions(Fraction(1, 100), 3))
def test_the_rarer_of_two_conditions_wins_within_the_bound(gap: int, epsilon: Fraction) -> None:
    mechanism = ExponentialMechanism.calibrated(sensitivity=1, epsilon=epsilon, neighbours=Replace())
    wrong = mechanism.probabilities([0, gap])[0]
    bound = best_of_two_bound(gap=gap, epsilon=epsilon)
    assert bound / 4 <= upper(wrong) + ROUNDING
    assert upper(wrong) <= bound / 2 + ROUNDING


@pytest.mark.textbook("S5.7")
def test_the_most_visited_site_is_found_for_one_epsilon() -> None:
    visits = {"news": 310, "weather": 250, "games": 120, "mail": 40}
    mechanism = calibrated(AddRemove("row"))
    assert mechanism.loss(sensitivity=COUNTS[AddRemove("row")]).epsilon == EPSILON
    assert float(mechanism.probabilities(list(visits.values()))[0]) > 0.999999
    assert mechanism.release(list(visits.values()), SeededEntropy(0)) == 0


def test_bad_input_is_refused() -> None:
    with pytest.raises(MissingNeighbours):
        ExponentialMechanism.calibrated(sensitivity=1, epsilon=1)
    with pytest.raises(MissingNeighbours):
        ExponentialMechanism(rate=Fraction(1), neighbours=None)  # type: ignore[arg-type]
    for epsilon in (0, -1, float("nan"), float("inf"), "x"):
        with pytest.raises(InvalidParameter, match="epsilon"):
            ExponentialMechanism.calibrated(sensitivity=1, epsilon=epsilon, neighbours=Replace())
    for sensitivity in (0, -1):
        with pytest.raises(InvalidParameter, match="sensitivity"):
            ExponentialMechanism.calibrated(sensitivity=sensitivity, epsilon=1, neighbours=Replace())
    with pytest.raises(InvalidParameter, match="base"):
        calibrated(Replace("row"), base=(0, 0))
    with pytest.raises(InvalidParameter, match="candidates"):
        calibrated(Replace("row")).release([], SeededEntropy(0))
    with pytest.raises(InvalidParameter, match="base"):
        calibrated(Replace("row"), base=(1, 2)).probabilities([1, 2, 3])
    with pytest.raises(InvalidParameter, match="best"):
        calibrated(Replace("row")).error("0.1", candidates=2, best=3)
    with pytest.raises(InvalidParameter, match="beta"):
        calibrated(Replace("row")).error(1, candidates=2)
