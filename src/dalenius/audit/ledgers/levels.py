"""Charges through analysts, studies and blocks, added up here as plain integers and compared with every account.

What an analyst pays is charged to the analyst's quota, to the study that it lies in and to the population, divergence
and delta alike. Of a population, charges to one block are summed apart: it has spent the most that any unit bears.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from dalenius.accounting.amounts import Amount
from dalenius.audit.ledgers.scratch import add_doctors, database
from dalenius.curator.asking.prices import Offer
from dalenius.curator.databases import Database
from dalenius.curator.ledger.accounts import Account, Charge, Terms
from dalenius.curator.ledger.ledger import Ledger
from dalenius.engines.conformance.draws import Draws
from dalenius.errors import BudgetExceeded

Level: TypeAlias = tuple[str, ...]
"""The names on the way from a population down to a study or an analyst."""
Pair: TypeAlias = tuple[int, int]
"""Divergence and delta, in the ledger's units."""


class Sums:
    """What was charged to each level, added up apart from the ledger; `caps` is what each may spend."""

    def __init__(self, caps: Mapping[Level, Pair]) -> None:
        self.caps = dict(caps)
        self._parts = Counter[tuple[Level, str, int]]()

    def charge(self, payer: Level, amount: Pair, block: str = "", *, quotas_only: bool = False) -> None:
        """Add to the payer and to all that it lies in; a replay leaves the population out."""
        for length in range(2 if quotas_only else 1, len(payer) + 1):
            for side in (0, 1):
                self._parts[payer[:length], block if length == 1 else "", side] += amount[side]

    def spent(self, level: Level, block: str = "") -> Pair:
        """What the units of a block bear, or any unit at most."""
        blocks = {block} if block else {name for place, name, _ in self._parts if place == level} - {""}
        first, second = (
            self._parts[level, "", side] + max((self._parts[level, name, side] for name in blocks), default=0)
            for side in (0, 1)
        )
        return first, second

    def left(self, payer: Level, block: str = "") -> Pair:
        """The least that is left of the payer's quota and of all that it lies in."""
        levels = [payer[:length] for length in range(1, len(payer) + 1)]
        spent = {level: self.spent(level, block if len(level) == 1 else "") for level in levels}
        first, second = (min(self.caps[level][side] - spent[level][side] for level in levels) for side in (0, 1))
        return first, second

    def differing(self, ledger: Ledger, blocks: tuple[str, ...]) -> Iterator[str]:
        """Where the ledger has added up something else."""
        for level in self.caps:
            yield from _unlike(f"{Account(level)} has spent", ledger.spent(Account(level)), self.spent(level))
            for block in ("", *blocks):
                found, due = ledger.left(Account(level), block=block), self.left(level, block)
                yield from _unlike(f"{Account(level)} has left{f' in {block}' if block else ''}", found, due)


def _unlike(what: str, found: Amount, due: Pair) -> Iterator[str]:
    for side, units in zip(("divergence", "delta"), due, strict=True):
        if getattr(found, side) != units:
            yield f"{what} a {side} of {getattr(found, side)} units where charges make it {units}"


# ---- charges that are made up

_LEVELS: tuple[Level, ...] = (("p",), ("p", "s"), ("p", "s", "a"), ("p", "s", "b"), ("p", "c"))
_BLOCKS = ("x", "y")
_ENOUGH = 20
"""Units a charge that are more than any level spends; no charge has half as many."""


def charges_through_levels(folder: Path, count: int) -> tuple[int, list[str]]:
    """So many charges to a population, a study and analysts, of all or of one block; then exactly what is left of each,
    and a unit more."""
    sums, draws = Sums(dict.fromkeys(_LEVELS, (_ENOUGH * count, _ENOUGH * count))), Draws("charges through levels")
    with closing(Ledger.in_memory()) as ledger:
        _open(ledger, sums)
        for _ in range(count):
            payer, block = draws.choice(_LEVELS), draws.choice(("", *_BLOCKS))
            amount = draws.between(1, 9), draws.between(0, 9)
            _charge(ledger, sums, payer, amount, block)
            if broken := list(sums.differing(ledger, _BLOCKS)):
                return count, broken
        return count, list(_at_the_caps(ledger, sums))


def _at_the_caps(ledger: Ledger, sums: Sums) -> Iterator[str]:
    """An analyst who meets the quota, one who meets the study's, one who meets the population's in a block and for all,
    and the owner."""
    for level, room in ((("p", "s", "a"), (5, 3)), (("p", "s"), (11, 7))):
        spent = sums.spent(level)
        sums.caps[level] = spent[0] + room[0], spent[1] + room[1]
    _open(ledger, sums)
    payers: tuple[tuple[Level, str], ...] = (
        (("p", "s", "a"), "x"), (("p", "s", "b"), "y"), (("p", "c"), "x"), (("p", "c"), ""), (("p",), "y"),
    )  # fmt: skip
    for payer, block in payers:
        left = sums.left(payer, block)
        for more in ((left[0] + 1, 0), (0, left[1] + 1)):
            if _charge(ledger, sums, payer, more, block):
                yield f"{Account(payer)} was charged {more} units of divergence and delta where {left} were left"
                return  # its sums mean nothing any more
        if any(left) and not _charge(ledger, sums, payer, left, block):
            yield f"{Account(payer)} was not charged the {left} units of divergence and delta that were left"
        yield from sums.differing(ledger, _BLOCKS)


def _open(ledger: Ledger, sums: Sums) -> None:
    for level, cap in sums.caps.items():
        ledger.open(Account(level), Terms(_amount(cap)))


def _charge(ledger: Ledger, sums: Sums, payer: Level, amount: Pair, block: str) -> bool:
    """Whether the ledger takes a charge; what it takes is added up."""
    try:
        ledger.reserve([Charge(Account(payer), _amount(amount), block)], question="q", who=payer[-1])
    except BudgetExceeded:
        return False
    sums.charge(payer, amount, block)
    return True


def _amount(pair: Pair) -> Amount:
    return Amount(divergence=pair[0], delta=pair[1], order=Fraction(15))


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


def _declared(db: Database) -> Sums:
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
    whole = {name: people.rectangle.cap for name, people in db.catalog.populations.items()}
    caps = {level: (whole[level[0]].divergence, whole[level[0]].delta) for level in shares}
    return Sums({level: (int(cap[0] * shares[level]), int(cap[1] * shares[level])) for level, cap in caps.items()})


def _asked(db: Database, sums: Sums, who: str | None, text: str, block: str) -> Iterator[str]:
    """Whether a question is charged at its price to every level, and to none besides."""
    question = db.session(who).sql(text)
    price = question._priced(Offer(share=_SHARE), None).charge
    question.run(share=_SHARE, fresh=True)
    for name, amount in price.items():
        sums.charge((name, *_ASKERS[who]), (amount.divergence, amount.delta), block)
        if "GROUP BY" in text and not amount.delta:
            yield f"keys of {name} were found without a delta"
    yield from (f"after a question of {who or 'the owner'}, {each}" for each in _differing(db, sums))


def _replayed(db: Database, sums: Sums) -> Iterator[str]:
    """A replay is charged to quotas where the grant says so, and never to people."""
    first = db.history()[0]
    db.session("ben").replay(first.id)
    for charge in first.charges:
        amount = charge.amount.divergence, charge.amount.delta
        sums.charge((charge.account.population, *_ASKERS["ben"]), amount, quotas_only=True)
    yield from (f"after a replay, {each}" for each in _differing(db, sums))


def _differing(db: Database, sums: Sums) -> Iterator[str]:
    """What the ledger has added up otherwise, or tells people otherwise."""
    yield from sums.differing(db._curator.ledger, (_OSLO, _BERGEN))
    for who, quota in _ASKERS.items():
        for name, told in db.session(who).spent().items():
            yield from _unlike(
                f"{who or 'the owner'} is told that of {name} was spent", told.amount, sums.spent((name, *quota))
            )
