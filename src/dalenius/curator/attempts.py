"""Work under way: equal work waits for it, instead of being paid for and drawn once more."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


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
