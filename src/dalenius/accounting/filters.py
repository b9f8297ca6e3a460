"""Filters: a budget that many releases share, each chosen after seeing the earlier ones.

Odometers: how much has been learnt so far, without a cap set in advance.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from fractions import Fraction
from math import ceil
from typing import Self

from dalenius.accounting.allowance import Allowance, BudgetCounter
from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, Charge, price
from dalenius.accounting.budget import EVENT_SHARE, Budget, RenyiFilter
from dalenius.accounting.composition import parts
from dalenius.accounting.conversion import known_orders, renyi_to_epsilon, to_pure
from dalenius.errors import BudgetExceeded, InvalidParameter, MechanismFinished, TheoremDoesNotApply
from dalenius.privacy.losses import ApproximateDP, Loss, valid_order
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, of_kind
from dalenius.process import identity


class _Admitting(BudgetCounter):
    """The counter of a whole budget: it takes what `Charge.admitted` allows."""

    __slots__ = ()

    def _fits(self, spent: Charge) -> bool:
        return spent.admitted(self.cap)


class PrivacyFilter:
    """A privacy filter in memory: it charges until the budget would be passed, and then refuses.

    Guarantee: if every release is charged before it is made, with a loss that holds whatever was released before,
    then all releases together are (epsilon, delta)-DP, in any adaptive order and however interactive releases are
    interleaved. Check and charge are one step, also among threads. A refusal charges nothing.
    Reference: Rogers et al. 2016 (arXiv:1605.08294) for filters; Feldman & Zrnic 2021 (arXiv:2008.11193) for a fixed
    Rényi order; docs/accounting.md, Theorem 1, for this one, which lasts as long as either of its two sums.
    Textbook: S6.8.
    """

    __slots__ = ("_tally", "neighbours", "renyi_filter")

    neighbours: Neighbours
    renyi_filter: RenyiFilter

    def __init__(
        self, budget: Budget | RenyiFilter, *, neighbours: Neighbours | None = None, account: str = "this budget"
    ) -> None:
        self.neighbours = stated(neighbours)
        self.renyi_filter = (
            budget if isinstance(budget, RenyiFilter) else RenyiFilter.of(of_kind(Budget, budget=budget))
        )
        self._tally = _Admitting(self.renyi_filter.cap, account=account)

    @property
    def spent(self) -> Charge:
        """The sum of all charges."""
        return self._tally.spent

    @property
    def left(self) -> Charge:
        """What may still be charged: either as much divergence or as much epsilon, and no more events."""
        return self._tally.left

    def price(self, loss: Loss) -> Charge:
        """What a loss would be charged; nothing is charged."""
        return price(loss, order=self.renyi_filter.order)

    def amount(self, *, epsilon: Number) -> Charge:
        """What `epsilon` buys of the whole budget (see `RenyiFilter.amount`)."""
        return self.renyi_filter.amount(epsilon=epsilon)

    def share(self, cost: Loss | Charge) -> Fraction:
        """The share of the whole budget that a loss or an amount takes, on top of what was charged."""
        spent = self.spent
        return self.renyi_filter.share(spent + self._amount(cost)) - self.renyi_filter.share(spent)

    def charge(self, cost: Loss | Charge) -> Charge:
        """Charge a loss or an amount, or raise `BudgetExceeded` and charge nothing."""
        amount = self._amount(cost)
        self._tally.take(amount)
        return amount

    def allow(self, cost: Loss | Charge) -> Allowance:
        """Charge once, and get the allowance that measurements draw on."""
        return Allowance(self.charge(cost), neighbours=self.neighbours)

    def _amount(self, cost: Loss | Charge) -> Charge:
        return cost if isinstance(cost, Charge) else self.price(cost)

    def __repr__(self) -> str:
        return f"<Filter with {self.left} left of {self.renyi_filter.budget}, neighbours by {self.neighbours}>"


ORDERS = tuple(1 + Fraction(2) ** power for power in range(-1, 11))
"""Orders from 1.5 to 1025: one of them is near the best for every epsilon between about 0.03 and 100."""


class Odometer:
    """A running statement (epsilon, delta) that holds at every moment, also at one picked by what was seen.

    Guarantee: if every release is recorded before it is made, then for every rule to stop and every set S of
    transcripts, P[S] <= E_Q[e^epsilon; S] + delta, where epsilon is the reading at the end of the transcript. So who
    makes sure to stop while the reading is at most e has an (e, delta)-DP transcript, and needs no cap beforehand.
    A tenth of delta is for events, the rest is split evenly among the orders, and the least epsilon of all is read.
    Reference: Rogers et al. 2016 (arXiv:1605.08294) for odometers; docs/accounting.md, Theorem 2, for this one.
    Textbook: S6.8.
    """

    __slots__ = ("_events", "_lock", "_process", "_pure", "_room", "_sums", "delta", "neighbours")

    def __init__(
        self, *, delta: Number, neighbours: Neighbours | None = None, orders: Iterable[Number] = ORDERS
    ) -> None:
        self.delta, self.neighbours = inside_unit(delta=delta), stated(neighbours)
        self._sums = {valid_order(alpha): 0 for alpha in orders}
        if not self._sums:
            raise InvalidParameter("orders", (), allowed="at least one Rényi order")
        self._room = self.delta * (1 - EVENT_SHARE) / len(self._sums)
        self._pure: int | None = 0
        self._events = 0
        self._lock, self._process = threading.Lock(), identity()

    def record(self, loss: Loss) -> None:
        """Add a loss; refused, and not added, where events would pass their part of delta."""
        self._require_own_process()
        with self._lock:
            events = self._events + sum(count * ceil(part.delta / DELTA_UNIT) for part, count in parts(loss))
            if events * DELTA_UNIT > self.delta * EVENT_SHARE:
                left = self.delta * EVENT_SHARE - self._events * DELTA_UNIT
                raise BudgetExceeded(account="the odometer", asked=loss, left=ApproximateDP(0, left))
            self._sums, self._pure, self._events = self._with(loss), self._pure_with(loss), events

    @property
    def reading(self) -> ApproximateDP:
        """What holds of everything that was recorded."""
        self._require_own_process()
        with self._lock:
            sums, pure = self._sums, self._pure
        bounds = [
            renyi_to_epsilon(divergence=units * DIVERGENCE_UNIT, alpha=order, delta=self._room)
            for order, units in sums.items()
        ]
        if pure is not None:
            bounds.append(pure * DIVERGENCE_UNIT)
        return ApproximateDP(min(bounds), self.delta)

    def __copy__(self) -> Self:
        return self  # a copy would read less than what was spent

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def _require_own_process(self) -> None:
        if identity() != self._process:
            raise MechanismFinished("The odometer", because="it was started in another process, which goes on reading")

    def _with(self, loss: Loss) -> dict[Fraction, int]:
        """The sums after a loss, at the orders where it is known."""
        known = known_orders(loss)
        sums = {
            order: units + ceil(loss.renyi(order) / DIVERGENCE_UNIT)
            for order, units in self._sums.items()
            if known is None or order <= known[-1]
        }
        if not sums:
            raise InvalidParameter("loss", loss, allowed="a loss that is known at some order of the odometer")
        return sums

    def _pure_with(self, loss: Loss) -> int | None:
        if self._pure is None:
            return None
        try:
            return self._pure + ceil(to_pure(loss).epsilon / DIVERGENCE_UNIT)
        except TheoremDoesNotApply:
            return None
