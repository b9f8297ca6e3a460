from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, LARGEST, Charge, price
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.calibration import largest_rho
from dalenius.accounting.conversion import renyi_to_epsilon
from dalenius.errors import InvalidParameter
from dalenius.privacy.losses import ZCDP
from oracle import DIGITS, real, renyi_epsilon

budgets = st.builds(
    Budget, st.fractions(Fraction(1, 100), 20), st.integers(2, 15).map(lambda digits: Fraction(1, 10**digits))
)


@pytest.mark.textbook("S6.8")
@given(budgets)
def test_the_rectangle_implies_the_budget_by_the_oracle_too(budget: Budget) -> None:
    cap = RenyiFilter.of(budget).cap
    assert cap.order is not None
    with mp.workdps(DIGITS):
        room = budget.delta - cap.delta * DELTA_UNIT
        assert room > 0
        implied = renyi_epsilon(real(cap.divergence * DIVERGENCE_UNIT), real(cap.order), real(room))
        assert real(budget.epsilon) * mp.mpf("0.999") < implied <= real(budget.epsilon)


@given(budgets)
def test_the_default_order_is_short_and_within_half_a_percent_of_the_most_gaussian_noise(budget: Budget) -> None:
    renyi_filter = RenyiFilter.of(budget)
    assert renyi_filter.order is not None
    digits = str((renyi_filter.order - 1).numerator * 10**12 // (renyi_filter.order - 1).denominator).strip("0")
    assert len(digits) <= 2
    room = budget.delta - renyi_filter.cap.delta * DELTA_UNIT
    best = largest_rho(epsilon=budget.epsilon, delta=room)
    assert renyi_filter.cap.divergence * DIVERGENCE_UNIT / renyi_filter.order >= Fraction(995, 1000) * best


@pytest.mark.parametrize(("delta", "most"), [("1e-5", 0.015), ("1e-9", 0.008)])
def test_the_events_part_costs_little(delta: str, most: float) -> None:
    budget = Budget(1, delta)
    with_events, without = RenyiFilter.of(budget), RenyiFilter.of(budget, event_delta=0)
    assert with_events.cap.delta * DELTA_UNIT == budget.delta / 10
    assert without.cap.delta == 0
    capacities = [rect.cap.divergence / rect.order for rect in (with_events, without) if rect.order]
    assert 0 < 1 - capacities[0] / capacities[1] < most


def test_a_pure_budget_is_a_cap_on_epsilon() -> None:
    renyi_filter = RenyiFilter.of(Budget("1.5"))
    assert renyi_filter.cap == Charge(divergence=15 * 10**14, order=None)
    assert str(Budget("1.5")) == "epsilon = 1.5"
    assert str(Budget(3, "1e-9")) == "epsilon = 3, delta = 1e-9"


def test_order_and_events_can_be_set() -> None:
    renyi_filter = RenyiFilter.of(Budget(1, "1e-6"), alpha=12, event_delta="4e-7")
    assert renyi_filter.order == 12
    assert renyi_filter.cap.delta == 4 * 10**13
    assert renyi_to_epsilon(divergence=renyi_filter.cap.divergence * DIVERGENCE_UNIT, alpha=12, delta="6e-7") <= 1


def test_a_rectangle_beyond_its_budget_cannot_be_made() -> None:
    good = RenyiFilter.of(Budget(1, "1e-6"))
    more = Charge(divergence=good.cap.divergence + 1, delta=good.cap.delta, order=good.order)
    with pytest.raises(InvalidParameter, match="within the budget"):
        RenyiFilter(budget=good.budget, cap=more)
    more = Charge(divergence=good.cap.divergence, delta=good.cap.delta + 10**6, order=good.order)
    with pytest.raises(InvalidParameter, match="within the budget"):
        RenyiFilter(budget=good.budget, cap=more)
    for cap in (Charge(divergence=10**15, order=None), Charge(divergence=10**15, delta=1, order=None)):
        with pytest.raises(InvalidParameter):
            RenyiFilter(budget=good.budget, cap=cap)
    with pytest.raises(InvalidParameter):
        RenyiFilter(budget=Budget(1), cap=Charge(divergence=1, delta=1, order=None))


@given(budgets, st.fractions(Fraction(1, 1000), 1))
def test_epsilon_buys_the_share_that_such_a_budget_would_be(budget: Budget, part: Fraction) -> None:
    renyi_filter = RenyiFilter.of(budget)
    amount = renyi_filter.amount(epsilon=part * budget.epsilon)
    room = budget.delta - renyi_filter.cap.delta * DELTA_UNIT
    expected = largest_rho(epsilon=part * budget.epsilon, delta=room) / largest_rho(epsilon=budget.epsilon, delta=room)
    assert float(renyi_filter.share(amount)) == pytest.approx(float(expected), rel=0.01)


@given(budgets)
def test_the_whole_epsilon_buys_everything(budget: Budget) -> None:
    renyi_filter = RenyiFilter.of(budget)
    assert renyi_filter.amount(epsilon=budget.epsilon) == renyi_filter.cap.rectangle
    assert renyi_filter.share(renyi_filter.cap) == 1


@given(budgets, st.fractions(Fraction(1, 1000), "0.99"))
def test_more_epsilon_buys_more(budget: Budget, part: Fraction) -> None:
    renyi_filter = RenyiFilter.of(budget)
    less, more = (renyi_filter.amount(epsilon=size * budget.epsilon) for size in (part, part + Fraction(1, 100)))
    assert less <= more
    assert less != more


def test_shares_of_a_pure_budget_are_parts_of_epsilon() -> None:
    renyi_filter = RenyiFilter.of(Budget(2))
    assert renyi_filter.amount(epsilon="0.5") == renyi_filter.part(share="0.25")
    assert renyi_filter.share(renyi_filter.amount(epsilon="0.5")) == Fraction(1, 4)


def test_shares_add_up_and_take_the_larger_side() -> None:
    renyi_filter = RenyiFilter.of(Budget(1, "1e-6"))
    assert sum(renyi_filter.share(renyi_filter.part(share=Fraction(1, 7))) for _ in range(7)) <= 1
    events = Charge(divergence=1, delta=renyi_filter.cap.delta // 2, order=renyi_filter.order)
    assert renyi_filter.share(events) == Fraction(1, 2)
    with pytest.raises(InvalidParameter, match="has none for events"):
        RenyiFilter.of(Budget(1, "1e-6"), event_delta=0).share(events)


def test_the_smallest_share_is_a_unit() -> None:
    renyi_filter = RenyiFilter.of(Budget(1, "1e-6"))
    assert renyi_filter.part(share="1e-30") == Charge(divergence=1, order=renyi_filter.order, epsilon=1)


def test_one_gaussian_release_at_the_whole_epsilon_fits() -> None:
    budget = Budget(1, "1e-6")
    renyi_filter = RenyiFilter.of(budget)
    assert renyi_filter.order is not None
    rho = renyi_filter.cap.divergence * DIVERGENCE_UNIT / renyi_filter.order
    assert price(ZCDP(rho), order=renyi_filter.order).divergence == renyi_filter.cap.divergence


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 0, "0", "1e999999", "abc", None, True])
def test_bad_epsilons_are_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter):
        Budget(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        RenyiFilter.of(Budget(1, "1e-6")).amount(epsilon=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        RenyiFilter.of(Budget(1, "1e-6")).part(share=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 1, 2, "1e999999", None])
def test_bad_deltas_are_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter):
        Budget(1, bad)  # type: ignore[arg-type]


def test_budgets_too_large_or_too_small_for_the_ledger_are_refused() -> None:
    for budget in (Budget("1e999"), Budget(9224), Budget("1e999", "1e-6"), Budget("1e-16"), Budget("1e-15", "1e-300")):
        with pytest.raises(InvalidParameter):
            RenyiFilter.of(budget)
    assert RenyiFilter.of(Budget(9223)).cap.divergence <= LARGEST
    for share in (2, "1.0001"):
        with pytest.raises(InvalidParameter):
            RenyiFilter.of(Budget(1)).part(share=share)
    with pytest.raises(InvalidParameter, match="at most the budget"):
        RenyiFilter.of(Budget(1)).amount(epsilon="1.01")
