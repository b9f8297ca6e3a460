"""`check ledger` knows who must be charged for a question, and how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dalenius.accounting.amounts import Amount
from dalenius.audit.checks import ledger
from dalenius.audit.checks.outcomes import Asked, Outcome
from dalenius.curator.door import Payer
from dalenius.curator.ledger.accounts import Account, Charge

charges: Callable[[Payer, Any], list[Charge]] = Payer.charges


@pytest.fixture(autouse=True)
def _prices_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    promises = [promise for promise in ledger.PROMISES if promise[0] == "prices of questions"]
    monkeypatch.setattr(ledger, "PROMISES", promises)


def checked() -> Outcome:
    return ledger.check(Asked(count=40))


def test_every_price_is_charged_to_the_unit_and_to_all_who_are_asked_about() -> None:
    outcome = checked()
    assert outcome.passed
    assert outcome.figures[0].tried == 12


def first_alone(payer: Payer, amounts: Any) -> list[Charge]:
    return charges(payer, amounts)[:1]


def less_for_the_second(payer: Payer, amounts: Any) -> list[Charge]:
    first, *rest = charges(payer, amounts)
    return [first, *(replace(each, amount=each.amount.part(Fraction(9, 10))) for each in rest)]


def everybody(payer: Payer, amounts: Any) -> list[Charge]:
    due = charges(payer, amounts)
    little = Charge(Account(("doctors",)), Amount(divergence=1, order=Fraction(15)))
    return due if len(due) > 1 else [*due, little]


@pytest.mark.parametrize("wrong", [first_alone, less_for_the_second, everybody])
def test_charges_of_other_people_or_amounts_are_found(
    wrong: Callable[[Payer, Any], list[Charge]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Payer, "charges", wrong)
    outcome = checked()
    assert not outcome.passed
    assert "was charged as" in outcome.findings[0]
