"""An allowance: what one charge has paid for, and releases may use up."""

from __future__ import annotations

from typing import Self

from dalenius.accounting.amounts import Amount, price
from dalenius.accounting.tally import Tally
from dalenius.errors import InvalidParameter
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same, stated
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

    def require(self, cost: Loss | Amount) -> None:
        """Raise `BudgetExceeded` where less than a whole price is left; nothing is drawn.

        Whatever measures more than once calls this with all that it may draw, before its first measurement: else it
        would measure until nothing is left, and have nothing to show for it. Other threads may still draw in between.
        """
        self._tally.require(cost if isinstance(cost, Amount) else self.price(cost))

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


class PartOfAllowance(Allowance):
    """A part of an allowance: what is drawn from it is drawn from the whole too, and never past either."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Allowance, amount: Amount) -> None:
        super().__init__(amount, neighbours=whole.neighbours)
        self._whole = whole

    def require(self, cost: Loss | Amount) -> None:
        """Raise `BudgetExceeded` where less is left of either; nothing is drawn."""
        super().require(cost)
        self._whole.require(cost)

    def draw(self, loss: Loss) -> None:
        """Draw the price of one loss from both, or raise `BudgetExceeded`; a draw is never given back."""
        super().draw(loss)
        self._whole.draw(loss)


class JointAllowance(Allowance):
    """One allowance for several populations: every draw is taken from each of its parts, in that part's own order.

    Guarantee: whatever is drawn is covered by every part, so a release about several populations is paid for by all
    of them. All parts must be for the same neighbours. `left` and `price` speak of the first part; see `parts`.
    """

    __slots__ = ("parts",)

    parts: tuple[Allowance, ...]

    def __init__(self, *parts: Allowance) -> None:
        if not parts:
            raise InvalidParameter("parts", parts, allowed="one allowance or more")
        self.parts = tuple(of_kind(Allowance, part=part) for part in parts)
        for other in self.parts[1:]:
            require_same(first=self.parts[0].neighbours, other=other.neighbours)
        self.neighbours, self._tally = self.parts[0].neighbours, self.parts[0]._tally

    def require(self, cost: Loss | Amount) -> None:
        """Raise `BudgetExceeded` where less is left of any part; nothing is drawn."""
        for part in self.parts:
            part.require(cost)

    def draw(self, loss: Loss) -> None:
        """Draw the price of one loss from every part, or raise `BudgetExceeded`; a draw is never given back."""
        self.require(loss)  # of all of them, before anything is drawn
        for part in self.parts:
            part.draw(loss)

    def close(self) -> None:
        """Give up what is left of every part."""
        for part in self.parts:
            part.close()

    def __repr__(self) -> str:
        return f"<JointAllowance with {' and '.join(str(part.left) for part in self.parts)} left>"
