"""`check ledger` knows who must be charged for a question, how much, at every level, and who may have its answer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pytest

from costs import cases
from dalenius.accounting.amounts import Charge
from dalenius.checks.commands import ledger
from dalenius.checks.outcomes import CheckRequest, Outcome
from dalenius.errors import InvalidParameter
from dalenius.ledger import journal
from dalenius.ledger.accounts import Account, AccountCharge, Receipt
from dalenius.ledger.balances import Balances
from dalenius.session import replays
from dalenius.session.curator import Principal
from dalenius.session.executor import Payer
from dalenius.session.shelf import Replay

charges: Callable[[Payer, Any], list[AccountCharge]] = Payer.charges


def checked(promise: str = "prices of questions") -> Outcome:
    """What the check says of one promise alone."""
    chosen = [each for each in ledger.PROMISES if each[0] == promise]
    with patch.object(ledger, "PROMISES", chosen):
        return ledger.check(CheckRequest(count=40))


def test_every_price_is_charged_to_the_unit_and_to_all_who_are_asked_about() -> None:
    outcome = checked()
    assert outcome.passed
    assert outcome.figures[0].tried == 12


def first_alone(payer: Payer, amounts: Any) -> list[AccountCharge]:
    return charges(payer, amounts)[:1]


def less_for_the_second(payer: Payer, amounts: Any) -> list[AccountCharge]:
    first, *rest = charges(payer, amounts)
    return [first, *(replace(each, amount=each.amount.part(Fraction(9, 10))) for each in rest)]


def everybody(payer: Payer, amounts: Any) -> list[AccountCharge]:
    due = charges(payer, amounts)
    little = AccountCharge(Account(("doctors",)), Charge(divergence=1, order=Fraction(15)))
    return due if len(due) > 1 else [*due, little]


@cases("wrong", [first_alone, less_for_the_second, everybody], fast=1)
def test_charges_of_other_people_or_amounts_are_found(
    wrong: Callable[[Payer, Any], list[AccountCharge]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Payer, "charges", wrong)
    outcome = checked()
    assert not outcome.passed
    assert "was charged as" in outcome.findings[0]


# ---- every level


LEVELS = ("charges through every level", "questions of analysts, studies and blocks")


@cases("promise", LEVELS, fast=1)
def test_every_level_has_spent_what_was_charged_through_it(promise: str) -> None:
    outcome = checked(promise)
    assert outcome.passed, outcome.findings


class PopulationForgotten(Balances):
    """Planted bug: what an analyst or a study pays is not charged to the population."""

    def charge(self, charges: Sequence[AccountCharge], *, quotas_only: bool = False) -> None:
        for charge in charges:
            super().charge([charge], quotas_only=quotas_only or len(charge.account.path) > 1)


class StudyForgotten(Balances):
    """Planted bug: what an analyst pays is not charged to the study."""

    def add(self, account: Account, amount: Charge, block: str) -> None:
        if account.path[1:] not in (("s",), ("flu",)):
            super().add(account, amount, block)


class DeltaForgotten(Balances):
    """Planted bug: no delta is added up."""

    def add(self, account: Account, amount: Charge, block: str) -> None:
        super().add(account, replace(amount, delta=0), block)


class BlocksForgotten(Balances):
    """Planted bug: what is charged to a block is charged to nobody."""

    def add(self, account: Account, amount: Charge, block: str) -> None:
        if not block:
            super().add(account, amount, block)


@cases("promise", LEVELS, fast=1)
@pytest.mark.parametrize("bug", [PopulationForgotten, StudyForgotten, DeltaForgotten, BlocksForgotten])
def test_a_ledger_that_forgets_a_level_or_a_side_is_found(
    bug: type[Balances], promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "Balances", bug)
    assert not checked(promise).passed


class DeltaNotCompared(Balances):
    """Planted bug: delta is added up and not compared."""

    def require(self, charges: Sequence[AccountCharge], now: dt.datetime, *, quotas_only: bool = False) -> None:
        bare = [replace(each, amount=replace(each.amount, delta=0)) for each in charges]
        super().require(bare, now, quotas_only=quotas_only)


class QuotaAloneCompared(Balances):
    """Planted bug: an analyst who has something left may ask, whatever is left of the study and the population."""

    def require(self, charges: Sequence[AccountCharge], now: dt.datetime, *, quotas_only: bool = False) -> None:
        for charge in charges:
            left = self._rest(charge.account, charge.account, now, charge.block)
            if charge.amount.divergence > left[0] or charge.amount.delta > left[1]:
                raise self._exceeded(charge.account, charge, now)


@pytest.mark.parametrize("bug", [DeltaNotCompared, QuotaAloneCompared])
def test_a_ledger_that_takes_more_than_is_left_is_found(bug: type[Balances], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "Balances", bug)
    assert "where" in checked(LEVELS[0]).findings[0]


# ---- stored answers


def test_stored_answers_are_for_whoever_may_ask_all_of_their_tables() -> None:
    outcome = checked("stored answers asked for by everybody")
    assert outcome.passed, outcome.findings


def for_everybody(principal: Principal, name: str) -> Receipt | None:
    return principal.curator.ledger.receipt(name)


def for_one_of_its_tables(principal: Principal, name: str) -> Receipt | None:
    tables = {table.name for table in principal.tables().values()}
    known = principal.curator.shelf.one(principal.curator.ledger, name)
    return (
        for_everybody(principal, name) if known and tables & dict(known.versions).keys() else readable(principal, name)
    )


def another_refusal(principal: Principal, name: str) -> Receipt:
    if principal.curator.shelf.one(principal.curator.ledger, name):
        return readable(principal, name)
    raise InvalidParameter("receipt", name, allowed="one of this ledger")


readable = replays._readable


@cases("wrong", [for_everybody, for_one_of_its_tables, another_refusal], fast=1)
def test_answers_and_hints_for_others_are_found(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "_readable", wrong)
    assert not checked("stored answers asked for by everybody").passed


def test_a_list_of_all_answers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replay, "is_about", lambda self, tables: True)
    assert "in the list" in checked("stored answers asked for by everybody").findings[0]
