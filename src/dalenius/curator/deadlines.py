"""Deadlines: one for all of a question's work, from the first pass over the data to the last draw of noise."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import WorkStopped
from dalenius.randomness.entropy import Entropy

MOST_SECONDS = 3600.0
"""How long one question may take; a server may give it less."""


@dataclass(frozen=True)
class Deadline:
    """The moment at which work ends, by the clock that is never set."""

    ends: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """The seconds that are left; `WorkStopped` where there are none."""
        rest = self.ends - time.monotonic()
        if rest <= 0:
            raise WorkStopped
        return rest


class TimedEntropy(Entropy):
    """Random bits until a deadline, after which every draw raises `WorkStopped`.

    All long work after the engine's draws random bits, so that this ends it; computing between two draws is short.
    """

    def __init__(self, source: Entropy, deadline: Deadline) -> None:
        self._source, self._deadline = source, deadline

    def read(self, count: int) -> bytes:
        self._deadline.left()
        return self._source.read(count)

    def bits(self, count: int) -> int:
        self._deadline.left()
        return self._source.bits(count)

    def word(self) -> int:
        self._deadline.left()
        return self._source.word()

    def words(self, count: int) -> NDArray[np.uint64]:
        self._deadline.left()
        return self._source.words(count)
