"""`dalenius ledger FOLDER`: who spent what, for which question."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dalenius.catalog.catalog import Catalog
from dalenius.cli.sessions import opened
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import FINE
from dalenius.ledger.accounts import Account, AccountCharge, Entry, Receipt, amount_facts, charge_from, receipt_from
from dalenius.ledger.names import percent
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.displays import text_table
from dalenius.session.databases import Database
from dalenius.session.registry.spending import increases
from dalenius.session.shelf import Shelf

_MOST = 20
_LONGEST = 60
TAKEN_OVER = "taken over from a lost copy"
UNANSWERED = "(no answer was stored)"


def show(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Every account with what was spent of it, and the charges."""
    with opened(chosen.folder) as db:
        entries = list(db.ledger.entries())
        accounts = list(_accounts(db, entries))
        charges = list(_charges(db, entries))
    if chosen.json:
        terminal.show_json({"accounts": accounts, "charges": charges})
        return FINE
    count = f"{len(charges):,} charge{'' if len(charges) == 1 else 's'} in all"
    terminal.show(_table(list(map(_in_percent, accounts)), ("account", "spent", "cap"), footer=count))
    if charges:
        told = [_told(each) for each in charges[-_MOST:]]
        footer = "the latest of them" if len(charges) > _MOST else "shares are parts of a population's whole budget"
        terminal.show(_table(told, ("receipt", "who", "at", "share", "asked"), footer=footer))
    return FINE


# ---- accounts


def _accounts(db: Database, entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """The accounts that are open, and those from which something was spent before they were closed."""
    catalog, book = db.catalog, db.ledger
    declared = catalog.accounts()
    opened_once = [Account(tuple(entry.facts["account"])) for entry in entries if entry.kind == "account"]
    for account in dict.fromkeys([*declared, *opened_once]):
        people = catalog.populations.get(account.population)
        if people is not None and (account in declared or book.spent(account)):
            terms = declared.get(account) or book.terms(account)
            spent, cap = (people.renyi_filter.share(amount) for amount in (book.spent(account), terms.cap))
            state = "" if account in declared else _ended(account, catalog)
            yield {"account": " / ".join(account.path), "state": state, "spent": str(spent), "cap": str(cap)}


def _ended(account: Account, catalog: Catalog) -> str:
    name = account.path[-1]
    return "earlier" if name in catalog.grants or name in catalog.studies else "revoked"


def _in_percent(facts: dict[str, Any]) -> dict[str, Any]:
    name = f"{facts['account']} ({facts['state']})" if facts["state"] else facts["account"]
    return {"account": name, **{side: percent(Fraction(facts[side])) for side in ("spent", "cap")}}


# ---- charges


def _charges(db: Database, entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """The charges in order, with what was asked; and what was taken over from a lost copy of the ledger."""
    asked = {each.receipt: each.asked for each in Shelf().all(db.ledger)}
    shares = increases(entries, db.catalog.populations)
    for entry in entries:
        if entry.kind == "charge":
            receipt = receipt_from(entry)
            parts = [_part(charge, shares[entry.number]) for charge in receipt.charges]
            yield {**_facts(receipt), "charges": parts, "asked": asked.get(receipt.id)}
        elif entry.kind == "reconciled" and entry.facts["raised"]:
            parts = [_part(charge_from(charge), shares[entry.number]) for charge in entry.facts["raised"]]
            at = entry.at.isoformat(timespec="seconds")
            yield {"receipt": None, "who": TAKEN_OVER, "at": at, "charges": parts, "asked": None}


def _facts(receipt: Receipt) -> dict[str, Any]:
    return {"receipt": receipt.id, "who": receipt.who, "at": receipt.at.isoformat(timespec="seconds")}


def _part(charge: AccountCharge, shares: Mapping[str, Fraction]) -> dict[str, Any]:
    """A charge, and by how much it raised what was spent of its population."""
    share = shares.get(charge.account.population)
    return {"account": " / ".join(charge.account.path), "block": charge.block or None,
            "share": None if share is None else str(share), "amount": amount_facts(charge.amount)}  # fmt: skip


def _told(facts: dict[str, Any]) -> dict[str, Any]:
    parts = facts["charges"]
    if facts["receipt"] is None:  # of a lost copy, each account is raised; the population's stands for all inside it
        parts = [part for part in parts if " / " not in part["account"]] or parts
    shares = [percent(Fraction(part["share"])) for part in parts if part["share"] is not None]
    text = " ".join((facts["asked"] or UNANSWERED).split()) if facts["receipt"] else ""
    asked = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return {**facts, "receipt": facts["receipt"] or "-", "share": ", ".join(shares), "asked": asked}


def _table(rows: Sequence[dict[str, Any]], names: Sequence[str], *, footer: str) -> str:
    columns = [AnswerColumn(name, tuple(row[name] for row in rows), is_key=True) for name in names]
    return text_table(columns, footer=[footer]) + "\n"
