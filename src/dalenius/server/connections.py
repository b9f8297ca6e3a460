"""Connections: so many of all and of one address, and each has so long to send a whole request."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from dalenius.server.limits import Limits


class Connection(H11Protocol):
    """One connection.

    Guarantee: while it owes the head of a request, or the rest of a body that was answered already, it is closed after
    `head_seconds`, however slowly bytes trickle in; and after `sending_seconds` where it takes no reply. When there are
    too many, of all or of one address, the one that has owed a request longest is closed, and a new one only if none
    does. None of this depends on a token or a row.
    """

    def __init__(self, *arguments: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limits = limits
        self._reading: asyncio.TimerHandle | None = None
        self._owing: float | None = None
        """Since when it has owed a request."""
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request(self._limits.head_seconds)
        known = [each for each in self.connections if isinstance(each, Connection)]
        _make_room([each for each in known if each._host == self._host], self._limits.connections_of_one)
        _make_room(known, self._limits.connections)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._reading, self._writing):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self._reading is not None and self.cycle is not None and not self.cycle.response_complete:
            self._reading.cancel()  # a request is being answered; its body has a deadline of its own
            self._owing = None

    def on_response_complete(self) -> None:
        sent = not self.transport.get_write_buffer_size()
        self._await_request(self._limits.head_seconds if sent else self._limits.sending_seconds)
        self._owing = self._owing if sent else None  # it makes no room while its reply is on the way
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing = self.loop.call_later(self._limits.sending_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()

    @property
    def _host(self) -> str:
        return self.client[0] if self.client else ""

    def _await_request(self, seconds: float) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self.loop.call_later(seconds, self.transport.abort)
        self._owing = self.loop.time()

    def _leave(self) -> None:
        self._owing = None
        self.transport.abort()


def _make_room(connections: list[Connection], most: int) -> None:
    """Close the one that has owed a request longest, where there are too many that are not being closed."""
    staying = [each for each in connections if not each.transport.is_closing()]
    owing = [each for each in staying if each._owing is not None]
    if len(staying) > most and owing:
        min(owing, key=lambda each: each._owing or 0)._leave()
