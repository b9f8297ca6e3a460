"""What a ledger shows over the wire: receipts and entries, some at a time. It is read on where it was left off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dalenius.curator.ledger.entries import Entry
from dalenius.curator.ledger.ledger import Ledger

Facts = Mapping[str, Any]


class Pages:
    """An index of one ledger: the numbers of charges by who was charged, and which of them have an answer."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._seen = ledger, 0
        self._all: list[int] = []
        self._own: dict[str, list[int]] = {}
        self._answered: set[bytes] = set()

    def charges(self) -> int:
        """How many charges there are."""
        self._catch_up()
        return len(self._all)

    def receipts(self, who: str | None, after: int, most: int) -> tuple[list[Facts], int | None]:
        """The receipts of somebody, or of all, after a number; and after which to go on, if there are more."""
        self._catch_up()
        numbers = self._all if who is None else self._own.get(who, [])
        wanted = [number for number in numbers if number > after]
        page = wanted[:most]
        found = [self._shown(entry) for number in page for entry in self._ledger.entries(after=number - 1, most=1)]
        return found, page[-1] if len(wanted) > len(page) else None

    def receipt(self, name: str, who: str | None) -> Facts | None:
        """One receipt, if it is there and may be read."""
        self._catch_up()
        known = self._ledger.receipt(name)
        if known is None or (who is not None and known.who != who):
            return None
        (entry,) = self._ledger.entries(after=known.number - 1, most=1)
        return self._shown(entry)

    def entries(self, after: int, most: int) -> tuple[list[Facts], int | None]:
        """The entries after a number; and after which to go on, if there are more."""
        found = list(self._ledger.entries(after=after, most=most + 1))
        page = found[:most]
        return [json.loads(entry.body) for entry in page], page[-1].number if len(found) > len(page) else None

    def _shown(self, entry: Entry) -> Facts:
        facts = dict(entry.facts)
        name = facts.pop("receipt")
        answered = bytes.fromhex(name) in self._answered
        return {"id": name, "number": entry.number, "at": entry.at.isoformat(), **facts, "answered": answered}

    def _catch_up(self) -> None:
        for entry in self._ledger.entries(after=self._seen):
            self._seen = entry.number
            if entry.kind == "charge":
                self._all.append(entry.number)
                self._own.setdefault(entry.facts["who"], []).append(entry.number)
            elif entry.kind == "answer":
                self._answered.add(bytes.fromhex(entry.facts["receipt"]))
