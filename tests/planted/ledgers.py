"""Bugs around the charge: when it is made, whether it stays, and what a failure says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from dalenius.checks.commands.planted import Planted
from dalenius.engines.engine import Statements
from dalenius.engines.several import Engines
from dalenius.errors import BudgetExceeded, WorkStopped
from dalenius.ledger.balances import Balances
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import HeldMark
from dalenius.session.executor import Executor, Payer, allowance, measured, request_name
from dalenius.session.query import Query

run, perform = Executor.run, Executor._perform
solved, charges = Query._solved, Payer.charges
added, add = Balances.charge, Balances.add


def answer_first(self: Executor, purchase: Any, payer: Any, *given: Any, **named: Any) -> Any:
    with allowance(purchase, payer.neighbours) as prepaid:
        measured(purchase, Statements(self.engine), prepaid)
    return run(self, purchase, payer, *given, **named)


def refunded(self: Executor, *given: Any) -> Any:
    try:
        return perform(self, *given)
    except WorkStopped:
        self.ledger._journal.append(
            lambda writing: writing.rows.execute("UPDATE spent SET divergence = 0, delta = 0, epsilon = 0")
        )
        raise


def failures_told(self: Executor, purchase: Any, payer: Any, *given: Any) -> Any:
    try:
        with allowance(purchase, payer.neighbours) as prepaid:
            measured(purchase, Statements(self.engine), prepaid)
    except Exception as error:
        raise WorkStopped from error
    return perform(self, purchase, payer, *given)


def drawn_anew(self: Executor, *given: Any, **named: Any) -> Any:
    return run(self, *given, **{**named, "fresh": True, "key": None})


def failed_drawn_again(self: Executor, purchase: Any, payer: Any, labelled: Any, *, key: Any, **named: Any) -> Any:
    receipt = self.ledger.attempted(payer.who, key, request_name(purchase))
    if receipt is None or self.ledger.answer(receipt.id) is not None:
        return run(self, purchase, payer, labelled, key=key, **named)
    return perform(self, purchase, payer, receipt, labelled, Statements(self.engine), None)


@contextmanager
def looking_first() -> Iterator[None]:
    """What is left is looked at in one transaction, and charged in another."""
    reserve = Ledger.reserve

    def looked(self: Ledger, charges: Any, **about: Any) -> Any:
        if not self.times(charges):
            raise BudgetExceeded(account="", asked=charges[0].amount, left=self.left(charges[0].account), said="")
        time.sleep(0.3)
        return reserve(self, charges, **about)

    with patch.object(Ledger, "reserve", looked), patch.object(Balances, "require", lambda *given, **named: None):
        yield


@contextmanager
def price_reads_rows() -> Iterator[None]:
    def looked(self: Query, offer: Any, payer: Any) -> Any:
        engine = self._principal.curator.engine
        assert isinstance(engine, Engines)
        with engine.imported._file.reading() as reader:
            reader.execute("SELECT 1")
        return solved(self, offer, payer)

    with patch.object(Query, "_solved", looked):
        yield


def less_than_the_price(self: Payer, amounts: Any) -> Any:
    return charges(self, {name: replace(each, divergence=each.divergence * 9 // 10) for name, each in amounts.items()})


def a_quarter_of_the_price(self: Payer, amounts: Any) -> Any:
    return charges(self, {name: replace(each.part(Fraction(1, 4)), delta=each.delta) for name, each in amounts.items()})


def quotas_alone(self: Balances, charges: Any, *, quotas_only: bool = False) -> None:
    for charge in charges:
        added(self, [charge], quotas_only=quotas_only or len(charge.account.path) > 1)


def divergence_alone(self: Balances, account: Any, amount: Any, block: str) -> None:
    add(self, account, replace(amount, delta=0), block)


def epsilon_forgotten(self: Balances, account: Any, amount: Any, block: str) -> None:
    add(self, account, replace(amount, epsilon=0), block)


def below_zero(self: Query, offer: Any, payer: Any) -> Any:
    """An offer loses its sign before it becomes a price."""
    signed = isinstance(offer.epsilon, str)
    return solved(self, replace(offer, epsilon=offer.epsilon.lstrip("-")) if signed else offer, payer)


def door(name: str, wrong: Any) -> Callable[[], Any]:
    return lambda: patch.object(Executor, name, wrong)


BUGS = (
    Planted("answer before the charge", ("H2",), "ledger", door("run", answer_first),
            part="questions that look at the ledger", count=40),
    Planted("less charged than the price", ("B3", "H5"), "ledger",
            lambda: patch.object(Payer, "charges", less_than_the_price), part="prices of questions", count=40),
    Planted("a quarter of the price charged", ("B3", "G1"), "e2e",
            lambda: patch.object(Payer, "charges", a_quarter_of_the_price), part="SUM(v.x) AS s", count=4_000),
    Planted("analysts charged, and not their population", ("G5",), "ledger",
            lambda: patch.object(Balances, "charge", quotas_alone), part="questions of analysts, studies and blocks",
            count=40),
    Planted("delta forgotten", ("G1",), "ledger", lambda: patch.object(Balances, "add", divergence_alone),
            part="charges through every level", count=40),
    Planted("epsilon forgotten", ("G1",), "ledger", lambda: patch.object(Balances, "add", epsilon_forgotten),
            part="charges through every level", count=40),
    Planted("refund on error", ("H7",), "ledger", door("_perform", refunded), part="ways to fail after the charge",
            count=40),
    Planted("data-dependent error text", ("D4",), "ledger", door("_perform", failures_told),
            part="ways to fail after the charge", count=40),
    Planted("retries drawn anew", ("H6", "D3"), "ledger", door("run", drawn_anew),
            part="repeated attempts and questions", count=40),
    Planted("failed attempts drawn again", ("H6",), "ledger", door("run", failed_drawn_again),
            part="attempts that had failed", count=40),
    Planted("check, then act", ("H1",), "ledger", looking_first, part="charges by many at once", count=80),
    Planted("price that reads rows", ("D8",), "ledger", price_reads_rows, part="prices with the data unplugged",
            count=40),
    Planted("a price below zero", ("H5",), "ledger", lambda: patch.object(Query, "_solved", below_zero),
            part="numbers that are no price", count=40),
    Planted("older copies of the ledger taken", ("H3",), "ledger",
            lambda: patch.object(HeldMark, "require_behind", lambda self, rows, head: None),
            part="restarts and older copies", count=40),
)  # fmt: skip
