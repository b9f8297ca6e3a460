"""`dalenius ledger`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.catalog.folder import found
from dalenius.catalog.places import kept
from dalenius.cli.commands.spending import show
from dalenius.cli.options import ACTIONS
from dalenius.cli.sessions import opened, require_folder
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import FINE, LEDGER, REFUSED
from dalenius.errors import InvalidParameter, LedgerRefused
from dalenius.ledger.accounts import amount_facts
from dalenius.ledger.checking import Findings, examined
from dalenius.ledger.marks import Mark
from dalenius.ledger.reconciling import reconcile
from dalenius.ledger.stores import Store

_WARNING = """Reconciling goes on with this copy of the ledger, at the largest spending that ledger and mark know of.
Do it only if no other copy of this database is or will be used. All tokens end; issue new ones afterwards."""


@dataclass(frozen=True)
class Parts:
    """Where a ledger lies, its mark, and the name that both know it by."""

    name: str
    store: Store
    mark: Mark


@contextmanager
def _parts(path: str) -> Iterator[Parts]:
    """The parts of a ledger as they lie there, whether it is trusted or not."""
    require_folder(path)
    folder, places = found(Path(path)), kept(Path(path))
    name = folder.file.read().ledger
    with closing(places.mark_of(name, folder.path)) as mark, closing(places.ledger_store(folder.path)) as store:
        yield Parts(name, store, mark)


def ledger(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Show, verify or reconcile a ledger."""
    actions = dict(zip(ACTIONS, (show, verify, _reconcile, _entries), strict=True))
    if chosen.action not in actions and chosen.folder in actions:
        chosen.folder, chosen.action = chosen.action, chosen.folder
    if chosen.action not in actions:
        raise InvalidParameter("action", chosen.action, allowed=f"one of {', '.join(ACTIONS)}")
    return actions[chosen.action](chosen, terminal)


# ---- verify and reconcile


def verify(chosen: argparse.Namespace, terminal: Terminal) -> int:
    """Recompute a ledger; exit code 5 if something is wrong."""
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
    if not terminal.confirmed("Go on with this copy?", yes=chosen.yes):
        return REFUSED
    with _parts(chosen.folder) as parts:
        done = reconcile(parts.store, parts.mark, parts.name)
    raised = [
        {"account": " / ".join(charge.account.path), "amount": amount_facts(charge.amount)} for charge in done.raised
    ]
    if chosen.json:
        facts = {"entries": done.head.number, "hash": done.head.hash, "raised": raised}
        terminal.show_json({**facts, "revoked": list(done.revoked)})
    else:
        terminal.show(
            f"The ledger goes on at entry {done.head.number:,}; the spending of {len(raised)} accounts was raised."
        )
        if done.revoked:
            terminal.show(f"All tokens have ended ({', '.join(done.revoked)}): issue new ones with `dalenius token`.")
    return FINE


# ---- entries


def _entries(chosen: argparse.Namespace, terminal: Terminal) -> int:
    with opened(chosen.folder) as db:
        bodies = [entry.body for entry in db.ledger.entries()]
    if chosen.json:
        terminal.show_json({"entries": [json.loads(body) for body in bodies]})
    else:
        terminal.show("\n".join(bodies))
    return FINE
