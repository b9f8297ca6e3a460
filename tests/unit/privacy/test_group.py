"""Group privacy gives what chains of neighbours really lose."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.divergences import Distribution, epsilon_distance, hockey_stick, largest_odds
from dalenius.privacy.group import group_delta, group_privacy
from dalenius.privacy.loss_distribution import LossDistribution
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, PureDP, RenyiCurve
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.odds import log_above
from dalenius.textbook.privacy.sensitivities import neighbouring


def geometric(count: int, ratio: Fraction, most: int) -> Distribution[int]:
    """A count in 0, ..., most with clamped two-sided geometric noise: each step of the count costs exactly 1/ratio."""
    inside = {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z - count) for z in range(1, most)}
    ends = {0: ratio**count / (1 + ratio), most: ratio ** (most - count) / (1 + ratio)}
    return Distribution({**inside, **ends})


@pytest.mark.textbook("S1.8")
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_group_pays_its_size_times_epsilon_and_no_less(size: int) -> None:
    ratio = Fraction(2, 3)
    worst = largest_odds(geometric(size, ratio, 9), geometric(0, ratio, 9))
    assert worst == (1 / ratio) ** size
    epsilon = Fraction(log_above(1 / ratio))
    assert group_privacy(PureDP(epsilon), size=size) == PureDP(size * epsilon)


@pytest.mark.textbook("S1.8")
def test_the_claim_of_the_notes_is_about_the_first_database_not_the_previous_one() -> None:
    """One text claims P[A(D_i)] <= e^{i epsilon} P[A(D_{i-1})], which says nothing about D_0 = D: chained, it gives
    1 + 2 + 3 = 6 epsilon for a group of 3, where 3 epsilon is true and tight."""
    ratio = Fraction(1, 2)
    chain = [geometric(count, ratio, 8) for count in range(4)]
    against_previous = [largest_odds(chain[i], chain[i - 1]) for i in (1, 2, 3)]
    assert against_previous == [2, 2, 2]
    assert [largest_odds(chain[i], chain[0]) for i in (1, 2, 3)] == [2, 4, 8]
    misread = sum(range(1, 4))
    assert group_privacy(PureDP(Fraction(1)), size=3) == PureDP(Fraction(3)) != PureDP(Fraction(misread))


@pytest.mark.textbook("S1.8")
def test_groups_do_not_gain_the_square_root_of_composition() -> None:
    """At the epsilon that advanced composition would promise to 100 uses, a group of 100 loses far more than delta."""
    size, ratio, slack = 100, Fraction(10, 11), 1e-6
    step = mpmath.log(1.1)
    advanced = mpmath.sqrt(2 * size * mpmath.log(1 / slack)) * step + size * step * mpmath.expm1(step)
    assert advanced < 0.65 * size * step
    left = hockey_stick(geometric(size, ratio, 120), geometric(0, ratio, 120), epsilon=str(advanced))
    assert left > Fraction(1, 2)


@pytest.mark.textbook("S1.8")
@given(st.integers(2, 5), st.fractions(1, 3, max_denominator=6), st.fractions("0.001", "0.01", max_denominator=1000))
def test_the_delta_of_a_group_is_attained_by_a_chain(size: int, odds: Fraction, delta: Fraction) -> None:
    """Each database answers 'yes' exactly odds times plus delta as often as the one before."""
    yes = [Fraction(1, 10**6)]
    for _ in range(size):
        yes.append(odds * yes[-1] + delta)
    if yes[-1] > Fraction(1, 2):
        return
    chain = [Distribution({"yes": mass, "no": 1 - mass}) for mass in yes]
    assert all(epsilon_distance(a, b, odds=odds) <= delta for a, b in pairwise(chain))
    reached = hockey_stick(chain[-1], chain[0], odds=odds**size)
    bound = group_delta(ApproximateDP(Fraction(log_above(odds)), delta), size=size)
    assert reached <= bound <= reached + Fraction(1, 10**60)


@pytest.mark.textbook("S1.8")
@given(st.integers(1, 50), st.fractions(0, 2, max_denominator=20), st.fractions("1e-9", "1e-6", max_denominator=10**9))
def test_the_delta_of_a_group_is_never_above_the_textbook_formula(
    size: int, epsilon: Fraction, delta: Fraction
) -> None:
    loss = group_privacy(ApproximateDP(epsilon, delta), size=size)
    assert isinstance(loss, ApproximateDP)
    assert loss.epsilon == size * epsilon
    with mpmath.workdps(60):
        formula = size * mpmath.exp((size - 1) * mpmath.mpf(float(epsilon))) * mpmath.mpf(float(delta))
        assert float(loss.delta) <= formula * (1 + mpmath.mpf(10) ** -12)
        sharp = sum(mpmath.exp(i * mpmath.mpf(float(epsilon))) for i in range(size)) * mpmath.mpf(float(delta))
        assert float(loss.delta) == pytest.approx(float(min(sharp, 1)), rel=1e-12)


@pytest.mark.textbook("S1.8")
def test_the_delta_of_a_huge_group_is_one() -> None:
    assert group_privacy(ApproximateDP(1, "1e-9"), size=10**9) == ApproximateDP(10**9, 1)


@pytest.mark.textbook("S1.8")
@pytest.mark.parametrize("relation", [AddRemove(), Replace()], ids=str)
@pytest.mark.parametrize("copies", [1, 2, 5])
def test_a_release_on_k_copies_of_a_database_costs_what_a_group_of_k_pays(relation: Neighbours, copies: int) -> None:
    """The mechanism pays `loss` for one row of what it is given; it is given every row k times."""
    ratio = Fraction(1, 2)

    def release(database: Counter[str], times: int) -> Distribution[int]:
        copied = Counter({row: times * count for row, count in database.items()})
        return geometric(copied["yes"], ratio, 20)

    def worst(times: int) -> Fraction:
        pairs = list(neighbouring(universe=("yes", "no"), sizes=range(4), neighbours=relation))
        assert pairs
        return max(largest_odds(release(x, times), release(y, times)) for x, y in pairs)

    one = PureDP(Fraction(log_above(worst(1))))
    group = group_privacy(one, size=copies)
    assert worst(copies) == worst(1) ** copies
    assert abs(group.epsilon - log_above(worst(copies))) < Fraction(1, 10**50)


@pytest.mark.textbook("S1.8")
def test_laws_that_know_their_sensitivity_scale_it() -> None:
    assert group_privacy(LaplaceDP(Fraction(1), steps=2), size=3) == LaplaceDP(Fraction(3), steps=6)
    assert group_privacy(BoundedRange(Fraction(1)), size=3) == BoundedRange(Fraction(3))
    assert group_privacy(ZCDP(Fraction(1, 8)), size=3) == ZCDP(Fraction(9, 8))


@pytest.mark.textbook("S1.8")
def test_a_gaussian_shifted_three_times_as_far_costs_nine_times_the_rho() -> None:
    alpha, variance = Fraction(5), Fraction(4)
    one, three = (alpha * shift**2 / (2 * variance) for shift in (1, 3))
    rho = one / alpha
    assert group_privacy(ZCDP(rho), size=3).renyi(alpha) == three


@pytest.mark.textbook("S1.8")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_renyi_curve_bounds_the_group_of_a_gaussian(size: int) -> None:
    curve = RenyiCurve(tuple((Fraction(alpha), Fraction(alpha, 8)) for alpha in (4, 8, 16, 32)))
    group = group_privacy(curve, size=size)
    assert isinstance(group, RenyiCurve)
    for alpha, value in group.points:
        assert alpha >= 2
        assert value >= alpha * size**2 / 8
    doublings = (size - 1).bit_length()
    assert group.points[-1] == (Fraction(32, 2**doublings), Fraction(3**doublings * 32, 8))


@pytest.mark.textbook("S1.8")
@pytest.mark.parametrize(
    "loss",
    [
        RenyiCurve(((Fraction(3), Fraction(1)),)),  # no order high enough
        RenyiCurve(((Fraction(8), Fraction(1)),), event=Fraction(1, 100)),
        LossDistribution.between({"a": 1}, {"a": 1}),
    ],
)
def test_losses_without_a_theorem_are_refused(loss: RenyiCurve | LossDistribution) -> None:
    assert group_privacy(loss, size=1) is loss
    with pytest.raises(TheoremDoesNotApply):
        group_privacy(loss, size=2)


@pytest.mark.textbook("S1.8")
def test_a_group_has_at_least_one_member() -> None:
    with pytest.raises(InvalidParameter):
        group_privacy(PureDP(Fraction(1)), size=0)
