"""Balances: what was spent of each account and what is left, inside one transaction.

Of a population, charges to a block (a part of it that no unit ever leaves) are summed apart: what a unit bears is what
was charged to all and what was charged to its own block, so the population has spent the former and the largest of the
latter. That is parallel composition, for neighbours that differ by adding or removing a unit.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from dalenius.accounting.amounts import LARGEST, Charge
from dalenius.errors import AccessDenied, BudgetExceeded, InvalidParameter
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms, canonical, terms_facts, terms_from
from dalenius.ledger.marks import Figures
from dalenius.ledger.names import percents
from dalenius.ledger.stores import Transaction

_ADD = (
    "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT (path, block) DO UPDATE SET "
    "divergence = spent.divergence + excluded.divergence, delta = spent.delta + excluded.delta"
)
_WHOLE = (
    "SELECT coalesce(max(CASE WHEN block = '' THEN divergence END), 0), coalesce(max(CASE WHEN block = '' THEN delta "
    "END), 0), coalesce(max(CASE WHEN block <> '' THEN divergence END), 0), coalesce(max(CASE WHEN block <> '' THEN "
    "delta END), 0) FROM spent WHERE path = ?"
)

Pair: TypeAlias = tuple[int, int]
"""Divergence and delta."""


class Balances:
    """The balances that a transaction sees.

    Guarantee: amounts never wrap. No charge passes a cap, and caps fit into 64 bits; what is taken over from a lost
    copy stops at the largest number.
    """

    def __init__(self, rows: Transaction) -> None:
        self._rows = rows
        self._terms: dict[Account, AccountTerms | None] = {}
        self._reserved: dict[str, list[Account]] = {}
        self._changed: set[tuple[str, str]] = set()
        self._opened = False

    def forget(self) -> None:
        """Read all terms again: what was written was undone."""
        self._terms, self._reserved = {}, {}

    # ---- terms

    def terms(self, account: Account) -> AccountTerms:
        known = self.terms_or_none(account)
        if known is None:
            raise InvalidParameter("account", str(account), allowed="one that was opened")
        return known

    def terms_or_none(self, account: Account) -> AccountTerms | None:
        if account not in self._terms:
            found = self._rows.execute("SELECT terms FROM accounts WHERE path = ?", [path_text(account)])
            self._terms[account] = _terms(found[0][0]) if found else None
        return self._terms[account]

    def set_terms(self, account: Account, terms: AccountTerms) -> None:
        path = path_text(account)
        self._rows.execute(
            "INSERT INTO accounts VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET terms = excluded.terms, "
            "reserving = excluded.reserving",
            [path, account.population, canonical(terms_facts(terms)), int(terms.reserve is not None)],
        )
        self.forget()
        if len(account.path) == 1:
            self._opened = True

    # ---- spending

    def spent(self, account: Account, *, block: str = "") -> Charge:
        """The sum of all charges; of a population, what is borne by the units of one block, or by any at most."""
        return _amount(self._spent(account, block), self.terms(account).cap)

    def _spent(self, account: Account, block: str = "") -> Pair:
        path = path_text(account)
        if len(account.path) > 1:
            return self._part(path, "")
        if block:
            parts = [self._part(path, ""), self._part(path, block)]
            return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
        ((whole, whole_delta, most, most_delta),) = self._rows.execute(_WHOLE, [path])
        return whole + most, whole_delta + most_delta

    def _part(self, path: str, block: str) -> Pair:
        found = self._rows.execute("SELECT divergence, delta FROM spent WHERE path = ? AND block = ?", [path, block])
        return (found[0][0], found[0][1]) if found else (0, 0)

    def charge(self, charges: Sequence[AccountCharge], *, quotas_only: bool = False) -> None:
        """Add up, without a look at the caps."""
        for charge in charges:
            for part in lineage(charge.account)[: -1 if quotas_only else None]:
                self.add(part, charge.amount, charge.block if len(part.path) == 1 else "")

    def add(self, account: Account, amount: Charge, block: str) -> None:
        """Add to this one account and block."""
        path = path_text(account)
        self._rows.execute(_ADD, [path, block, amount.divergence, amount.delta])
        self._changed.add((path, block))

    def figures(self, *, changed_only: bool = False) -> Figures:
        """What a mark keeps: all of it, or what this transaction has changed."""
        if changed_only:
            return Figures({part: self._part(*part) for part in self._changed}, self._caps() if self._opened else {})
        spent = self._rows.execute("SELECT path, block, divergence, delta FROM spent")
        return Figures({(path, block): (divergence, delta) for path, block, divergence, delta in spent}, self._caps())

    def _caps(self) -> dict[str, str]:
        found = self._rows.execute("SELECT path, terms, population FROM accounts")
        return {path: terms for path, terms, population in found if path == canonical([population])}

    # ---- what is left

    def require(self, charges: Sequence[AccountCharge], now: dt.datetime, *, quotas_only: bool = False) -> None:
        """Refuse what does not fit, or is not due; the quotas are looked at before what they lie in."""
        _require_one_each(charges)
        for charge in charges:
            for part in lineage(charge.account)[: -1 if quotas_only else None]:
                terms = self.terms(part)
                require_same_order(charge.amount, terms.cap)
                _require_due(part, terms, now)
                left = self._rest(part, charge.account, now, charge.block)
                if charge.amount.divergence > left[0] or charge.amount.delta > left[1]:
                    raise self._exceeded(part, charge.amount, _amount(left, terms.cap))

    def _exceeded(self, part: Account, asked: Charge, left: Charge) -> BudgetExceeded:
        said = _said(part, asked, left, self.terms(part.lineage[-1]).cap)
        return BudgetExceeded(account=str(part), asked=asked, left=left, said=said)

    def left(self, account: Account, now: dt.datetime, *, block: str = "") -> Charge:
        """The least that is left of an account and of all that it lies in."""
        parts = [self._rest(part, account, now, block) for part in account.lineage]
        least = min(part[0] for part in parts), min(part[1] for part in parts)
        return _amount(least, self.terms(account).cap)

    def _rest(self, part: Account, payer: Account, now: dt.datetime, block: str) -> Pair:
        """What a payer may still take of an account that it lies in: the cap, less what was spent, less what is held
        for others."""
        population = len(part.path) == 1
        cap, spent = self.terms(part).cap, self._spent(part, block if population else "")
        if population and (spent[0] > cap.divergence or spent[1] > cap.delta):
            return 0, 0  # taken over from a lost copy: what the cap promised is gone
        held = self._held(part, payer, now)
        left = (cap.divergence - spent[0] - held[0], cap.delta - spent[1] - held[1])
        return max(0, left[0]), max(0, left[1])  # below 0 where a quota was lowered

    def _held(self, part: Account, payer: Account, now: dt.datetime) -> Pair:
        """What is reserved in an account for others than the payer, and not yet spent by them."""
        divergence, delta, below = 0, 0, len(part.path) + 1
        for account in self._reserving(part.population):
            if len(account.path) != below or account.path[:-1] != part.path or account.path == payer.path[:below]:
                continue
            terms = self.terms(account)
            if terms.reserve is not None and not (terms.end is not None and now >= terms.end):
                spent = self._spent(account)
                divergence += max(0, terms.reserve.divergence - spent[0])
                delta += max(0, terms.reserve.delta - spent[1])
        return divergence, delta

    def _reserving(self, population: str) -> list[Account]:
        if population not in self._reserved:
            sql = "SELECT path FROM accounts WHERE population = ? AND reserving = 1"
            found = self._rows.execute(sql, [population])
            self._reserved[population] = [Account(tuple(json.loads(path))) for (path,) in found]
        return self._reserved[population]


def _require_due(account: Account, terms: AccountTerms, now: dt.datetime) -> None:
    if terms.start is not None and now < terms.start:
        when, instead = f"before {terms.start:%Y-%m-%d %H:%M}", "Ask again then."
        raise AccessDenied(str(account), what=f"be charged {when}", instead=instead)
    if terms.end is not None and now >= terms.end:
        when, instead = f"after {terms.end:%Y-%m-%d %H:%M}", "Answers that were stored can still be read."
        raise AccessDenied(str(account), what=f"be charged {when}", instead=instead)


def _amount(pair: Pair, cap: Charge) -> Charge:
    return Charge(divergence=min(LARGEST, pair[0]), delta=min(LARGEST, pair[1]), order=cap.order)


@lru_cache(maxsize=4096)
def lineage(account: Account) -> tuple[Account, ...]:
    return account.lineage


@lru_cache(maxsize=4096)
def path_text(account: Account) -> str:
    """An account's path as the tables write it."""
    return canonical(list(account.path))


@lru_cache(maxsize=4096)
def _terms(text: str) -> AccountTerms:
    return terms_from(json.loads(text))


def _said(account: Account, asked: Charge, left: Charge, cap: Charge) -> str:
    """What is asked and left as parts of the population's cap, on the side of the amount that does not suffice."""
    side = "divergence" if asked.divergence > left.divergence else "delta"
    whole = max(1, getattr(cap, side))
    cost, rest = percents(*(Fraction(getattr(amount, side), whole) for amount in (asked, left)))
    where = f" in {account}" if len(account.path) > 1 else ""
    return f"this release costs {cost} of the budget of {account.population!r}, and {rest} is left{where}"


def _require_one_each(charges: Sequence[AccountCharge]) -> None:
    """One charge a population: two would each be compared with what is left before the other."""
    names = [charge.account.population for charge in charges]
    if len(set(names)) < len(names):
        raise InvalidParameter("charges", names, allowed="one charge for each population")


def require_same_order(amount: Charge, cap: Charge) -> None:
    """Refuse an amount of another order than the account's."""
    if amount.order != cap.order:
        raise InvalidParameter("order", amount.order, allowed=f"{cap.order}, the order of this account")
