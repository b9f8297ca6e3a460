"""The curator: what a database is made of, and who may ask it what."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dalenius.accounting.amounts import Amount
from dalenius.curator.catalog import Catalog, Grant, Population
from dalenius.curator.door import Door, Payer
from dalenius.curator.ledger.accounts import Account
from dalenius.curator.ledger.ledger import Ledger
from dalenius.curator.log import OwnerLog
from dalenius.curator.names import OWNER, percent
from dalenius.engines.engine import Engine
from dalenius.errors import InvalidParameter, QueryRefused, UnknownName
from dalenius.query.questions import Question
from dalenius.query.tables import Table


@dataclass
class Curator:
    """Catalog, ledger, engine and the owner's log. The catalog is exchanged as a whole, under the lock."""

    ledger: Ledger
    engine: Engine
    log: OwnerLog
    catalog: Catalog = field(default_factory=Catalog)
    lock: threading.RLock = field(default_factory=threading.RLock)
    closed: bool = False

    @property
    def door(self) -> Door:
        return Door(self.ledger, self.engine, self.log)

    def require_open(self) -> None:
        """Refuse work after `close`, before anything is charged."""
        if self.closed:
            raise InvalidParameter("database", "closed", allowed="open: its tables are no longer at hand")

    def close(self) -> None:
        """Refuse all further work, and let go of files once that under way has ended."""
        self.closed = True
        self.engine.close()
        self.ledger.close()


@dataclass(frozen=True)
class Asker:
    """Somebody who asks: an analyst by name, or the owner where `analyst` is None."""

    curator: Curator
    analyst: str | None

    @property
    def name(self) -> str:
        return OWNER if self.analyst is None else self.analyst

    def tables(self) -> Mapping[str, Table]:
        """The tables that may be asked about; to an analyst the others do not exist."""
        return self.curator.catalog.tables_for(self.analyst)

    def table(self, name: str) -> Table:
        """A table that may be asked about, in whatever case its name is written."""
        known = {each.lower(): table for each, table in self.tables().items()}
        if not isinstance(name, str) or name.lower() not in known:
            raise UnknownName("table", str(name), known=self.tables())
        return known[name.lower()]

    def population(self, name: str) -> Population:
        return self.curator.catalog.population(name)

    def populations(self) -> dict[str, Population]:
        """The populations of the tables that may be asked about."""
        names = {table.protection.population for table in self.tables().values() if table.protection}
        return {name: self.population(name) for name in sorted(names)}

    def account(self, population: str) -> Account:
        """Who pays: the analyst's quota, or the population itself for the owner."""
        return self.curator.catalog.account(population, self.analyst)

    @property
    def grant(self) -> Grant:
        """What was granted; the owner has no limits but the populations' own."""
        return Grant() if self.analyst is None else self.curator.catalog.grants.get(self.analyst, Grant())

    def left(self, population: str) -> Amount:
        """What this asker may still be charged for."""
        return self.curator.ledger.left(self.account(population))

    def spent(self, population: str) -> Amount:
        """What this asker was charged; the owner sees what everybody was charged."""
        return self.curator.ledger.spent(self.account(population))

    def payer(self, question: Question) -> Payer:
        """The accounts that pay for a question; refuses one about tables that may not, or no longer, be asked."""
        for table in question.relation.tables:
            self._require_current(table)
        names = question.relation.populations
        relations = {name: self.population(name).neighbours for name in names}
        accounts, grant = {name: self.account(name) for name in names}, self.grant
        return Payer(self.name, accounts, relations, rate=grant.rate, pays_for_replays=grant.pays_for_replays)

    def _require_current(self, table: Table) -> None:
        if self.table(table.name) != table:
            raise QueryRefused(
                table.name, rule="its rows were replaced since the question was asked", instead="Ask again."
            )


@dataclass(frozen=True)
class Balance:
    """What is left or spent of a population's budget, as a share of it, and as the amount that the ledger adds up."""

    share: Fraction
    amount: Amount

    def __str__(self) -> str:
        return f"{percent(self.share)} of the budget"

    __repr__ = __str__


def balance(population: Population, amount: Amount, *, left: bool) -> Balance:
    """An amount as a share: of what is left the scarcer side counts, of what is spent the larger one."""
    cap = population.rectangle.cap
    sides = [Fraction(amount.divergence, cap.divergence)] + ([Fraction(amount.delta, cap.delta)] if cap.delta else [])
    return Balance(min(sides) if left else max(sides), amount)
