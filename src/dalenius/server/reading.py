"""What a request says: its token, its key, its parameters and its body, each checked before anything is done."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from starlette.requests import ClientDisconnect, Request

from dalenius.ledger.names import PERSON
from dalenius.server.faults import NOT_FOUND, TOO_LARGE, TOO_SLOW, Faulted, malformed
from dalenius.server.limits import Limits
from dalenius.server.routes import ARROW, Route
from dalenius.server.schemas import Schema, parsed, require

_MOST_HEADERS, _LONGEST_HEADERS = 64, 16_384
_KEY = re.compile(r"[ -~]{1,200}", re.ASCII)
_WHOLE = re.compile(r"[0-9]{1,16}", re.ASCII)
_NOUGHT = re.compile(r"q=0(\.0*)?", re.ASCII)


def token_of(request: Request) -> str:
    """The token of a request: of the header Authorization, which comes once, and of nowhere else."""
    scheme, _, token = _only(request, "authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _only(request: Request, name: str) -> str:
    found = request.headers.getlist(name)
    return found[0] if len(found) == 1 else ""


async def given_of(request: Request, route: Route, limits: Limits) -> dict[str, Any]:
    """All that a request says to its route, checked: names in the path, parameters, the body and the key."""
    _require_headers(request)
    given = {**_body(await _read(request, limits), route.body), **_query(request, route), **_names(request)}
    if route.takes_key:
        given["key"] = _key(request)
    if ARROW in route.media:
        given["arrow"] = _accepts(request, ARROW)
    return given


def _accepts(request: Request, media: str) -> bool:
    """Whether a request asks for a form by its name; with `q=0` it asks not to have it."""
    parts = [part.replace(" ", "").lower().split(";") for part in request.headers.get("accept", "").split(",")]
    return any(kind == media and not any(_NOUGHT.fullmatch(word) for word in words) for kind, *words in parts)


def _require_headers(request: Request) -> None:
    headers = request.headers.raw
    if len(headers) > _MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > _LONGEST_HEADERS:
        raise Faulted(TOO_LARGE)


def _names(request: Request) -> dict[str, str]:
    """The names that stand in the path. What cannot be a name is not there."""
    found = {name: str(value) for name, value in request.path_params.items()}
    if not all(PERSON.fullmatch(value) for value in found.values()):
        raise Faulted(NOT_FOUND)
    return found


def _query(request: Request, route: Route) -> dict[str, int]:
    """The parameters after the question mark: whole numbers, of the names that the route knows, each once."""
    known, found = route.query or {}, request.query_params.multi_items()
    for name, value in found:
        if name not in known or not _WHOLE.fullmatch(value):
            raise malformed(f"of parameters this address takes {', '.join(known) or 'none'}, as whole numbers")
        require(int(value), known[name], name)
    if len(dict(found)) < len(found):
        raise malformed("a parameter is given twice")
    return {name: int(value) for name, value in found}


def _body(body: bytes, schema: Schema | None) -> dict[str, Any]:
    if schema is None:
        if body:
            raise malformed("this address takes no body")
        return {}
    value = parsed(body)
    require(value, schema)
    return dict(value)


async def _read(request: Request, limits: Limits) -> bytes:
    """The body, if it arrives in time and is no larger than allowed; not a byte more is kept."""
    length = request.headers.get("content-length", "0")
    if not _WHOLE.fullmatch(length) or int(length) > limits.body:
        raise Faulted(TOO_LARGE)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                body += part
                if len(body) > limits.body:
                    raise Faulted(TOO_LARGE)
    except (TimeoutError, ClientDisconnect):
        raise Faulted(TOO_SLOW) from None
    return bytes(body)


def _key(request: Request) -> str | None:
    if "idempotency-key" not in request.headers:
        return None
    key = _only(request, "idempotency-key")
    if not _KEY.fullmatch(key):
        raise malformed("Idempotency-Key must be 1 to 200 printable characters, once")
    return key
