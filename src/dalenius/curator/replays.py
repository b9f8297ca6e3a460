"""Answers that were bought before: what can be had again without a charge to anybody's privacy, and by whom."""

from __future__ import annotations

from dataclasses import replace

from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.encoding import decoded
from dalenius.curator.cards.cards import Card
from dalenius.curator.curator import Asker
from dalenius.curator.ledger.accounts import Charge, Receipt
from dalenius.curator.shelf import Replay, stored_card
from dalenius.errors import AccessDenied, InvalidParameter


def replays(asker: Asker) -> tuple[Replay, ...]:
    """The answers that this asker can have again: to questions about tables that may be asked, as they are now.

    Guarantee: it depends on the catalog and the ledger alone. Who else may ask these tables sees the same list.
    Textbook: S18.4.
    """
    require_due(asker)
    tables = asker.tables()
    return tuple(found for found in asker.curator.shelf.all(asker.curator.ledger) if found.is_about(tables))


def replay(asker: Asker, name: str, *, key: str | None = None) -> Answer:
    """A stored answer by its receipt: free, or at the expense of the asker's quotas where the grant says so."""
    require_due(asker)
    receipt = _readable(asker, name)
    ledger = asker.curator.ledger
    if asker.grant.pays_for_replays:
        paid = [Charge(asker.account(each.account.population), each.amount, each.block) for each in receipt.charges]
        ledger.read(receipt, paid, who=asker.name, key=key)
    body = ledger.answer(name)
    assert body is not None
    return replace(decoded(body), replayed=True)


def card(asker: Asker, name: str) -> Card:
    """The card of a stored answer that this asker may have."""
    require_due(asker)
    receipt = _readable(asker, name)
    found = stored_card(asker.curator.ledger, receipt.id)
    assert found is not None
    return found


def _readable(asker: Asker, name: str) -> Receipt:
    """The receipt of an answer that may be had. An analyst must be granted all of its tables, and they must be as they
    are now or the answer be the analyst's own; the owner may have all."""
    ledger, tables = asker.curator.ledger, asker.tables()
    receipt = ledger.receipt(name) if isinstance(name, str) and name.isascii() else None
    known = asker.curator.shelf.one(ledger, name) if receipt else None
    granted = known is not None and all(table in tables for table, _ in known.versions)
    own = receipt is not None and receipt.who == asker.name
    if receipt and known and (asker.analyst is None or (granted and (own or known.is_about(tables)))):
        return receipt
    raise InvalidParameter(
        "receipt", name, allowed="that of a stored answer about tables that may be asked", hint="See replays()."
    )


def require_due(asker: Asker) -> None:
    """Refuse whoever's grant has ended, also where nothing would be charged."""
    until = asker.grant.until
    if until is not None and asker.curator.ledger.now() >= until:
        raise AccessDenied(
            asker.name, what=f"ask after {until:%Y-%m-%d %H:%M}", instead="Ask the owner for a new grant."
        )
