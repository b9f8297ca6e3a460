"""What a price means for so many rows, before anything is fitted."""

from __future__ import annotations

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Amount
from dalenius.mechanisms.purse import Purse, deviation
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import whole
from dalenius.privacy.sensitivity import Sensitivity


def yardstick(amount: Amount, hidden: Neighbours, *, n: int, most: int = 1) -> str:
    """In words, how far off a share of `n` rows would be, of which a unit has at most `most`, if the whole amount paid
    for one count: the same yardstick for all estimators, each of which divides its price among more than that."""
    rows, purse = whole(1, n=n), Purse(Allowance(amount, neighbours=hidden))
    change = Sensitivity(l1=most, l2_squared=most**2, neighbours=hidden)
    off = deviation(purse.noise(purse.equal(1), change))
    share = f"{100 * off / rows:.2g} percentage points" if off < rows else "more than all of them"
    counted = f"if all of it paid for one count, that would be off by about {off:.2g}"
    return f"{counted}, and a share of {rows:,} rows by {share}"
