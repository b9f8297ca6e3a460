"""Accounts and what is charged to them. All of it is public.

Entries: what a ledger is made of. Each is a line of canonical JSON, chained to the one before by its hash.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from dalenius.accounting.amounts import UNBOUNDED, Charge
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole

MOST = 10**9
"""The largest number of charges or seconds in a rate: 30 years, and a time that every store can compare."""


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
class AccountTerms:
    """What an account allows: at most `cap`, between `start` and `end`.

    `reserve` is a part of `cap` that is held for this account: others in the same account above leave it untouched,
    until `end`. It is held in the rectangle, where divergence pays for whatever comes, so it bounds no epsilon.
    """

    cap: Charge
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    reserve: Charge | None = None

    def __post_init__(self) -> None:
        if self.reserve is not None:
            object.__setattr__(self, "reserve", self.reserve.rectangle)


@dataclass(frozen=True, slots=True)
class Standing:
    """How an account stands, or one block of a population: its cap, and what was spent or is held for others."""

    account: Account
    cap: Charge
    spent: Charge


@dataclass(frozen=True, slots=True)
class AccountCharge:
    """An amount for an account and for all that it lies in.

    `block` names the part of a partitioned population that alone was asked about; the population then shows the
    block that has spent most. Quotas add up, whatever the block.
    """

    account: Account
    amount: Charge
    block: str = ""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` charges of one principal in any `seconds`; a charge counts for up to a second longer."""

    count: int
    seconds: int

    def __post_init__(self) -> None:
        for name in ("count", "seconds"):
            number = whole(1, **{name: getattr(self, name)})
            if number > MOST:
                raise InvalidParameter(name, number, allowed=f"at most {MOST:,}")
            object.__setattr__(self, name, number)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was paid for: who asked which question, and the charges. All of it is public.

    `question` names the question and the versions of its tables, `request` also the price and the form of the answer:
    equal requests are answered once. `key` is the principal's own name for this attempt, so that a retry is not charged
    again; `repeated` says that this receipt is an earlier one, found by its key.
    """

    id: str
    number: int
    who: str
    question: str
    charges: tuple[AccountCharge, ...]
    at: dt.datetime
    request: str = ""
    key: str | None = None
    repeated: bool = field(default=False, compare=False)


Kind: TypeAlias = Literal["ledger", "account", "charge", "answer", "read", "record", "reconciled"]
"""What an entry says: the ledger's name, an account's terms, a charge, an answer to it, a replay that a quota pays for,
something that the owner wrote down, or spending taken over from a lost copy."""
Facts: TypeAlias = Mapping[str, Any]

BEFORE_ALL = "0" * 64
"""The hash before the first entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger. `facts` are JSON values."""

    number: int
    at: dt.datetime
    kind: Kind
    facts: Facts

    @property
    def body(self) -> str:
        """The line, in the one form that is hashed."""
        return canonical({"number": self.number, "at": self.at.isoformat(), "kind": self.kind, **self.facts})

    @classmethod
    def from_body(cls, body: str) -> Entry:
        facts = json.loads(body)
        number, at, kind = (facts.pop(name) for name in ("number", "at", "kind"))
        return cls(number, dt.datetime.fromisoformat(at), kind, facts)


def canonical(value: object) -> str:
    """JSON with sorted names and no spaces; no floats, whose spelling could differ."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def linked(previous: str, body: str) -> str:
    """The hash of an entry and of all before it."""
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


def amount_facts(amount: Charge) -> list[Any]:
    """Divergence, delta and order; then epsilon, where it is bounded and says more than the divergence."""
    order = None if amount.order is None else str(amount.order)
    pure = [amount.epsilon] if order is not None and amount.epsilon < UNBOUNDED else []
    return [amount.divergence, amount.delta, order, *pure]


def amount_from(facts: list[Any]) -> Charge:
    return _amount(*facts)


@lru_cache(maxsize=4096)
def _amount(divergence: int, delta: int, order: str | None, epsilon: int = UNBOUNDED) -> Charge:
    known = None if order is None else Fraction(order)
    return Charge(divergence=divergence, delta=delta, order=known, epsilon=epsilon)


def terms_facts(terms: AccountTerms) -> dict[str, Any]:
    return {
        "cap": amount_facts(terms.cap),
        "start": _written(terms.start),
        "end": _written(terms.end),
        "reserve": None if terms.reserve is None else amount_facts(terms.reserve),
    }


def terms_from(facts: Facts) -> AccountTerms:
    reserve = None if facts["reserve"] is None else amount_from(facts["reserve"])
    return AccountTerms(amount_from(facts["cap"]), _read(facts["start"]), _read(facts["end"]), reserve)


def charge_facts(charge: AccountCharge) -> dict[str, Any]:
    return {"account": list(charge.account.path), "amount": amount_facts(charge.amount), "block": charge.block}


def charge_from(facts: Facts) -> AccountCharge:
    return AccountCharge(Account(tuple(facts["account"])), amount_from(facts["amount"]), facts["block"])


def receipt_facts(receipt: Receipt) -> dict[str, Any]:
    return {
        "receipt": receipt.id,
        "who": receipt.who,
        "question": receipt.question,
        "request": receipt.request,
        "key": receipt.key,
        "charges": [charge_facts(charge) for charge in receipt.charges],
    }


def receipt_from(entry: Entry, *, repeated: bool = False) -> Receipt:
    facts = entry.facts
    charges = tuple(charge_from(charge) for charge in facts["charges"])
    return Receipt(
        facts["receipt"], entry.number, facts["who"], facts["question"], charges, entry.at, facts["request"],
        facts["key"], repeated,
    )  # fmt: skip


def _written(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _read(text: str | None) -> dt.datetime | None:
    return None if text is None else dt.datetime.fromisoformat(text)
