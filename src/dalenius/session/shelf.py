"""Stored answers: what was asked, when and at which price, for whoever may have them again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dalenius.ledger.accounts import Receipt
from dalenius.ledger.ledger import PAGE, Ledger
from dalenius.query.tables import Table
from dalenius.session.answers.displays import printable
from dalenius.session.answers.encoding import ABOUT, about_in, card_in
from dalenius.session.cards.cards import Card


@dataclass(frozen=True)
class Replay:
    """A stored answer: what was asked, under which receipt, when, and what it cost its people then."""

    receipt: str
    asked: str
    at: dt.datetime
    charged: str
    versions: tuple[tuple[str, str], ...]
    """The tables that it is about, each with its version then."""

    def __str__(self) -> str:
        asked = printable(" ".join(self.asked.split()))
        return f"{self.at:%Y-%m-%d %H:%M}  {self.receipt}  {self.charged}  {asked}"

    def is_about(self, tables: Mapping[str, Table]) -> bool:
        """Whether it is about these tables as they are now."""
        return all(name in tables and str(tables[name].version) == version for name, version in self.versions)


class Shelf:
    """The stored answers of a ledger. Each is looked at once, when somebody wants to know of it, and never as a whole:
    an answer never changes."""

    def __init__(self) -> None:
        self._known: dict[str, Replay | None] = {}
        self._all: tuple[int, tuple[Replay, ...]] = (0, ())

    def all(self, ledger: Ledger) -> tuple[Replay, ...]:
        """Every stored answer that has a card, in order."""
        last = ledger.last()
        if self._all[0] != last:
            names = ledger.stored()
            self._look(ledger, [name for name in names if name not in self._known])
            self._all = last, tuple(found for name in names if (found := self._known.get(name)))
        return self._all[1]

    def one(self, ledger: Ledger, name: str) -> Replay | None:
        """The stored answer of one receipt, without a look at the others."""
        if name not in self._known:
            self._look(ledger, [name])
        return self._known.get(name)

    def _look(self, ledger: Ledger, names: Sequence[str]) -> None:
        for begin in range(0, len(names), PAGE):
            for receipt, piece in ledger.bought(names[begin : begin + PAGE], ABOUT):
                self._known[receipt.id] = _described(receipt, about_in(piece))


def _described(receipt: Receipt, about: Mapping[str, Any]) -> Replay | None:
    if not about:
        return None
    charged = ", ".join(f"{people['share']} of {people['population']}" for people in about["people"])
    versions = tuple((source["table"], source["version"]) for source in about["sources"])
    return Replay(receipt.id, about["asked"], receipt.at, charged, versions)


def stored_card(ledger: Ledger, name: str) -> Card | None:
    """The card that was stored with an answer."""
    body = ledger.answer(name)
    return None if body is None else card_in(body)
