"""Work under way: equal work waits for it, instead of being paid for and drawn once more, and so does a close.

Deadlines: one for all of a question's work, from the first pass over the data to the last draw of noise.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.process import identity
from dalenius.randomness.entropy import Entropy


class Attempts:
    """What the threads of this process are at, by name. Other processes have attempts of their own."""

    def __init__(self) -> None:
        self._gate, self._running = threading.Condition(), set[Hashable]()

    @contextmanager
    def alone(self, name: Hashable | None) -> Iterator[None]:
        """Wait until nobody is at the work of this name, and keep others from it; without a name, wait for nobody."""
        if name is None:
            yield
            return
        with self._gate:
            self._gate.wait_for(lambda: name not in self._running)
            self._running.add(name)
        try:
            yield
        finally:
            with self._gate:
                self._running.discard(name)
                self._gate.notify_all()


class Underway:
    """Which threads of this process are at work that a close must not cut off."""

    def __init__(self) -> None:
        self._gate, self._threads, self._home = threading.Condition(), Counter[int](), identity()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Be at work."""
        thread = threading.get_ident()
        with self._gate:
            self._threads[thread] += 1
        try:
            yield
        finally:
            with self._gate:
                self._threads[thread] -= 1
                self._gate.notify_all()

    def alone(self) -> bool:
        """Whether no other thread is at work."""
        with self._gate:
            return self._threads.total() == self._threads[threading.get_ident()]

    def require_elsewhere(self) -> None:
        """Refuse a thread that would wait for itself."""
        if self._threads[threading.get_ident()]:
            raise InvalidParameter(
                "database", "at work here", allowed="closed by another thread, or when this work has ended"
            )

    def wait(self) -> None:
        """Wait until nobody is at work. After a fork nobody is: the threads stayed behind."""
        if self._home == identity():
            with self._gate:
                self._gate.wait_for(lambda: not self._threads.total())


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
