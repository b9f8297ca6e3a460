"""Answers that were bought before: what is free to read again, and for whom."""

from __future__ import annotations

from dataclasses import replace

from dalenius.errors import AccessDenied, InvalidParameter
from dalenius.ledger.accounts import AccountCharge, Receipt
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.encoding import decoded
from dalenius.session.cards.cards import Card
from dalenius.session.curator import Principal
from dalenius.session.shelf import Replay, stored_card


def replays(principal: Principal) -> tuple[Replay, ...]:
    """The answers that this principal can have again: to questions about tables that may be asked, as they are now.

    Guarantee: it depends on the catalog and the ledger alone. Who else may ask these tables sees the same list.
    Textbook: S18.4.
    """
    require_due(principal)
    tables = principal.tables()
    return tuple(found for found in principal.curator.shelf.all(principal.curator.ledger) if found.is_about(tables))


def replay(principal: Principal, name: str, *, key: str | None = None) -> Answer:
    """A stored answer by its receipt: free, or at the expense of the principal's quotas where the grant says so."""
    require_due(principal)
    receipt = _readable(principal, name)
    ledger = principal.curator.ledger
    if principal.grant.pays_for_replays:
        paid = [
            AccountCharge(principal.account(each.account.population), each.amount, each.block)
            for each in receipt.charges
        ]
        ledger.read(receipt, paid, who=principal.name, key=key)
    body = ledger.answer(name)
    assert body is not None
    return replace(decoded(body), replayed=True)


def card(principal: Principal, name: str) -> Card:
    """The card of a stored answer that this principal may have."""
    require_due(principal)
    receipt = _readable(principal, name)
    found = stored_card(principal.curator.ledger, receipt.id)
    assert found is not None
    return found


def _readable(principal: Principal, name: str) -> Receipt:
    """The receipt of an answer that may be had. An analyst must be granted all of its tables, and they must be as they
    are now or the answer be the analyst's own; the owner may have all."""
    ledger, tables = principal.curator.ledger, principal.tables()
    receipt = ledger.receipt(name) if isinstance(name, str) and name.isascii() else None
    known = principal.curator.shelf.one(ledger, name) if receipt else None
    granted = known is not None and all(table in tables for table, _ in known.versions)
    own = receipt is not None and receipt.who == principal.name
    if receipt and known and (principal.analyst is None or (granted and (own or known.is_about(tables)))):
        return receipt
    raise InvalidParameter(
        "receipt", name, allowed="that of a stored answer about tables that may be asked", hint="See replays()."
    )


def require_due(principal: Principal) -> None:
    """Refuse whoever's grant has ended, also where nothing would be charged."""
    until = principal.grant.until
    if until is not None and principal.curator.ledger.now() >= until:
        raise AccessDenied(
            principal.name, what=f"ask after {until:%Y-%m-%d %H:%M}", instead="Ask the owner for a new grant."
        )
