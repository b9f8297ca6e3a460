"""Sessions: the owner's, who declares and grants, and an analyst's, who asks."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from dalenius.curator import replays
from dalenius.curator.answers.answers import Answer
from dalenius.curator.asking.asking import Asked
from dalenius.curator.asking.progress import Progress
from dalenius.curator.cards.cards import Card
from dalenius.curator.catalog import Population
from dalenius.curator.curator import Asker, Balance, Curator, balance
from dalenius.curator.registry.registry import Registry
from dalenius.curator.shelf import Replay
from dalenius.errors import UnknownName
from dalenius.lazy import higher
from dalenius.privacy.numbers import Number, of_kind
from dalenius.query.binding.binder import bind
from dalenius.query.frames.frames import Frame
from dalenius.query.sql.reader import read
from dalenius.query.syntax.rendering import query_text
from dalenius.query.syntax.syntax import Query
from dalenius.query.tables import Most, Table, Via
from dalenius.query.types import Domain


class Session:
    """What owner and analyst have in common: to see what is public, to ask, and to see what is left."""

    def __init__(self, curator: Curator, analyst: str | None) -> None:
        self._curator, self._asker = curator, Asker(curator, analyst)

    def sql(self, text: str, *, most: Most | None = None) -> Asked:
        """A question in SQL. It is checked at once, and nothing is read or spent before it is run.

        `most` says how much of one unit enters this answer, instead of what the owner declared for the tables.
        """
        return self._asked(read(text), most)

    def table(self, name: str) -> Frame:
        """A table to ask about in Python: .where(...).group_by(...).agg(...)."""
        self._asker.refresh()
        return Frame(self._asker.table(name).name, ask=self._asked)

    def _asked(self, query: Query, most: Most | None = None) -> Asked:
        limit = None if most is None else of_kind(Most, most=most)
        self._asker.refresh()
        try:
            return Asked(bind(query, self._asker.tables(), most=limit), self._asker, query_text(query))
        except UnknownName as unknown:
            if unknown.kind == "table":
                self._asker.table(unknown.name)  # says so where it is known and its rows are not there
            raise

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
        """Pay once, then ask any number of counting questions about some columns: `.ask("age >= 65")`.

        Easy questions are answered from a public hypothesis, hard ones are measured and improve it; the session ends
        when its `updates` (16) are used up. `table` is a name, or rows of a table. Terms: `columns` to ask about and
        `bins` for numbers, as of a `Synthesizer`; `rows` of one unit that are counted; `questions` for which noise is
        planned (100,000); `within`, how many rows an answer may be off before it is measured: the more, the longer the
        session lasts; and `accuracy` ("5%" of `total`, or a number of rows), beyond which nothing is paid. An equal
        session that was paid for before goes on, for nothing, without the round that was left unfinished. `fresh` pays
        for a new one, which `key` finds again. See `release.online.counts`.
        """
        frame = self.table(table) if isinstance(table, str) else table
        wanted = higher("release.online.counts", "Online")(**terms)
        return wanted.open(self._asker, frame, epsilon=epsilon, share=share, key=key, fresh=fresh)

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
        """Any function's result on rows of a private table: it runs on blocks of units, in a sandbox, and a private
        aggregate of what it gives is charged, released and stored.

        `function` takes a list of rows, each a tuple of the values of `columns`; it may be a `Program`. `output` is a
        `Range` of numbers, a `Choice` of options or a `Subset` of them. Each block has `seconds` and `megabytes`; with
        `exact` a choice comes exactly or not at all. See `release.blockwise`, which also tells what it would cost.
        """
        frame = self.table(table) if isinstance(table, str) else table
        wanted = higher("release.blockwise", "Subsample")(
            function, columns, output, blocks, seconds, megabytes=megabytes, exact=exact
        )
        found: Answer = wanted.run(frame, epsilon=epsilon, share=share, key=key, fresh=fresh, progress=progress)
        return found

    def tables(self) -> dict[str, str]:
        """The tables that may be asked about, and whom each protects; of others, why they cannot be asked for now."""
        self._asker.refresh()
        known = self._asker.tables()
        told = {name: described(table, known) for name, table in known.items()}
        names = self._curator.catalog.named_for(self._asker.analyst)
        return {name: told.get(name) or f"cannot be asked: {self._asker.why_not(name)}" for name in names}

    def columns(self, table: str) -> dict[str, str]:
        """The declared columns of a table. They are what the owner wrote down, and say nothing about the rows."""
        self._asker.refresh()
        return {name: _domain_text(domain) for name, domain in self._asker.table(table).columns}

    def left(self) -> dict[str, Balance]:
        """What may still be spent of each population's budget."""
        return self._balances(left=True)

    def spent(self) -> dict[str, Balance]:
        """What was spent of each population's budget: by this analyst, or by everybody for the owner."""
        return self._balances(left=False)

    def replays(self) -> tuple[Replay, ...]:
        """The answers that can be had again at no cost to anybody's privacy, by whomever they were bought: what was
        asked, the receipt, when, and the price then. Questions are shown as they were asked, constants included."""
        self._asker.refresh()
        return replays.replays(self._asker)

    def replay(self, receipt: str, *, key: str | None = None) -> Answer:
        """An answer that was bought before, byte for byte. `key` names the attempt: where the grant counts replays, a
        retry with the same key is counted once."""
        self._asker.refresh()
        with self._curator.working():
            return replays.replay(self._asker, receipt, key=key)

    def card(self, receipt: str) -> Card:
        """The release card of an answer that was bought before."""
        self._asker.refresh()
        return replays.card(self._asker, receipt)

    def registry(self) -> Registry:
        """What each population is used for, what was spent of its budget, how fast, and until when it lasts. It can be
        published: it depends on nothing private, and names no analyst."""
        self._asker.refresh()
        return self._curator.registry()

    def _balances(self, *, left: bool) -> dict[str, Balance]:
        self._asker.refresh()
        amount = self._asker.left if left else self._asker.spent
        return {name: balance(each, amount(name), left=left) for name, each in self._people().items()}

    def _people(self) -> Mapping[str, Population]:
        return self._asker.populations()


class Analyst(Session):
    """An analyst's session. Tables that were not granted do not exist here."""

    def __repr__(self) -> str:
        return f"<Analyst {self._asker.name}, tables: {', '.join(self._asker.tables())}>"


def described(table: Table, known: Container[str]) -> str:
    """A table in a line, from public facts; other tables are named only if they are among the `known` ones."""
    size = f"; about {table.size} rows" if table.size else ""
    if table.protection is None:
        return f"public{size}"
    most = table.protection.most
    limit = f"; of one unit at most {most} enter an answer" if most else ""
    unit = table.protection.unit
    owner = unit.told(known) if isinstance(unit, Via) else str(unit)
    others = table.protection.steps // 2
    shared = f"; one unit changes what up to {others:,} others have" if others else ""
    return f"protects {table.protection.population} by {owner}{limit}{shared}{size}"


def _domain_text(domain: Domain) -> str:
    return f"{domain}, or NULL" if domain.nullable else str(domain)
