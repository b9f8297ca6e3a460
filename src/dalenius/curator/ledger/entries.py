"""Entries: what a ledger is made of. Each is a line of canonical JSON, chained to the one before by its hash."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from dalenius.accounting.amounts import Amount
from dalenius.curator.ledger.accounts import Account, Charge, Receipt, Terms

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


def amount_facts(amount: Amount) -> list[Any]:
    order = None if amount.order is None else str(amount.order)
    return [amount.divergence, amount.delta, order]


def amount_from(facts: list[Any]) -> Amount:
    return _amount(*facts)


@lru_cache(maxsize=4096)
def _amount(divergence: int, delta: int, order: str | None) -> Amount:
    return Amount(divergence=divergence, delta=delta, order=None if order is None else Fraction(order))


def terms_facts(terms: Terms) -> dict[str, Any]:
    return {
        "cap": amount_facts(terms.cap),
        "start": _written(terms.start),
        "end": _written(terms.end),
        "reserve": None if terms.reserve is None else amount_facts(terms.reserve),
    }


def terms_from(facts: Facts) -> Terms:
    reserve = None if facts["reserve"] is None else amount_from(facts["reserve"])
    return Terms(amount_from(facts["cap"]), _read(facts["start"]), _read(facts["end"]), reserve)


def charge_facts(charge: Charge) -> dict[str, Any]:
    return {"account": list(charge.account.path), "amount": amount_facts(charge.amount), "block": charge.block}


def charge_from(facts: Facts) -> Charge:
    return Charge(Account(tuple(facts["account"])), amount_from(facts["amount"]), facts["block"])


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
