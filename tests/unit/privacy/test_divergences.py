"""Divergences equal their definitions, event by event, and are rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.privacy.divergences import (
    Distribution,
    approximate_max_divergence,
    epsilon_distance,
    hockey_stick,
    is_private,
    kl_bound,
    kl_divergence,
    largest_odds,
    likelihood_ratio,
    loss_exceeds,
    max_divergence,
    privacy_loss,
    statistical_distance,
)
from strategies import distributions, odds

COINS = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}, {"yes": Fraction(1, 4), "no": Fraction(3, 4)}
deltas = st.fractions(0, 1, max_denominator=20)
TINY = Fraction(1, 10**60)


def events(p: Distribution[int], q: Distribution[int]) -> Iterator[tuple[Fraction, Fraction]]:
    """The masses that both distributions give to each of the 2^n events."""
    outcomes = list({**p, **q})
    for size in range(len(outcomes) + 1):
        for event in combinations(outcomes, size):
            yield sum((p.mass(o) for o in event), Fraction(0)), sum((q.mass(o) for o in event), Fraction(0))


@pytest.mark.textbook("S7.1")
def test_privacy_loss_is_the_log_ratio_and_infinite_where_supports_differ() -> None:
    p, q = {"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.25, "b": 0.3, "d": 0.45}
    assert abs(privacy_loss(p, q, "a") - Fraction(mpmath.nstr(mpmath.log(2), 15))) < Fraction(1, 10**14)
    assert privacy_loss(p, q, "b") == 0
    assert privacy_loss(p, q, "c") == math.inf
    assert privacy_loss(p, q, "d") == -math.inf
    assert (likelihood_ratio(p, q, "a"), likelihood_ratio(q, p, "a")) == (2, Fraction(1, 2))


@pytest.mark.textbook("S7.1")
def test_the_chance_of_a_large_loss_counts_the_likelier_outcomes_only() -> None:
    p, q = {"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.25, "b": 0.3, "d": 0.45}
    assert loss_exceeds(p, q, epsilon=0) == Fraction(7, 10)
    assert loss_exceeds(p, q, epsilon="0.69") == Fraction(7, 10)  # ln 2 = 0.6931...
    assert loss_exceeds(p, q, epsilon="0.70") == Fraction(1, 5)


@pytest.mark.textbook("S7.2")
def test_kl_is_in_nats_not_in_bits() -> None:
    value = kl_divergence(*COINS)
    nats = mpmath.log(3) / 2
    assert abs(float(value) - float(nats)) < 1e-15
    assert abs(float(value) - float(nats / mpmath.log(2))) > 0.2


@pytest.mark.textbook("S7.2")
def test_kl_is_zero_for_equals_and_infinite_outside_the_support() -> None:
    assert kl_divergence({"a": 1}, {"a": 1}) == 0
    assert kl_divergence({"a": 0.5, "b": 0.5}, {"a": 1}) == math.inf
    assert kl_divergence({"a": 1}, {"a": 0.5, "b": 0.5}) < math.inf


@pytest.mark.textbook("S7.2")
@given(distributions(least=1), distributions(least=1))
def test_kl_stays_below_the_bound_of_the_lemma(p: Distribution[int], q: Distribution[int]) -> None:
    epsilon = max(max_divergence(p, q), max_divergence(q, p))
    assert isinstance(epsilon, Fraction)
    assert kl_divergence(p, q) <= kl_bound(epsilon=epsilon) + TINY


@pytest.mark.textbook("S7.2")
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "0.99"])
def test_the_bound_of_the_lemma_and_its_simple_form(epsilon: str) -> None:
    with mpmath.workdps(40):
        exact = mpmath.mpf(epsilon) * mpmath.expm1(mpmath.mpf(epsilon))
        assert abs(mpmath.mpf(float(kl_bound(epsilon=epsilon))) / exact - 1) < 1e-15
    assert kl_bound(epsilon=epsilon) < 2 * Fraction(epsilon) ** 2


@pytest.mark.textbook("S7.4", "S17.6")
@given(distributions(), distributions(), odds())
def test_the_hockey_stick_is_the_worst_of_all_events(p: Distribution[int], q: Distribution[int], e: Fraction) -> None:
    assert hockey_stick(p, q, odds=e) == max(a - e * b for a, b in events(p, q))
    assert epsilon_distance(p, q, odds=e) == max(max(a - e * b, b - e * a) for a, b in events(p, q))
    assert statistical_distance(p, q) == statistical_distance(q, p) == max(abs(a - b) for a, b in events(p, q))


@pytest.mark.textbook("S7.4")
def test_the_two_directions_of_the_hockey_stick_differ() -> None:
    p, q = {"a": 0.9, "b": 0.1}, {"a": 1}
    assert hockey_stick(p, q, odds=2) == Fraction(1, 10)
    assert hockey_stick(q, p, odds=2) == 0
    assert epsilon_distance(q, p, odds=2) == Fraction(1, 10)


@pytest.mark.textbook("S7.4")
@given(distributions(), distributions(), st.fractions(0, 3, max_denominator=9))
def test_a_given_epsilon_is_rounded_up_and_barely(
    p: Distribution[int], q: Distribution[int], epsilon: Fraction
) -> None:
    with mpmath.workdps(100):
        ratio = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        number = {o: mpmath.mpf(m.numerator) / m.denominator for o, m in p.items()}
        other = {o: mpmath.mpf(q.mass(o).numerator) / q.mass(o).denominator for o in p}
        true = sum((max(number[o] - ratio * other[o], mpmath.mpf(0)) for o in p), mpmath.mpf(0))
        given_up = hockey_stick(p, q, epsilon=epsilon)
        assert mpmath.mpf(given_up.numerator) / given_up.denominator - true + mpmath.mpf(10) ** -98 >= 0
        assert mpmath.mpf(given_up.numerator) / given_up.denominator - true < mpmath.mpf(10) ** -70


@pytest.mark.parametrize(
    "parameters", [{}, {"odds": 2, "epsilon": 1}, {"odds": -1}, {"epsilon": -1}, {"epsilon": 10**9}]
)
def test_one_sensible_parameter_is_needed(parameters: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        hockey_stick(*COINS, **parameters)


@pytest.mark.textbook("S7.3")
@given(distributions(), distributions(), deltas)
def test_approximate_max_divergence_is_the_worst_of_all_events(
    p: Distribution[int], q: Distribution[int], delta: Fraction
) -> None:
    ratios = [(a - delta) / b if b else math.inf for a, b in events(p, q) if a > delta]
    assert largest_odds(p, q, delta=delta) == max(ratios, default=0)


@pytest.mark.textbook("S7.3")
@given(distributions(), distributions(), deltas)
def test_it_is_the_least_epsilon_whose_hockey_stick_is_at_most_delta(
    p: Distribution[int], q: Distribution[int], delta: Fraction
) -> None:
    least = largest_odds(p, q, delta=delta)
    if least == math.inf:
        assert hockey_stick(p, q, odds=10**9) > delta
    else:
        assert hockey_stick(p, q, odds=least) <= delta
        assert not least or hockey_stick(p, q, odds=least * Fraction(999, 1000)) > delta


@pytest.mark.textbook("S7.3")
def test_max_divergence_of_the_coins_is_ln_three_and_infinite_without_common_support() -> None:
    assert abs(float(max_divergence(*COINS)) - math.log(3)) < 1e-15
    assert max_divergence({"a": 0.9, "b": 0.1}, {"a": 1}) == math.inf
    # At delta = 0.1 the outcome b is allowed for; what is left of a then weighs at most as much as before.
    assert approximate_max_divergence({"a": 0.9, "b": 0.1}, {"a": 1}, delta=0.1) < 0
    assert approximate_max_divergence(*COINS, delta=1) == -math.inf


@pytest.mark.textbook("S1.3")
@given(distributions(), distributions(), st.fractions(0, 2, max_denominator=7), deltas)
def test_privacy_is_decided_as_the_definition_says(
    p: Distribution[int], q: Distribution[int], epsilon: Fraction, delta: Fraction
) -> None:
    with mpmath.workdps(80):
        ratio = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        pairs = [
            (mpmath.mpf(a.numerator) / a.denominator, mpmath.mpf(b.numerator) / b.denominator) for a, b in events(p, q)
        ]
        slack = mpmath.mpf(delta.numerator) / delta.denominator + mpmath.mpf(10) ** -75
        expected = all(a <= ratio * b + slack and b <= ratio * a + slack for a, b in pairs)
    assert is_private(p, q, epsilon=epsilon, delta=delta) is bool(expected)


@pytest.mark.textbook("S1.3")
def test_privacy_must_hold_in_both_directions() -> None:
    p, q = {"a": 0.9, "b": 0.1}, {"a": 1}
    assert not is_private(p, q, epsilon=1)
    assert not is_private(q, p, epsilon=1)
    assert is_private(q, p, epsilon=1, delta=0.1)


@pytest.mark.textbook("S1.3")
def test_a_hair_of_epsilon_decides() -> None:
    with mpmath.workdps(100):
        just_above = mpmath.nstr(mpmath.log(3), 95)
    below = Fraction(just_above) - Fraction(1, 10**90)
    assert is_private(*COINS, epsilon=below + Fraction(2, 10**90))
    assert not is_private(*COINS, epsilon=below)


@pytest.mark.textbook("S1.3")
def test_a_bounded_loss_with_probability_one_minus_delta_is_sufficient_but_not_necessary() -> None:
    """The binary example: delta is 0.0008, and yet the loss exceeds epsilon with probability 0.83."""
    keep = Fraction("0.83215")
    p, q = {0: keep, 1: 1 - keep}, {0: 1 - keep, 1: keep}
    epsilon, delta = Fraction(8, 5), Fraction(8, 10**4)
    assert is_private(p, q, epsilon=epsilon, delta=delta)
    assert round(float(epsilon_distance(p, q, epsilon=epsilon)), 4) == 0.0008
    assert round(float(loss_exceeds(p, q, epsilon=epsilon)), 2) == 0.83


@pytest.mark.textbook("S1.3")
@given(distributions(), distributions(), st.fractions(0, 2, max_denominator=5))
def test_the_sufficient_direction_holds(p: Distribution[int], q: Distribution[int], epsilon: Fraction) -> None:
    delta = max(loss_exceeds(p, q, epsilon=epsilon), loss_exceeds(q, p, epsilon=epsilon))
    assert is_private(p, q, epsilon=epsilon, delta=delta)
