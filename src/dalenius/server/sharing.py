"""Work that several wait for: it is done once, and all get what it gives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from dalenius.server.workers import Done, Task, Workers

_PUBLIC_SECONDS = 1.0


class _Shared:
    """What is under way, by name. Whoever no longer waits takes nothing from the others."""

    def __init__(self) -> None:
        self._under_way: dict[bytes, asyncio.Task[Done]] = {}

    async def do(self, name: bytes, work: Callable[[], Awaitable[Done]]) -> Done:
        """What the work of this name gives; it is begun unless it is under way."""
        task = self._under_way.get(name)
        if task is None:
            task = self._under_way[name] = asyncio.ensure_future(work())
            task.add_done_callback(lambda ended: self._ended(name, ended))
        return await asyncio.shield(task)

    def _ended(self, name: bytes, task: asyncio.Task[Done]) -> None:
        self._under_way.pop(name, None)
        if not task.cancelled():
            task.exception()  # it is told to those who still wait, if there are any


class Retries:
    """Retries that come while the first attempt is still under way get what it gets: to the ledger it has no answer
    yet, and another one is not sold under the same key."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._shared = workers, _Shared()

    async def do(self, task: Task, *, asker: str) -> Done:
        """Have a task done, or wait for the same one under the same key."""
        if task.given.get("key") is None:
            return await self._workers.do(task, asker=asker)
        return await self._shared.do(task.name, lambda: self._workers.do(task, asker=asker))


class Published:
    """What anybody may read: worked out once a second at most, however many ask."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._shared = workers, _Shared()
        self._known: dict[bytes, tuple[float, Done]] = {}

    async def do(self, task: Task) -> Done:
        """What was worked out within the last second, or is being worked out now."""
        known = self._known.get(task.name)
        if known is not None and time.monotonic() - known[0] <= _PUBLIC_SECONDS:
            return known[1]
        return await self._shared.do(task.name, lambda: self._worked_out(task))

    async def _worked_out(self, task: Task) -> Done:
        done = await self._workers.do(task, asker=task.role)
        self._known[task.name] = time.monotonic(), done
        return done
