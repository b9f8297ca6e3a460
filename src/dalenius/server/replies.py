"""Replies: bodies in classes of lengths, under the same headers whatever happened.

Where a request ends: one that says so in two ways is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dalenius.server.faults import Fault, malformed
from dalenius.server.routes import ARROW, JSON
from dalenius.server.schedule import padded

SECURITY: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_FACTS = ("receipt", "charge", "left", "level", "replayed")


def reply(body: bytes, *, status: int = 200, media: str = JSON, headers: Mapping[str, str] | None = None) -> Response:
    """A reply of a length class. Spaces at the end of a text mean nothing, and neither do zeros after an Arrow
    stream, which says itself where it ends."""
    filling = b"\0" if media == ARROW else b"\n" if media.startswith("text/") else b" "
    kind = f"{media}; charset=utf-8" if media.startswith("text/") else media
    all_headers = {**SECURITY, "content-type": kind, **(headers or {})}
    return Response(padded(body, filling=filling), status_code=status, headers=all_headers)


def json_reply(facts: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return reply(json.dumps(facts, ensure_ascii=False).encode(), status=status, headers=headers)


def fault_reply(fault: Fault) -> Response:
    """An error in its one form."""
    headers = {"retry-after": str(fault.wait)} if fault.wait is not None else {}
    if fault.code == "no_token":
        headers["www-authenticate"] = "Bearer"
    return json_reply(fault.facts, status=fault.status, headers=headers)


def arrow_headers(facts: Mapping[str, Any]) -> dict[str, str]:
    """What JSON says beside an answer, as headers of an Arrow stream."""
    return {f"dalenius-{name}": quote(_word(facts[name]), safe=" ,.%()/") for name in _FACTS}


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
