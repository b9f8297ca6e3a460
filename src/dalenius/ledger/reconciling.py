"""Reconciling: going on with a ledger that is behind its mark, beside it or unknown to it. Spending only ever rises.

A mark keeps every point that it stood at, and what had been spent by then in all copies that it saw. Let c be the
furthest of these points that lies in the ledger at hand. What the ledger spent up to c is contained in the mark's
sums; what it spent after c may not be. So the ledger's own sums, and the mark's less the ledger's as they stood at c,
together count every charge of every copy at least once.

Blocks are those of one copy: a unit that lay in the north there may lie in the south here, or the blocks may be made of
another column. So what was lost of blocks is charged to all, by the largest of them. What the ledger's blocks had at c
is only taken off where the mark has not turned to another copy since: before that, its blocks were others.

Tokens that were revoked in the lost copy would hold again; so all tokens end.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dalenius.accounting.amounts import LARGEST, Charge
from dalenius.ledger.accounts import Account, AccountCharge, charge_facts, terms_facts, terms_from
from dalenius.ledger.balances import path_text
from dalenius.ledger.checking import add_epsilon, check, examined, require_sound, totals_at
from dalenius.ledger.journal import Writing, ledger_head
from dalenius.ledger.marks import NOTHING, Figures, Head, HeldMark, Mark
from dalenius.ledger.recounting import Path
from dalenius.ledger.stores import Store, Transaction

Figure: TypeAlias = tuple[int, int, int]
"""Divergence, delta and epsilon."""
Sums: TypeAlias = Mapping[tuple[str, str], Figure]
"""What was spent of each account and block."""
_NOTHING: Figure = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What reconciling did: where the mark stood before, what was added to each account, and whose tokens ended."""

    before: Head | None
    head: Head
    raised: tuple[AccountCharge, ...] = ()
    revoked: tuple[str, ...] = ()


def reconcile(store: Store, mark: Mark, name: str) -> Reconciled:
    """Count what the copies of a ledger have spent together, and move the mark to this copy.

    Guarantee: no account has less spent afterwards, for any unit in whichever blocks of either copy, than before, than
    the mark says, or than this ledger and what was marked since it left the others together. No token that was issued
    before holds. A ledger that the mark never saw is taken as the latest: the owner answers for that. A ledger that is
    damaged, empty or another one is refused. Where nothing was lost, nothing is done.
    """
    require_sound(examined(store), name)
    add_epsilon(store)
    with mark.held() as held:
        with store.writing() as rows:
            require_sound(check(store, rows, texts=False), name)  # again, while nobody writes
            head, last = ledger_head(rows)
            now = dt.datetime.now(dt.UTC)
            writing = Writing(rows, head, max(now, last) if last else now)
            before, common = held.last(), _common(rows, held)
            behind = before is not None and _contains(rows, before)
            done = Reconciled(before, head) if behind else _caught_up(writing, held, common)
            figures = writing.balances.figures()
        if behind and before != head:
            held.move(head, figures)
        elif not behind:
            held.turn(done.head, figures)
    return done


def _caught_up(writing: Writing, held: HeldMark, common: Head) -> Reconciled:
    """Append what the mark knows of and this ledger does not."""
    before = held.last()
    if before is not None and _counted_before(writing.rows, common, before):
        return Reconciled(before, writing.head)
    figures = held.figures()
    _open_lost(writing, figures.caps)
    raised = _missing(writing, figures, common, same_blocks=held.since_turn(common))
    facts = {"mark": None if before is None else [before.number, before.hash]}
    writing.add("reconciled", {**facts, "raised": [charge_facts(charge) for charge in raised]})
    for charge in raised:
        writing.balances.add(charge.account, charge.amount, charge.block)
    revoked = _revoked(writing)
    return Reconciled(before, writing.head, raised, revoked)


def _common(rows: Transaction, held: HeldMark) -> Head:
    """The furthest point of the mark that lies in this ledger."""
    return next((point for point in held.points() if _contains(rows, point)), NOTHING)


def _contains(rows: Transaction, point: Head) -> bool:
    return rows.execute("SELECT hash FROM entries WHERE number = ?", [point.number]) == [(point.hash,)]


def _counted_before(rows: Transaction, common: Head, before: Head) -> bool:
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


def _missing(writing: Writing, figures: Figures, common: Head, *, same_blocks: bool) -> tuple[AccountCharge, ...]:
    """What is to be added to each account."""
    own, then = (_sums(totals_at(writing.rows, head.number)) for head in (writing.head, common))
    if not same_blocks:
        then = {(path, block): sums for (path, block), sums in then.items() if not block}
    charges = []
    for path in dict.fromkeys(path for path, _ in figures.spent):
        account, spent = _account(path), own.get((path, ""), _NOTHING)
        same_cap = _same_cap(writing, account, figures.caps)
        lost = _lost(path, figures.spent, then) if same_cap else (LARGEST, LARGEST, LARGEST)
        divergence, delta = (min(lost[side], LARGEST - spent[side]) for side in (0, 1))
        order, epsilon = writing.balances.terms(account.lineage[-1]).cap.order, min(lost[2], LARGEST)
        charges.append(AccountCharge(account, Charge(divergence=divergence, delta=delta, order=order, epsilon=epsilon)))
    return tuple(charge for charge in charges if charge.amount or charge.amount.epsilon)


def _lost(path: str, marked: Sums, then: Sums) -> Figure:
    """What was spent of an account in lost copies: by all, and at most in any block."""
    more = {
        block: _more(amount, then.get((path, block), _NOTHING))
        for (other, block), amount in marked.items()
        if other == path
    }
    whole = more.pop("", _NOTHING)
    most = [max((part[side] for part in more.values()), default=0) for side in range(3)]
    return whole[0] + most[0], whole[1] + most[1], whole[2] + most[2]


def _more(marked: Figure, then: Figure) -> Figure:
    """What was spent between two moments. Where the first epsilon was none already, that of the rest is not known."""
    divergence, delta, epsilon = (max(0, now - before) for now, before in zip(marked, then, strict=True))
    unknown = marked[2] == LARGEST and (divergence or delta)
    return divergence, delta, LARGEST if unknown else epsilon


def _revoked(writing: Writing) -> tuple[str, ...]:
    """End all tokens that hold."""
    found = writing.rows.execute("SELECT body FROM entries WHERE body LIKE ? ORDER BY number", ['%"kind":"record"%'])
    holders: set[str] = set()
    for entry in (json.loads(body) for (body,) in found):
        if entry["kind"] == "record" and entry["record"] == "token":
            holders.add(entry["who"])
        elif entry["kind"] == "record" and entry["record"] == "revoked":
            holders.discard(entry["who"])
    for name in sorted(holders):
        writing.add("record", {"record": "revoked", "who": name})
    return tuple(sorted(holders))


def _same_cap(writing: Writing, account: Account, caps: Mapping[str, str]) -> bool:
    """Two copies that opened one population with different caps promised different things: nothing is left then."""
    population = account.lineage[-1]
    lost, own = caps.get(path_text(population)), writing.balances.terms(population).cap
    cap = None if lost is None else terms_from(json.loads(lost)).cap
    # One of them may still be of before, when caps bounded no epsilon.
    return cap is not None and (cap in (own, own.rectangle) or own == cap.rectangle)


def _sums(totals: Mapping[tuple[Path, str], Figure]) -> dict[tuple[str, str], Figure]:
    return {(path_text(Account(path)), block): sums for (path, block), sums in totals.items()}


def _account(path: str) -> Account:
    return Account(tuple(json.loads(path)))
