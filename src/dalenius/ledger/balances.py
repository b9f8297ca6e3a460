"""Balances: what was spent of each account and what is left, inside one transaction.

Every account keeps three sums: divergence, delta and epsilon. A charge is taken as long as deltas fit and one of the
other two does, each account by its own sums (docs/accounting.md, Theorem 1).

Of a population, charges to a block (a part of it that no unit ever leaves) are summed apart: what a unit bears is what
was charged to all and what was charged to its own block, so a charge must fit on top of that in every block that it is
about. That is parallel composition, for neighbours that differ by adding or removing a unit.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from dalenius.accounting.amounts import LARGEST, UNBOUNDED, Charge
from dalenius.errors import AccessDenied, BudgetExceeded, InvalidParameter
from dalenius.ledger.accounts import (
    Account,
    AccountCharge,
    AccountTerms,
    Standing,
    canonical,
    terms_facts,
    terms_from,
)
from dalenius.ledger.marks import Figures
from dalenius.ledger.names import percents
from dalenius.ledger.stores import Transaction

# A sum of epsilons stops where it says nothing more: SQLite would make a float of it, PostgreSQL an error.
_ADD = (
    "INSERT INTO spent VALUES (?, ?, ?, ?, ?) ON CONFLICT (path, block) DO UPDATE SET "
    "divergence = spent.divergence + excluded.divergence, delta = spent.delta + excluded.delta, epsilon = "
    "CASE WHEN spent.epsilon > ? - excluded.epsilon THEN ? ELSE spent.epsilon + excluded.epsilon END"
)
_PART = "SELECT divergence, delta, epsilon FROM spent WHERE path = ? AND block = ?"
_BLOCKS = "SELECT DISTINCT divergence, delta, epsilon FROM spent WHERE path = ? AND block <> ''"

Sums: TypeAlias = tuple[int, int, int]
"""Divergence, delta and epsilon, in the units of a `Charge`. An epsilon of `UNBOUNDED` or more is none."""
_NOTHING: Sums = (0, 0, 0)


class Balances:
    """The balances that a transaction sees.

    Guarantee: amounts never wrap. No charge brings a sum of divergence or delta past the largest number, and those of
    epsilon stop there, as does what is taken over from a lost copy.
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
        """The sum of all charges; of a population, what is borne by the units of one block, or of the block that has
        spent the largest share."""
        cap = self.terms(account).cap
        borne = [_amount(sums, cap) for sums in self._borne(account, block)]
        return max(borne, key=lambda each: (each.share(cap), each.divergence, each.delta, each.epsilon))

    def _borne(self, account: Account, block: str = "") -> list[Sums]:
        """What was charged to an account; of a population, what units bear in one block, or in every block that could
        be the first to refuse: the others have no more spent of any figure than one of these."""
        path = path_text(account)
        whole = self._part(path, "")
        if len(account.path) > 1:
            return [whole]
        if block:
            return [_plus(whole, self._part(path, block))]
        found: list[Sums] = []
        for divergence, delta, epsilon in sorted(self._rows.execute(_BLOCKS, [path]), reverse=True):
            if not any(other[1] >= delta and other[2] >= epsilon for other in found):
                found.append((divergence, delta, epsilon))
        return [_plus(whole, part) for part in found] or [whole]

    def _part(self, path: str, block: str) -> Sums:
        found = self._rows.execute(_PART, [path, block])
        return (found[0][0], found[0][1], found[0][2]) if found else _NOTHING

    def charge(self, charges: Sequence[AccountCharge], *, quotas_only: bool = False) -> None:
        """Add up, without a look at the caps."""
        for charge in charges:
            for part in lineage(charge.account)[: -1 if quotas_only else None]:
                self.add(part, charge.amount, charge.block if len(part.path) == 1 else "")

    def add(self, account: Account, amount: Charge, block: str) -> None:
        """Add to this one account and block."""
        path = path_text(account)
        self._rows.execute(_ADD, [path, block, *_sums(amount), UNBOUNDED, UNBOUNDED])
        self._changed.add((path, block))

    def figures(self, *, changed_only: bool = False) -> Figures:
        """What a mark keeps: all of it, or what this transaction has changed."""
        if changed_only:
            return Figures({part: self._part(*part) for part in self._changed}, self._caps() if self._opened else {})
        spent = self._rows.execute("SELECT path, block, divergence, delta, epsilon FROM spent")
        return Figures({(path, block): (one, two, three) for path, block, one, two, three in spent}, self._caps())

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
                before = self._before(part, charge, now)
                if not all(_admitted(_plus(sums, _sums(charge.amount)), terms.cap) for sums in before):
                    raise self._exceeded(part, charge, now)

    def times(self, charge: AccountCharge, now: dt.datetime) -> int:
        """How many charges like this one would be taken from now on, one after the other."""
        counts = []
        for part in lineage(charge.account):
            terms = self.terms(part)
            require_same_order(charge.amount, terms.cap)
            before = self._before(part, charge, now) if _is_due(terms, now) else []
            counts.append(min((_times(sums, charge.amount, terms.cap) for sums in before), default=0))
        return min(counts)

    def _before(self, part: Account, charge: AccountCharge, now: dt.datetime) -> list[Sums]:
        """The sums on top of which a charge must fit into an account that it goes to.

        What a population has spent is its promise. What is held for others, and what a quota has spent, refuses no
        charge that does not add to it: a reserve may be made, or a quota be lowered, when more was spent already.
        """
        held, spent = self._held(part, charge.account, now), self._borne(part, charge.block)
        limits = [_added_to(_plus(sums, held), charge.amount) for sums in spent]
        return limits if len(part.path) > 1 else [*spent, *limits]

    def _exceeded(self, part: Account, charge: AccountCharge, now: dt.datetime) -> BudgetExceeded:
        held, cap = self._held(part, charge.account, now), self.terms(part).cap
        before = [_plus(sums, held) for sums in self._borne(part, charge.block)]
        said = _said(part, charge.amount, before, cap, self.terms(part.lineage[-1]).cap)
        left = _amount(self._rest(part, charge.account, now, charge.block), cap)
        return BudgetExceeded(account=str(part), asked=charge.amount, left=left, said=said)

    def left(self, account: Account, now: dt.datetime, *, block: str = "") -> Charge:
        """The least that is left of each figure, of an account and of all that it lies in."""
        parts = [self._rest(part, account, now, block) for part in account.lineage]
        return _amount(_least(parts), self.terms(account).cap)

    def standing(self, account: Account, now: dt.datetime, *, block: str = "") -> tuple[Standing, ...]:
        """How an account and all that it lies in stand, of the population each block: the last ones are its."""
        found = []
        for part in lineage(account):
            cap, held = self.terms(part).cap, self._held(part, account, now)
            found += [Standing(part, cap, _amount(_plus(sums, held), cap)) for sums in self._borne(part, block)]
        return tuple(found)

    def _rest(self, part: Account, payer: Account, now: dt.datetime, block: str) -> Sums:
        """What a payer may still take of each figure of an account that it lies in: the cap, less what was spent, less
        what is held for others."""
        cap, spent = self.terms(part).cap, self._borne(part, block)
        if len(part.path) == 1 and not all(_admitted(sums, cap) for sums in spent):
            return _NOTHING  # taken over from a lost copy: what the cap promised is gone
        held = self._held(part, payer, now)
        return _least([_sums(cap.less(_amount(_plus(sums, held), cap))) for sums in spent])

    def _held(self, part: Account, payer: Account, now: dt.datetime) -> Sums:
        """What is reserved in an account for others than the payer, and not yet spent by them. It may pay for what is
        not pure, so as long as divergence is held, nothing is left to addition."""
        held, below = _NOTHING, len(part.path) + 1
        for account in self._reserving(part.population):
            if len(account.path) != below or account.path[:-1] != part.path or account.path == payer.path[:below]:
                continue
            terms = self.terms(account)
            if terms.reserve is not None and not (terms.end is not None and now >= terms.end):
                rest = terms.reserve.less(self.spent(account))
                held = _plus(held, _sums(rest if rest.divergence else replace(rest, epsilon=0)))
        return held

    def _reserving(self, population: str) -> list[Account]:
        if population not in self._reserved:
            sql = "SELECT path FROM accounts WHERE population = ? AND reserving = 1"
            found = self._rows.execute(sql, [population])
            self._reserved[population] = [Account(tuple(json.loads(path))) for (path,) in found]
        return self._reserved[population]


def _is_due(terms: AccountTerms, now: dt.datetime) -> bool:
    return (terms.start is None or now >= terms.start) and (terms.end is None or now < terms.end)


def _require_due(account: Account, terms: AccountTerms, now: dt.datetime) -> None:
    if _is_due(terms, now):
        return
    if terms.start is not None and now < terms.start:
        when, instead = f"before {terms.start:%Y-%m-%d %H:%M}", "Ask again then."
    else:
        when, instead = f"after {terms.end:%Y-%m-%d %H:%M}", "Answers that were stored can still be read."
    raise AccessDenied(str(account), what=f"be charged {when}", instead=instead)


# ---- sums


def _sums(amount: Charge) -> Sums:
    return amount.divergence, amount.delta, amount.epsilon


def _amount(sums: Sums, cap: Charge) -> Charge:
    """Sums as an amount of the order of a cap; they stop at the largest number."""
    divergence, delta, epsilon = (min(LARGEST, size) for size in sums)
    return Charge(divergence=divergence, delta=delta, order=cap.order, epsilon=epsilon)


def _plus(one: Sums, other: Sums) -> Sums:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _least(parts: Sequence[Sums]) -> Sums:
    divergence, delta, epsilon = (min(sizes) for sizes in zip(*parts, strict=True))
    return divergence, delta, epsilon


def _added_to(sums: Sums, amount: Charge) -> Sums:
    """Those of some sums to which an amount adds; the others are not what it could pass."""
    return sums[0] if amount.divergence else 0, sums[1] if amount.delta else 0, sums[2]


def _admitted(sums: Sums, cap: Charge) -> bool:
    """Whether an account of this cap may have been charged so much; what no store can add up lies above every cap."""
    return max(sums[:2]) <= LARGEST and _amount(sums, cap).admitted(cap)


def _times(before: Sums, amount: Charge, cap: Charge) -> int:
    """How many such amounts are admitted on top of what was spent before, one after the other."""
    most = cap.epsilon if cap.is_pure else -1
    by_divergence = _uses(before[0], amount.divergence, cap.divergence)
    by_addition = min(_uses(before[2], amount.epsilon, most), _uses(before[0], amount.divergence, LARGEST))
    return min(_uses(before[1], amount.delta, cap.delta), max(by_divergence, by_addition))


def _uses(before: int, size: int, most: int) -> int:
    """How often one figure fits."""
    if before > most:
        return 0
    return (most - before) // size if size else LARGEST


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


def _said(account: Account, asked: Charge, before: Sequence[Sums], cap: Charge, whole: Charge) -> str:
    """By how much the share that is spent would rise, and what is left of it: of a quota, as parts of its population's
    budget."""
    spent, after = (
        max(_amount(_plus(sums, more), cap).share(cap) for sums in before) for more in (_NOTHING, _sums(asked))
    )
    quota, spent = cap.rectangle.share(whole), min(Fraction(1), spent)
    cost, rest = percents(quota * (after - spent), quota * (1 - spent))
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
