"""What is taken comes off both sides at once, in one order only, and closing gives up all of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dalenius.accounting.amounts import Amount
from dalenius.accounting.tally import Tally
from dalenius.errors import BudgetExceeded, InvalidParameter

ORDER = Fraction(8)


def tally() -> Tally:
    return Tally(Amount(divergence=10, delta=5, order=ORDER), account="a test")


def test_an_amount_of_another_order_is_refused() -> None:
    purse = tally()
    for order in (None, Fraction(9)):
        with pytest.raises(InvalidParameter, match="order"):
            purse.take(Amount(divergence=1, order=order))
    assert purse.left == purse.cap


def test_closing_gives_up_divergence_and_events() -> None:
    purse = tally()
    purse.close()
    assert purse.left == Amount(divergence=0, delta=0, order=ORDER)
    for amount in (Amount(divergence=1, order=ORDER), Amount(divergence=0, delta=1, order=ORDER)):
        with pytest.raises(BudgetExceeded):
            purse.take(amount)


def test_a_cap_is_rounded_down_on_both_sides() -> None:
    cap = Amount.within(divergence=Fraction(19, 10**16), delta=Fraction(29, 10**21), order=ORDER)
    assert (cap.divergence, cap.delta) == (1, 2)
    charge = Amount.covering(divergence=Fraction(11, 10**16), delta=Fraction(21, 10**21), order=ORDER)
    assert (charge.divergence, charge.delta) == (2, 3)
