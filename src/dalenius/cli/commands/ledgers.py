"""`dalenius ledger` and `dalenius check ledger`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.accounting.amounts import Amount
from dalenius.cli.exits import FINE, LEDGER, REFUSED
from dalenius.cli.options.ledgers import ACTIONS
from dalenius.cli.sessions import opened
from dalenius.cli.terminal import Terminal
from dalenius.curator.answers.columns import Column
from dalenius.curator.answers.displays import text_table
from dalenius.curator.catalog import Population
from dalenius.curator.curator import balance
from dalenius.curator.folder.folder import found
from dalenius.curator.folder.places import kept
from dalenius.curator.ledger.accounts import Receipt
from dalenius.curator.ledger.checking import Findings, examined
from dalenius.curator.ledger.entries import amount_facts
from dalenius.curator.ledger.marks import Mark
from dalenius.curator.ledger.reconciling import reconcile
from dalenius.curator.ledger.stores import Store
from dalenius.curator.names import percent
from dalenius.errors import InvalidParameter, LedgerRefused

_MOST = 20
_WARNING = """Reconciling goes on with this copy of the ledger, at the largest spending that ledger and mark know of.
Do it only if no other copy of this database is or will be used."""


@dataclass(frozen=True)
class Parts:
    """Where a ledger lies, its mark, and the name that both know it by."""

    name: str
    store: Store
    mark: Mark


@contextmanager
def _parts(path: str) -> Iterator[Parts]:
    """The parts of a ledger as they lie there, whether it is trusted or not."""
    folder, places = found(Path(path)), kept(Path(path))
    name = folder.file.read().ledger
    with closing(places.mark_of(name)) as mark, closing(places.ledger_store(folder.path)) as store:
        yield Parts(name, store, mark)


def ledger(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Show, verify or reconcile a ledger."""
    actions = dict(zip(ACTIONS, (_show, _verify, _reconcile, _entries), strict=True))
    if chosen.action not in actions and chosen.folder in actions:
        chosen.folder, chosen.action = chosen.action, chosen.folder
    if chosen.action not in actions:
        raise InvalidParameter("action", chosen.action, allowed=f"one of {', '.join(ACTIONS)}")
    return actions[chosen.action](chosen, terminal)


def check(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """The checks of the database itself."""
    return _verify(chosen, terminal)


# ---- verify and reconcile


def _verify(chosen: argparse.Namespace, terminal: Terminal) -> int:
    try:
        with _parts(chosen.folder) as parts:
            findings = examined(parts.store)
            problems = [*findings.problems, *(_beside(parts, findings) if findings.sound else ())]
    except LedgerRefused as refused:
        findings, problems = None, [refused.problem]
    if chosen.json:
        terminal.show_json(_found_facts(findings, problems))
    else:
        terminal.show(_found_text(findings, problems))
    return LEDGER if problems else FINE


def _beside(parts: Parts, findings: Findings) -> Iterator[str]:
    """What is wrong between a sound ledger, its folder and its mark."""
    if findings.name != parts.name:
        yield "it is the ledger of another database"
        return
    try:
        with parts.mark.held() as held, parts.store.reading() as rows:
            held.require_behind(rows, findings.head)
    except LedgerRefused as refused:
        yield refused.problem


def _found_facts(findings: Findings | None, problems: list[str]) -> dict[str, Any]:
    balances = {} if findings is None else findings.balances
    return {
        "sound": not problems,
        "problems": problems,
        "entries": None if findings is None else findings.head.number,
        "hash": None if findings is None else findings.head.hash,
        "spent": {" / ".join(account.path): amount_facts(amount) for account, amount in balances.items()},
    }


def _found_text(findings: Findings | None, problems: list[str]) -> str:
    if problems or findings is None:
        return "\n".join(["The ledger is not to be trusted:", *(f"  {problem}" for problem in problems)])
    return (
        f"The ledger is sound: {findings.head.number:,} entries, each chained to the one before, and the balances of "
        f"{len(findings.balances)} accounts follow from them; the mark lies in its past.\n"
        f"Last entry: {findings.head.hash}"
    )


def _reconcile(chosen: argparse.Namespace, terminal: Terminal) -> int:
    if not chosen.yes:
        terminal.tell(_WARNING)
        if not terminal.talks or not terminal.agreed("Go on with this copy?"):
            terminal.tell("dalenius: not reconciled; say --yes where nobody can be asked.")
            return REFUSED
    with _parts(chosen.folder) as parts:
        done = reconcile(parts.store, parts.mark, parts.name)
    raised = [
        {"account": " / ".join(charge.account.path), "amount": amount_facts(charge.amount)} for charge in done.raised
    ]
    if chosen.json:
        terminal.show_json({"entries": done.head.number, "hash": done.head.hash, "raised": raised})
    else:
        terminal.show(
            f"The ledger goes on at entry {done.head.number:,}; the spending of {len(raised)} accounts was raised."
        )
    return FINE


# ---- show


def _show(chosen: argparse.Namespace, terminal: Terminal) -> int:
    with opened(chosen.folder) as db:
        catalog, book = db._curator.catalog, db._curator.ledger
        accounts = [
            _account(account.path, catalog.population(account.population), book.spent(account), terms.cap)
            for account, terms in catalog.accounts().items()
        ]
        charges = [_charge(receipt) for receipt in db.history()]
    if chosen.json:
        terminal.show_json({"accounts": accounts, "charges": charges})
        return FINE
    terminal.show(_table(accounts, "account", "spent", "cap", footer=f"{len(charges):,} charges in all"))
    if charges:
        terminal.show(_table(charges[-_MOST:], "receipt", "who", "at", footer="the latest of them"))
    return FINE


def _account(path: tuple[str, ...], people: Population, spent: Amount, cap: Amount) -> dict[str, Any]:
    """What was spent of an account, and its cap, as shares of the population's budget."""
    shares = [percent(balance(people, amount, left=False).share) for amount in (spent, cap)]
    return {"account": " / ".join(path), "spent": shares[0], "cap": shares[1]}


def _charge(receipt: Receipt) -> dict[str, Any]:
    at = receipt.at.isoformat(timespec="seconds")
    charges = [
        {"account": " / ".join(each.account.path), "amount": amount_facts(each.amount)} for each in receipt.charges
    ]
    return {"receipt": receipt.id, "who": receipt.who, "at": at, "charges": charges}


def _table(rows: list[dict[str, Any]], *names: str, footer: str) -> str:
    columns = [Column(name, tuple(row[name] for row in rows), is_key=True) for name in names]
    return text_table(columns, footer=[footer]) + "\n"


def _entries(chosen: argparse.Namespace, terminal: Terminal) -> int:
    with opened(chosen.folder) as db:
        bodies = [entry.body for entry in db._curator.ledger.entries()]
    if chosen.json:
        terminal.show_json({"entries": [json.loads(body) for body in bodies]})
    else:
        terminal.show("\n".join(bodies))
    return FINE
