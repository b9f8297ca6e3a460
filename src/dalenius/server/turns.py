"""Turns: who gets the next worker that is free."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Turn:
    """Somebody who waits for a worker, or has one. What is `urgent`, the owner's decisions, comes first."""

    asker: str
    urgent: bool
    given: asyncio.Future[Any]


class Turns:
    """Those who wait for one of `size` workers, in turn by asker, and those who have one.

    Guarantee: no asker holds all workers, unless there is one alone; what is urgent comes before everything else.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._rows: dict[str, list[Turn]] = {}
        self._held: Counter[str] = Counter()

    @property
    def waiting(self) -> list[Turn]:
        """All who wait, in the order in which they would be looked at."""
        found = [turn for row in self._rows.values() for turn in row if not turn.given.done()]
        return sorted(found, key=lambda turn: not turn.urgent)

    def join(self, turn: Turn) -> None:
        """Wait, at the end of this asker's row."""
        self._rows.setdefault(turn.asker, []).append(turn)

    def leave(self, turn: Turn) -> None:
        """Wait no longer."""
        row = self._rows.get(turn.asker, [])
        if turn in row:
            row.remove(turn)
        if not row:
            self._rows.pop(turn.asker, None)

    def next(self) -> Turn | None:
        """Whose turn it is, if anybody's; from now on they hold a worker, and their asker is last in line."""
        turn = next(filter(self._may, self.waiting), None)
        if turn is None:
            return None
        self._rows[turn.asker] = self._rows.pop(turn.asker)
        self.leave(turn)
        self._held[turn.asker] += 1
        return turn

    def let_go(self, turn: Turn) -> None:
        """Hold the worker no longer."""
        self._held[turn.asker] -= 1
        if not self._held[turn.asker]:
            del self._held[turn.asker]

    def _may(self, turn: Turn) -> bool:
        return turn.urgent or self._held[turn.asker] < max(1, self._size - 1)
