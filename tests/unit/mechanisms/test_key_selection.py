"""Which keys are shown: the chances by their defining inequalities, the order of the keys, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from checks import ALARM, SeededEntropy
from dalenius.accounting.amounts import Charge, price
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.composition import repeated
from dalenius.errors import InvalidParameter, TheoremDoesNotApply, UnusableValue
from dalenius.mechanisms.keys.key_selection import GeometricKeySelection, KeyCounts
from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.keys.thresholding import ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.privacy.sensitivity import Sensitivity

ADD, REPLACE = AddRemove(), Replace()
TINY = Fraction(1, 10**30)


def geometric(
    epsilon: object = 1, delta: object = "0.01", groups: int = 1, neighbours: Neighbours = ADD
) -> GeometricKeySelection:
    return GeometricKeySelection(epsilon=epsilon, delta=delta, groups=groups, neighbours=neighbours)  # type: ignore[arg-type]


def renyi(order: object = 8, divergence: object = "0.1", delta: object = "0.001", groups: int = 1) -> RenyiKeySelection:
    curve = ((Fraction(order), Fraction(divergence)),)  # type: ignore[arg-type]
    return RenyiKeySelection(curve=curve, delta=delta, groups=groups, neighbours=ADD)  # type: ignore[arg-type]


def counts(**units: int) -> KeyCounts:
    return KeyCounts([(name,) for name in units], np.array(list(units.values()), dtype=np.int64))


@settings(max_examples=25, deadline=None)
@given(epsilon=st.fractions(Fraction(1, 20), 3), delta=st.fractions(Fraction(1, 10**6), Fraction(1, 3)))
def test_each_chance_is_the_largest_that_follows_the_one_before(epsilon: Fraction, delta: Fraction) -> None:
    selection = geometric(epsilon, delta)
    epsilon, delta = selection.each.epsilon, selection.each.delta
    assert upper(selection.keep_probability(0)) == 0
    with precise():
        up, down = ball(epsilon).exp(), (-ball(epsilon)).exp()
        for count in range(2 * selection.half_kept() + 3):
            here, there = selection.keep_probability(count), selection.keep_probability(count + 1)
            largest = (up * here + ball(delta)).min(1 - down * (1 - here - ball(delta))).min(arb(1))
            assert abs(upper(there - largest)) < TINY
    assert lower(selection.keep_probability(10 * selection.half_kept() + 10)) > Fraction(1, 2)


def chances(selection: RenyiKeySelection, units: Iterable[int]) -> list[Fraction]:
    with precise():
        return [lower(selection.keep_probability(count)) for count in units]


def moments(order: Fraction, p: Fraction, q: Fraction) -> arb:
    power = ball(order)
    return ball(p) ** power * ball(q) ** (1 - power) + ball(1 - p) ** power * ball(1 - q) ** (1 - power)


@settings(max_examples=12, deadline=None)
@given(
    order=st.fractions(Fraction(3, 2), 40, max_denominator=10),
    divergence=st.fractions(Fraction(1, 200), 2, max_denominator=1000),
    delta=st.fractions(Fraction(1, 10**9), Fraction(1, 10), max_denominator=10**9),
)
def test_each_step_of_the_ladder_keeps_the_divergence_and_wastes_little_of_it(
    order: Fraction, divergence: Fraction, delta: Fraction
) -> None:
    """Beside the event, coins of neighbouring counts are as far apart as they may be, and no further."""
    selection = renyi(order, divergence, delta)
    (alpha, size), d = selection.each.points[0], selection.each.event
    half = selection.half_kept()
    ladder = chances(selection, range(half + 2))
    assert ladder[0] == 0
    assert d - TINY <= ladder[1] <= d
    assert ladder[half - 1] < Fraction(1, 2) <= ladder[half]
    with precise():
        bound = ball((alpha - 1) * size).exp()
        for before, after in pairwise(ladder[1:]):
            if before >= 1 - d:
                assert after == 1
                continue
            p, q = before / (1 - d), (after - d) / (1 - d)
            far = moments(alpha, p, q).max(moments(alpha, q, p))
            assert upper(far) <= upper(bound) + TINY
            assert lower(far.log() / bound.log()) > Fraction(99, 100)


def test_the_test_above_notices_a_step_that_is_one_percent_too_long() -> None:
    selection = renyi()
    (alpha, size), d = selection.each.points[0], selection.each.event
    before, after = chances(selection, (5, 6))
    longer = after + (after - before) / 100
    p, q = before / (1 - d), (longer - d) / (1 - d)
    with precise():
        assert upper(moments(alpha, p, q).max(moments(alpha, q, p))) > upper(ball((alpha - 1) * size).exp())


def test_keys_are_shown_as_often_as_stated() -> None:
    for selection in (geometric(), renyi()):
        half = selection.half_kept()
        for count in (1, half - 1, half, half + 1):
            value = KeyCounts([(index,) for index in range(20_000)], np.full(20_000, count))
            shown = len(selection.release(value, SeededEntropy(("kept", count))))
            chance = float(selection.keep_probability(count))
            assert stats.binomtest(shown, 20_000, chance).pvalue > ALARM
            assert stats.binomtest(shown, 20_000, min(1.0, 1.2 * chance + 0.01)).pvalue < ALARM


def test_a_key_with_many_units_is_certain_and_one_without_units_never_shows() -> None:
    value = counts(many=10**15, none=0, lone=1)
    for selection in (geometric(delta="1e-12"), renyi(delta="1e-12")):
        assert selection.release(value, SeededEntropy("many")) == (("many",),)


def test_keys_come_in_their_own_order_whatever_the_order_of_the_rows() -> None:
    keys = [("b", 2), ("b", None), (None, 1), ("a", 10), ("a", 9), ("é", 0), ("z", -1), ("", 0)]
    expected = (("", 0), ("a", 9), ("a", 10), ("b", 2), ("b", None), ("z", -1), ("é", 0), (None, 1))
    order = np.random.default_rng(1)
    for _ in range(5):
        mixed = [keys[place] for place in order.permutation(len(keys))]
        value = KeyCounts(mixed, np.full(len(keys), 10**6))
        assert geometric().release(value, SeededEntropy("order")) == expected


def test_equal_randomness_shows_equal_keys_for_permuted_rows() -> None:
    names, units = [(f"key {i}",) for i in range(500)], np.arange(500) % 12 + 1
    order = np.random.default_rng(2).permutation(500)
    mixed = KeyCounts([names[place] for place in order], units[order])
    for selection in (geometric(), renyi()):
        first = selection.release(KeyCounts(names, units), SeededEntropy("same"))
        assert first == selection.release(mixed, SeededEntropy("same"))
        assert 0 < len(first) < 500


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_the_loss_is_one_part_for_each_key_that_changes(relation: Neighbours) -> None:
    steps = relation.add_remove_steps
    change = Sensitivity.sparse(coordinates=3 * steps, each=1)
    selection = GeometricKeySelection.calibrated(sensitivity=change, epsilon=1, delta="1e-6", neighbours=relation)
    assert selection.groups == 3
    parts = 3 * steps
    each = ApproximateDP(selection.each.epsilon, selection.each.delta)
    assert selection.loss(sensitivity=change) == repeated(each, parts)
    assert 1 - Fraction(1, 10**9) < parts * each.epsilon <= 1
    assert parts * each.delta <= Fraction(1, 10**6)


def test_more_keys_than_it_is_made_for_and_units_that_count_twice_are_refused() -> None:
    for selection in (geometric(groups=2), renyi(groups=2)):
        with pytest.raises(TheoremDoesNotApply, match="at most 2 keys"):
            selection.loss(sensitivity=Sensitivity.sparse(coordinates=3, each=1))
        with pytest.raises(TheoremDoesNotApply, match="once in each key"):
            selection.loss(sensitivity=Sensitivity.sparse(coordinates=1, each=2))


@pytest.mark.parametrize(
    "value",
    [
        KeyCounts([("a",), ("a",)], np.array([1, 2])),
        KeyCounts([("a",)], np.array([-1])),
        KeyCounts([("a",)], np.array([1, 2])),
        KeyCounts([("a",)], np.array([1.5])),
    ],
)
def test_a_list_that_is_not_of_counts_is_refused_without_naming_a_key(value: KeyCounts) -> None:
    with pytest.raises(UnusableValue) as refused:
        geometric().release(value, SeededEntropy("no"))
    assert "'a'" not in str(refused.value)


def test_no_keys_at_all_give_an_empty_list() -> None:
    nothing = KeyCounts([], np.array([], dtype=np.int64))
    for selection in (geometric(), renyi()):
        assert selection.release(nothing, SeededEntropy("empty")) == ()


def test_an_amount_is_spent_and_not_passed() -> None:
    cap = RenyiFilter.of(Budget(epsilon=1, delta="1e-6")).part(share="0.1").rectangle
    change = Sensitivity.sparse(coordinates=3, each=1)
    selection = RenyiKeySelection.calibrated(amounts=[cap], sensitivity=change, neighbours=ADD)
    cost = price(selection.loss(sensitivity=change), order=cap.order)
    assert cost <= cap
    assert cost.divergence > cap.divergence * (1 - 1e-9)
    assert cost.delta > cap.delta * (1 - 1e-6)
    with pytest.raises(InvalidParameter, match="Rényi order"):
        RenyiKeySelection.calibrated(amounts=[Charge(divergence=1, order=None)], sensitivity=change, neighbours=ADD)


def test_two_ledgers_of_different_orders_are_both_kept_to() -> None:
    change = Sensitivity.sparse(coordinates=2, each=1)
    caps = [RenyiFilter.of(Budget(epsilon=e, delta="1e-7")).part(share="0.2").rectangle for e in (1, 3)]
    both = RenyiKeySelection.calibrated(amounts=caps, sensitivity=change, neighbours=ADD)
    for cap in caps:
        alone = RenyiKeySelection.calibrated(amounts=[cap], sensitivity=change, neighbours=ADD)
        assert price(both.loss(sensitivity=change), order=cap.order) <= cap
        assert both.half_kept() >= alone.half_kept()


@pytest.mark.parametrize(("share", "groups"), [("1", 1), ("1", 3), ("0.1", 3), ("0.01", 3)])
def test_at_equal_price_it_needs_fewer_units_than_gaussian_noise_and_a_threshold(share: str, groups: int) -> None:
    cap = RenyiFilter.of(Budget(epsilon=1, delta="1e-6")).part(share=share)
    assert cap.order is not None
    change = Sensitivity.sparse(coordinates=groups, each=1)
    selection = RenyiKeySelection.calibrated(amounts=[cap], sensitivity=change, neighbours=ADD)
    rho = Fraction(cap.divergence, 10**15) / cap.order
    noise = DiscreteGaussian.calibrated(sensitivity=change, rho=rho, neighbours=ADD)
    above = ThresholdedCounts.calibrated(noise=noise, delta=Fraction(cap.delta, 10**20), sensitivity=change)
    assert selection.half_kept() < Fraction(85, 100) * above.half_kept()


def test_at_the_whole_budget_it_needs_fewer_units_than_truncated_geometric_selection_of_that_budget() -> None:
    """Epsilon 1 and delta 10^-6 for three keys: 34 units instead of 40."""
    change = Sensitivity.sparse(coordinates=3, each=1)
    cap = RenyiFilter.of(Budget(epsilon=1, delta="1e-6")).cap
    selection = RenyiKeySelection.calibrated(amounts=[cap], sensitivity=change, neighbours=ADD)
    assert (selection.half_kept(), geometric(1, "1e-6", groups=3).half_kept()) == (34, 40)
