"""The owner's session: declares populations, tables, studies and grants, and opens and closes databases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from dalenius.accounting.budget import Budget
from dalenius.catalog import blocks
from dalenius.catalog import folder as folders
from dalenius.catalog.catalog import LEAST_SHARE, Catalog, Population, Study
from dalenius.catalog.declarations import draft_column, draft_protection
from dalenius.catalog.declaring import Keys, parent
from dalenius.catalog.folder import Folder
from dalenius.catalog.records import TableVersion
from dalenius.engines.addresses import RemoteSource, staying
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.engine import Reading
from dalenius.engines.several import Engines
from dalenius.errors import DataMismatch, InvalidParameter
from dalenius.ledger import tokens
from dalenius.ledger.accounts import Rate, Receipt
from dalenius.ledger.checking import Findings
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.names import OWNER, as_share, moment
from dalenius.privacy.numbers import Number, of_kind, positive
from dalenius.query.tables import ContributionBounds, Table, TableLocation, Unit
from dalenius.query.types import Domain
from dalenius.session.cards.studies import StudyCard, study_card
from dalenius.session.curator import Curator
from dalenius.session.log import OwnerLog
from dalenius.session.sessions import Analyst, Auditor, Session


class Database(Session):
    """The owner's session: declares populations and tables, grants, and asks (charged like anyone).

    What is declared goes into the folder's catalog.toml and into the ledger; without a folder both live in memory and
    end with the process. Nothing about a table is learnt from its rows: what is declared is all that analysts see.
    Textbook: S18.1.
    """

    def __init__(self, curator: Curator) -> None:
        super().__init__(curator, None)

    def add_population(
        self,
        name: str,
        *,
        budget: Budget,
        neighbours: str = "add_remove",
        purpose: str = "",
        retires: str | dt.date | None = None,
        least_share: Number = LEAST_SHARE,
    ) -> None:
        """Declare the people that some tables are about, and how much may ever be learnt about them.

        Budget and neighbours never change. `neighbours` is 'add_remove', which hides whether someone
        takes part, or 'replace', which hides what their rows say while the number of people is public. `purpose` says
        what the data is used for, and `retires` the day from which on nothing more is charged, so that only what was
        released before can be read; both are published. No question takes less than `least_share` of the budget, so
        that nobody asks without end.
        """
        end, least = moment(retires=retires), as_share(least_share)
        self._curator.change(
            lambda catalog: catalog.with_population(
                name, budget=budget, neighbours=neighbours, purpose=purpose, retires=end, least_share=least
            )
        )

    def add_study(
        self,
        name: str,
        *,
        population: str,
        share: Number,
        reserve: Number | None = None,
        start: str | dt.date | None = None,
        end: str | dt.date | None = None,
        purpose: str | None = None,
    ) -> None:
        """Open a quota that several analysts share: at most a share of a population's budget, between two days.

        `reserve` is a share that is held for the study until its end: nobody else can spend it. Declaring it again
        changes its terms; those that are not mentioned stay as they were, and "none" takes one back.
        """
        stated = Study(name, population, as_share(share))
        terms = _changed(stated, reserve=reserve, start=start, end=end, purpose=purpose)
        terms |= {"population": population, "share": stated.share}
        self._curator.change(lambda catalog: catalog.with_study(replace(catalog.studies.get(name, stated), **terms)))

    def add_table(
        self,
        name: str,
        source: Any,
        *,
        columns: Mapping[str, Domain],
        population: str | None = None,
        unit: str | Unit | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        public: bool = False,
        size: int | None = None,
        keys: Keys = (),
        rename: Mapping[str, str] | None = None,
        nulls: Iterable[str] = (),
    ) -> None:
        """Declare a table and import its rows from a file or an Arrow, pandas or Polars table.

        Rows can also stay where they are: ("postgresql://reader@host/clinic", "schema.table"), ("spark" or "local[2]"
        or "sc://host:15002" or a SparkSession, a table of its catalog or a path of Parquet files). Nothing is copied
        then, and every question runs there. A password in an address goes into secrets.toml and nowhere else.

        A private table names its population, its unit (whose row it is) and how much of one unit enters one answer:
        at most `max_rows` rows in each group, and at most `max_groups` groups (as many as rows unless stated);
        `public=True` states that no row of it needs protection. `size` is a row count that you make public;
        `keys` are columns by which other tables find their units (`unit="order_id -> orders.customer_id"`). They are
        unique: no two units state the same one, or the import is refused. `keys={"order_id": 5}` lets several units
        state one: of each unit at most 5 count, each belongs to one unit, and answers along the path get more noise.
        `rename={"hours": "hours-per-week"}` says what a column, unit or key is called in the source; `nulls` lists
        words of a CSV file that stand for no value, besides the empty field. Both hold for later versions too.
        Textbook: S18.7.
        """
        listed = [keys] if isinstance(keys, str) else keys if isinstance(keys, Mapping) else list(keys)
        words = [nulls] if isinstance(nulls, str) else list(nulls)
        stay = staying(source)
        place = stay.place if stay else None
        self._import(
            name,
            source,
            stay,
            lambda catalog: catalog.with_table(
                name,
                columns=columns,
                population=population,
                unit=unit,
                most=ContributionBounds.stated(max_rows, max_groups),
                public=public,
                size=size,
                keys=listed,
                rename=rename,
                nulls=words,
                place=place,
            ),
        )

    def update_table(self, name: str, source: Any = None) -> None:
        """Replace the rows of a table, or import the first ones of a table that was declared in catalog.toml.

        People, budget and what was spent of it carry on. The declaration is the one in the catalog at this time. Tables
        whose path leads through it cannot be asked until they are updated too. A table whose rows stay elsewhere needs
        no source: it is looked at anew where it is, and its answers are no longer those of the version before. With a
        source it moves, to another place or into this database.
        Textbook: S18.6.
        """
        stay = staying(source)
        if source is None:
            self._import(name, None, None, lambda catalog: _staying_already(catalog, name))
        else:
            place = stay.place if stay else None
            self._import(name, source, stay, lambda catalog: catalog.with_place(name, place))

    def _import(
        self, name: str, source: Any, stay: RemoteSource | None, declared: Callable[[Catalog], Catalog]
    ) -> None:
        """Import the rows of a table as its next version. It counts once the ledger knows it; what a crash leaves
        behind before that is replaced by the next import."""
        curator = self._curator
        with curator.import_turn():
            catalog = declared(curator.catalog)
            curator.records.require_consistent(catalog)
            version = curator.records.next_version(name)
            table = replace(catalog.table(name), version=version, rows=None, repeats=())
            with self._meeting(stay):
                counted = self._registered(table, source, catalog.reading(name))
            if curator.folder and stay and stay.secret is not None:
                curator.folder.keep_passwords({stay.address: stay.secret})
            above = curator.records.tables.get(parent(table) or "")
            curator.change(declared, imported=TableVersion.of(counted, parent=above.version if above else None))

    def _meeting(self, stay: RemoteSource | None) -> AbstractContextManager[None]:
        engine = self._curator.engine
        return engine.meeting(stay) if stay is not None and isinstance(engine, Engines) else nullcontext()

    def source_columns(self, source: Any) -> dict[str, str]:
        """The types of the columns of a table where it stays, as they are called there. No row is read."""
        stay = staying(source)
        if stay is None or not isinstance(self._curator.engine, Engines):
            raise InvalidParameter("source", type(source), allowed="a table that stays in PostgreSQL or Spark")
        with self._curator.working(), self._meeting(stay):
            return dict(self._curator.engine.columns(TableLocation(*stay.place)))

    def remarks(self, name: str) -> list[str]:
        """What you should know of a table: of the role that reads it where it stays, if it may do more than read; of
        the rows that its last import left out because they put a unit in a second block; of keys that several units
        state, where that is allowed. The latter are exact figures of rows, for you alone."""
        table, engine = self._curator.catalog.tables.get(name), self._curator.engine
        return engine.remarks(table) if table and isinstance(engine, Engines) else []

    def _registered(self, table: Table, source: Any, reading: Reading) -> Table:
        """The table after its rows were imported; a public table's figures are added."""
        try:
            alone = self._curator.underway.alone()
            self._curator.engine.register(table, source, reading=reading, keep_earlier=not alone)
            return self._curator.engine.counted(table)
        except DataMismatch as error:
            self.log.record("", OWNER, error)
            raise

    def remove_table(self, name: str) -> None:
        """Take a table out of the catalog, also out of grants, and drop its rows. What was spent stays spent, and if a
        table of this name is added again, it is a new version for the same people.

        Where questions are under way, or another process does not let go of the rows, they are dropped with a later
        import.
        """
        with self._curator.import_turn():
            place = self._place(name)
            self._curator.change(lambda catalog: catalog.without_table(name))
            if self._curator.underway.alone():
                self._curator.engine.discard()
            self._forget_password(place)

    def _place(self, name: str) -> TableLocation | None:
        table = self._curator.catalog.tables.get(name)
        return table.place if table else None

    def _forget_password(self, place: TableLocation | None) -> None:
        """Take the password of a place that no table needs any more out of secrets.toml."""
        used = {table.place.address for table in self._curator.catalog.tables.values() if table.place}
        if place and self._curator.folder and place.address not in used:
            self._curator.folder.keep_passwords({place.address: None})

    def draft_table(
        self,
        name: str,
        *,
        columns: Mapping[str, Domain | str | Mapping[str, Any]],
        population: str | None = None,
        unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        public: bool = False,
        source: Any = None,
        **more: Any,
    ) -> tuple[str, ...]:
        """Write a table into catalog.toml that the owner has still to fill in, and tell what is missing.

        A column may be the name of a type, such as "Int", whose bounds are then written as "?", and so is whatever else
        is not given; {"type": "Int", "lower": 0, "upper": "?"} is half filled in. `source` is a place
        where the rows stay, if they do; `more` are `size`, `keys`, `rename` and `nulls`. `update_table` imports the
        rows afterwards.
        """
        people = {"public": True} if public else draft_protection(population, unit, max_rows, max_groups)
        listed = {each: draft_column(kind) for each, kind in columns.items()}
        return self._curator.draft(name, {**self._drafted_source(source), **people, **more, "columns": listed})

    def _drafted_source(self, source: Any) -> dict[str, Any]:
        """Where rows stay, as a catalog has it; a password is put aside."""
        if source is None:
            return {}
        stay = staying(source)
        if stay is None:
            raise InvalidParameter("source", type(source), allowed="left out, or a table that stays elsewhere")
        if stay.secret is not None and self._curator.folder:
            self.source_columns(source)  # a password that does not hold is not kept
            self._curator.folder.keep_passwords({stay.address: stay.secret})
        return {"source": list(stay.place)}

    def partition(self, column: str, values: Iterable[Any]) -> None:
        """Cut a population into blocks by a column that never changes for a unit: "visits.region", ["north", "south"].

        A question about the units of one block alone is charged to that block, and the population has spent the most
        that any block has. Units with another value, or none, are in no block. From now on an import leaves out rows
        that give a unit another of the values than it ever had, and `remarks` tells how many. A partition is made once
        and never changes.
        """
        curator, listed = self._curator, [values] if isinstance(values, str) else list(values)
        with curator.import_turn():
            name, partition = blocks.partition_of(curator.catalog, column, listed)
            catalog = curator.catalog.with_partition(name, partition)
            people, table = catalog.population(name), catalog.table(partition.table)
            try:
                blocks.begin(people, table, curator.ledger, curator.engine)
            except DataMismatch as error:
                self.log.record("", OWNER, error)
                raise
            curator.change(lambda catalog: catalog.with_partition(name, partition))

    def grant(
        self,
        analyst: str,
        *,
        tables: Iterable[str],
        share: Number | None = None,
        study: str | None = None,
        most_epsilon: Number | None = None,
        rate: Rate | None = None,
        until: str | dt.date | None = None,
        pays_for_replays: bool | None = None,
    ) -> None:
        """Let an analyst ask about tables, and spend at most a share ('25%') of their populations' budgets.

        It is a quota inside the population's cap: analysts who work together still meet the cap. Inside a `study` the
        analyst spends that study's quota too, and the share counts what the analyst spent inside this study: elsewhere
        it begins anew. `most_epsilon` limits one question, `rate=Rate(20, seconds=3600)` how often questions are
        charged (1,000 an hour unless stated), `until` is the day on which the grant ends. Answers that were bought
        before are free, unless the analyst `pays_for_replays` out of the quota.

        Granting again adds tables; terms that are not mentioned stay as they were, and `revoke` ends all of them. The
        first grant without a share allows the whole budget.
        Textbook: S18.3.
        """
        terms = {
            "study": study,
            "most_epsilon": None if most_epsilon is None else positive(most_epsilon=most_epsilon),
            "rate": None if rate is None else of_kind(Rate, rate=rate),
            "until": moment(until=until),
            "pays_for_replays": pays_for_replays,
        }
        stated = {name: value for name, value in terms.items() if value is not None}
        part, listed = None if share is None else as_share(share), [tables] if isinstance(tables, str) else list(tables)
        self._curator.change(lambda catalog: catalog.with_grant(analyst, tables=listed, share=part, **stated))

    def revoke(self, analyst: str) -> None:
        """Take back what an analyst was granted, and end the tokens of that name. What was spent stays spent."""
        holds = analyst in tokens.Tokens(self._curator.ledger).names()
        if not holds or analyst in self._curator.catalog.grants:
            self._curator.change(lambda catalog: catalog.without_grant(analyst))  # refuses a name that is not known
        if holds:
            tokens.revoke(self._curator.ledger, analyst)

    def token(self, who: str, role: str = "analyst", days: int = 90) -> str:
        """A new token for a server: shown this once, and kept nowhere but by its hash, in the ledger.

        `role` is 'analyst', 'auditor' (reads the ledger, never data) or 'owner'.
        """
        return tokens.issue(self._curator.ledger, who, role=role, days=days)

    def revoke_tokens(self, who: str) -> None:
        """End all tokens that somebody holds, on every server, from its next request on."""
        if who not in tokens.Tokens(self._curator.ledger).names():
            raise InvalidParameter("who", who, allowed="somebody who holds a token")
        tokens.revoke(self._curator.ledger, who)

    def as_analyst(self, name: str) -> Analyst:
        """The session of an analyst who was granted something."""
        self._curator.refresh()
        if name not in self._curator.catalog.grants:
            raise InvalidParameter("analyst", name, allowed="somebody who was granted a table")
        return Analyst(self._curator, name)

    def as_auditor(self) -> Auditor:
        """A session that reads the ledger, and never data."""
        return Auditor(self._curator)

    def close(self) -> None:
        """Let go of files; a database without a folder of its own is gone then. Also done at the end of a `with` block.

        Nothing can be asked or imported afterwards.
        """
        self._curator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- for a server

    def session(self, analyst: str | None) -> Session:
        """A session that changes nothing: an analyst's, to whom perhaps nothing was granted, or one for all tables."""
        return Session(self._curator, None) if analyst is None else Analyst(self._curator, analyst)

    def settle_by(self, wait: Callable[[float, float], object]) -> None:
        """Call `wait` before an answer is stored, since others can see when it is: with the seconds since its charge,
        and those that its plan is expected to take."""
        self._curator.settle = wait

    def refresh(self) -> None:
        """Take over what another process, or the owner by hand, has changed; every question does so too."""
        self._curator.refresh()

    def give_way(self) -> None:
        """Let go of the tables if another process wants to import and no question is under way here."""
        if isinstance(self._curator.engine, Engines):
            self._curator.engine.release_if_wanted()

    def open_places(self) -> None:
        """Open the engines of tables that stay elsewhere now, so that no question has to wait for that."""
        self.refresh()
        if isinstance(self._curator.engine, Engines):
            self._curator.engine.open_all()

    # ---- what there is

    @property
    def catalog(self) -> Catalog:
        """All that is declared, as it stands now."""
        self._curator.refresh()
        return self._curator.catalog

    @property
    def ledger(self) -> Ledger:
        """What was charged, answered and written down."""
        return self._curator.ledger

    @property
    def log(self) -> OwnerLog:
        """Why paid work failed. It may quote rows: it is for the owner alone."""
        return self._curator.log

    def history(self) -> tuple[Receipt, ...]:
        """Every charge: who, when, which question, and how much of which account."""
        return self.as_auditor().history()

    def verify(self) -> Findings:
        """Recompute the ledger's chain and every balance from its entries alone; `.problems` lists what is wrong."""
        return self.as_auditor().verify()

    def study_card(self, name: str) -> StudyCard:
        """All releases that were charged to a study, with totals. The questions are shown as they were asked."""
        return study_card(self._curator.catalog, self._curator.ledger, self._curator.shelf, name)

    def _people(self) -> Mapping[str, Population]:
        return self._curator.catalog.populations

    def __repr__(self) -> str:
        return f"<Database with tables {', '.join(self._curator.catalog.tables) or '(none)'}>"


def _changed(bare: Study, **given: Any) -> dict[str, Any]:
    """The terms of a study that were mentioned; "none" makes one as it is without any."""
    read: Mapping[str, Callable[[Any], Any]] = {
        "reserve": as_share,
        "start": lambda day: moment(start=day),
        "end": lambda day: moment(end=day),
        "purpose": lambda text: of_kind(str, purpose=text),
    }
    return {
        name: getattr(bare, name) if value == "none" else read[name](value)
        for name, value in given.items()
        if value is not None
    }


def create(
    path: str | Path | None = None, *, mark: str | Path | None = None, ledger: str | None = None, spark: Any = None
) -> Database:
    """A new private database in a new folder that only this user can enter; later it is opened with `dl.open`.

    The folder holds catalog.toml, which people read and may edit, the ledger and the imported tables. `ledger` is the
    URL of a PostgreSQL database for the ledger instead. `mark` is a file or such a URL for the high-water mark, by
    which a ledger that was restored from a backup is told; without it, it lies in the state folder of this user.
    `spark` is the SparkSession for tables that stay in "spark"; without it, it is the session of this process.

    Without a path the tables lie in a private temporary folder that is deleted at the end, and the ledger in memory: it
    ends with the process.
    """
    if path is None:
        if mark is not None or ledger is not None:
            raise InvalidParameter("path", None, allowed="given where ledger or mark have a place")
        log = OwnerLog()
        return Database(Curator(Ledger.in_memory(), _engines(DuckDBEngine(log=log.remember), log, None, spark), log))
    place, book = folders.made(Path(path), mark=mark, ledger=ledger)
    return _database(place, book, spark)


def open(path: str | Path, *, mark: str | Path | None = None, spark: Any = None) -> Database:  # noqa: A001 - dl.open
    """Go on with the database in a folder.

    The ledger must be whole and the one that was used last, and catalog.toml must not contradict it: budgets and
    neighbours never change. `mark` says where the high-water mark lies, if it was moved. `spark` is the SparkSession
    for tables that stay in "spark"; without it, it is the session of this process.
    """
    place, book = folders.opened(Path(path), mark=mark)
    return _database(place, book, spark)


def _database(place: Folder, ledger: Ledger, spark: Any) -> Database:
    log = OwnerLog()
    engine: Engines | None = None
    try:
        engine = _engines(DuckDBEngine(place.path, log=log.remember), log, place, spark)
        curator = Curator(ledger, engine, log, place)
        curator.refresh()
    except BaseException:
        ledger.close()
        if engine:
            engine.close()
        raise
    return Database(curator)


def _engines(imported: DuckDBEngine, log: OwnerLog, place: Folder | None, spark: Any) -> Engines:
    return Engines(
        imported,
        log=log.remember,
        note=lambda error: log.record("", OWNER, error),
        secret=place.password if place else lambda address: None,
        spark=spark,
    )


def _staying_already(catalog: Catalog, name: str) -> Catalog:
    """The catalog as it is, where the rows of a table stay elsewhere."""
    if catalog.table(name).place is None:
        raise InvalidParameter(
            "source", None, allowed="given: a file, a table in memory, or a place where its rows stay",
            hint=f"Nothing in catalog.toml says where the rows of {name} stay.",
        )  # fmt: skip
    return catalog
