"""When replies leave: complete, and at a point of the grid."""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dalenius.server.faults import INTERNAL
from dalenius.server.grid import Grid
from dalenius.server.logs import Log, Seen
from dalenius.server.metrics import Metrics
from dalenius.server.replies import fault_reply


class OnGrid:
    """Holds every reply back until it is complete and its time has come.

    Guarantee: no byte leaves between two points of the grid, counted from the request's arrival; whatever fails
    before becomes an error of the fixed vocabulary and leaves on the same grid.
    """

    def __init__(self, app: ASGIApp, *, grid: Grid, log: Log, metrics: Metrics) -> None:
        self._app, self._grid, self._log, self._metrics = app, grid, log, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        arrival = time.monotonic()
        seen, held = Seen(), _Held()
        try:
            await self._app({**scope, "seen": seen}, receive, held)
        except Exception as error:
            self._log.unforeseen(seen, error)
            held = _Held()
            await fault_reply(INTERNAL)(scope, receive, held)
        elapsed = time.monotonic() - arrival
        await asyncio.sleep(arrival + self._grid.due(elapsed) - time.monotonic())
        await held.release(send)
        self._metrics.count(seen.route, held.status)
        self._log.replied(seen, status=held.status, step=self._grid.number(elapsed))


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
