"""The ledger: what was charged to whom. Compare and charge are one step over all accounts, and nothing is refunded."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from dalenius.accounting.amounts import Amount
from dalenius.curator.answers.answers import Answer
from dalenius.curator.names import percents
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.process import identity
from dalenius.randomness.entropy import system_entropy


@dataclass(frozen=True, slots=True)
class Account:
    """A population's cap, or a quota inside it: the names on the way from the population down."""

    path: tuple[str, ...]

    @property
    def population(self) -> str:
        return self.path[0]

    @property
    def lineage(self) -> tuple[Account, ...]:
        """The account and all that it lies in: whatever is charged to it is charged to each of them."""
        return tuple(Account(self.path[:length]) for length in range(len(self.path), 0, -1))

    def __str__(self) -> str:
        *quota, population = reversed(self.path)
        return repr(population) if not quota else f"the quota of {', '.join(map(repr, quota))} in {population!r}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one charge paid for: who asked which question, and the amount for each account. All of it is public."""

    id: str
    number: int
    who: str
    question: str
    charges: tuple[tuple[Account, Amount], ...]
    at: dt.datetime


class Ledger(Protocol):
    """What every ledger does, in memory or durable.

    Guarantee: the charges of a population never sum up to more than its cap, those of a quota never to more than the
    quota, in any number of threads; a refused charge changes nothing; no charge is ever taken back.
    """

    def open(self, account: Account, cap: Amount) -> None:
        """Open an account. A population is opened once and its cap never changes; a quota may be set anew, and what
        was spent of it stays spent."""

    def reserve(self, charges: Mapping[Account, Amount], *, question: str, who: str) -> Receipt:
        """Charge every account, and all that it lies in, or raise `BudgetExceeded` and charge none of them."""

    def store(self, receipt: Receipt, answer: Answer) -> None:
        """Keep the answer that a receipt paid for; there is one, and it does not change."""

    def answer(self, receipt: str) -> Answer | None:
        """The answer that was stored under a receipt id, if there is one."""

    def cap(self, account: Account) -> Amount:
        """The most that may ever be charged to an account."""

    def spent(self, account: Account) -> Amount:
        """The sum of all charges to an account."""

    def left(self, account: Account) -> Amount:
        """What may still be charged: the least that is left of the account and of all that it lies in."""

    def history(self) -> tuple[Receipt, ...]:
        """All charges, in order."""


class MemoryLedger:
    """A ledger that lives as long as its process. In a forked process nothing is left of it.

    Textbook: S18.1, S18.3, S18.4.
    """

    def __init__(self, *, clock: Callable[[], dt.datetime] | None = None) -> None:
        self._clock = clock or (lambda: dt.datetime.now(dt.UTC))
        self._lock, self._process = threading.Lock(), identity()
        self._caps: dict[Account, Amount] = {}
        self._spent: dict[Account, Amount] = {}
        self._receipts: list[Receipt] = []
        self._answers: dict[str, Answer] = {}

    def open(self, account: Account, cap: Amount) -> None:
        self._require_home()
        with self._lock:
            above = account.lineage[1:]
            if not above and account in self._caps:
                raise InvalidParameter("population", account.population, allowed="new: a cap is set once, for ever")
            for outer in above:
                _same_order(cap, self._known(outer))
            self._caps[account] = cap
            self._spent.setdefault(account, replace(cap, divergence=0, delta=0))

    def reserve(self, charges: Mapping[Account, Amount], *, question: str, who: str) -> Receipt:
        _require_positive(charges)
        self._require_home()
        with self._lock:
            for account, total in self._together(charges).items():
                left = self._rest(account)
                if not total <= left:
                    said = _said(account, total, left, self._known(account.lineage[-1]))
                    raise BudgetExceeded(account=str(account), asked=total, left=left, said=said)
            self._spent.update(
                {account: self._spent[account] + total for account, total in self._together(charges).items()}
            )
            return self._received(charges, question, who)

    def _together(self, charges: Mapping[Account, Amount]) -> dict[Account, Amount]:
        """What each account is charged in all, the quotas before the populations that they lie in."""
        totals: dict[Account, Amount] = {}
        for account, amount in charges.items():
            for part in account.lineage:
                _same_order(amount, self._known(part))
                totals[part] = totals[part] + amount if part in totals else amount
        return dict(sorted(totals.items(), key=lambda item: -len(item[0].path)))

    def _received(self, charges: Mapping[Account, Amount], question: str, who: str) -> Receipt:
        number, name = len(self._receipts) + 1, system_entropy().read(16).hex()
        receipt = Receipt(name, number, who, question, tuple(charges.items()), self._clock())
        self._receipts.append(receipt)
        return receipt

    def store(self, receipt: Receipt, answer: Answer) -> None:
        self._require_home()
        with self._lock:
            if receipt not in self._receipts[receipt.number - 1 : receipt.number]:
                raise InvalidParameter("receipt", receipt.id, allowed="one of this ledger")
            if self._answers.setdefault(receipt.id, answer) is not answer:
                raise InvalidParameter("receipt", receipt.id, allowed="one without an answer: an answer never changes")

    def answer(self, receipt: str) -> Answer | None:
        return self._answers.get(receipt)

    def cap(self, account: Account) -> Amount:
        return self._known(account)

    def spent(self, account: Account) -> Amount:
        if identity() != self._process:
            return self._known(account)
        with self._lock:
            return self._taken(account)

    def left(self, account: Account) -> Amount:
        if identity() != self._process:
            return replace(self._known(account), divergence=0, delta=0)
        with self._lock:
            parts = [self._rest(part) for part in account.lineage]
        least = (min(part.divergence for part in parts), min(part.delta for part in parts))
        return replace(parts[0], divergence=least[0], delta=least[1])

    def history(self) -> tuple[Receipt, ...]:
        return tuple(self._receipts)

    def _rest(self, account: Account) -> Amount:
        cap, spent = self._known(account), self._taken(account)
        left = (cap.divergence - spent.divergence, cap.delta - spent.delta)  # below 0 where a quota was lowered
        return replace(cap, divergence=max(0, left[0]), delta=max(0, left[1]))

    def _taken(self, account: Account) -> Amount:
        self._known(account)
        return self._spent[account]

    def _known(self, account: Account) -> Amount:
        if account not in self._caps:
            raise InvalidParameter("account", str(account), allowed="one that was opened")
        return self._caps[account]

    def _require_home(self) -> None:
        # Before the lock is taken: after a fork it may be held by a thread that does not exist here.
        if identity() != self._process:
            raise InvalidParameter(
                "process", "a fork", allowed="the one that made this ledger: two processes cannot share it in memory"
            )


def _said(account: Account, asked: Amount, left: Amount, cap: Amount) -> str:
    """What is asked and left as parts of the population's cap, on the side of the amount that does not suffice."""
    side = "divergence" if asked.divergence > left.divergence else "delta"
    whole = max(1, getattr(cap, side))
    cost, rest = percents(*(Fraction(getattr(amount, side), whole) for amount in (asked, left)))
    where = f" in {account}" if len(account.path) > 1 else ""
    return f"this release costs {cost} of the budget of {account.population!r}, and {rest} is left{where}"


def _require_positive(charges: Mapping[Account, Amount]) -> None:
    if not charges or not all(charges.values()):
        raise InvalidParameter(
            "charges", "zero", allowed="greater than 0", hint="A release of private data is never free."
        )


def _same_order(amount: Amount, cap: Amount) -> None:
    if amount.order != cap.order:
        raise InvalidParameter("order", amount.order, allowed=f"{cap.order}, the order of this account")
