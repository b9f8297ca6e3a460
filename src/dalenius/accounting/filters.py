"""Filters: a budget that many releases share, each chosen after seeing the earlier ones."""

from __future__ import annotations

from fractions import Fraction

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Amount, price
from dalenius.accounting.budget import Budget, Rectangle
from dalenius.accounting.tally import Tally
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, of_kind


class Filter:
    """A privacy filter in memory: it charges until the budget would be passed, and then refuses.

    Guarantee: if every release is charged before it is made, with a loss that holds whatever was released before,
    then all releases together are (epsilon, delta)-DP, in any adaptive order and however interactive releases are
    interleaved. Check and charge are one step, also among threads. A refusal charges nothing.
    Reference: Rogers et al. 2016 (arXiv:1605.08294) for filters; Feldman & Zrnic 2021 (arXiv:2008.11193) for a fixed
    Rényi order; docs/accounting.md, Theorem 1, for this one.
    Textbook: S6.8.
    """

    __slots__ = ("_tally", "neighbours", "rectangle")

    neighbours: Neighbours
    rectangle: Rectangle

    def __init__(
        self, budget: Budget | Rectangle, *, neighbours: Neighbours | None = None, account: str = "this budget"
    ) -> None:
        self.neighbours = stated(neighbours)
        self.rectangle = budget if isinstance(budget, Rectangle) else Rectangle.of(of_kind(Budget, budget=budget))
        self._tally = Tally(self.rectangle.cap, account=account)

    @property
    def spent(self) -> Amount:
        """The sum of all charges."""
        return self._tally.spent

    @property
    def left(self) -> Amount:
        """What may still be charged."""
        return self._tally.left

    def price(self, loss: Loss) -> Amount:
        """What a loss would be charged; nothing is charged."""
        return price(loss, order=self.rectangle.order)

    def amount(self, *, epsilon: Number) -> Amount:
        """What `epsilon` buys of the whole budget (see `Rectangle.amount`)."""
        return self.rectangle.amount(epsilon=epsilon)

    def share(self, cost: Loss | Amount) -> Fraction:
        """The share of the whole budget that a loss or an amount takes."""
        return self.rectangle.share(self._amount(cost))

    def charge(self, cost: Loss | Amount) -> Amount:
        """Charge a loss or an amount, or raise `BudgetExceeded` and charge nothing."""
        amount = self._amount(cost)
        self._tally.take(amount)
        return amount

    def allow(self, cost: Loss | Amount) -> Allowance:
        """Charge once, and get the allowance that measurements draw on."""
        return Allowance(self.charge(cost), neighbours=self.neighbours)

    def _amount(self, cost: Loss | Amount) -> Amount:
        return cost if isinstance(cost, Amount) else self.price(cost)

    def __repr__(self) -> str:
        return f"<Filter with {self.left} left of {self.rectangle.budget}, neighbours by {self.neighbours}>"
