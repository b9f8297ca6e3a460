"""A session with a server: the methods of a session in one process, worked on elsewhere.

Addresses and tokens: where a session connects to, and what keeps its token from leaving by another way.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from dalenius.errors import InvalidParameter, UnknownName
from dalenius.ledger.tokens import TOKEN
from dalenius.query.frames.frames import Frame
from dalenius.query.rendering import query_text
from dalenius.query.sql.reader import read
from dalenius.query.syntax import QueryTree
from dalenius.query.tables import ContributionBounds
from dalenius.server.addresses import is_loopback
from dalenius.server.client import replies
from dalenius.server.client.bodies import attempt_key, sql_text
from dalenius.server.client.query import RemoteQuery
from dalenius.server.client.replies import registry
from dalenius.server.client.wire import Wire
from dalenius.session.answers.answers import Answer
from dalenius.session.cards.cards import Card
from dalenius.session.curator import Balance
from dalenius.session.registry.registry import Registry
from dalenius.session.shelf import Replay


class RemoteAnalyst:
    """What a token's holder may do, over HTTP: the methods of `Analyst`, with the same answers and errors."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def __repr__(self) -> str:
        return f"<Analyst at {self._wire.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection. What runs at the server goes on there."""
        self._wire.close()

    def sql(self, text: str, *, max_rows: int | None = None, max_groups: int | None = None) -> RemoteQuery:
        """A question in SQL. It is checked at once, and nothing is read or spent before it is run.

        Of one unit at most `max_rows` rows enter each group of this answer, and at most `max_groups` groups (as many as
        rows unless stated), instead of what the owner declared for the tables.
        """
        return self._checked(text, ContributionBounds.stated(max_rows, max_groups), query_text(read(text)))

    def table(self, name: str) -> Frame:
        """A table to ask about in Python: .where(...).group_by(...).agg(...)."""
        return Frame(self._named(name)[0], session=self)

    def bind(self, query: QueryTree, most: ContributionBounds | None = None) -> RemoteQuery:
        text = sql_text(query)
        return self._checked(text, most, text)

    def _checked(self, sql: str, most: ContributionBounds | None, text: str) -> RemoteQuery:
        """The question, once the server has bound it to its catalog; `text` is how it shows itself."""
        asked = RemoteQuery(self._wire, sql, most, text)
        asked.check()
        return asked

    def tables(self) -> dict[str, str]:
        """The tables that may be asked about, and whom each protects; of others, why they cannot be asked for now."""
        return {name: facts["about"] for name, facts in self._catalog().items()}

    def columns(self, table: str) -> dict[str, str]:
        """The declared columns of a table. They are what the owner wrote down, and say nothing about the rows."""
        return dict(self._named(table)[1]["columns"])

    def left(self) -> dict[str, Balance]:
        """What may still be spent of each population's budget."""
        return replies.balances(self._wire.get("/v1/balance")["left"])

    def spent(self) -> dict[str, Balance]:
        """What was spent of each population's budget: by this analyst, or by everybody for the owner."""
        return replies.balances(self._wire.get("/v1/balance")["spent"])

    def replays(self) -> tuple[Replay, ...]:
        """The stored answers, which cost nobody's privacy anything more, no matter who bought them: what was asked,
        the receipt, when, and the price then. Questions are shown as they were asked, constants included."""
        return replies.replays(self._wire.get("/v1/replays"))

    def replay(self, receipt: str, *, key: str | None = None) -> Answer:
        """An answer that was bought before, byte for byte. `key` names the attempt: where the grant counts replays, a
        retry with the same key is counted once; without one, a key is made here."""
        path = f"/v1/replays/{_name(receipt)}"
        return replies.answer(self._wire.post(path, None, key=attempt_key(key)))

    def card(self, receipt: str) -> Card:
        """The release card of an answer that was bought before."""
        return Card.from_facts(self._wire.get(f"/v1/cards/{_name(receipt)}")["card"])

    def registry(self) -> Registry:
        """What each population is used for, what was spent of its budget, how fast, and until when it lasts. It can be
        published: it depends on nothing private, and names no analyst."""
        return replies.registry(self._wire.get("/v1/registry"))

    def _catalog(self) -> dict[str, Any]:
        tables: dict[str, Any] = self._wire.get("/v1/catalog")["tables"]
        return tables

    def _named(self, name: str) -> tuple[str, Any]:
        """A table that may be asked about, in whatever case its name is written."""
        tables = self._catalog()
        known = {each.lower(): (each, facts) for each, facts in tables.items()}
        if not isinstance(name, str) or name.lower() not in known:
            raise UnknownName("table", str(name), known=tables)
        return known[name.lower()]


def _name(receipt: str) -> str:
    """A receipt as a part of an address; what cannot be one is that of no answer."""
    if not isinstance(receipt, str) or not receipt.isascii() or not receipt.isalnum():
        raise InvalidParameter(
            "receipt", receipt, allowed="that of a stored answer about tables that may be asked", hint="See replays()."
        )
    return receipt


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
