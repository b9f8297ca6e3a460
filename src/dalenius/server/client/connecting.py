"""Addresses and tokens: where a session connects to, and what keeps its token from leaving by another way."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from dalenius.curator.registry.registry import Registry
from dalenius.curator.tokens import TOKEN
from dalenius.errors import InvalidParameter
from dalenius.server.addresses import is_loopback
from dalenius.server.client.replies import registry
from dalenius.server.client.sessions import RemoteAnalyst
from dalenius.server.client.wire import Wire


def connect(url: str, *, token: str, insecure: bool = False, certificates: str | Path | None = None) -> RemoteAnalyst:
    """A session with a server: what `as_analyst` gives, with the same methods, answers and errors.

    `url` is scheme, host and port, such as 'https://data.example:8765'. A token goes over plain http only to this
    machine, unless `insecure` says that the network between is trusted. `certificates` is a file with the certificates
    of the authorities to trust, instead of the system's. Nothing is asked of the server yet.
    """
    if not isinstance(token, str) or not TOKEN.fullmatch(token.strip()):
        raise InvalidParameter("token", "something else", allowed="a token: dal_ and 43 letters, digits, - and _")
    where = address(url, insecure=insecure)
    return RemoteAnalyst(Wire(where, token.strip(), certificates=certificates))


def published_registry(url: str, *, certificates: str | Path | None = None) -> Registry:
    """The registry of a server, which anybody may read: no token is needed, and none is sent."""
    wire = Wire(address(url, insecure=True), None, certificates=certificates)
    with closing(wire):
        return registry(wire.get("/v1/registry"))


def address(url: str, *, insecure: bool = False) -> str:
    """The address of a server, as scheme, host and port.

    Guarantee: what is refused is not repeated in the error, since it may hold a token or a password.
    """
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _refused("no web address")
    if parts.username is not None or parts.password is not None:
        raise _refused("an address with a user name or password")
    if parts.path not in ("", "/") or parts.query or parts.fragment or url.rstrip("/").endswith(("?", "#")):
        raise _refused("an address with more than a host and a port")
    if parts.scheme == "http" and not (insecure or is_loopback(parts.hostname)):
        raise InvalidParameter(
            "url",
            "plain http to another machine",
            allowed="https, so that nobody on the way reads the token",
            hint="Say insecure=True where the network between is trusted.",
        )
    return f"{parts.scheme}://{parts.netloc}"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # not a number, or too large a one
    except (ValueError, TypeError, AttributeError):
        raise _refused("no web address") from None
    if not isinstance(url, str) or not url.isascii() or any(char <= " " or char == "\\" for char in url):
        raise _refused("no web address")
    return parts


def _refused(given: str) -> InvalidParameter:
    return InvalidParameter("url", given, allowed="scheme, host and port, such as 'https://data.example:8765'")
