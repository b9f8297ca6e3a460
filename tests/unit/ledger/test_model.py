"""The ledger's arithmetic is that of a model of thirty lines, on made-up histories; planted bugs are noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dalenius.accounting.amounts import Charge
from dalenius.ledger import journal
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms, Receipt
from dalenius.ledger.balances import Balances, Sums
from dalenius.ledger.ledger import Ledger
from ledger_cases import Clock, disagreement


def in_memory(clock: Clock) -> Ledger:
    return Ledger.in_memory(clock=clock)


@pytest.mark.parametrize("seed", range(40))
def test_every_charge_refusal_and_balance_is_that_of_the_model(seed: int) -> None:
    assert disagreement(in_memory, seed) is None


# ---- planted bugs


class BlocksAddedUp(Balances):
    """Planted bug: a population has spent the sum of its blocks, and so refuses too early."""

    def _borne(self, account: Account, block: str = "") -> list[Sums]:
        sql = "SELECT divergence, delta, epsilon FROM spent WHERE path = ?"
        parts = self._rows.execute(sql, [_text(account)]) if len(account.path) == 1 else []
        return [tuple(map(sum, zip(*parts, strict=True)))] if parts else super()._borne(account, block)  # type: ignore[list-item]


class WholeForgotten(Balances):
    """Planted bug: a charge to one block does not see what was charged to all."""

    def _borne(self, account: Account, block: str = "") -> list[Sums]:
        alone = block and len(account.path) == 1
        return [self._part(_text(account), block)] if alone else super()._borne(account, block)


class ReserveForgotten(Balances):
    """Planted bug: what is held for one study is given to others."""

    def _held(self, part: Account, payer: Account, now: object) -> Sums:
        return 0, 0, 0


class ReserveHeldTwice(Balances):
    """Planted bug: what a study has spent of its reserve is still held for it."""

    def _held(self, part: Account, payer: Account, now: object) -> Sums:
        held = [self.terms(a) for a in self._reserving(part.population) if a.path[:-1] == part.path != a.path]
        held = [terms for terms in held if terms.end is None or now < terms.end]
        amounts = [terms.reserve for terms in held if terms.reserve]
        return sum(a.divergence for a in amounts), sum(a.delta for a in amounts), sum(a.epsilon for a in amounts)


class ReplaysAreReleases(Balances):
    """Planted bug: a replay is charged to the population."""

    def charge(self, charges: object, *, quotas_only: bool = False) -> None:
        super().charge(charges)  # type: ignore[arg-type]


class SpendingForgotten(Balances):
    """Planted bug: a quota that is set anew starts at nothing."""

    def set_terms(self, account: Account, terms: object) -> None:
        super().set_terms(account, terms)  # type: ignore[arg-type]
        self._rows.execute("DELETE FROM spent WHERE path = ? AND block <> 'x'", [_text(account)])


class OnlyOneSide(Balances):
    """Planted bug: delta is added up and never compared."""

    def _before(self, part: Account, charge: AccountCharge, now: object) -> list[Sums]:
        return super()._before(part, replace(charge, amount=replace(charge.amount, delta=0)), now)  # type: ignore[arg-type]


class OnlyTheRectangle(Balances):
    """Planted bug: addition takes nothing, though it would last longer."""

    def terms(self, account: Account) -> AccountTerms:
        known = super().terms(account)
        return replace(known, cap=known.cap.rectangle)


class AlwaysAddition(Balances):
    """Planted bug: what is not pure counts as if it had cost no epsilon."""

    def add(self, account: Account, amount: Charge, block: str) -> None:
        super().add(account, replace(amount, epsilon=0) if not amount.is_pure else amount, block)


def _text(account: Account) -> str:
    return "[" + ",".join(f'"{name}"' for name in account.path) + "]"


BUGS = [
    BlocksAddedUp, WholeForgotten, ReserveForgotten, ReserveHeldTwice, ReplaysAreReleases, SpendingForgotten,
    OnlyOneSide, OnlyTheRectangle, AlwaysAddition,
]  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_the_test_above_notices(bug: type[Balances], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "Balances", bug)
    assert any(disagreement(in_memory, seed) for seed in range(40))


class Refunding(Ledger):
    """Planted bug: a charge that has an even amount is given back, as if its query had failed."""

    def reserve(self, charges: object, **named: object) -> Receipt:
        receipt = super().reserve(charges, **named)  # type: ignore[arg-type]
        amount: Charge = receipt.charges[0].amount
        if amount.divergence % 2 == 0:
            self._journal.append(
                lambda writing: writing.rows.execute(
                    "UPDATE spent SET divergence = divergence - ? WHERE block = ''", [amount.divergence]
                )
            )
        return receipt


def test_the_test_above_notices_a_refund() -> None:
    assert any(disagreement(lambda clock: Refunding.in_memory(clock=clock), seed) for seed in range(40))
