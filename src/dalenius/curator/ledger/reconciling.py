"""Reconciling: going on with a ledger that is behind its mark, beside it or unknown to it. Spending only ever rises.

A mark keeps every point that it stood at, and what had been spent by then in all copies that it saw. Let c be the
furthest of these points that lies in the ledger at hand. What the ledger spent up to c is contained in the mark's
sums; what it spent after c may not be. So the ledger's own sums, and the mark's less the ledger's as they stood at c,
together count every charge of every copy at least once.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass

from dalenius.accounting.amounts import LARGEST, Amount
from dalenius.curator.ledger.accounts import Account, Charge
from dalenius.curator.ledger.balances import path_text
from dalenius.curator.ledger.checking import check, examined, require_sound, totals_at
from dalenius.curator.ledger.entries import charge_facts, terms_facts, terms_from
from dalenius.curator.ledger.journal import Writing, ledger_head
from dalenius.curator.ledger.marks import NOTHING, Figures, Head, Held, Mark
from dalenius.curator.ledger.recounting import Path
from dalenius.curator.ledger.stores import Rows, Store


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What reconciling did: where the mark stood before, and what was added to each account and block."""

    before: Head | None
    head: Head
    raised: tuple[Charge, ...]


def reconcile(store: Store, mark: Mark, name: str) -> Reconciled:
    """Count what the copies of a ledger have spent together, and move the mark to this copy.

    Guarantee: no account has less spent afterwards, in any block, than before, than the mark says, or than this ledger
    and what was marked since it left the others together. A ledger that the mark never saw is taken as the latest: the
    owner answers for that. A ledger that is damaged, empty or another one is refused.
    """
    require_sound(examined(store), name)
    with mark.held() as held:
        with store.writing() as rows:
            require_sound(check(rows), name)  # again, while nobody writes
            head, last = ledger_head(rows)
            now = dt.datetime.now(dt.UTC)
            writing = Writing(rows, head, max(now, last) if last else now)
            done = _caught_up(writing, held)
            figures = writing.balances.figures()
        if done.before != done.head:
            held.move(done.head, figures)
    return done


def _caught_up(writing: Writing, held: Held) -> Reconciled:
    """Append what the mark knows of and this ledger does not; nothing, where it lies in this ledger's past."""
    before, common = held.last(), _common(writing.rows, held)
    if before is not None and (_contains(writing.rows, before) or _counted_before(writing.rows, common, before)):
        return Reconciled(before, writing.head, ())
    figures = held.figures()
    _open_lost(writing, figures.caps)
    raised = _missing(writing, figures, common)
    facts = {"mark": None if before is None else [before.number, before.hash]}
    writing.add("reconciled", {**facts, "raised": [charge_facts(charge) for charge in raised]})
    for charge in raised:
        writing.balances.add(charge.account, charge.amount, charge.block)
    return Reconciled(before, writing.head, raised)


def _common(rows: Rows, held: Held) -> Head:
    """The furthest point of the mark that lies in this ledger."""
    return next((point for point in held.points() if _contains(rows, point)), NOTHING)


def _contains(rows: Rows, point: Head) -> bool:
    return rows.execute("SELECT hash FROM entries WHERE number = ?", [point.number]) == [(point.hash,)]


def _counted_before(rows: Rows, common: Head, before: Head) -> bool:
    """Whether this very mark was counted already, and the process died before the mark could move."""
    sql = "SELECT body FROM entries WHERE number > ? AND body LIKE ?"
    found = rows.execute(sql, [common.number, '%"kind":"reconciled"%'])
    entries = [json.loads(body) for (body,) in found]
    return any(e["kind"] == "reconciled" and e["mark"] == [before.number, before.hash] for e in entries)


def _open_lost(writing: Writing, caps: Mapping[str, str]) -> None:
    """Open the populations of the lost copy that this one does not know, with the caps that they had."""
    for path, terms in caps.items():
        account, lost = _account(path), terms_from(json.loads(terms))
        if writing.balances.terms_or_none(account) is None:
            writing.add("account", {"account": list(account.path), "terms": terms_facts(lost)})
            writing.balances.set_terms(account, lost)


def _missing(writing: Writing, figures: Figures, common: Head) -> tuple[Charge, ...]:
    """What is to be added to each account and block."""
    own, then = _sums(totals_at(writing.rows, writing.head.number)), _sums(totals_at(writing.rows, common.number))
    charges = []
    for (path, block), marked in figures.spent.items():
        account, spent, shared = _account(path), own.get((path, block), (0, 0)), then.get((path, block), (0, 0))
        lost = marked if _same_cap(writing, account, figures.caps) else (LARGEST, LARGEST)
        more = [min(max(0, lost[side] - shared[side]), LARGEST - spent[side]) for side in (0, 1)]
        order = writing.balances.terms(account.lineage[-1]).cap.order
        charges.append(Charge(account, Amount(divergence=more[0], delta=more[1], order=order), block))
    return tuple(charge for charge in charges if charge.amount)


def _same_cap(writing: Writing, account: Account, caps: Mapping[str, str]) -> bool:
    """Two copies that opened one population with different caps promised different things: nothing is left then."""
    population = account.lineage[-1]
    lost = caps.get(path_text(population))
    return lost is not None and terms_from(json.loads(lost)).cap == writing.balances.terms(population).cap


def _sums(totals: Mapping[tuple[Path, str], tuple[int, int]]) -> dict[tuple[str, str], tuple[int, int]]:
    return {(path_text(Account(path)), block): pair for (path, block), pair in totals.items()}


def _account(path: str) -> Account:
    return Account(tuple(json.loads(path)))
