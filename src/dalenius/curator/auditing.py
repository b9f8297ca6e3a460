"""The auditor's session: reads the ledger, never data."""

from __future__ import annotations

from collections.abc import Iterator

from dalenius.curator.curator import Curator
from dalenius.curator.ledger.accounts import Receipt
from dalenius.curator.ledger.checking import Findings
from dalenius.curator.ledger.entries import Entry
from dalenius.curator.registry.registry import Registry


class Auditor:
    """Somebody who checks what was spent on what. Nothing here asks a question, reads a row or changes anything."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def history(self) -> tuple[Receipt, ...]:
        """Every charge: who, when, which question, and how much of which account."""
        self._curator.require_open()
        return self._curator.ledger.history()

    def entries(self) -> Iterator[Entry]:
        """The whole ledger, in order."""
        self._curator.require_open()
        return self._curator.ledger.entries()

    def verify(self) -> Findings:
        """Recompute the chain and every balance from the entries alone; what was found wrong is listed."""
        self._curator.require_open()
        return self._curator.ledger.check()

    def registry(self) -> Registry:
        """What each population is used for, what was spent of its budget, how fast, and until when it lasts."""
        self._curator.refresh()
        return self._curator.registry()

    def __repr__(self) -> str:
        return "<Auditor>"
