"""Balances: what was spent of each account and what is left, inside one transaction.

Of a population, charges to a block (a part of it that no unit ever leaves) are summed apart: what a unit bears is what
was charged to all and what was charged to its own block, so the population has spent the former and the largest of the
latter. That is parallel composition, for neighbours that differ by adding or removing a unit.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dalenius.accounting.amounts import Amount
from dalenius.curator.ledger.accounts import Account, Charge, Terms
from dalenius.curator.ledger.entries import canonical, terms_facts, terms_from
from dalenius.curator.ledger.stores import Rows
from dalenius.curator.names import percents
from dalenius.errors import AccessDenied, BudgetExceeded, InvalidParameter

_ADD = (
    "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT (path, block) DO UPDATE SET "
    "divergence = spent.divergence + excluded.divergence, delta = spent.delta + excluded.delta"
)


class Balances:
    """The balances that a transaction sees. Amounts never wrap: no sum passes a cap, and caps fit into 64 bits."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._terms: dict[Account, Terms | None] = {}

    # ---- terms

    def terms(self, account: Account) -> Terms:
        known = self.terms_or_none(account)
        if known is None:
            raise InvalidParameter("account", str(account), allowed="one that was opened")
        return known

    def terms_or_none(self, account: Account) -> Terms | None:
        if account not in self._terms:
            found = self._rows.execute("SELECT terms FROM accounts WHERE path = ?", [_path(account)])
            self._terms[account] = terms_from(json.loads(found[0][0])) if found else None
        return self._terms[account]

    def set_terms(self, account: Account, terms: Terms) -> None:
        self._rows.execute(
            "INSERT INTO accounts VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET terms = excluded.terms, "
            "reserving = excluded.reserving",
            [_path(account), account.population, canonical(terms_facts(terms)), int(terms.reserve is not None)],
        )
        self._terms[account] = terms

    # ---- spending

    def spent(self, account: Account, *, block: str = "") -> Amount:
        """The sum of all charges; of a population, what is borne by the units of one block, or by any at most."""
        empty = replace(self.terms(account).cap, divergence=0, delta=0)
        found = self._rows.execute("SELECT block, divergence, delta FROM spent WHERE path = ?", [_path(account)])
        parts = {name: replace(empty, divergence=divergence, delta=delta) for name, divergence, delta in found}
        whole = parts.pop("", empty)
        if block:
            return whole + parts.get(block, empty)
        most = [max((getattr(part, side) for part in parts.values()), default=0) for side in ("divergence", "delta")]
        return whole + replace(empty, divergence=most[0], delta=most[1])

    def charge(self, charges: Sequence[Charge], *, quotas_only: bool = False) -> None:
        """Add up, without a look at the caps."""
        for charge in charges:
            for part in charge.account.lineage[: -1 if quotas_only else None]:
                block = charge.block if len(part.path) == 1 else ""
                self._rows.execute(_ADD, [_path(part), block, charge.amount.divergence, charge.amount.delta])

    # ---- what is left

    def require(self, charges: Sequence[Charge], now: dt.datetime, *, quotas_only: bool = False) -> None:
        """Refuse what does not fit, or is not due; the quotas are looked at before what they lie in."""
        _require_one_each(charges)
        for charge in charges:
            for part in charge.account.lineage[: -1 if quotas_only else None]:
                require_same_order(charge.amount, self.terms(part).cap)
                self._require_due(part, now)
                left = self._rest(part, charge.account, now, charge.block)
                if not charge.amount <= left:
                    said = _said(part, charge.amount, left, self.terms(part.lineage[-1]).cap)
                    raise BudgetExceeded(account=str(part), asked=charge.amount, left=left, said=said)

    def left(self, account: Account, now: dt.datetime, *, block: str = "") -> Amount:
        """The least that is left of an account and of all that it lies in."""
        parts = [self._rest(part, account, now, block) for part in account.lineage]
        least = (min(part.divergence for part in parts), min(part.delta for part in parts))
        return replace(parts[0], divergence=least[0], delta=least[1])

    def _rest(self, part: Account, payer: Account, now: dt.datetime, block: str) -> Amount:
        """What a payer may still take of an account that it lies in: the cap, less what was spent, less what is held
        for others."""
        inside = block if len(part.path) == 1 else ""
        cap, spent, held = self.terms(part).cap, self.spent(part, block=inside), self._held(part, payer, now)
        left = (cap.divergence - spent.divergence - held.divergence, cap.delta - spent.delta - held.delta)
        return replace(cap, divergence=max(0, left[0]), delta=max(0, left[1]))  # below 0 where a quota was lowered

    def _held(self, part: Account, payer: Account, now: dt.datetime) -> Amount:
        """What is reserved in an account for others than the payer, and not yet spent by them."""
        empty = replace(self.terms(part).cap, divergence=0, delta=0)
        below = len(part.path) + 1
        for account in self._reserving(part.population):
            if len(account.path) != below or account.path[:-1] != part.path or account.path == payer.path[:below]:
                continue
            terms, spent = self.terms(account), self.spent(account)
            if terms.reserve is None or (terms.end is not None and now >= terms.end):
                continue
            rest = [max(0, getattr(terms.reserve, side) - getattr(spent, side)) for side in ("divergence", "delta")]
            empty = empty + replace(empty, divergence=rest[0], delta=rest[1])
        return empty

    def _reserving(self, population: str) -> list[Account]:
        found = self._rows.execute("SELECT path FROM accounts WHERE population = ? AND reserving = 1", [population])
        return [Account(tuple(json.loads(path))) for (path,) in found]

    def _require_due(self, account: Account, now: dt.datetime) -> None:
        terms = self.terms(account)
        if terms.start is not None and now < terms.start:
            when, instead = f"before {terms.start:%Y-%m-%d %H:%M}", "Ask again then."
            raise AccessDenied(str(account), what=f"be charged {when}", instead=instead)
        if terms.end is not None and now >= terms.end:
            when, instead = f"after {terms.end:%Y-%m-%d %H:%M}", "Answers that were stored can still be read."
            raise AccessDenied(str(account), what=f"be charged {when}", instead=instead)


def _path(account: Account) -> str:
    return canonical(list(account.path))


def _said(account: Account, asked: Amount, left: Amount, cap: Amount) -> str:
    """What is asked and left as parts of the population's cap, on the side of the amount that does not suffice."""
    side = "divergence" if asked.divergence > left.divergence else "delta"
    whole = max(1, getattr(cap, side))
    cost, rest = percents(*(Fraction(getattr(amount, side), whole) for amount in (asked, left)))
    where = f" in {account}" if len(account.path) > 1 else ""
    return f"this release costs {cost} of the budget of {account.population!r}, and {rest} is left{where}"


def _require_one_each(charges: Sequence[Charge]) -> None:
    """One charge a population: two would each be compared with what is left before the other."""
    names = [charge.account.population for charge in charges]
    if len(set(names)) < len(names):
        raise InvalidParameter("charges", names, allowed="one charge for each population")


def require_same_order(amount: Amount, cap: Amount) -> None:
    """Refuse an amount of another order than the account's."""
    if amount.order != cap.order:
        raise InvalidParameter("order", amount.order, allowed=f"{cap.order}, the order of this account")
