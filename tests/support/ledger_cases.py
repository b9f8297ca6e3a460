"""Ledgers for tests: accounts, amounts, a clock set by hand, files with marks, and a model of the arithmetic."""

from __future__ import annotations

import datetime as dt
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dalenius.accounting.amounts import Charge
from dalenius.catalog.places import make_folder
from dalenius.errors import AccessDenied, BudgetExceeded, InvalidParameter
from dalenius.ledger import stores
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms, Receipt
from dalenius.ledger.checking import Findings, examined
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.reconciling import Reconciled, reconcile
from dalenius.ledger.stores import SQLiteStore

PATIENTS, ANA, BEN = Account(("patients",)), Account(("patients", "ana")), Account(("patients", "ben"))
NAME = "a ledger for tests"


def units(divergence: int, delta: int = 0, order: Fraction | None = None) -> Charge:
    return Charge(divergence=divergence, delta=delta, order=order)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


def opened(ledger: Ledger, cap: int = 100, **quotas: int) -> Ledger:
    """The ledger, with a population and quotas in it."""
    ledger.open(PATIENTS, AccountTerms(units(cap, cap)))
    for name, quota in quotas.items():
        ledger.open(Account(("patients", name)), AccountTerms(units(quota, quota)))
    return ledger


def charge(ledger: Ledger, name: str | None, divergence: int, delta: int = 0, block: str = "", **facts: Any) -> Receipt:
    """Charge an analyst's quota, or the population itself."""
    account = PATIENTS if name is None else Account(("patients", name))
    named = {"question": "q", "who": name or "owner", **facts}
    return ledger.reserve([AccountCharge(account, units(divergence, delta), block)], **named)


@dataclass(frozen=True)
class Place:
    """A ledger in a file, and its mark elsewhere."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "ledger.sqlite"

    @property
    def mark(self) -> Path:
        return self.folder / "marks" / "mark.sqlite"

    @contextmanager
    def ledger(self, how: str = "start", *, name: str = NAME, **named: Any) -> Iterator[Ledger]:
        """The ledger, started or created."""
        store = SQLiteStore(self.path)
        try:
            with closing(self.marked(name)) as mark:
                yield getattr(Ledger, how)(store, mark, name, **named)
        finally:
            store.close()

    def reconcile(self, *, name: str = NAME) -> Reconciled:
        with closing(SQLiteStore(self.path)) as store, closing(self.marked(name)) as mark:
            return reconcile(store, mark, name)

    def marked(self, name: str = NAME) -> Mark:
        make_folder(self.mark.parent)
        return Mark.in_file(self.mark, name)

    def examined(self) -> Findings:
        with closing(SQLiteStore(self.path)) as store:
            return examined(store)

    def copy(self, path: Path, to: Path) -> None:
        """Copy a database as a backup would: all of it, of one moment."""
        to.unlink(missing_ok=True)
        for suffix in ("-wal", "-shm"):
            to.with_name(to.name + suffix).unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
            source.backup(target)

    def backup(self, name: str) -> None:
        self.copy(self.path, self.folder / name)

    def restore(self, name: str) -> None:
        self.copy(self.folder / name, self.path)

    def tamper(self, *statements: str) -> None:
        """Change the file behind the ledger's back, as somebody who knows SQLite can."""
        with self.unguarded() as connection:
            for statement in statements:
                connection.execute(statement)

    @contextmanager
    def unguarded(self) -> Iterator[sqlite3.Connection]:
        """The file without what guards it inside; that is put back."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for name, _ in guards:
                connection.execute(f"DROP TRIGGER {name}")
            yield connection
            for _, guard in guards:
                connection.execute(guard)


def without_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk, in tests of what is written rather than of when it is durable."""
    monkeypatch.setattr(stores, "DURABLE", ("PRAGMA synchronous = OFF",))


# ---- a model of the arithmetic


@dataclass
class Model:
    """What may be charged, in the fewest words: a list of charges, summed up anew each time."""

    terms: dict[tuple[str, ...], AccountTerms] = field(default_factory=dict)
    charges: list[tuple[tuple[str, ...], str, Charge]] = field(default_factory=list)

    def spent(self, path: tuple[str, ...], block: str | None = None) -> list[int]:
        def total(side: str, wanted: str) -> int:
            return sum(getattr(a, side) for p, b, a in self.charges if p == path and b == wanted)

        blocks = [block] if block else sorted({b for p, b, _ in self.charges if p == path and b}) or [""]
        return [total(side, "") + max(total(side, b) if b else 0 for b in blocks) for side in ("divergence", "delta")]

    def left(self, payer: tuple[str, ...], part: tuple[str, ...], block: str, now: dt.datetime) -> list[int]:
        own, rests = payer[: len(part) + 1], []
        for path, terms in self.terms.items():
            due = terms.end is None or now < terms.end
            if terms.reserve and due and path[:-1] == part and path != own:
                rests.append([max(0, r - s) for r, s in zip(sides(terms.reserve), self.spent(path), strict=True)])
        held = [sum(rest[side] for rest in rests) for side in (0, 1)]
        spent = self.spent(part, block if len(part) == 1 else None)
        return [max(0, c - s - h) for c, s, h in zip(sides(self.terms[part].cap), spent, held, strict=True)]

    def charge(self, payer: tuple[str, ...], amount: Charge, block: str, now: dt.datetime, *, first: int) -> str:
        parts = [payer[:length] for length in range(first, len(payer) + 1)]
        if not all(part in self.terms for part in parts):
            return "unknown"
        for part in reversed(parts):
            start, end = self.terms[part].start, self.terms[part].end
            if (start and now < start) or (end and now >= end):
                return "not due"
            if any(a > b for a, b in zip(sides(amount), self.left(payer, part, block, now), strict=True)):
                return "too much"
        self.charges += [(part, block if len(part) == 1 else "", amount) for part in parts]
        return "charged"


def sides(amount: Charge) -> tuple[int, int]:
    return amount.divergence, amount.delta


PATHS = [("p",), ("p",), ("p",), ("p", "s"), ("p", "s", "a"), ("p", "s", "b"), ("p", "t"), ("p", "t", "a"), ("p", "c")]


@dataclass(frozen=True)
class Step:
    """One thing that is done to a ledger and to the model."""

    kind: str
    path: tuple[str, ...]
    amount: Charge
    block: str = ""
    terms: AccountTerms | None = None
    seconds: int = 0


def steps(seed: int, count: int = 40) -> list[Step]:
    """A made-up history: accounts are opened and set anew, charged whole or by block, replayed, and time passes."""
    draw = random.Random(seed)
    start = Clock().now
    found = [Step("open", ("p",), units(1), terms=AccountTerms(units(120, 30)))]
    for _ in range(count):
        kind = draw.choice(["open", "charge", "charge", "charge", "charge", "read", "wait"])
        path, amount = draw.choice(PATHS), units(draw.randint(1, 30), draw.choice([0, 0, 1, 5]))
        terms = None
        if kind == "open":
            cap = units(draw.randint(1, 150), draw.randint(1, 40)) if len(path) > 1 else units(120, 30)
            begin, end = (draw.choice([None, None, start + dt.timedelta(seconds=draw.randint(0, 60))]) for _ in "ab")
            reserve = draw.choice([None, units(cap.divergence // 2, cap.delta // 2)]) if len(path) > 1 else None
            terms = AccountTerms(cap, begin if len(path) > 1 else None, end if len(path) > 1 else None, reserve)
        found.append(Step(kind, path, amount, draw.choice(["", "", "x", "y"]), terms, draw.randint(0, 4)))
    return found


def disagreement(made: Callable[[Clock], Ledger], seed: int, count: int = 40) -> str | None:
    """The first thing in which a ledger and the model differ on a made-up history."""
    clock, model = Clock(), Model()
    with closing(made(clock)) as ledger:
        for number, step in enumerate(steps(seed, count)):
            expected, found = _modelled(model, step, clock), _done(ledger, step, clock)
            if expected != found:
                return f"step {number}, {step}: {found} where {expected} was due"
            for path in model.terms:
                if sides(ledger.spent(Account(path))) != tuple(model.spent(path)):
                    return f"step {number}, {step}: another sum of {path}"
                if sides(ledger.left(Account(path), block=step.block)) != _least(model, path, step.block, clock.now):
                    return f"step {number}, {step}: another rest of {path}"
        findings = examined(ledger._journal._store)
        if findings.problems or any(ledger.spent(account) != amount for account, amount in findings.balances.items()):
            return f"the recount: {findings.problems}"
    return None


def _least(model: Model, path: tuple[str, ...], block: str, now: dt.datetime) -> tuple[int, int]:
    parts = [model.left(path, path[:length], block, now) for length in range(1, len(path) + 1)]
    return min(part[0] for part in parts), min(part[1] for part in parts)


def _modelled(model: Model, step: Step, clock: Clock) -> str:
    if step.kind == "open":
        if any(step.path[:length] not in model.terms for length in range(1, len(step.path))):
            return "unknown"
        assert step.terms
        model.terms[step.path] = step.terms
        return "opened"
    if step.kind == "charge":
        return model.charge(step.path, step.amount, step.block, clock.now, first=1)
    if step.kind == "read":
        return model.charge(step.path, step.amount, step.block, clock.now, first=2)
    return "waited"


def _done(ledger: Ledger, step: Step, clock: Clock) -> str:
    charges = [AccountCharge(Account(step.path), step.amount, step.block)]
    try:
        if step.kind == "open":
            assert step.terms
            ledger.open(Account(step.path), step.terms)
            return "opened"
        if step.kind == "charge":
            ledger.reserve(charges, question="q", who="ana")
            return "charged"
        if step.kind == "read":
            ledger.read(_any_receipt(ledger), charges, who="ana")
            return "charged"
    except InvalidParameter:
        return "unknown"
    except AccessDenied:
        return "not due"
    except BudgetExceeded:
        return "too much"
    clock.forward(step.seconds)
    return "waited"


def _any_receipt(ledger: Ledger) -> Receipt:
    """The first receipt, bought from a population of its own where there is none."""
    other = Account(("somebody else",))
    if not ledger.history():
        ledger.open(other, AccountTerms(units(10)))
        ledger.reserve([AccountCharge(other, units(1))], question="q", who="owner")
    return ledger.history()[0]
