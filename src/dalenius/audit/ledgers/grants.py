"""Stored answers, asked for by everybody: who may ask all of their tables has them for nothing, and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path

from dalenius.audit.ledgers.scratch import add_doctors, database, visits
from dalenius.curator.answers.encoding import encoded
from dalenius.curator.databases import Database
from dalenius.curator.sessions import Session
from dalenius.errors import DaleniusError

_PRICE = Fraction(1, 100)
_QUESTIONS: Mapping[str, frozenset[str]] = {
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
        return _QUESTIONS[self.text]


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
        sold = [_bought(db, None, text) for text in _QUESTIONS]
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
    return [text for text, tables in _QUESTIONS.items() if tables <= _MAY_ASK[who]]


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
