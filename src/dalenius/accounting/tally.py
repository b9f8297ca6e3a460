"""The one place where something is spent: compare and add in one step."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Self

from dalenius.accounting.amounts import Amount
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.process import identity


class Tally:
    """A cap and what was taken of it. It only ever falls, in all threads together and never below zero.

    A copy is the same tally. In a forked process nothing is left of it: two processes cannot share it, and must not
    spend it twice.
    """

    __slots__ = ("_delta", "_divergence", "_lock", "_process", "account", "cap")

    def __init__(self, cap: Amount, *, account: str) -> None:
        self.cap, self.account = cap, account
        self._divergence = self._delta = 0
        self._lock, self._process = threading.Lock(), identity()

    @property
    def spent(self) -> Amount:
        if identity() != self._process:
            return self.cap
        with self._lock:
            return replace(self.cap, divergence=self._divergence, delta=self._delta)

    @property
    def left(self) -> Amount:
        return self.cap - self.spent

    def take(self, amount: Amount) -> None:
        """Take `amount`, or nothing at all and say so."""
        self._same_order(amount)
        if not amount:
            raise InvalidParameter(
                "amount", amount, allowed="greater than 0", hint="A release of private data is never free."
            )
        if not self._taken(amount):
            raise BudgetExceeded(account=self.account, asked=amount, left=self.left)

    def require(self, amount: Amount) -> None:
        """Raise what `take` would, where less than `amount` is left; take nothing."""
        self._same_order(amount)
        left = self.left
        if not amount <= left:
            raise BudgetExceeded(account=self.account, asked=amount, left=left)

    def _same_order(self, amount: Amount) -> None:
        if amount.order != self.cap.order:
            raise InvalidParameter("order", amount.order, allowed=f"{self.cap.order}, the order of {self.account}")

    def _taken(self, amount: Amount) -> bool:
        if identity() != self._process:
            return False
        with self._lock:
            divergence, delta = self._divergence + amount.divergence, self._delta + amount.delta
            if divergence > self.cap.divergence or delta > self.cap.delta:
                return False
            self._divergence, self._delta = divergence, delta
            return True

    def close(self) -> None:
        """Give up what is left."""
        if identity() == self._process:
            with self._lock:
                self._divergence, self._delta = self.cap.divergence, self.cap.delta

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
