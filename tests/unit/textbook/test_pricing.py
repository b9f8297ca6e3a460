"""Prices for digital goods: the textbook's examples with their errata, sensitivity, revenue and truthfulness."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from choices import RELATIONS, ROUNDING, losses
from dalenius.errors import InvalidParameter, MissingNeighbours, TheoremDoesNotApply
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import upper
from dalenius.textbook.pricing import (
    most_gained_by_lying,
    price_grid,
    revenue_sensitivity,
    revenue_shortfall,
    revenues,
)

PUMPKINS = [100, 100, 100, 301]
PRICES = [1, 3, 5]
EPSILON = Fraction(1)


def calibrated(prices: list[int], neighbours: Neighbours, epsilon: Fraction = EPSILON) -> ExponentialMechanism:
    sensitivity = revenue_sensitivity(prices=prices, neighbours=neighbours)
    return ExponentialMechanism.calibrated(sensitivity=sensitivity, epsilon=epsilon, neighbours=neighbours)


@pytest.mark.textbook("S5.9")
def test_pumpkins_bring_four_dollars_at_one_dollar() -> None:
    assert revenues(PUMPKINS, prices=[301, 300, 100, 302]) == [301, 300, 400, 0]


@pytest.mark.textbook("S5.9")
def test_two_bids_of_10_and_one_of_500_bring_most_at_500() -> None:
    assert revenues([10, 10, 500], prices=[10, 11, 500]) == [30, 11, 500]
    assert revenue_sensitivity(prices=[10, 11, 500], neighbours=Replace()).linf == 500


@pytest.mark.textbook("S5.9")
def test_a_sensitivity_of_one_for_prices_up_to_500_is_flagged() -> None:
    prices = [10, 500]
    broken = ExponentialMechanism.calibrated(sensitivity=1, epsilon=EPSILON, neighbours=AddRemove())

    def worst(mechanism: ExponentialMechanism) -> Fraction:
        return max(
            map(
                abs,
                losses(lambda bids: mechanism.probabilities(revenues(bids, prices=prices)), (10, 10, 500), (10, 10)),
            )
        )

    assert worst(broken) > 200 * EPSILON
    assert worst(calibrated(prices, AddRemove())) <= EPSILON


@pytest.mark.textbook("S5.9")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_sensitivity_is_exactly_the_highest_price_and_the_loss_within_the_claim(relation: Neighbours) -> None:
    mechanism = calibrated(PRICES, relation)
    sensitivity = revenue_sensitivity(prices=PRICES, neighbours=relation)
    most, worst = 0, Fraction(0)
    for bids in product((0, 2, 4, 6), repeat=3):
        for other in relation.around(Counter(bids), (0, 2, 4, 6)):
            here, there = revenues(bids, prices=PRICES), revenues(list(other.elements()), prices=PRICES)  # type: ignore[arg-type]
            most = max(most, *(abs(a - b) for a, b in zip(here, there, strict=True)))
            worst = max(worst, *map(abs, losses(mechanism.probabilities, tuple(here), tuple(there))))
    assert sensitivity.linf == most == 5
    assert sensitivity.monotone == (relation == AddRemove("row"))
    assert worst <= mechanism.loss(sensitivity=sensitivity).epsilon + ROUNDING == EPSILON + ROUNDING


@pytest.mark.textbook("S5.9")
@given(bids=st.lists(st.fractions(0, 1), min_size=1, max_size=12), steps=st.integers(1, 20))
def test_the_grid_of_prices_loses_at_most_alpha_times_the_number_of_buyers(bids: list[Fraction], steps: int) -> None:
    on_grid = [
        Fraction(best, steps) for best in revenues([bid * steps for bid in bids], prices=price_grid(steps=steps))
    ]  # type: ignore[misc]
    best = max(bid * sum(other >= bid for other in bids) for bid in bids)
    assert max(on_grid) >= best - Fraction(len(bids), steps)


@pytest.mark.textbook("S5.9")
def test_the_grid_runs_from_alpha_to_one() -> None:
    assert [Fraction(price, 4) for price in price_grid(steps=4)] == [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), 1]


@pytest.mark.textbook("S5.9")
def test_revenue_falls_short_by_alpha_n_and_two_over_epsilon_at_most() -> None:
    steps, t, buyers = 10, 1, 200
    bids = [3] * 80 + [7] * 70 + [10] * 50  # in tenths
    mechanism = calibrated(price_grid(steps=steps), Replace("row"))
    assert mechanism.rate == EPSILON / (2 * steps)  # revenue is counted in tenths
    bound = revenue_shortfall(buyers=buyers, steps=steps, epsilon=EPSILON, t=t)
    assert float(bound) == pytest.approx(buyers / steps + 2 * (math.log(steps) + t), rel=1e-12)
    scores = revenues(bids, prices=price_grid(steps=steps))
    poor = [
        p
        for p, s in zip(mechanism.probabilities(scores), scores, strict=True)
        if Fraction(s, steps) < Fraction(max(scores), steps) - bound
    ]
    assert poor
    assert float(upper(sum(poor, arb(0)))) <= math.exp(-t)


@pytest.mark.textbook("S5.9")
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1)])
def test_no_lie_gains_more_than_two_epsilon(epsilon: Fraction) -> None:
    """Every misreport of every buyer in a small market; utilities are shares of the highest price."""
    ladder = [1, 2, 3, 4]
    mechanism = calibrated(ladder, Replace("row"), epsilon)

    def welfare(value: int, bids: tuple[int, ...]) -> float:
        law = mechanism.probabilities(revenues(bids, prices=ladder))
        return sum(float(p) * max(value - price, 0) / 4 for p, price in zip(law, ladder, strict=True))

    gains = [
        welfare(value, (lie, *others)) - welfare(value, (value, *others))
        for others in product(range(5), repeat=2)
        for value in range(5)
        for lie in range(5)
    ]
    assert 0 < max(gains) <= most_gained_by_lying(epsilon=epsilon) == 2 * epsilon


def test_the_bound_on_lies_is_refused_above_epsilon_one() -> None:
    with pytest.raises(TheoremDoesNotApply, match="at most 1"):
        most_gained_by_lying(epsilon="1.01")


@given(bids=st.lists(st.integers(-5, 400), max_size=20), prices=st.lists(st.integers(1, 350), min_size=1, max_size=8))
def test_revenue_is_price_times_buyers(bids: list[int], prices: list[int]) -> None:
    assert revenues(bids, prices=prices) == [price * sum(bid >= price for bid in bids) for price in prices]


def test_an_odd_bid_cannot_sway_how_others_are_counted() -> None:
    here = revenues([1, 3, 5, 3, 1], prices=PRICES)
    there = revenues([1, 3, float("nan"), 5, 3, 1], prices=PRICES)  # type: ignore[list-item]
    assert all(abs(a - b) <= max(PRICES) for a, b in zip(here, there, strict=True))


def test_bad_input_is_refused() -> None:
    for prices in ([], [0], [-1, 2], [1.5]):
        with pytest.raises(InvalidParameter):
            revenues([1], prices=prices)  # type: ignore[arg-type]
    with pytest.raises(MissingNeighbours):
        revenue_sensitivity(prices=[1], neighbours=None)
