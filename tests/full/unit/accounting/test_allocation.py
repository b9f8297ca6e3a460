"""The dear tests of `unit/accounting/test_allocation.py`."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dalenius.accounting.amounts import Charge
from dalenius.accounting.shares import split_amount


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9))
def test_parts_of_an_amount_never_exceed_it(shares: list[int]) -> None:
    whole = Charge(divergence=10**15 + 7, delta=10**9 + 1, order=Fraction(18))
    split = split_amount(whole, shares)
    total = split[0]
    for part in split[1:]:
        total += part
    assert total <= whole
    assert whole.divergence - total.divergence < len(shares)
