"""Connections: so many of all and of one address, and each has so long to send a whole request."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from dalenius.server.limits import Limits


class Connections:
    """The connections of a server: those that stay, and in order those that owe a request; each also by address.

    Whatever happens to one connection takes as long among ten thousand as among ten.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._all, self._of = _OpenCount(limits.connections), dict[str, _OpenCount]()

    def come(self, connection: Connection) -> None:
        """Take in a connection. Where there are too many, the one that has owed a request longest leaves."""
        own = self._of.setdefault(connection.host, _OpenCount(self.limits.connections_of_one))
        for part in (own, self._all):
            part.staying.add(connection)
        self.owe(connection)
        for part in (own, self._all):
            if part.full and part.owing:
                next(iter(part.owing)).leave()

    def owe(self, connection: Connection) -> None:
        """It owes a request from now on."""
        self.settle(connection)
        for part in self._parts(connection):
            part.owing[connection] = None

    def settle(self, connection: Connection) -> None:
        """It owes no request any more."""
        for part in self._parts(connection):
            part.owing.pop(connection, None)

    def go(self, connection: Connection) -> None:
        """It is closed, or about to be."""
        self.settle(connection)
        for part in self._parts(connection):
            part.staying.discard(connection)
        if connection.host in self._of and not self._of[connection.host].staying:
            del self._of[connection.host]

    def _parts(self, connection: Connection) -> list[_OpenCount]:
        own = self._of.get(connection.host)
        return [self._all] if own is None else [self._all, own]


class _OpenCount:
    """Connections of all addresses or of one; the keys of `owing` are in the order in which they began to."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.staying: set[Connection] = set()
        self.owing: dict[Connection, None] = {}

    @property
    def full(self) -> bool:
        return len(self.staying) > self._most


class Connection(H11Protocol):
    """One connection.

    Guarantee: while it owes the head of a request, or the rest of a body that was answered already, it is closed after
    `head_seconds`, however slowly bytes trickle in; and after `sending_seconds` where it takes no reply. When there are
    too many, of all or of one address, the one that has owed a request longest is closed, and a new one only if none
    does. None of this depends on a token or a row.
    """

    def __init__(self, *arguments: Any, crowd: Connections, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._crowd, self._limits = crowd, crowd.limits
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request(self._limits.head_seconds)
        self._crowd.come(self)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._reading, self._writing):
            if timer is not None:
                timer.cancel()
        self._crowd.go(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self._reading is not None and self.cycle is not None and not self.cycle.response_complete:
            self._reading.cancel()  # a request is being answered; its body has a deadline of its own
            self._crowd.settle(self)

    def on_response_complete(self) -> None:
        sent = not self.transport.get_write_buffer_size()
        self._await_request(self._limits.head_seconds if sent else self._limits.sending_seconds)
        if sent and not self.transport.is_closing():  # it makes no room while its reply is on the way
            self._crowd.owe(self)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing = self.loop.call_later(self._limits.sending_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()

    @property
    def host(self) -> str:
        """The address that it comes from."""
        return self.client[0] if self.client else ""

    def leave(self) -> None:
        """Close it at once."""
        self._crowd.go(self)
        self.transport.abort()

    def _await_request(self, seconds: float) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self.loop.call_later(seconds, self.transport.abort)
