"""The dear tests of `unit/accounting/test_filters.py`."""

from __future__ import annotations

from fractions import Fraction

from tests.unit.accounting.test_filters import approximate


def test_a_million_charges_sum_up_exactly() -> None:
    """A float ledger of 10^6 charges of 10^-6 ends away from 1; this one ends on the unit."""
    budget = approximate()
    unit = budget.renyi_filter.cap.part(Fraction(1, 10**6))
    for _ in range(10**6):
        budget.charge(unit)
    assert budget.spent == unit * 10**6
    assert sum([1e-6] * 10**6) != 1
    assert budget.left.divergence < 10**6
