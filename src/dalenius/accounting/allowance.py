"""An allowance: what one charge has paid for, and releases may use up."""

from __future__ import annotations

from typing import Self

from dalenius.accounting.amounts import Amount, price
from dalenius.accounting.tally import Tally
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import of_kind


class Allowance:
    """A small filter of its own, paid for once: every measurement draws on it, never past it; what is left is lost.

    Guarantee: all that is drawn costs no more than the charge that paid for it, so the ledger that took the charge
    covers whatever is released, adaptively or interleaved with other allowances.
    Use it in a `with` block, or close it, to give up what is left. `Filter.allow` makes one and charges it; whoever
    makes one by hand vouches that its amount was charged.
    """

    __slots__ = ("_tally", "neighbours")

    neighbours: Neighbours

    def __init__(
        self, amount: Amount, *, neighbours: Neighbours | None = None, account: str = "this allowance"
    ) -> None:
        self.neighbours = stated(neighbours)
        self._tally = Tally(of_kind(Amount, amount=amount), account=account)

    @property
    def left(self) -> Amount:
        """What may still be drawn."""
        return self._tally.left

    def price(self, loss: Loss) -> Amount:
        """What a loss would draw; nothing is drawn."""
        return price(loss, order=self._tally.cap.order)

    def draw(self, loss: Loss) -> None:
        """Draw the price of one loss, or raise `BudgetExceeded` and draw nothing."""
        self._tally.take(self.price(loss))

    def close(self) -> None:
        """Give up what is left."""
        self._tally.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Allowance with {self.left} left, neighbours by {self.neighbours}>"
