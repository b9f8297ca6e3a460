"""What may be written into a ledger: refused before it gets there, because an error in a batch stops the journal."""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.curator.ledger.accounts import Account, Charge, Terms
from dalenius.curator.ledger.entries import Facts
from dalenius.errors import InvalidParameter

MOST_KEY = 200
"""How many characters an asker's own name for an attempt may have."""
_OURS = frozenset({"number", "at", "kind"})


def plain(name: str, text: str, *, most: int | None = None) -> str:
    """A text that every store keeps as it is: printable, and of at most so many characters."""
    if not isinstance(text, str) or not text.isprintable() or (most is not None and not 0 < len(text) <= most):
        size = "" if most is None else f" of 1 to {most} characters"
        raise InvalidParameter(name, text, allowed=f"a printable text{size}")
    return text


def require_account(account: Account) -> None:
    if not account.path:
        raise InvalidParameter("account", "nameless", allowed="the names on the way from a population down")
    for name in account.path:
        plain("account", name, most=200)


def require_terms(account: Account, terms: Terms) -> None:
    """Refuse terms that no later charge could be compared with."""
    require_account(account)
    if terms.reserve is not None and terms.reserve.order != terms.cap.order:
        raise InvalidParameter("reserve", terms.reserve.order, allowed=f"of order {terms.cap.order}, as its cap")
    for name, moment in (("start", terms.start), ("end", terms.end)):
        if moment is not None and moment.utcoffset() is None:
            raise InvalidParameter(name, moment, allowed="a moment with its time zone")


def require_charges(charges: Sequence[Charge]) -> None:
    """Refuse what is free, or has names that a store may change."""
    if not charges or not all(charge.amount for charge in charges):
        raise InvalidParameter(
            "charges", "zero", allowed="greater than 0", hint="A release of private data is never free."
        )
    for charge in charges:
        require_account(charge.account)
        plain("block", charge.block)


def require_facts(facts: Facts) -> None:
    """Refuse a record that has no one canonical form: texts, whole numbers, lists and names for them do."""
    taken = _OURS & facts.keys()
    if taken or not _written_one_way(dict(facts)):
        raise InvalidParameter(
            "facts", sorted(taken) or "of other kinds", allowed="texts, whole numbers, lists and mappings by names "
            "other than number, at and kind"
        )  # fmt: skip


def _written_one_way(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) and _written_one_way([name, part]) for name, part in value.items())
    if isinstance(value, list | tuple):
        return all(_written_one_way(part) for part in value)
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
    return value is None or isinstance(value, int)
