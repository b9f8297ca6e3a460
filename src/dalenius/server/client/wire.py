"""Errors of the wire, raised as the classes that the same calls raise in one process, with the same texts.

Requests and replies: what is sent again when the network fails, and how errors of the server are raised here.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius import errors
from dalenius.errors import DaleniusError, InvalidParameter, ServerUnreachable, WorkStopped
from dalenius.lazy import optional
from dalenius.randomness.entropy import system_entropy

_CLASSES: Mapping[str, type[DaleniusError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, DaleniusError)
}


def raised(facts: Mapping[str, Any]) -> DaleniusError:
    """The error that a reply tells of. The text is the server's; the facts behind it stay there.

    Guarantee: only classes of `dalenius.errors` are made; an unknown name gives their root.
    """
    said = facts.get("error")
    said = said if isinstance(said, dict) else {}
    kind = _CLASSES.get(str(said.get("type")), DaleniusError)
    error = kind.__new__(kind)
    Exception.__init__(error, str(said.get("message", "the server gave no reason")))
    return error


def is_stopped(facts: Mapping[str, Any]) -> bool:
    """Whether a reply tells of work that was charged and has no answer."""
    return isinstance(raised(facts), WorkStopped)


def as_given(error: DaleniusError, name: str, sent: object, given: object) -> DaleniusError:
    """The error with a parameter shown as it was given here, and not as it was sent."""
    text = str(error).replace(f"{name} is {sent!r},", f"{name} is {given!r},", 1)
    Exception.__init__(error, text)
    return error


PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds before each new attempt; each is drawn from half of it to the whole."""
PATIENCE = 15.0
"""Seconds that the server may ask to wait before a new attempt; if it asks for more, its error is raised."""
CONNECT_SECONDS, REPLY_SECONDS, RUN_SECONDS = 10.0, 60.0, 180.0


@dataclass(frozen=True)
class WireReply:
    """A status, the headers that matter, and the JSON value of the body."""

    status: int
    wait: float | None
    facts: Mapping[str, Any]

    def wait_for(self, pause: float, *, lost: bool) -> float | None:
        """Seconds before another attempt; None where it would be of no use, or too far off.

        After a reply was `lost`, work that has no answer may be that of the lost attempt, still under way.
        """
        if self.wait is not None and self.status >= 400:
            return max(pause, self.wait) if self.wait <= PATIENCE else None
        return 8 * pause if lost and self.status >= 400 and is_stopped(self.facts) else None

    def checked(self) -> Mapping[str, Any]:
        """The facts, or the error that they tell of, raised."""
        if self.status >= 400:
            raise raised(self.facts)
        return self.facts


class Wire:
    """The connection to one server, with a token; without one for what anybody may read.

    Guarantee: the token goes into the header Authorization of requests to this server and nowhere else: redirects are
    not followed, and proxies and passwords that the environment names are not used. A request that charges carries an
    idempotency key, the same in every attempt, so that it is charged once however often its reply is lost.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        certificates: str | Path | None = None,
        transport: Any = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._httpx = optional("httpx", function="dl.connect", extra="client")
        self.url, self._sleep = url, sleep
        self._client = self._httpx.Client(
            base_url=url,
            headers={
                **({} if token is None else {"Authorization": f"Bearer {token}"}),
                "Accept": "application/json",
                "Accept-Encoding": "identity",  # a small reply that unpacks to a huge one is no reply of this server
            },
            timeout=self._httpx.Timeout(REPLY_SECONDS, connect=CONNECT_SECONDS),
            follow_redirects=False,
            trust_env=False,
            verify=ssl.create_default_context(cafile=None if certificates is None else str(certificates)),
            transport=transport,
        )

    def __repr__(self) -> str:
        return f"<Wire to {self.url}>"

    def close(self) -> None:
        self._client.close()

    def get(self, path: str) -> Mapping[str, Any]:
        """What an address gives."""
        return self._answered("GET", path)

    def delete(self, path: str) -> Mapping[str, Any]:
        """What an address gives when something is ended."""
        return self._answered("DELETE", path)

    def post(self, path: str, body: Mapping[str, Any] | None, *, key: str | None = None) -> Mapping[str, Any]:
        """What an address gives for a body; a request that charges is named by its key."""
        seconds = self._httpx.Timeout(RUN_SECONDS if key else REPLY_SECONDS, connect=CONNECT_SECONDS)
        content = b"" if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        headers |= {} if key is None else {"Idempotency-Key": key}
        return self._answered("POST", path, key=key, content=content, headers=headers, timeout=seconds)

    def _answered(self, method: str, path: str, *, key: str | None = None, **request: Any) -> Mapping[str, Any]:
        """The facts of a reply, after as many attempts as it takes, up to a bound; its error is raised."""
        lost = False
        for pause in PAUSES:
            found = self._attempt(method, path, request)
            lost = lost or isinstance(found, str)
            wait = found.wait_for(_spread(pause), lost=lost) if isinstance(found, WireReply) else _spread(pause)
            if wait is None:
                break
            self._sleep(wait)
        else:
            found = self._attempt(method, path, request)
        if isinstance(found, WireReply):
            return found.checked()
        raise ServerUnreachable(self.url, problem=found, instead=_advice(key))

    def _attempt(self, method: str, path: str, request: Mapping[str, Any]) -> WireReply | str:
        """A reply, or why there was none."""
        if self._client.is_closed:
            raise InvalidParameter("session", "closed", allowed="open", hint="Connect again.")
        try:
            reply = self._client.request(method, path, **request)
            return self._read(reply)
        except self._httpx.TransportError as error:
            return f"no reply came ({type(error).__name__})"  # its text may name what the environment holds

    def _read(self, reply: Any) -> WireReply | str:
        """What the server says; or that something between failed (502, 504), while the server may have answered."""
        try:
            facts = json.loads(reply.content)
        except (ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict) or not (200 <= reply.status_code < 300 or "error" in facts):
            problem = f"what came back (status {reply.status_code}) is no reply of this kind of server"
            if reply.status_code >= 500:
                return problem
            raise ServerUnreachable(self.url, problem=problem, instead="Check the address.") from None
        wait = reply.headers.get("Retry-After", "")
        return WireReply(reply.status_code, float(wait) if wait.isascii() and wait.isdigit() else None, facts)


def _spread(pause: float) -> float:
    """So that clients that lost the same server do not come back all at once."""
    return pause * (512 + system_entropy().below(513)) / 1024


def _advice(key: str | None) -> str:
    if key is None:
        return "Nothing was charged by this. Check the address and the network, and try again."
    return f"It may have been charged; run it again with key={key!r}, which is charged no second time."
