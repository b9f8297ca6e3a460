"""An allowance: what one charge has paid for, and releases may use up.

The one place where something is spent: compare and add in one step.
"""

from __future__ import annotations

import threading
from typing import Self

from dalenius.accounting.amounts import Charge, price
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same, stated
from dalenius.privacy.numbers import of_kind
from dalenius.process import identity


class BudgetCounter:
    """A cap and what was taken of it, in each of its figures. What is left only ever falls, in all threads together.

    A copy is the same tally. In a forked process nothing is left of it: two processes cannot share it, and must not
    spend it twice.
    """

    __slots__ = ("_lock", "_process", "_spent", "account", "cap")

    def __init__(self, cap: Charge, *, account: str) -> None:
        self.cap, self.account = cap, account
        self._spent = Charge(divergence=0, order=cap.order, epsilon=0)
        self._lock, self._process = threading.Lock(), identity()

    @property
    def spent(self) -> Charge:
        if identity() != self._process:
            return self.cap
        with self._lock:
            return self._spent

    @property
    def left(self) -> Charge:
        """What is left in each figure."""
        return self.cap.less(self.spent)

    def take(self, amount: Charge) -> None:
        """Take `amount`, or nothing at all and say so."""
        self._same_order(amount)
        if not amount:
            raise InvalidParameter(
                "amount", amount, allowed="greater than 0", hint="A release of private data is never free."
            )
        if not self._taken(amount):
            raise BudgetExceeded(account=self.account, asked=amount, left=self.left)

    def require(self, amount: Charge) -> None:
        """Raise what `take` would, where less than `amount` is left; take nothing."""
        self._same_order(amount)
        if identity() != self._process or self._after(amount) is None:
            raise BudgetExceeded(account=self.account, asked=amount, left=self.left)

    def _same_order(self, amount: Charge) -> None:
        if amount.order != self.cap.order:
            raise InvalidParameter("order", amount.order, allowed=f"{self.cap.order}, the order of {self.account}")

    def _taken(self, amount: Charge) -> bool:
        if identity() != self._process:
            return False
        with self._lock:
            spent = self._after(amount)
            self._spent = spent or self._spent
            return spent is not None

    def _after(self, amount: Charge) -> Charge | None:
        """What will be spent, where that fits."""
        try:
            spent = self._spent + amount
        except InvalidParameter:  # more than any budget holds
            return None
        return spent if self._fits(spent) else None

    def _fits(self, spent: Charge) -> bool:
        """Whether so much may be taken in all."""
        return spent <= self.cap

    def close(self) -> None:
        """Give up what is left."""
        if identity() == self._process:
            with self._lock:
                self._spent = self.cap

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Allowance:
    """A small filter of its own, paid for once: every measurement draws on it, never past it; what is left is lost.

    Guarantee: all that is drawn costs no more than the charge that paid for it, so the ledger that took the charge
    covers whatever is released, adaptively or interleaved with other allowances.
    Use it in a `with` block, or close it, to give up what is left. `PrivacyFilter.allow` makes one and charges it;
    whoever makes one by hand vouches that its amount was charged.
    """

    __slots__ = ("_tally", "neighbours")

    neighbours: Neighbours

    def __init__(
        self, amount: Charge, *, neighbours: Neighbours | None = None, account: str = "this allowance"
    ) -> None:
        self.neighbours = stated(neighbours)
        self._tally = BudgetCounter(of_kind(Charge, amount=amount), account=account)

    @property
    def left(self) -> Charge:
        """What may still be drawn."""
        return self._tally.left

    def price(self, loss: Loss) -> Charge:
        """What a loss would draw; nothing is drawn."""
        return price(loss, order=self._tally.cap.order)

    def require(self, cost: Loss | Charge) -> None:
        """Raise `BudgetExceeded` where less than a whole price is left; nothing is drawn.

        Whatever measures more than once calls this with all that it may draw, before its first measurement: else it
        would measure until nothing is left, and have nothing to show for it. Other threads may still draw in between.
        """
        self._tally.require(cost if isinstance(cost, Charge) else self.price(cost))

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

    def __init__(self, whole: Allowance, amount: Charge) -> None:
        super().__init__(amount, neighbours=whole.neighbours)
        self._whole = whole

    def require(self, cost: Loss | Charge) -> None:
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

    def require(self, cost: Loss | Charge) -> None:
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
