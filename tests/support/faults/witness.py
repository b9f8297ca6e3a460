"""A witness of what a ledger promised to those who asked, and what must be found after whatever happened."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dalenius.accounting.amounts import Charge
from dalenius.errors import BudgetExceeded, DaleniusError, LedgerRefused
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms, Receipt
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import SQLiteStore
from faults.recount import Recount, recount

NAME = "5f" * 16
PATIENTS = Account(("patients",))
ANALYSTS = tuple(Account(("patients", name)) for name in ("ana", "ben", "eva"))


def units(size: int) -> Charge:
    return Charge(divergence=size, order=None)


def open_accounts(ledger: Ledger, *, cap: int, quota: int) -> None:
    ledger.open(PATIENTS, AccountTerms(units(cap)))
    for account in ANALYSTS:
        ledger.open(account, AccountTerms(units(quota)))


def digest(body: str | None) -> str | None:
    """A short name for the bytes of an answer."""
    return None if body is None else hashlib.sha256(body.encode()).hexdigest()


@dataclass
class Witness:
    """What was handed out, and when: each with the reading of `moment`. `ready` is when the accounts were open."""

    moment: Callable[[], int] = lambda: 0
    ready: int | None = None
    acknowledged: list[tuple[int, str, int]] = field(default_factory=list)
    replied: list[tuple[int, str, str | None]] = field(default_factory=list)

    def charged(self, receipt: Receipt) -> None:
        self.acknowledged.append((self.moment(), receipt.id, receipt.charges[0].amount.divergence))

    def answered(self, receipt: Receipt, body: str) -> None:
        self.replied.append((self.moment(), receipt.id, digest(body)))

    def from_the_start(self) -> Witness:
        """The same promises, made before anything else."""
        old = Witness(ready=None if self.ready is None else 0)
        old.acknowledged = [(0, name, size) for _, name, size in self.acknowledged]
        old.replied = [(0, name, told) for _, name, told in self.replied]
        return old

    def until(self, moment: int) -> Witness:
        """What had been promised by a moment."""
        earlier = Witness(ready=self.ready if self.ready is not None and self.ready <= moment else None)
        earlier.acknowledged = [note for note in self.acknowledged if note[0] <= moment]
        earlier.replied = [note for note in self.replied if note[0] <= moment]
        return earlier


def ask(ledger: Ledger, witness: Witness, chance: Random, *, rounds: int) -> None:
    """The whole loop, some times: reserve, run, store, reply. Refusals are part of it; errors end it."""
    for number in range(rounds):
        payer, key = chance.choice(ANALYSTS), chance.choice([None, f"key {number}"])
        charges = [AccountCharge(payer, units(chance.randint(1, 40)))]
        try:
            receipt = ledger.reserve(charges, question="q", who=payer.path[-1], request=f"request {key}", key=key)
            witness.charged(receipt)
            if receipt.repeated:
                body = ledger.answer(receipt.id)
                if body is not None:
                    witness.answered(receipt, body)
            else:
                body = f"{receipt.id}: " + "answer " * chance.choice([1, 40, 1500])  # some fill several pages
                ledger.store(receipt, body)
                witness.answered(receipt, body)
                if chance.random() < 0.2:
                    ledger.read(receipt, [AccountCharge(chance.choice(ANALYSTS), units(1))], who="eva")
        except BudgetExceeded:
            continue


@dataclass
class Found:
    """What became of a ledger: it was refused, or it was opened and keeps its promises but for `broken`.

    `charges` is what it holds then, by receipt.
    """

    refused: str | None = None
    broken: list[str] = field(default_factory=list)
    charges: dict[str, int] = field(default_factory=dict)


def opened(ledger: Path, mark: Path, name: str = NAME) -> Ledger:
    """A ledger as its owner opens it. Nothing stays open where it is refused."""
    with ExitStack() as open_yet:
        store = SQLiteStore(ledger)
        open_yet.callback(store.close)
        marks = Mark(SQLiteStore(mark), name)
        open_yet.callback(marks.close)
        started = Ledger.start(store, marks, name)
        open_yet.pop_all()
        return started


def found(path: Path, mark: Path, witness: Witness, *, name: str = NAME, flying: int = 1) -> Found:
    """Open a ledger after a fault, and hold it against its promises.

    `flying` is how many calls had begun and not ended: each may have left its own charge, and no more.
    """
    try:
        ledger = opened(path, mark, name)
    except LedgerRefused as refusal:
        return Found(refused=str(refusal))
    with closing(ledger):
        try:  # the texts of answers are looked at when they are read
            lost = [name for _, name, told in witness.replied if digest(ledger.answer(name)) != told]
            broken = _tried(ledger, witness)
        except LedgerRefused as refusal:
            return Found(refused=str(refusal))
        broken += [f"check: {problem}" for problem in ledger.check().problems]
    counted = recount(path)
    broken += [f"the answer of {name} is lost" for name in lost] + counted.problems
    return Found(broken=broken + _not_kept(counted, witness, flying), charges=counted.charges)


def _tried(ledger: Ledger, witness: Witness) -> list[str]:
    """Ask once more, where there are accounts: a ledger that starts also works."""
    try:
        if witness.ready is not None:
            ask(ledger, witness, Random(0), rounds=1)
    except DaleniusError as error:
        return [f"it started and does not work: {error}"]
    return []


def _not_kept(counted: Recount, witness: Witness, flying: int) -> list[str]:
    """What the witness was told and an independent recount does not find, or found beyond it."""
    promised = {name: size for _, name, size in witness.acknowledged}
    lost = [name for name, size in promised.items() if counted.charges.get(name) != size]
    extra = len(set(counted.charges) - set(promised))
    broken = [f"the charge of {name} is lost" for name in lost]
    return broken + ([f"{extra} charges that nobody was told of"] if extra > flying else [])
