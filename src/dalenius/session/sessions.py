"""Sessions: what owner and analyst have in common, an analyst's, who asks, and an auditor's, who reads the ledger."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager

from dalenius.accounting.amounts import Charge
from dalenius.catalog.catalog import Population
from dalenius.errors import UnknownName
from dalenius.ledger.accounts import Entry, Receipt
from dalenius.ledger.checking import Findings
from dalenius.privacy.numbers import Number
from dalenius.query.binding.binder import bind
from dalenius.query.frames.frames import Frame
from dalenius.query.rendering import query_text
from dalenius.query.rows import BoundRows, RowSource, bind_rows
from dalenius.query.sql.reader import read
from dalenius.query.syntax import QueryTree
from dalenius.query.tables import ContributionBounds, ForeignKey, Table
from dalenius.query.types import Domain
from dalenius.session import replays
from dalenius.session.answers.answers import Answer
from dalenius.session.cards.cards import Card
from dalenius.session.curator import Balance, Curator, Principal
from dalenius.session.executor import Keeping, Purchase
from dalenius.session.offers import Offer, bought
from dalenius.session.progress import Progress
from dalenius.session.purchases import Cost, buy, cost_of
from dalenius.session.query import Query
from dalenius.session.registry.registry import Registry
from dalenius.session.shelf import Replay


class Session:
    """What owner and analyst have in common: to see what is public, to ask, and to see what is left."""

    def __init__(self, curator: Curator, analyst: str | None) -> None:
        self._curator, self._principal = curator, Principal(curator, analyst)

    @property
    def principal(self) -> Principal:
        """Who asks."""
        return self._principal

    def sql(self, text: str, *, max_rows: int | None = None, max_groups: int | None = None) -> Query:
        """A question in SQL. It is checked at once, and nothing is read or spent before it is run.

        Of one unit at most `max_rows` rows enter each group of this answer, and at most `max_groups` groups (as many as
        rows unless stated), instead of what the owner declared for the tables.
        Textbook: S18.11.
        """
        return self.bind(read(text), ContributionBounds.stated(max_rows, max_groups))

    def table(self, name: str) -> Frame:
        """A table to ask about in Python: .where(...).group_by(...).agg(...)."""
        self._principal.refresh()
        return Frame(self._principal.table(name).name, session=self)

    def bind(self, query: QueryTree, most: ContributionBounds | None = None) -> Query:
        """A question as syntax."""
        with self._known_tables() as tables:
            return Query(bind(query, tables, most=most), self._principal, query_text(query))

    def bind_rows(self, frame: Frame) -> BoundRows:
        """The rows of a frame, for whatever is made of rows instead of statistics."""
        with self._known_tables() as tables:
            return bind_rows(frame.rows(), tables, most=frame.most)

    @contextmanager
    def _known_tables(self) -> Iterator[Mapping[str, Table]]:
        """The tables that may be asked about, as they are now."""
        self._principal.refresh()
        try:
            yield self._principal.tables()
        except UnknownName as unknown:
            if unknown.kind == "table":
                self._principal.table(unknown.name)  # says so where it is known and its rows are not there
            raise

    def amounts(self, rows: RowSource, offer: Offer) -> dict[str, Charge]:
        """What an offer for something that is made of these rows buys of the budget of each population."""
        offer.require_one()
        return bought(self.populations(rows).values(), epsilon=offer.epsilon, share=offer.share)

    @property
    def most_seconds(self) -> float:
        """How long one question may take."""
        return self._curator.executor.seconds

    def populations(self, rows: RowSource) -> dict[str, Population]:
        """Whose rows these are, and their budgets."""
        return {name: self._principal.population(name) for name in rows.relation.populations}

    def cost_of(self, purchase: Purchase, *, epsilon: Number | None = None) -> Cost:
        """What a purchase would cost; `epsilon` is what was offered, if it was. Nothing is read or spent."""
        with self._principal.paying(purchase.question) as payer:
            return cost_of(self._principal, purchase, payer, epsilon=epsilon)

    def buy(
        self,
        purchase: Purchase,
        *,
        text: str,
        key: str | None = None,
        fresh: bool = False,
        progress: Callable[[Progress], object] | None = None,
        kept: Keeping | None = None,
    ) -> Answer:
        """Charge, and release what a purchase makes; `text` says in the ledger what it is. Otherwise as `Query.run`;
        `kept` lets a retry with the same key go on."""
        with self._principal.paying(purchase.question) as payer:
            return buy(self._principal, purchase, payer, text=text, key=key, fresh=fresh, progress=progress, kept=kept)

    def tables(self) -> dict[str, str]:
        """The tables that may be asked about, and whom each protects; of others, why they cannot be asked for now."""
        self._principal.refresh()
        known = self._principal.tables()
        told = {name: described(table, known) for name, table in known.items()}
        names = self._curator.catalog.named_for(self._principal.analyst)
        return {name: told.get(name) or f"cannot be asked: {self._principal.why_not(name)}" for name in names}

    def columns(self, table: str) -> dict[str, str]:
        """The declared columns of a table. They are what the owner wrote down, and say nothing about the rows."""
        self._principal.refresh()
        return {name: _domain_text(domain) for name, domain in self._principal.table(table).columns}

    def left(self) -> dict[str, Balance]:
        """What may still be spent of each population's budget."""
        return self._balances(left=True)

    def spent(self) -> dict[str, Balance]:
        """What was spent of each population's budget: by this analyst, or by everybody for the owner."""
        return self._balances(left=False)

    def replays(self) -> tuple[Replay, ...]:
        """The stored answers, which cost nobody's privacy anything more, no matter who bought them: what was asked,
        the receipt, when, and the price then. Questions are shown as they were asked, constants included.

        Textbook: S18.4.
        """
        self._principal.refresh()
        return replays.replays(self._principal)

    def replay(self, receipt: str, *, key: str | None = None) -> Answer:
        """An answer that was bought before, byte for byte. `key` names the attempt: where the grant counts replays, a
        retry with the same key is counted once."""
        self._principal.refresh()
        with self._curator.working():
            return replays.replay(self._principal, receipt, key=key)

    def card(self, receipt: str) -> Card:
        """The release card of an answer that was bought before.

        Textbook: S18.13.
        """
        self._principal.refresh()
        return replays.card(self._principal, receipt)

    def registry(self) -> Registry:
        """What each population is used for, what was spent of its budget, how fast, and until when it lasts. It can be
        published: it depends on nothing private, and names no analyst.

        Textbook: S18.5.
        """
        self._principal.refresh()
        return self._curator.registry()

    def _balances(self, *, left: bool) -> dict[str, Balance]:
        self._principal.refresh()
        found = self._principal.left if left else self._principal.spent
        return {name: found(name) for name in self._people()}

    def _people(self) -> Mapping[str, Population]:
        return self._principal.populations()


class Analyst(Session):
    """An analyst's session. Tables that were not granted do not exist here."""

    def __repr__(self) -> str:
        return f"<Analyst {self._principal.name}, tables: {', '.join(self._principal.tables())}>"


def described(table: Table, known: Container[str]) -> str:
    """A table in a line, from public facts; other tables are named only if they are among the `known` ones."""
    size = f"; about {table.size} rows" if table.size else ""
    if table.protection is None:
        return f"public{size}"
    most = table.protection.most
    limit = f"; of one unit at most {most} enter an answer" if most else ""
    unit = table.protection.unit
    owner = unit.describe(known) if isinstance(unit, ForeignKey) else str(unit)
    others = table.protection.steps // 2
    shared = f"; one unit changes what up to {others:,} others have" if others else ""
    return f"protects {table.protection.population} by {owner}{limit}{shared}{size}"


def _domain_text(domain: Domain) -> str:
    return f"{domain}, or NULL" if domain.nullable else str(domain)


class Auditor:
    """Somebody who checks what was spent on what. Nothing here asks a question, reads a row or changes anything."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def history(self) -> tuple[Receipt, ...]:
        """Every charge: who, when, which question, and how much of which account."""
        self._curator.require_open()
        return self._curator.ledger.history()

    def entries(self) -> Iterator[Entry]:
        """The whole ledger, in order."""
        self._curator.require_open()
        return self._curator.ledger.entries()

    def verify(self) -> Findings:
        """Recompute the chain and every balance from the entries alone; what was found wrong is listed."""
        self._curator.require_open()
        return self._curator.ledger.check()

    def registry(self) -> Registry:
        """What each population is used for, what was spent of its budget, how fast, and until when it lasts."""
        self._curator.refresh()
        return self._curator.registry()

    def __repr__(self) -> str:
        return "<Auditor>"
