"""A scratch database with made-up patients, and with doctors where two populations are asked about.

Charges through analysts, studies and blocks, added up here as plain integers and compared with every account.

What an analyst pays is charged to the analyst's quota, to the study that it lies in and to the population, divergence,
delta and epsilon alike. Each of them takes it if its deltas fit and one of both other sums does. Of a population,
charges to one block are summed apart: a charge must fit in every block, and the block that has spent most is shown.

Stored answers, asked for by everybody: who may ask all of their tables has them for nothing, and nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from dalenius.accounting.amounts import UNBOUNDED, Charge
from dalenius.accounting.budget import Budget
from dalenius.engines.conformance.worlds import Draws
from dalenius.errors import BudgetExceeded, DaleniusError
from dalenius.ledger.accounts import Account, AccountCharge, AccountTerms
from dalenius.ledger.ledger import Ledger
from dalenius.query.types import Category, Int, Text
from dalenius.session.answers.encoding import encoded
from dalenius.session.databases import Database, create
from dalenius.session.sessions import Session

COLUMNS = {"age": Int(0, 120), "city": Category("Oslo", "Bergen"), "icd": Text()}


@contextmanager
def database(folder: Path) -> Iterator[Database]:
    """A database in a folder: 60 patients with a visit each, and nobody who was granted anything."""
    db = create(folder / "db", mark=folder / "mark.sqlite")
    try:
        db.add_population("patients", budget=Budget(epsilon=1, delta="1e-6"), least_share="1e-15")
        add_table(db, "visits", visits(), "patients")
        yield db
    finally:
        db.close()


def visits() -> pa.Table:
    """A visit of each patient."""
    people = range(60)
    return pa.table(
        {
            "id": list(people),
            "age": [each % 90 for each in people],
            "city": ["Oslo"] * len(people),
            "icd": [f"J{each % 3}" for each in people],
        }
    )


def add_doctors(db: Database) -> None:
    """A second population, with another budget."""
    db.add_population("doctors", budget=Budget(epsilon=2, delta="1e-7"), least_share="1e-15")
    rows = pa.table({"id": list(range(20)), "age": list(range(30, 50)), "city": ["Bergen"] * 20, "icd": ["J0"] * 20})
    add_table(db, "shifts", rows, "doctors")


def add_table(db: Database, name: str, rows: pa.Table, population: str) -> None:
    """A table with one row of each unit."""
    db.add_table(name, rows, population=population, unit="id", max_rows=1, max_groups=1, columns=COLUMNS)


def failure(work: Callable[[], object]) -> Exception | None:
    """The error with which some work ends, if it does."""
    try:
        work()
    except Exception as error:
        return error
    return None


Level: TypeAlias = tuple[str, ...]
"""The names on the way from a population down to a study or an analyst."""
Sums: TypeAlias = tuple[int, ...]
"""Divergence, delta and epsilon, in the ledger's units."""
_FIGURES = ("divergence", "delta", "epsilon")


class ChargedSums:
    """What was charged to each level, added up apart from the ledger; `caps` is what each may spend."""

    def __init__(self, caps: Mapping[Level, Sums]) -> None:
        self.caps = dict(caps)
        self._parts: dict[Level, dict[str, Sums]] = {level: {"": (0, 0, 0)} for level in caps}

    def charge(self, payer: Level, amount: Sums, block: str = "", *, quotas_only: bool = False) -> None:
        """Add to the payer and to all that it lies in; a replay leaves the population out."""
        for length in range(2 if quotas_only else 1, len(payer) + 1):
            parts, name = self._parts[payer[:length]], block if length == 1 else ""
            parts[name] = _added(parts.get(name, (0, 0, 0)), amount)

    def borne(self, level: Level, block: str = "") -> list[Sums]:
        """What the units of a block bear, or those of each."""
        parts = self._parts[level]
        names = [block] if block and len(level) == 1 else [name for name in parts if name]
        return [_added(parts[""], parts.get(name, (0, 0, 0))) for name in names] or [parts[""]]

    def spent(self, level: Level) -> Sums:
        """What is borne where the largest share was spent."""
        return max(self.borne(level), key=lambda sums: (_part(sums, self.caps[level]), sums))

    def takes(self, payer: Level, amount: Sums, block: str = "") -> bool:
        """Whether a charge fits into the payer's quota and into all that it lies in, in each block that it is about."""
        levels = [payer[:length] for length in range(1, len(payer) + 1)]
        return all(
            sums[1] <= cap[1] and (sums[0] <= cap[0] or sums[2] <= cap[2] < UNBOUNDED)
            for level, cap in ((level, self.caps[level]) for level in levels)
            for sums in (_added(spent, amount) for spent in self.borne(level, block))
        )

    def left(self, payer: Level, block: str = "") -> Sums:
        """The least that is left of each figure, of the payer's quota and of all that it lies in."""
        levels = [payer[:length] for length in range(1, len(payer) + 1)]
        rests = [
            [max(0, most - size) for most, size in zip(self.caps[level], spent, strict=True)]
            for level in levels
            for spent in self.borne(level, block)
        ]
        return tuple(min(sizes) for sizes in zip(*rests, strict=True))

    def differing(self, ledger: Ledger, blocks: tuple[str, ...]) -> Iterator[str]:
        """Where the ledger has added up something else."""
        for level in self.caps:
            yield from _unlike(f"{Account(level)} has spent", ledger.spent(Account(level)), self.spent(level))
            for block in ("", *blocks):
                found, due = ledger.left(Account(level), block=block), self.left(level, block)
                yield from _unlike(f"{Account(level)} has left{f' in {block}' if block else ''}", found, due)


def _added(one: Sums, other: Sums) -> Sums:
    """Both together; of what has no epsilon the sum has none."""
    divergence, delta, epsilon = (first + second for first, second in zip(one, other, strict=True))
    return divergence, delta, min(UNBOUNDED, epsilon)


def _part(sums: Sums, cap: Sums) -> Fraction:
    """What of a cap is spent: of divergence and epsilon what lasts longer, unless more of delta is."""
    divergence, delta, epsilon = (Fraction(size, max(1, most)) for size, most in zip(sums, cap, strict=True))
    return max(delta, divergence if sums[2] == UNBOUNDED else min(divergence, epsilon))


def _unlike(what: str, found: Charge, due: Sums) -> Iterator[str]:
    for figure, units in zip(_FIGURES, due, strict=True):
        if getattr(found, figure) != units:
            yield f"{what} a {figure} of {getattr(found, figure)} units where charges make it {units}"


# ---- charges that are made up

_LEVELS: tuple[Level, ...] = (("p",), ("p", "s"), ("p", "s", "a"), ("p", "s", "b"), ("p", "c"))
_BLOCKS = ("x", "y")
_ENOUGH = 20
"""Units a charge that are more than any level spends; no charge has half as many."""


def charges_through_levels(folder: Path, count: int) -> tuple[int, list[str]]:
    """So many charges to a population, a study and analysts, of all or of one block; then all that is left of each, and
    a unit more. Half of them in a ledger of pure charges, where addition lasts longer, and half in one of any."""
    draws = Draws("charges through levels")
    return count, [each for pure in (True, False) for each in _charged_through(draws, count // 2, pure=pure)]


def _charged_through(draws: Draws, count: int, *, pure: bool) -> list[str]:
    sums = ChargedSums(dict.fromkeys(_LEVELS, (_ENOUGH * count,) * 3))
    with closing(Ledger.in_memory()) as ledger:
        _open(ledger, sums)
        for _ in range(count):
            payer, block = draws.choice(_LEVELS), draws.choice(("", *_BLOCKS))
            size, event = draws.between(1, 9), draws.between(0, 9)
            epsilon = draws.between(size, 9) if pure or draws.choice((True, False)) else UNBOUNDED
            _charge(ledger, sums, payer, (size, event, epsilon), block)
            if broken := list(sums.differing(ledger, _BLOCKS)):
                return broken
        return list(_at_the_caps(ledger, sums))


def _at_the_caps(ledger: Ledger, sums: ChargedSums) -> Iterator[str]:
    """An analyst who meets the quota, one who meets the study's, one who meets the population's in a block and for all,
    and the owner."""
    for level, room in ((("p", "s", "a"), (5, 3, 9)), (("p", "s"), (11, 7, 30))):
        sums.caps[level] = _added(sums.spent(level), room)
    _open(ledger, sums)
    payers: tuple[tuple[Level, str], ...] = (
        (("p", "s", "a"), "x"), (("p", "s", "b"), "y"), (("p", "c"), "x"), (("p", "c"), ""), (("p",), "y"),
    )  # fmt: skip
    for payer, block in payers:
        size, event, epsilon = left = sums.left(payer, block)
        for amount in (
            (size + 1, 0, UNBOUNDED), (size + 1, 0, epsilon + 1), (1, event + 1, 1), (size + 1, event, epsilon),
            (size, event, UNBOUNDED),
        ):  # fmt: skip
            due = sums.takes(payer, amount, block)
            if any(amount[:2]) and _charge(ledger, sums, payer, amount, block) is not due:
                was = "was not charged" if due else "was charged"
                yield f"{Account(payer)} {was} {amount} units of {', '.join(_FIGURES)} where {left} were left"
                return  # its sums mean nothing any more
        yield from sums.differing(ledger, _BLOCKS)


def _open(ledger: Ledger, sums: ChargedSums) -> None:
    for level, cap in sums.caps.items():
        ledger.open(Account(level), AccountTerms(_amount(cap)))


def _charge(ledger: Ledger, sums: ChargedSums, payer: Level, amount: Sums, block: str) -> bool:
    """Whether the ledger takes a charge; what it takes is added up."""
    try:
        ledger.reserve([AccountCharge(Account(payer), _amount(amount), block)], question="q", who=payer[-1])
    except BudgetExceeded:
        return False
    sums.charge(payer, amount, block)
    return True


def _amount(sums: Sums) -> Charge:
    return Charge(divergence=sums[0], delta=sums[1], order=Fraction(15), epsilon=sums[2])


def _sums(amount: Charge) -> Sums:
    return amount.divergence, amount.delta, amount.epsilon


# ---- questions, as people ask them

_SHARE = Fraction(1, 100)
_STUDY, _QUOTA = Fraction(3, 5), Fraction(1, 5)
_ASKERS: Mapping[str | None, Level] = {
    None: (), "ana": ("flu", "ana"), "ben": ("flu", "ben"), "cleo": ("cleo",),
}  # fmt: skip
"""Whose quota lies where in a population; the owner has none."""
_OSLO, _BERGEN = "visits.city = 'Oslo'", "visits.city = 'Bergen'"
_FOUND = "SELECT icd, COUNT(*) AS n FROM {} GROUP BY icd"
"""Keys that are found cost a delta."""
_BOTH = _FOUND.format("(SELECT icd FROM visits UNION ALL SELECT icd FROM shifts) AS b")
_QUESTIONS: tuple[tuple[str, str], ...] = (
    (_FOUND.format("visits"), ""),
    (_FOUND.format("visits WHERE city = 'Oslo'"), _OSLO),
    (_FOUND.format("visits WHERE city = 'Bergen'"), _BERGEN),
    ("SELECT COUNT(*) AS n FROM visits", ""),
)
"""What each asks, and the only block that it is about."""


def questions_through_levels(folder: Path, count: int) -> tuple[int, list[str]]:
    """Questions of the owner and of analysts, in a study and alone, about all and about one block; then a replay at the
    expense of quotas."""
    asked = [(who, text, block) for who in _ASKERS for text, block in _QUESTIONS]
    asked += [(who, _BOTH, "") for who in (None, "cleo")]
    with database(folder) as db:
        sums = _declared(db)
        for who, text, block in asked:
            if broken := list(_asked(db, sums, who, text, block)):
                return len(asked) + 1, broken
        return len(asked) + 1, [*_replayed(db, sums), *db.verify().problems]


def _declared(db: Database) -> ChargedSums:
    """Studies, grants and blocks, and what each level may spend by its share."""
    add_doctors(db)
    db.partition("visits.city", ["Oslo", "Bergen"])
    db.add_study("flu", population="patients", share=_STUDY)
    db.grant("ana", tables=["visits"], share=_QUOTA, study="flu")
    db.grant("ben", tables=["visits"], share=_QUOTA, study="flu", pays_for_replays=True)
    db.grant("cleo", tables=["visits", "shifts"], share=_QUOTA)
    shares: dict[Level, Fraction] = {
        ("patients",): Fraction(1), ("doctors",): Fraction(1), ("patients", "flu"): _STUDY,
        **dict.fromkeys((("patients", "flu", "ana"), ("patients", "flu", "ben")), _QUOTA),
        **dict.fromkeys((("patients", "cleo"), ("doctors", "cleo")), _QUOTA),
    }  # fmt: skip
    whole = {name: people.renyi_filter.cap for name, people in db.catalog.populations.items()}
    return ChargedSums(
        {level: tuple(int(size * share) for size in _sums(whole[level[0]])) for level, share in shares.items()}
    )


def _asked(db: Database, sums: ChargedSums, who: str | None, text: str, block: str) -> Iterator[str]:
    """Whether a question is charged at its price to every level, and to none besides."""
    question = db.session(who).sql(text)
    price = question.cost(share=_SHARE).amounts
    question.run(share=_SHARE, fresh=True)
    for name, amount in price.items():
        sums.charge((name, *_ASKERS[who]), _sums(amount), block)
        if "GROUP BY" in text and not amount.delta:
            yield f"keys of {name} were found without a delta"
    yield from (f"after a question of {who or 'the owner'}, {each}" for each in _differing(db, sums))


def _replayed(db: Database, sums: ChargedSums) -> Iterator[str]:
    """A replay is charged to quotas where the grant says so, and never to people."""
    first = db.history()[0]
    db.session("ben").replay(first.id)
    for charge in first.charges:
        sums.charge((charge.account.population, *_ASKERS["ben"]), _sums(charge.amount), quotas_only=True)
    yield from (f"after a replay, {each}" for each in _differing(db, sums))


def _differing(db: Database, sums: ChargedSums) -> Iterator[str]:
    """What the ledger has added up otherwise, or tells people otherwise."""
    yield from sums.differing(db._curator.ledger, (_OSLO, _BERGEN))
    for who, quota in _ASKERS.items():
        for name, told in db.session(who).spent().items():
            yield from _unlike(
                f"{who or 'the owner'} is told that of {name} was spent", told.amount, sums.spent((name, *quota))
            )


_PRICE = Fraction(1, 100)
_GRANT_QUESTIONS: Mapping[str, frozenset[str]] = {
    "SELECT COUNT(*) AS n FROM visits": frozenset({"visits"}),
    "SELECT COUNT(*) AS n FROM shifts": frozenset({"shifts"}),
    "SELECT COUNT(*) AS n FROM (SELECT age FROM visits UNION ALL SELECT age FROM shifts) AS b": frozenset(
        {"visits", "shifts"}
    ),
}
"""What was asked, and the tables that it is about."""
_MAY_ASK: Mapping[str, frozenset[str]] = {
    "both": frozenset({"visits", "shifts"}),
    "first": frozenset({"visits"}),
    "second": frozenset({"shifts"}),
    "revoked": frozenset(),
    "ended": frozenset(),
    "nobody": frozenset(),
}
"""Who may ask which tables by now."""
_UNKNOWN = "0" * 32
"""A receipt that nobody has."""


@dataclass(frozen=True)
class _Stored:
    """An answer that is there: what was asked, by whom, under which receipt, and what was stored."""

    text: str
    who: str | None
    receipt: str
    body: str

    @property
    def tables(self) -> frozenset[str]:
        return _GRANT_QUESTIONS[self.text]


_WAYS: Mapping[str, Callable[[Session, _Stored], bool]] = {
    "by its receipt": lambda session, stored: encoded(session.replay(stored.receipt)) == stored.body,
    "as its card": lambda session, stored: session.card(stored.receipt).asked != "",
    "in the list": lambda session, stored: any(each.receipt == stored.receipt for each in session.replays()),
    "by asking the same": lambda session, stored: encoded(session.sql(stored.text).run(epsilon=_PRICE)) == stored.body,
}
"""How somebody gets at a stored answer: whether it was given."""
_OF_ONE = ("by its receipt", "as its card")


def answers_for_others(folder: Path, count: int) -> tuple[int, list[str]]:
    """Every stored answer, asked for by everybody in every way; then again after new rows came, when of those about
    earlier rows everybody has no more than what was bought by oneself."""
    tried, broken = 0, list[str]()
    with database(folder) as db:
        _grant(db)
        sold = [_bought(db, None, text) for text in _GRANT_QUESTIONS]
        for who, stored, way in product(_MAY_ASK, sold, _WAYS):
            tried += 1
            broken += _wrong(db, who, stored, way, due=stored.tables <= _MAY_ASK[who])
        sold += [_bought(db, who, text) for who in ("both", "first") for text in _asked_by(who)]
        db.update_table("visits", visits())
        for who, stored, way in product(_MAY_ASK, sold, _OF_ONE):
            tried += 1
            own = stored.who == who or "visits" not in stored.tables
            broken += _wrong(db, who, stored, way, due=own and stored.tables <= _MAY_ASK[who])
    return tried, broken


def _grant(db: Database) -> None:
    add_doctors(db)
    for who, tables in {**_MAY_ASK, "revoked": _MAY_ASK["both"], "ended": _MAY_ASK["both"]}.items():
        if tables:
            db.grant(who, tables=sorted(tables), until="2020-01-01" if who == "ended" else None)
    db.revoke("revoked")


def _asked_by(who: str) -> list[str]:
    return [text for text, tables in _GRANT_QUESTIONS.items() if tables <= _MAY_ASK[who]]


def _bought(db: Database, who: str | None, text: str) -> _Stored:
    answer = db.session(who).sql(text).run(epsilon=_PRICE, fresh=True)
    return _Stored(text, who, answer.receipt, encoded(answer))


def _wrong(db: Database, who: str, stored: _Stored, way: str, *, due: bool) -> Iterator[str]:
    """Whether an answer is given where it is not due, or kept back; a refusal tells nobody that there is one."""
    session, given, what = db.session(who), False, f"an answer about {' and '.join(sorted(stored.tables))}"
    try:
        given = _WAYS[way](session, stored)
    except DaleniusError as refused:
        if way in _OF_ONE and (unlike := _of_none(session, stored, way)) != str(refused):
            yield f"{who} is told that there is {what}: {refused}, and else {unlike}"
    if given and not due:
        yield f"{what} was given to {who} {way}, who may not ask all of its tables"
    if due and not given:
        yield f"{what} was not given to {who} {way}, or not byte for byte"


def _of_none(session: Session, stored: _Stored, way: str) -> str:
    """What is said where there is no such answer."""
    try:
        _WAYS[way](session, replace(stored, receipt=_UNKNOWN))
    except DaleniusError as refused:
        return str(refused).replace(_UNKNOWN, stored.receipt)
    return "nothing"
