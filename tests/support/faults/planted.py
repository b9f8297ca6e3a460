"""Planted bugs: ledgers that do what no ledger may, to see that the tests notice."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from dalenius.errors import BudgetExceeded
from dalenius.ledger.accounts import Receipt
from dalenius.ledger.journal import Writing, ledger_head
from dalenius.ledger.ledger import Ledger
from faults.witness import units


def looking_first(ledger: Ledger) -> Ledger:
    """A ledger that looks at what is left in one transaction, and charges in another."""
    append = ledger._journal.append

    def appended(work: Callable[[Writing], Any]) -> Any:
        return append(lambda writing: work(_blind(writing)))

    ledger._journal.append = appended  # type: ignore[method-assign]
    ledger.__class__ = _LookingFirst
    return ledger


class _LookingFirst(Ledger):
    def reserve(self, charges: Any, **about: Any) -> Receipt:
        for charge in charges:
            if not charge.amount <= self.left(charge.account):
                raise BudgetExceeded(account="", asked=charge.amount, left=units(0), said="")
        return super().reserve(charges, **about)


def _blind(writing: Writing) -> Writing:
    writing.balances.require = lambda *_, **__: None  # type: ignore[method-assign]
    return writing


def acknowledging_early(ledger: Ledger, charged: Callable[[Receipt], None]) -> Ledger:
    """A ledger that gives receipts out when they are written, and commits later."""
    append = ledger._journal.append

    def told(value: Any) -> Any:
        if isinstance(value, Receipt):
            charged(value)
        return value

    ledger._journal.append = lambda work: append(lambda writing: told(work(writing)))  # type: ignore[method-assign]
    return ledger


def marking_first(ledger: Ledger, charged: Callable[[Receipt], None]) -> Ledger:
    """A ledger whose mark moves before the entries are durable."""
    journal = ledger._journal

    def append(work: Callable[[Writing], Any]) -> Any:
        with ExitStack() as committed:
            rows = committed.enter_context(journal._store.writing())
            with journal._mark.held() as mark:
                writing = Writing(rows, ledger_head(rows)[0], dt.datetime.now(dt.UTC))
                value = work(writing)
                mark.move(writing.head, writing.balances.figures())
        return value

    journal.append = append  # type: ignore[method-assign]
    return ledger
