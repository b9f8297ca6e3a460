"""What a ledger shows over the wire: receipts and entries, some at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dalenius.curator.ledger.entries import Entry
from dalenius.curator.ledger.ledger import Ledger

Facts = Mapping[str, Any]


class Pages:
    """The receipts and entries of one ledger, each page with one look at its store."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def charges(self) -> int:
        """How many charges there are."""
        return self._ledger.count()

    def receipts(self, who: str | None, after: int, most: int) -> tuple[list[Facts], int | None]:
        """The receipts of somebody, or of all, after a number; and after which to go on, if there are more."""
        found = self._ledger.charged(who=who, after=after, most=most + 1)
        page = found[:most]
        return [_shown(*each) for each in page], page[-1][0].number if len(found) > len(page) else None

    def receipt(self, name: str, who: str | None) -> Facts | None:
        """One receipt, if it is there and may be read."""
        known = self._ledger.receipt(name)
        if known is None or (who is not None and known.who != who):
            return None
        ((entry, answered),) = self._ledger.charged(who=known.who, after=known.number - 1, most=1)
        return _shown(entry, answered)

    def entries(self, after: int, most: int) -> tuple[list[Facts], int | None]:
        """The entries after a number; and after which to go on, if there are more."""
        found = list(self._ledger.entries(after=after, most=most + 1))
        page = found[:most]
        return [json.loads(entry.body) for entry in page], page[-1].number if len(found) > len(page) else None


def _shown(entry: Entry, answered: bool) -> Facts:
    facts = dict(entry.facts)
    name = facts.pop("receipt")
    return {"id": name, "number": entry.number, "at": entry.at.isoformat(), **facts, "answered": answered}
