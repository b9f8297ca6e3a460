"""When replies leave: complete, and at a point of the grid."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dalenius.server.faults import INTERNAL
from dalenius.server.logs import Log, Metrics, Seen
from dalenius.server.replies import fault_reply
from dalenius.server.schedule import ReplySchedule


class OnGrid:
    """Holds every reply back until it is complete and, while rows are read for anybody, until its time has come.

    Guarantee: while a question that is charged has no reply, or a job no end that shows, no byte leaves between two
    points of the grid, counted from the request's arrival, and of what is not charged between two doublings of its
    step: else whoever asks for something quick meanwhile could see how busy the machine is. Whatever fails becomes an
    error of the fixed vocabulary and leaves in the same way.
    """

    def __init__(
        self, app: ASGIApp, grid: ReplySchedule, log: Log, metrics: Metrics, *, jobs: Callable[[], int]
    ) -> None:
        self._app, self._grid, self._log, self._metrics, self._jobs = app, grid, log, metrics, jobs
        self._under_way: set[Seen] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        arrival, seen = time.monotonic(), Seen()
        self._under_way.add(seen)
        try:
            held = await self._answered(scope, receive, seen)
            elapsed = time.monotonic() - arrival
            if self._jobs() or any(each.reads_rows for each in self._under_way):
                point = self._grid.due(elapsed) if seen.reads_rows else self._grid.over(elapsed, expected=0)
                await asyncio.sleep(arrival + point - time.monotonic())
        finally:
            self._under_way.discard(seen)
        await held.release(send)
        self._metrics.count(seen.route, held.status)
        self._log.replied(seen, status=held.status, step=self._grid.number(elapsed))

    async def _answered(self, scope: Scope, receive: Receive, seen: Seen) -> _Held:
        held = _Held()
        try:
            await self._app({**scope, "seen": seen}, receive, held)
        except Exception as error:
            self._log.unforeseen(seen, error)
            held = _Held()
            await fault_reply(INTERNAL)(scope, receive, held)
        return held


class _Held:
    """Keeps the messages of a reply."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def status(self) -> int:
        return int(self._messages[0]["status"])

    async def release(self, send: Send) -> None:
        for message in self._messages:
            await send(message)
