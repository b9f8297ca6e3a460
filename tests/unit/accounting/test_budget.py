from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, LARGEST, Amount, price
from dalenius.accounting.budget import Budget, Rectangle
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
    cap = Rectangle.of(budget).cap
    assert cap.order is not None
    with mp.workdps(DIGITS):
        room = budget.delta - cap.delta * DELTA_UNIT
        assert room > 0
        implied = renyi_epsilon(real(cap.divergence * DIVERGENCE_UNIT), real(cap.order), real(room))
        assert real(budget.epsilon) * mp.mpf("0.999") < implied <= real(budget.epsilon)


@given(budgets)
def test_the_default_order_is_short_and_within_half_a_percent_of_the_most_gaussian_noise(budget: Budget) -> None:
    rectangle = Rectangle.of(budget)
    assert rectangle.order is not None
    digits = str((rectangle.order - 1).numerator * 10**12 // (rectangle.order - 1).denominator).strip("0")
    assert len(digits) <= 2
    room = budget.delta - rectangle.cap.delta * DELTA_UNIT
    best = largest_rho(epsilon=budget.epsilon, delta=room)
    assert rectangle.cap.divergence * DIVERGENCE_UNIT / rectangle.order >= Fraction(995, 1000) * best


@pytest.mark.parametrize(("delta", "most"), [("1e-5", 0.015), ("1e-9", 0.008)])
def test_the_events_part_costs_little(delta: str, most: float) -> None:
    budget = Budget(1, delta)
    with_events, without = Rectangle.of(budget), Rectangle.of(budget, event_delta=0)
    assert with_events.cap.delta * DELTA_UNIT == budget.delta / 10
    assert without.cap.delta == 0
    capacities = [rect.cap.divergence / rect.order for rect in (with_events, without) if rect.order]
    assert 0 < 1 - capacities[0] / capacities[1] < most


def test_a_pure_budget_is_a_cap_on_epsilon() -> None:
    rectangle = Rectangle.of(Budget("1.5"))
    assert rectangle.cap == Amount(divergence=15 * 10**14, order=None)
    assert str(Budget("1.5")) == "epsilon = 1.5"
    assert str(Budget(3, "1e-9")) == "epsilon = 3, delta = 1e-9"


def test_order_and_events_can_be_set() -> None:
    rectangle = Rectangle.of(Budget(1, "1e-6"), alpha=12, event_delta="4e-7")
    assert rectangle.order == 12
    assert rectangle.cap.delta == 4 * 10**13
    assert renyi_to_epsilon(divergence=rectangle.cap.divergence * DIVERGENCE_UNIT, alpha=12, delta="6e-7") <= 1


def test_a_rectangle_beyond_its_budget_cannot_be_made() -> None:
    good = Rectangle.of(Budget(1, "1e-6"))
    more = Amount(divergence=good.cap.divergence + 1, delta=good.cap.delta, order=good.order)
    with pytest.raises(InvalidParameter, match="within the budget"):
        Rectangle(budget=good.budget, cap=more)
    more = Amount(divergence=good.cap.divergence, delta=good.cap.delta + 10**6, order=good.order)
    with pytest.raises(InvalidParameter, match="within the budget"):
        Rectangle(budget=good.budget, cap=more)
    for cap in (Amount(divergence=10**15, order=None), Amount(divergence=10**15, delta=1, order=None)):
        with pytest.raises(InvalidParameter):
            Rectangle(budget=good.budget, cap=cap)
    with pytest.raises(InvalidParameter):
        Rectangle(budget=Budget(1), cap=Amount(divergence=1, delta=1, order=None))


@given(budgets, st.fractions(Fraction(1, 1000), 1))
def test_epsilon_buys_the_share_that_such_a_budget_would_be(budget: Budget, part: Fraction) -> None:
    rectangle = Rectangle.of(budget)
    amount = rectangle.amount(epsilon=part * budget.epsilon)
    room = budget.delta - rectangle.cap.delta * DELTA_UNIT
    expected = largest_rho(epsilon=part * budget.epsilon, delta=room) / largest_rho(epsilon=budget.epsilon, delta=room)
    assert float(rectangle.share(amount)) == pytest.approx(float(expected), rel=0.01)


@given(budgets)
def test_the_whole_epsilon_buys_everything(budget: Budget) -> None:
    rectangle = Rectangle.of(budget)
    assert rectangle.amount(epsilon=budget.epsilon) == rectangle.cap
    assert rectangle.share(rectangle.cap) == 1


@given(budgets, st.fractions(Fraction(1, 1000), "0.99"))
def test_more_epsilon_buys_more(budget: Budget, part: Fraction) -> None:
    rectangle = Rectangle.of(budget)
    less, more = (rectangle.amount(epsilon=size * budget.epsilon) for size in (part, part + Fraction(1, 100)))
    assert less <= more
    assert less != more


def test_shares_of_a_pure_budget_are_parts_of_epsilon() -> None:
    rectangle = Rectangle.of(Budget(2))
    assert rectangle.amount(epsilon="0.5") == rectangle.part(share="0.25")
    assert rectangle.share(rectangle.amount(epsilon="0.5")) == Fraction(1, 4)


def test_shares_add_up_and_take_the_larger_side() -> None:
    rectangle = Rectangle.of(Budget(1, "1e-6"))
    assert sum(rectangle.share(rectangle.part(share=Fraction(1, 7))) for _ in range(7)) <= 1
    events = Amount(divergence=1, delta=rectangle.cap.delta // 2, order=rectangle.order)
    assert rectangle.share(events) == Fraction(1, 2)
    with pytest.raises(InvalidParameter, match="has none for events"):
        Rectangle.of(Budget(1, "1e-6"), event_delta=0).share(events)


def test_the_smallest_share_is_a_unit() -> None:
    rectangle = Rectangle.of(Budget(1, "1e-6"))
    assert rectangle.part(share="1e-30") == Amount(divergence=1, order=rectangle.order)


def test_one_gaussian_release_at_the_whole_epsilon_fits() -> None:
    budget = Budget(1, "1e-6")
    rectangle = Rectangle.of(budget)
    assert rectangle.order is not None
    rho = rectangle.cap.divergence * DIVERGENCE_UNIT / rectangle.order
    assert price(ZCDP(rho), order=rectangle.order).divergence == rectangle.cap.divergence


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 0, "0", "1e999999", "abc", None, True])
def test_bad_epsilons_are_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter):
        Budget(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        Rectangle.of(Budget(1, "1e-6")).amount(epsilon=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        Rectangle.of(Budget(1, "1e-6")).part(share=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 1, 2, "1e999999", None])
def test_bad_deltas_are_refused(bad: object) -> None:
    with pytest.raises(InvalidParameter):
        Budget(1, bad)  # type: ignore[arg-type]


def test_budgets_too_large_or_too_small_for_the_ledger_are_refused() -> None:
    for budget in (Budget("1e999"), Budget(9224), Budget("1e999", "1e-6"), Budget("1e-16"), Budget("1e-15", "1e-300")):
        with pytest.raises(InvalidParameter):
            Rectangle.of(budget)
    assert Rectangle.of(Budget(9223)).cap.divergence <= LARGEST
    for share in (2, "1.0001"):
        with pytest.raises(InvalidParameter):
            Rectangle.of(Budget(1)).part(share=share)
    with pytest.raises(InvalidParameter, match="at most the budget"):
        Rectangle.of(Budget(1)).amount(epsilon="1.01")
