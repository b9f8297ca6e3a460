"""What is taken comes off both sides at once, in one order only, and closing gives up all of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dalenius import process
from dalenius.accounting.allowance import BudgetCounter
from dalenius.accounting.amounts import Charge, price
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import Composition
from dalenius.accounting.filters import PrivacyFilter
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import AddRemove

ORDER = Fraction(8)


def tally() -> BudgetCounter:
    return BudgetCounter(Charge(divergence=10, delta=5, order=ORDER), account="a test")


def test_an_amount_of_another_order_is_refused() -> None:
    budget_part = tally()
    for order in (None, Fraction(9)):
        with pytest.raises(InvalidParameter, match="order"):
            budget_part.take(Charge(divergence=1, order=order))
    assert budget_part.left == budget_part.cap


def test_closing_gives_up_divergence_and_events() -> None:
    budget_part = tally()
    budget_part.close()
    assert budget_part.left == Charge(divergence=0, delta=0, order=ORDER)
    for amount in (Charge(divergence=1, order=ORDER), Charge(divergence=0, delta=1, order=ORDER)):
        with pytest.raises(BudgetExceeded):
            budget_part.take(amount)


def test_a_cap_is_rounded_down_on_both_sides() -> None:
    cap = Charge.within(divergence=Fraction(19, 10**16), delta=Fraction(29, 10**21), order=ORDER)
    assert (cap.divergence, cap.delta) == (1, 2)
    charge = Charge.covering(divergence=Fraction(11, 10**16), delta=Fraction(21, 10**21), order=ORDER)
    assert (charge.divergence, charge.delta) == (2, 3)


def test_numbers_of_numpy_do_not_wrap_around() -> None:
    budget_part = PrivacyFilter(Budget(1), neighbours=AddRemove())
    budget_part.charge(PureDP(Fraction(1)))
    with pytest.raises(BudgetExceeded):
        budget_part.allow(Charge(divergence=np.int64(2**63 - 1), order=None))  # type: ignore[arg-type]
    assert budget_part.left.divergence == 0
    many = Composition(((PureDP(Fraction(1)), np.int64(2**49)),))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="no budget holds more"):
        price(many, order=None)


def test_a_process_number_that_is_used_again_does_not_open_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    budget_part = tally()
    monkeypatch.setattr(process, "_forks", [None, None])  # a grandchild, with the number of the first process
    assert budget_part.left == Charge(divergence=0, delta=0, order=ORDER)
    with pytest.raises(BudgetExceeded):
        budget_part.take(Charge(divergence=1, order=ORDER))
