"""Loss distributions compose exactly, and the closed form for many randomized bits agrees with them."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import Distribution, approximate_max_divergence, epsilon_distance, loss_exceeds
from dalenius.privacy.loss_distribution import LossDistribution, RandomizedBits
from dalenius.privacy.losses import PureDP, randomized_response_renyi
from dalenius.privacy.odds import log_above
from strategies import distributions, odds

COINS = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}, {"yes": Fraction(1, 4), "no": Fraction(3, 4)}
LN3 = log_above(Fraction(3))
deltas = st.fractions(0, 1, max_denominator=20)


@pytest.mark.textbook("S7.1", "S7.4")
@given(distributions(), distributions(), odds(), deltas)
def test_merging_equal_ratios_changes_no_figure(
    p: Distribution[int], q: Distribution[int], ratio: Fraction, delta: Fraction
) -> None:
    loss = LossDistribution.between(p, q)
    assert loss.delta_at(odds=ratio) == epsilon_distance(p, q, odds=ratio)
    assert loss.exceeds(epsilon=1) == max(loss_exceeds(p, q, epsilon=1), loss_exceeds(q, p, epsilon=1))
    worst = max(approximate_max_divergence(p, q, delta=delta), approximate_max_divergence(q, p, delta=delta))
    assert loss.epsilon_at(delta=delta) == max(0, worst)


@given(distributions(outcomes=3), distributions(outcomes=3), distributions(outcomes=3), distributions(outcomes=3))
def test_composition_equals_the_joint_release(
    p: Distribution[int], q: Distribution[int], r: Distribution[int], s: Distribution[int]
) -> None:
    together = LossDistribution.between(p, q).composed(LossDistribution.between(r, s))
    assert together == LossDistribution.between(p.times(r), q.times(s))
    assert together == LossDistribution.between(r, s).composed(LossDistribution.between(p, q))


@given(distributions(outcomes=3), distributions(outcomes=3), st.integers(1, 6))
def test_repeating_equals_composing_one_by_one(p: Distribution[int], q: Distribution[int], count: int) -> None:
    loss = LossDistribution.between(p, q)
    one_by_one = loss
    for _ in range(count - 1):
        one_by_one = one_by_one.composed(loss)
    assert loss.repeated(count) == one_by_one


def test_repeated_coins_have_few_distinct_losses() -> None:
    assert len(LossDistribution.between(*COINS).repeated(64).first) == 65


@given(distributions(), distributions(), st.sampled_from(["1.5", "2", "7", "30"]))
def test_renyi_and_delta_together_bound_the_pair(p: Distribution[int], q: Distribution[int], alpha: str) -> None:
    """At order alpha, delta plus the part that Renyi leaves open covers the hockey stick at a chosen epsilon."""
    loss, epsilon = LossDistribution.between(p, q), Fraction(3)
    order = Fraction(alpha)
    rest = mpmath.exp((order - 1) * (float(loss.renyi(alpha)) - float(epsilon)))
    assert float(loss.delta_at(epsilon=epsilon)) <= float(loss.delta) + float(rest) + 1e-12


def test_renyi_of_the_coins_is_that_of_randomized_response() -> None:
    loss = LossDistribution.between(*COINS)
    for alpha in ("1.5", "2", "10"):
        assert abs(loss.renyi(alpha) - randomized_response_renyi(Fraction(LN3), Fraction(alpha))) < Fraction(1, 10**60)
    assert abs(loss.repeated(5).renyi(2) - 5 * loss.renyi(2)) < Fraction(1, 10**60)


def test_outcomes_that_only_one_side_has_count_as_the_event() -> None:
    loss = LossDistribution.between({"a": "0.9", "b": "0.1"}, {"a": "0.8", "c": "0.2"})
    assert loss.delta == Fraction(1, 5)
    assert loss.renyi(2) == 0  # given that the outcome is a, nothing is learnt
    assert loss.repeated(2).delta == 1 - Fraction(4, 5) ** 2
    assert LossDistribution.between({"a": 1}, {"b": 1}).epsilon_at(delta="0.5") == math.inf
    assert LossDistribution.between({"a": 1}, {"b": 1}).renyi(2) == 0


def test_renyi_takes_the_worse_direction() -> None:
    p, q = {"a": "0.99", "b": "0.01"}, {"a": "0.5", "b": "0.5"}
    away = (Fraction(1, 2) ** 2 / Fraction(99, 100)) + (Fraction(1, 2) ** 2 / Fraction(1, 100))
    for loss in (LossDistribution.between(p, q), LossDistribution.between(q, p)):
        assert float(loss.renyi(2)) == pytest.approx(math.log(away), rel=1e-14)


def test_ratios_beyond_any_float_compose() -> None:
    tiny = Fraction(1, 10**400)
    loss = LossDistribution.between({"a": "0.5", "b": "0.5"}, {"a": tiny, "c": 1 - tiny}).repeated(2)
    assert loss.first == {10**800 / Fraction(4): Fraction(1, 4), math.inf: Fraction(3, 4)}
    assert loss.epsilon_at(delta="0.75") > 1800


def test_a_loss_distribution_must_be_consistent() -> None:
    with pytest.raises(InvalidParameter, match="likelihood ratio of its own masses"):
        LossDistribution(Distribution({Fraction(2): 1}), Distribution({Fraction(2): 1}))
    with pytest.raises(InvalidParameter):
        LossDistribution.between(*COINS).renyi(1)


@pytest.mark.textbook("S6.6")
@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_the_closed_form_agrees_with_exact_composition(count: int) -> None:
    bits, exact = RandomizedBits(Fraction(LN3), count), LossDistribution.between(*COINS).repeated(count)
    for epsilon in ("0.5", "1.5", "3.1", "6"):
        assert 0 <= bits.delta_at(epsilon=epsilon) - exact.delta_at(epsilon=epsilon) < Fraction(1, 10**60)
        assert 0 <= bits.exceeds(epsilon=epsilon) - exact.exceeds(epsilon=epsilon) < Fraction(1, 10**60)
    for delta in ("0.3", "0.01", "1e-6"):
        assert abs(bits.epsilon_at(delta=delta) - Fraction(exact.epsilon_at(delta=delta))) < Fraction(1, 10**60)
    assert abs(bits.renyi(3) - exact.renyi(3)) < Fraction(1, 10**60)


@pytest.mark.textbook("S6.6")
def test_lifetime_example_holds_by_the_exact_binomial_loss() -> None:
    """Ten thousand databases at 1/801: the loss exceeds 1 with probability 9.2e-16, below e^-32 = 1.3e-14."""
    bits = RandomizedBits(Fraction(1, 801), 10_000)
    chance = bits.exceeds(epsilon=1)
    assert f"{float(chance):.1e}" == "9.2e-16"
    assert float(chance) < math.exp(-32)
    assert bits.delta_at(epsilon=1) < chance / 60
    least = bits.epsilon_at(delta="1.2664e-14")
    assert least < 1
    assert bits.delta_at(epsilon=least) <= Fraction("1.26641e-14")
    assert bits.delta_at(epsilon=least * Fraction(999, 1000)) > Fraction("1.2664e-14")


@pytest.mark.textbook("S6.6")
def test_lifetime_example_against_an_independent_sum() -> None:
    count, epsilon = 400, Fraction(1, 30)
    with mpmath.workdps(60):
        e = mpmath.mpf(1) / 30
        keep = 1 / (1 + mpmath.exp(-e))
        tail = sum(
            mpmath.binomial(count, j) * keep**j * (1 - keep) ** (count - j)
            for j in range(count + 1)
            if (2 * j - count) * epsilon > 2
        )
        assert abs(mpmath.mpf(float(RandomizedBits(epsilon, count).exceeds(epsilon=2))) / tail - 1) < 1e-14


@given(st.fractions("0.01", 2, max_denominator=100), st.integers(1, 40), st.sampled_from(["0.5", "0.01", "1e-9"]))
def test_epsilon_at_and_delta_at_are_inverse(epsilon: Fraction, count: int, delta: str) -> None:
    bits = RandomizedBits(epsilon, count)
    found = bits.epsilon_at(delta=delta)
    assert found <= count * epsilon + Fraction(1, 10**60)
    assert bits.delta_at(epsilon=found) <= Fraction(delta) + Fraction(1, 10**60)
    if found:
        assert bits.delta_at(epsilon=found * Fraction(999, 1000)) > Fraction(delta)


def test_huge_losses_are_figures_too() -> None:
    bits = RandomizedBits(Fraction(1000), 3)
    assert abs(bits.epsilon_at(delta=0) - 3000) < Fraction(1, 10**60)
    assert bits.delta_at(epsilon=2999) > Fraction(1, 2)
    assert 2999 < bits.renyi(2) <= 3000


def test_one_bit_is_the_worst_of_pure_privacy() -> None:
    bit = RandomizedBits(Fraction(1), 1)
    assert abs(bit.epsilon_at(delta=0) - 1) < Fraction(1, 10**60)
    assert bit.renyi(2) == PureDP(Fraction(1)).renyi(2)
    assert bit.delta == 0
    with pytest.raises(InvalidParameter):
        RandomizedBits(Fraction(1), 0)
    with pytest.raises(InvalidParameter):
        bit.renyi("0.5")
