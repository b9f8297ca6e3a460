"""A session with a server: the methods of a session in one process, worked on elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from dalenius.curator.answers.answers import Answer
from dalenius.curator.asking.progress import Progress
from dalenius.curator.cards.cards import Card
from dalenius.curator.curator import Balance
from dalenius.curator.registry.registry import Registry
from dalenius.curator.shelf import Replay
from dalenius.errors import InvalidParameter, UnknownName
from dalenius.privacy.numbers import Number, of_kind
from dalenius.query.frames.frames import Frame
from dalenius.query.sql.reader import read
from dalenius.query.syntax.rendering import query_text
from dalenius.query.syntax.syntax import Query
from dalenius.query.tables import Most
from dalenius.server.client import replies
from dalenius.server.client.asking import RemoteAsked
from dalenius.server.client.bodies import attempt_key, sql_text
from dalenius.server.client.wire import Wire


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

    def sql(self, text: str, *, most: Most | None = None) -> RemoteAsked:
        """A question in SQL. It is checked at once, and nothing is read or spent before it is run.

        `most` says how much of one unit enters this answer, instead of what the owner declared for the tables.
        """
        return self._checked(text, most, query_text(read(text)))

    def table(self, name: str) -> Frame:
        """A table to ask about in Python: .where(...).group_by(...).agg(...)."""
        return Frame(self._named(name)[0], ask=self._asked)

    def online(
        self,
        table: Frame | str,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
        **terms: Any,
    ) -> Any:
        """Refuse: an online session keeps a secret between questions, where the database is open."""
        raise InvalidParameter(
            "session", "with a server", allowed="one of a database that is open in this process, for online sessions"
        )

    def subsample(
        self,
        table: Frame | str,
        function: Any,
        *,
        columns: Sequence[str],
        output: Any,
        blocks: int = 16,
        seconds: Number = 2,
        megabytes: int = 512,
        exact: bool = False,
        epsilon: Number | None = None,
        share: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
        progress: Callable[[Progress], object] | None = None,
    ) -> Answer:
        """Refuse: a server runs no code that somebody sends."""
        raise InvalidParameter(
            "session", "with a server", allowed="one of a database that is open in this process, for functions"
        )

    def _asked(self, query: Query, most: Most | None = None) -> RemoteAsked:
        text = sql_text(query)
        return self._checked(text, most, text)

    def _checked(self, sql: str, most: Most | None, text: str) -> RemoteAsked:
        """The question, once the server has bound it to its catalog; `text` is how it shows itself."""
        limit = None if most is None else of_kind(Most, most=most)
        asked = RemoteAsked(self._wire, sql, limit, text)
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
        """The answers that can be had again at no cost to anybody's privacy, by whomever they were bought: what was
        asked, the receipt, when, and the price then. Questions are shown as they were asked, constants included."""
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
