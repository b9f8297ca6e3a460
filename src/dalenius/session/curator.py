"""The curator: what a database is made of, and who may ask it what."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction

from dalenius.accounting.amounts import Charge
from dalenius.catalog import blocks
from dalenius.catalog.blocks import blocks_of
from dalenius.catalog.catalog import Catalog, Grant, Population
from dalenius.catalog.declarations import Plain
from dalenius.catalog.folder import Folder
from dalenius.catalog.records import TABLE, Records, TableVersion
from dalenius.engines.engine import Engine
from dalenius.errors import DataMismatch, InvalidParameter, QueryRefused, UnknownName
from dalenius.ledger.accounts import Account, Standing
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.names import OWNER, percent
from dalenius.query.questions import Question
from dalenius.query.rows import RowSource
from dalenius.query.tables import Table
from dalenius.session.attempts import MOST_SECONDS, Attempts, Underway
from dalenius.session.executor import Executor, Payer, at_once
from dalenius.session.log import OwnerLog
from dalenius.session.registry.registry import Registry, registry
from dalenius.session.registry.spending import Spending
from dalenius.session.shelf import Shelf

_LOST = "its rows are not in tables.duckdb; update it"


@dataclass
class Curator:
    """Catalog, ledger, engine and the owner's log. The catalog is exchanged as a whole, under the lock.

    With a `folder`, the catalog is what its catalog.toml and the ledger say at the time.
    """

    ledger: Ledger
    engine: Engine
    log: OwnerLog
    folder: Folder | None = None
    catalog: Catalog = field(default_factory=Catalog)
    records: Records = field(default_factory=Records)
    lock: threading.RLock = field(default_factory=threading.RLock)
    importing: threading.Lock = field(default_factory=threading.Lock)
    closed: bool = False
    attempts: Attempts = field(default_factory=Attempts)
    underway: Underway = field(default_factory=Underway)
    settle: Callable[[float, float], object] = at_once
    seconds: float = MOST_SECONDS
    shelf: Shelf = field(default_factory=Shelf)
    spending: Spending = field(default_factory=Spending)
    _seen: tuple[int, ...] | None = None

    def refresh(self) -> None:
        """Take over what another process, or the owner by hand, has changed. It is cheap where nothing has."""
        self.require_open()
        self.reload()

    def reload(self) -> None:
        """The same, for somebody who is at work and so knows that the database is open."""
        if self.folder is None:
            return
        with self.lock:
            records = self.records.updated(self.ledger)
            known = self._seen == self.folder.file.signature() and records.tables is self.records.tables
            self.records = records
            if known:
                return
            self._seen = None  # until all of it was taken over
            with self.folder.editing():
                self._reload(self.folder)

    @contextmanager
    def import_turn(self) -> Iterator[None]:
        """Nobody else imports meanwhile, here or in another process, and what they have imported is known."""
        with self.working(), self.importing, self.folder.importing() if self.folder else nullcontext():
            self.refresh()
            yield

    @contextmanager
    def working(self) -> Iterator[None]:
        """Do something that `close` waits for, so that nothing that was paid for is lost."""
        self.require_open()
        with self.underway.counted():
            if self.closed:  # meanwhile
                self.require_open()
            yield

    def _reload(self, folder: Folder) -> Catalog:
        """Take over what the folder declares, and give it as it stands there."""
        seen = folder.file.signature()  # before it is read: what is changed meanwhile is read once more
        declared = folder.read()
        self._take(declared, self.records.updated(self.ledger))
        self._seen = seen
        return declared

    def change(self, changed: Callable[[Catalog], Catalog], *, imported: TableVersion | None = None) -> None:
        """Exchange the catalog for a changed one, in the folder and the ledger too.

        `imported` is a version of a table whose rows are in the engine; it counts from here on.
        """
        self.require_open()
        with self.lock, self.folder.editing() if self.folder else nullcontext():
            before = self._reload(self.folder) if self.folder else self.catalog
            self.records, after = self.records.updated(self.ledger), changed(before)
            self.records.require_consistent(after)
            self._write(before, after)
            if imported:
                self.ledger.record(TABLE, imported.facts)
            self._take(after, self.records.updated(self.ledger))
            self._seen = self.folder.file.signature() if self.folder else None

    def _write(self, before: Catalog, after: Catalog) -> None:
        """Write what is declared into the ledger, which keeps it for ever, and into the folder's file."""

        def write_down() -> None:
            self.records = self.records.write_down(after, self.ledger)

        if self.folder:
            self.folder.file.write(before, after, first=write_down)
        else:
            write_down()

    def draft(self, name: str, facts: Plain) -> tuple[str, ...]:
        """Write a table that is not declared in full into the folder's catalog; what is missing."""
        self.require_open()
        if self.folder is None:
            raise InvalidParameter("database", "in memory", allowed="in a folder, whose catalog.toml can be edited")
        with self.lock, self.folder.editing():
            self._reload(self.folder)
            self.folder.file.write_draft(name, facts)
            self._reload(self.folder)
            return self.catalog.drafts[name].missing if name in self.catalog.drafts else ()

    def _take(self, catalog: Catalog, records: Records) -> None:
        """Use a catalog from now on, with the versions that were written down, and open its accounts."""
        records.require_consistent(catalog)
        written = records.write_down(catalog, self.ledger)
        self.catalog, self.records = self._with_rows(written.applied(catalog), written), written

    def _with_rows(self, catalog: Catalog, records: Records) -> Catalog:
        """The catalog, where tables whose rows are not in the engine's file cannot be asked, and blocks that the engine
        has not kept watch over are not told apart."""
        drafts = [Table(name, (), None, version=records.next_version(name) - 1) for name in catalog.drafts]
        tables = [*catalog.tables.values(), *drafts]  # a table that is a draft for a while keeps its rows
        self.engine.hold(table for table in tables if table.name in records.tables)
        known = self.catalog.tables_for(None)
        new = [table for name, table in catalog.tables_for(None).items() if known.get(name) != table]
        lost = self.engine.missing(new) if new else []
        held = catalog.with_waiting({**catalog.waiting, **dict.fromkeys(lost, _LOST)})
        return blocks.watched(held, self.engine) if records.partitions else held

    def registry(self) -> Registry:
        """What each population is used for, and what was spent of its budget."""
        return registry(self.catalog, self.records, self.ledger, self.spending)

    @property
    def executor(self) -> Executor:
        return Executor(self.ledger, self.engine, self.log, self.attempts, self.seconds, self.settle)

    def require_open(self) -> None:
        """Refuse work after `close` or in a fork, before anything is charged and any lock is waited for."""
        self.ledger.require_home()
        if self.closed:
            raise InvalidParameter("database", "closed", allowed="open: its tables and ledger are no longer at hand")

    def close(self) -> None:
        """Refuse all further work, and let go of files once that under way has ended."""
        self.underway.require_elsewhere()
        self.closed = True
        self.underway.wait()
        self.engine.close()
        self.ledger.close()


@dataclass(frozen=True)
class Principal:
    """Somebody who asks: an analyst by name, or the owner where `analyst` is None."""

    curator: Curator
    analyst: str | None

    @property
    def name(self) -> str:
        return OWNER if self.analyst is None else self.analyst

    def tables(self) -> Mapping[str, Table]:
        """The tables that may be asked about; to an analyst the others do not exist."""
        return self.curator.catalog.tables_for(self.analyst)

    def refresh(self) -> None:
        """See what was changed elsewhere. What is wrong with the catalog is said to the owner alone."""
        self.curator.require_open()
        self._reload()

    def _reload(self) -> None:
        if self.analyst is None:
            return self.curator.reload()
        try:
            return self.curator.reload()
        except DataMismatch:
            pass  # it may name a table that was not granted
        except InvalidParameter as error:
            if error.name in ("process", "database"):  # a fork, or in use: nothing about the catalog
                raise
        raise QueryRefused("catalog", rule="its owner is changing it", instead="Ask again later.")

    def table(self, name: str) -> Table:
        """A table that may be asked about, in whatever case its name is written."""
        known = {each.lower(): table for each, table in self.tables().items()}
        if not isinstance(name, str) or name.lower() not in known:
            self._refuse_waiting(str(name))
            raise UnknownName("table", str(name), known=self.tables())
        return known[name.lower()]

    def why_not(self, name: str) -> str | None:
        """Why a table cannot be asked for now; how its declaration falls short is said to the owner alone."""
        why = self.curator.catalog.why_not(name)
        return why if self.analyst is None else why and "its rows are not ready to be asked about"

    def _refuse_waiting(self, name: str) -> None:
        for known in self.curator.catalog.named_for(self.analyst):
            why = self.why_not(known)
            if known.lower() == name.lower() and why:
                filled = known not in self.curator.catalog.drafts
                owner = "Import its rows with update_table." if filled else "Fill it in, then import its rows."
                instead = owner if self.analyst is None else "Ask its owner."
                raise QueryRefused(known, rule=why, instead=instead)

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

    def blocks(self, question: Question | RowSource) -> dict[str, str]:
        """The blocks that a question is about, for each population of which it is about one block alone."""
        return blocks_of(question, self.curator.catalog)

    def left(self, population: str) -> Balance:
        """What this principal may still be charged for."""
        ledger, account = self.curator.ledger, self.account(population)
        return Balance(share_left(ledger.standing(account)), ledger.left(account))

    def spent(self, population: str) -> Balance:
        """What this principal was charged; the owner sees what everybody was charged."""
        amount = self.curator.ledger.spent(self.account(population))
        return Balance(self.population(population).renyi_filter.share(amount), amount)

    @contextmanager
    def paying(self, question: Question | RowSource) -> Iterator[Payer]:
        """The accounts that pay for a question, looked up once, for work that `close` waits for; refuses a question
        about tables that may not, or no longer, be asked."""
        with self.curator.working():
            self._reload()
            yield self._payer(question)

    def _payer(self, question: Question | RowSource) -> Payer:
        for table in question.relation.tables:
            self._require_current(table)
        names = question.relation.populations
        relations = {name: self.population(name).neighbours for name in names}
        accounts, grant = {name: self.account(name) for name in names}, self.grant
        return Payer(
            self.name,
            accounts,
            relations,
            blocks=self.blocks(question),
            rate=None if self.analyst is None else grant.rate,
            pays_for_replays=grant.pays_for_replays,
        )

    def _require_current(self, table: Table) -> None:
        if self.table(table.name) != table:
            raise QueryRefused(
                table.name, rule="its rows were replaced since the question was asked", instead="Ask again."
            )


@dataclass(frozen=True)
class Balance:
    """What is left or spent of a population's budget, as a share of it, and as the amount that the ledger adds up."""

    share: Fraction
    amount: Charge

    def __str__(self) -> str:
        return f"{percent(self.share)} of the budget"

    __repr__ = __str__


def share_left(standing: Sequence[Standing], amount: Charge | None = None) -> Fraction:
    """The share of a population's budget that may still be spent, after an amount: the least that an account or a block
    has, each by that sum of divergence which lasts longer."""
    whole = standing[-1].cap
    shares = [
        Fraction(each.cap.divergence, whole.divergence)
        * (1 - (each.spent if amount is None else each.spent + amount).share(each.cap))
        for each in standing
    ]
    return max(Fraction(0), min(shares))
