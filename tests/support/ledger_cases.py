"""Ledgers for tests: accounts, amounts, a clock set by hand, files with marks, and a model of the arithmetic."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from dalenius.accounting.amounts import UNBOUNDED, Charge
from dalenius.accounting.budget import Budget, RenyiFilter
from dalenius.accounting.filters import PrivacyFilter
from dalenius.catalog.places import make_folder
from dalenius.errors import AccessDenied, BudgetExceeded, InvalidParameter
from dalenius.ledger import stores
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms, Receipt, charge_facts
from dalenius.ledger.checking import Findings, examined
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.reconciling import Reconciled, reconcile
from dalenius.ledger.recounting import Recount, Wrong
from dalenius.ledger.stores import SQLiteStore
from dalenius.privacy.neighbours import AddRemove

PATIENTS, ANA, BEN = Account(("patients",)), Account(("patients", "ana")), Account(("patients", "ben"))
NAME = "a ledger for tests"


def units(divergence: int, delta: int = 0, order: Fraction | None = None, *, epsilon: int = UNBOUNDED) -> Charge:
    return Charge(divergence=divergence, delta=delta, order=order, epsilon=epsilon)


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


# ---- ledgers of before


def as_before(ledger: Path, mark: Path) -> None:
    """Rewrite a ledger and its mark as they were written before epsilon was added up: tables without the column, and
    amounts of divergence, delta and order alone, under hashes that are right."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as rows, closing(sqlite3.connect(mark)) as marked:
        guards = rows.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            rows.execute(f"DROP TRIGGER {name}")
        last = "0" * 64
        for number, body, before in rows.execute("SELECT number, body, hash FROM entries ORDER BY number").fetchall():
            text = _without_epsilons(body)
            last = hashlib.sha256(f"{last}\n{text}".encode()).hexdigest()
            rows.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", [text, last, number])
            marked.execute("UPDATE marks SET hash = ? WHERE hash = ?", [last, before])
        for connection, table in ((rows, "accounts"), (marked, "mark_caps")):
            for path, terms in connection.execute(f"SELECT path, terms FROM {table}").fetchall():
                connection.execute(f"UPDATE {table} SET terms = ? WHERE path = ?", [_without_epsilons(terms), path])
        _as_the_table_was(rows, "spent", "", "path, block")
        _as_the_table_was(marked, "mark_totals", "ledger TEXT NOT NULL, ", "ledger, path, block")
        for _, guard in guards:
            rows.execute(guard)
        marked.commit()


def _as_the_table_was(rows: sqlite3.Connection, table: str, first: str, key: str) -> None:
    columns = f"{key}, divergence, delta"
    found = rows.execute(f"SELECT {columns} FROM {table}").fetchall()
    rows.execute(f"DROP TABLE {table}")
    rows.execute(
        f"CREATE TABLE {table} ({first}path TEXT NOT NULL, block TEXT NOT NULL, divergence BIGINT NOT NULL, "
        f"delta BIGINT NOT NULL, PRIMARY KEY ({key}))"
    )
    rows.executemany(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split()))})", found)


def _without_epsilons(text: str) -> str:
    """The same facts with three figures in every amount."""

    def shortened(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: shortened(each) for name, each in value.items()}
        if isinstance(value, list) and [type(each) for each in value] == [int, int, str, int]:
            return value[:3]
        return [shortened(each) for each in value] if isinstance(value, list) else value

    return json.dumps(shortened(json.loads(text)), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# ---- a model of the arithmetic

Figures: TypeAlias = tuple[int, ...]
"""Divergence, delta and epsilon."""


def figures(amount: Charge) -> Figures:
    return amount.divergence, amount.delta, amount.epsilon


def plus(*amounts: Figures) -> Figures:
    return tuple(map(sum, zip(*amounts, strict=True)))


def admitted(sums: Figures, cap: Figures) -> bool:
    """Whether the deltas fit, and one of both other sums."""
    return sums[1] <= cap[1] and (sums[0] <= cap[0] or sums[2] <= cap[2] < UNBOUNDED)


def share(sums: Figures, cap: Figures) -> Fraction:
    """What of a cap is spent: the deltas' part, or the smaller part of both others if that is more."""
    lasting = min(Fraction(sums[side], cap[side]) for side in (0, 2) if side == 0 or max(sums[2], cap[2]) < UNBOUNDED)
    return max(lasting, Fraction(sums[1], max(1, cap[1])))


@dataclass
class Model:
    """What may be charged, in the fewest words: a list of charges, summed up anew each time."""

    terms: dict[tuple[str, ...], AccountTerms] = field(default_factory=dict)
    charges: list[tuple[tuple[str, ...], str, Charge]] = field(default_factory=list)

    def borne(self, path: tuple[str, ...], block: str = "") -> list[Figures]:
        """What units bear, in one block or in each."""
        sums: dict[str, Figures] = {"": (0, 0, 0)}
        for name, part, amount in self.charges:
            if name == path:
                sums[part] = plus(sums.get(part, (0, 0, 0)), figures(amount))
        names = [block] if block and len(path) == 1 else [name for name in sums if name]
        return [plus(sums[""], sums.get(name, (0, 0, 0))) for name in names] or [sums[""]]

    def spent(self, path: tuple[str, ...]) -> Figures:
        cap = figures(self.terms[path].cap)
        sums = max(self.borne(path), key=lambda each: (share(each, cap), each[0], each[1], min(UNBOUNDED, each[2])))
        return (*sums[:2], min(UNBOUNDED, sums[2]))

    def held(self, payer: tuple[str, ...], part: tuple[str, ...], now: dt.datetime) -> Figures:
        """What of others' reserves is not spent; whatever pays for it, it is not epsilon."""
        held: list[Figures] = [(0, 0, 0)]
        for path, terms in self.terms.items():
            due = terms.end is None or now < terms.end
            if terms.reserve and due and path[:-1] == part and path != payer[: len(part) + 1]:
                (spent,) = self.borne(path)
                rest = [max(0, whole - used) for whole, used in zip(figures(terms.reserve)[:2], spent, strict=False)]
                pure = rest[0] if terms.reserve.order is None else UNBOUNDED * bool(rest[0])
                held.append((*rest, pure))
        return plus(*held)

    def fits(self, payer: tuple[str, ...], part: tuple[str, ...], amount: Charge, block: str, now: dt.datetime) -> bool:
        cap, asked, held = figures(self.terms[part].cap), figures(amount), self.held(payer, part, now)
        for spent in self.borne(part, block):
            before = plus(spent, held)
            before = (before[0] if asked[0] else 0, before[1] if asked[1] else 0, before[2])
            if not admitted(plus(before, asked), cap) or (len(part) == 1 and not admitted(plus(spent, asked), cap)):
                return False
        return True

    def left(self, payer: tuple[str, ...], block: str, now: dt.datetime) -> Figures:
        rests = []
        for part in (payer[:length] for length in range(1, len(payer) + 1)):
            cap, held = figures(self.terms[part].cap), self.held(payer, part, now)
            for spent in self.borne(part, block):
                gone = len(part) == 1 and not admitted(spent, cap)
                rest = [max(0, most - size) for most, size in zip(cap, plus(spent, held), strict=True)]
                rest[2] = UNBOUNDED if cap[2] == UNBOUNDED else rest[2]
                rests.append([0, 0, 0] if gone else rest)
        return tuple(map(min, zip(*rests, strict=True)))

    def charge(self, payer: tuple[str, ...], amount: Charge, block: str, now: dt.datetime, *, first: int) -> str:
        parts = [payer[:length] for length in range(first, len(payer) + 1)]
        if not all(part in self.terms for part in parts):
            return "unknown"
        for part in reversed(parts):
            start, end = self.terms[part].start, self.terms[part].end
            if (start and now < start) or (end and now >= end):
                return "not due"
            if not self.fits(payer, part, amount, block, now):
                return "too much"
        self.charges += [(part, block if len(part) == 1 else "", amount) for part in parts]
        return "charged"


# ---- histories that are made up

_BELOW = [(), (), (), ("s",), ("s", "a"), ("s", "b"), ("t",), ("t", "a"), ("c",)]
ALL_OF_IT = ("divergence", "epsilon", "more divergence", "more epsilon")
"""A charge of all that is left of one figure, or of a unit more."""


@dataclass(frozen=True)
class Step:
    """One thing that is done to a ledger and to the model."""

    kind: str
    path: tuple[str, ...]
    amount: Charge
    block: str = ""
    terms: AccountTerms | None = None
    seconds: int = 0
    whole: str = ""


class Made:
    """A made-up history of one population: accounts are opened and set anew, charged whole or by block, replayed, and
    time passes. Charges are pure, Gaussian or events, and now and then all that is left. Of every third history, the
    population alone is charged."""

    def __init__(self, seed: int, population: str = "p") -> None:
        self.draw, self.start, self.population = random.Random(seed), Clock().now, population
        self.order, self.alone = (None, Fraction(15))[seed % 4 > 0], seed % 3 == 0
        self.kinds = self.draw.choice([["pure"], ["pure"] * 9 + ["Gaussian"], ["pure", "Gaussian"]])
        bound = self.draw.choice([UNBOUNDED, *(self.draw.randint(20, 200) for _ in "abc")])  # of before there was none
        events = 0 if self.alone and self.order is None else 30
        self.cap = Charge(divergence=80, delta=events, order=self.order, epsilon=bound)

    @property
    def filter(self) -> PrivacyFilter | None:
        """A filter in memory, where there is one account."""
        budget = Budget(2, 0 if self.order is None else "1e-6")
        return PrivacyFilter(RenyiFilter(budget=budget, cap=self.cap), neighbours=AddRemove()) if self.alone else None

    def steps(self, count: int) -> list[Step]:
        first = Step("open", (self.population,), self._amount(), terms=AccountTerms(self.cap))
        return [first, *(self._step() for _ in range(count))]

    def _step(self) -> Step:
        kind = self.draw.choice(["open", "charge", "charge", "charge", "charge", "read", "wait"])
        path = (self.population, *self.draw.choice(_BELOW))
        block, whole = self.draw.choice(["", "", "x", "y"]), self.draw.choice([""] * 12 + list(ALL_OF_IT))
        if self.alone:
            kind, path, block = "charge" if kind == "open" else kind, path[:1], ""
        terms = self._terms(path) if kind == "open" else None
        return Step(kind, path, self._amount(), block, terms, self.draw.randint(0, 4), whole)

    def _amount(self) -> Charge:
        size = self.draw.randint(1, 20)
        pure = UNBOUNDED if self.draw.choice(self.kinds) == "Gaussian" else self.draw.randint(size, size + 9)
        return Charge(divergence=size, delta=self.draw.choice([0] * 5 + [1, 5]), order=self.order, epsilon=pure)

    def _terms(self, path: tuple[str, ...]) -> AccountTerms:
        if len(path) == 1:
            bound = self.draw.choice([self.cap.epsilon, self.draw.randint(20, 200)])
            if not self.cap.is_pure:
                self.cap = replace(self.cap, epsilon=bound)
            return AccountTerms(self.cap)
        size, event, pure = (self.draw.randint(1, most) for most in (120, 40, 250))
        bound = self.draw.choice([UNBOUNDED, pure, pure])
        cap = Charge(divergence=size, delta=event, order=self.order, epsilon=bound)
        start, end = (
            self.draw.choice([None, None, self.start + dt.timedelta(seconds=self.draw.randint(0, 60))]) for _ in "ab"
        )
        return AccountTerms(cap, start, end, self.draw.choice([None, None, cap.part(Fraction(1, 2))]))


def disagreement(made: Callable[[Clock], Ledger], seed: int, count: int = 40) -> str | None:
    """The first thing in which a ledger, the model, a filter in memory and the recount differ on a made-up history."""
    clock = Clock()
    with closing(made(clock)) as ledger:
        return Compared(ledger, clock).difference([seed], count, often=True)


@dataclass
class Counted:
    """How many charges were taken and refused, and the first disagreement."""

    taken: int = 0
    refused: int = 0
    wrong: str | None = None


def compared(made: Callable[[Clock], Ledger], histories: int, *, at_once: int = 20) -> Counted:
    """Many made-up histories of 20 steps, some in each ledger."""
    found = Counted()
    for first in range(0, histories, at_once):
        clock = Clock()
        with closing(made(clock)) as ledger:
            each = Compared(ledger, clock)
            found.wrong = found.wrong or each.difference(range(first, min(histories, first + at_once)), 20)
            found.taken, found.refused = found.taken + each.taken, found.refused + each.refused
    return found


class Compared:
    """A ledger, and all that is compared with it, on one made-up history after another."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.ledger, self.clock, self.recount, self.taken, self.refused = ledger, clock, Recount(), 0, 0
        other = Account(("somebody else",))
        ledger.open(other, AccountTerms(units(10)))
        self.receipt = ledger.reserve([AccountCharge(other, units(1))], question="q", who="owner")

    def difference(self, seeds: Iterable[int], count: int, *, often: bool = False) -> str | None:
        """The first difference; `often` compares all sums after every step."""
        for seed in seeds:
            made, model = Made(seed, f"p{seed}"), Model()
            alone = made.filter
            for number, step in enumerate(made.steps(count)):
                step = self._whole(step, model)
                wrong = self._step(step, model, alone) or (self._sums(model, step.block) if often else None)
                if wrong:
                    return f"history {seed}, step {number}, {step}: {wrong}"
            if wrong := self._sums(model, ""):
                return f"history {seed}: {wrong}"
        findings = examined(self.ledger._journal._store)
        if any(self.ledger.spent(account) != amount for account, amount in findings.balances.items()):
            return "the recount has other balances"
        return f"the recount: {findings.problems}" if findings.problems else None

    def _whole(self, step: Step, model: Model) -> Step:
        """The step, with all that is left of a figure in place of its amount."""
        if not step.whole or step.path not in model.terms:
            return step
        size, event, pure = model.left(step.path, step.block, self.clock.now)
        more = "more" in step.whole
        if "epsilon" in step.whole:
            bound = min(pure, 150) + more
            size, event, pure = min(bound, step.amount.divergence), min(event, step.amount.delta), bound
        else:
            size, pure = size + more, UNBOUNDED
        amount = Charge(divergence=size, delta=event, order=step.amount.order, epsilon=pure)
        return replace(step, amount=amount) if amount else step

    def _step(self, step: Step, model: Model, alone: PrivacyFilter | None) -> str | None:
        expected, recounted = _modelled(model, step, self.clock), self._recounted(step)
        found = self._done(step)
        if recounted not in (None, found == "charged"):
            return f"{found}, and the recount takes it: {recounted}"
        for entry in self.ledger.entries(after=self.recount.number):
            self.recount.take(json.loads(entry.body))
        filtered = _filtered(alone, step) if alone and step.kind == "charge" else found
        self.taken += found == "charged"
        self.refused += found == "too much"
        return None if expected == found == filtered else f"{found} where {expected} and {filtered} were due"

    def _sums(self, model: Model, block: str) -> str | None:
        for path in model.terms:
            if figures(self.ledger.spent(Account(path))) != model.spent(path):
                return f"another sum of {path}"
            if figures(self.ledger.left(Account(path), block=block)) != model.left(path, block, self.clock.now):
                return f"another rest of {path}"
        return None

    def _recounted(self, step: Step) -> bool | None:
        """Whether the recount would believe in this charge, counted if so."""
        if step.kind not in ("charge", "read"):
            return None
        recount, charge = self.recount, AccountCharge(Account(step.path), step.amount, step.block)
        before = recount.number, recount.at
        facts = {"number": recount.number + 1, "at": self.clock.now.isoformat(), "kind": step.kind, "receipt": "r",
                 "who": "ana", "key": None, "charges": [charge_facts(charge)]}  # fmt: skip
        try:
            recount.take(facts if step.kind == "read" else {**facts, "question": "q", "request": ""})
        except Wrong:
            recount.number, recount.at = before
            return False
        return True

    def _done(self, step: Step) -> str:
        charges = [AccountCharge(Account(step.path), step.amount, step.block)]
        try:
            if step.kind == "open":
                assert step.terms
                self.ledger.open(Account(step.path), step.terms)
                return "opened"
            if step.kind == "charge":
                self.ledger.reserve(charges, question="q", who="ana")
                return "charged"
            if step.kind == "read":
                self.ledger.read(self.receipt, charges, who="ana")
                return "charged"
        except InvalidParameter:
            return "unknown"
        except AccessDenied:
            return "not due"
        except BudgetExceeded:
            return "too much"
        self.clock.forward(step.seconds)
        return "waited"


def _filtered(alone: PrivacyFilter, step: Step) -> str:
    try:
        alone.charge(step.amount)
    except BudgetExceeded:
        return "too much"
    return "charged"


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
