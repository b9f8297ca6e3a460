"""Where a request ends: one that says so in two ways is refused."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from dalenius.server.faults import malformed
from dalenius.server.replies import fault_reply

_AMBIGUOUS = malformed("Content-Length and Transfer-Encoding were both given, and a request has one end").fault


class Framed:
    """Refuses requests with both Content-Length and Transfer-Encoding, whoever sends them.

    Guarantee: such a request is answered with 400 and is the last of its connection. Whatever passed it on may have
    seen its end elsewhere, so that bytes after it may not be a request of whoever they seem to come from.
    Reference: RFC 9112, Section 6.1.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope.get("headers", ())}
        if not {b"content-length", b"transfer-encoding"} <= names:
            await self._app(scope, receive, send)
            return
        reply = fault_reply(_AMBIGUOUS)
        reply.headers["connection"] = "close"
        await reply(scope, receive, send)
