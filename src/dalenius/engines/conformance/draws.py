"""Choices that follow from a seed, for made-up tables and questions. They hide nothing, so noise never uses them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
_BYTES, _WORD = 1024, 8


class Draws:
    """A stream of choices that everybody can repeat: SHAKE-256 of the seed and a counter."""

    def __init__(self, seed: object) -> None:
        self._seed, self._blocks = str(seed).encode(), 0
        self._words: list[int] = []

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        word = self._word()
        for _ in range(count.bit_length() // 32):
            word = word << 8 * _WORD | self._word()
        return word % count

    def between(self, lower: int, upper: int) -> int:
        """A number from `lower` to `upper`, both included."""
        return lower + self.below(upper - lower + 1)

    def chance(self, percent: int) -> bool:
        """True so often."""
        return self.below(100) < percent

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """So many of the items, in any order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """All items, in any order."""
        return self.sample(items, len(items))

    def _word(self) -> int:
        if not self._words:
            self._blocks += 1
            block = hashlib.shake_256(b"%d\0%b" % (self._blocks, self._seed)).digest(_BYTES)
            self._words = [int.from_bytes(block[at : at + _WORD], "little") for at in range(0, _BYTES, _WORD)]
        return self._words.pop()
