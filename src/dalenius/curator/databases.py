"""The owner's session: declares populations, tables, studies and grants, and opens and closes databases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from dalenius.accounting.budget import Budget
from dalenius.curator.catalog import Catalog, Population, Study
from dalenius.curator.curator import Curator
from dalenius.curator.ledger.accounts import Rate, Receipt
from dalenius.curator.ledger.ledger import Ledger
from dalenius.curator.log import OwnerLog
from dalenius.curator.names import OWNER, as_share, moment
from dalenius.curator.sessions import Analyst, Session
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.errors import DataMismatch, InvalidParameter
from dalenius.privacy.numbers import Number, positive
from dalenius.query.tables import Most, Unit
from dalenius.query.types import Domain


class Database(Session):
    """The owner's session: declares populations and tables, grants, and asks (charged like anyone).

    The ledger lives in memory: it ends with the process. Nothing about a table is learnt from its rows; what is
    declared here is all that analysts see.
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
    ) -> None:
        """Declare the people that some tables are about, and how much may ever be learnt about them.

        Budget and neighbours never change. `neighbours` is 'add_remove', which hides whether someone
        takes part, or 'replace', which hides what their rows say while the number of people is public. `purpose` says
        what the data is used for, and `retires` the day from which on nothing more is answered; both are published.
        """
        with self._curator.lock:
            self._declare(
                self._curator.catalog.with_population(
                    name, budget=budget, neighbours=neighbours, purpose=purpose, retires=moment(retires=retires)
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
        purpose: str = "",
    ) -> None:
        """Open a quota that several analysts share: at most a share of a population's budget, between two days.

        `reserve` is a share that is held for the study until its end: nobody else can spend it.
        """
        held = None if reserve is None else as_share(reserve)
        study = Study(name, population, as_share(share), held, moment(start=start), moment(end=end), purpose)
        with self._curator.lock:
            self._declare(self._curator.catalog.with_study(study))

    def _declare(self, catalog: Catalog) -> None:
        """Open the accounts of a new catalog, and use it from now on."""
        for account, terms in catalog.accounts().items():
            self._curator.ledger.open(account, terms)
        self._curator.catalog = catalog

    def add_table(
        self,
        name: str,
        source: Any,
        *,
        columns: Mapping[str, Domain],
        population: str | None = None,
        unit: str | Unit | None = None,
        most: Most | None = None,
        public: bool = False,
        size: int | None = None,
        keys: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        nulls: Iterable[str] = (),
    ) -> None:
        """Declare a table and import its rows from a file or an Arrow, pandas or Polars table.

        A private table names its population, its unit (whose row it is) and the most that one unit contributes to one
        answer; `public=True` states that no row of it needs protection. `size` is a row count that you make public;
        `keys` are columns by which other tables find their units (`unit="order_id -> orders.customer_id"`).
        `rename={"hours": "hours-per-week"}` says what a column, unit or key is called in the source; `nulls` lists
        words of a CSV file that stand for no value, besides the empty field. Both hold for later versions too.
        """
        self._curator.require_open()
        with self._curator.lock:
            catalog = self._curator.catalog.with_table(
                name, columns=columns, population=population, unit=unit, most=most, public=public, size=size, keys=keys,
                rename=rename, nulls=nulls,
            )  # fmt: skip
            self._curator.catalog = self._registered(catalog, name, source)

    def update_table(self, name: str, source: Any) -> None:
        """Replace the rows of a table. People, budget and what was spent of it carry on.

        Tables whose path leads through it keep their owners until they are updated too.
        """
        self._curator.require_open()
        with self._curator.lock:
            catalog = self._curator.catalog.with_version(name)
            self._curator.catalog = self._registered(catalog, name, source)

    def _registered(self, catalog: Catalog, name: str, source: Any) -> Catalog:
        """The catalog after a table's rows were imported; a public table's figures are added."""
        try:
            self._curator.engine.register(catalog.table(name), source, reading=catalog.reading(name))
            return catalog.with_figures(self._curator.engine.counted(catalog.table(name)))
        except DataMismatch as error:
            self.log.record("", OWNER, error)
            raise

    def grant(
        self,
        analyst: str,
        *,
        tables: Iterable[str],
        share: Number = 1,
        study: str | None = None,
        most_epsilon: Number | None = None,
        rate: Rate | None = None,
        until: str | dt.date | None = None,
        pays_for_replays: bool = False,
    ) -> None:
        """Let an analyst ask about tables, and spend at most a share ('25%') of their populations' budgets in all.

        It is a quota inside the population's cap: analysts who work together still meet the cap. Inside a `study` the
        analyst spends that study's quota too. `most_epsilon` limits one question, `rate=Rate(20, seconds=3600)` how
        often questions are charged, `until` is the day on which the grant ends. Answers that were bought before are
        free, unless the analyst `pays_for_replays` out of the quota.
        """
        terms = {
            "study": study,
            "most_epsilon": None if most_epsilon is None else positive(most_epsilon=most_epsilon),
            "rate": rate,
            "until": moment(until=until),
            "pays_for_replays": pays_for_replays,
        }
        with self._curator.lock:
            self._declare(self._curator.catalog.with_grant(analyst, tables=tables, share=as_share(share), **terms))

    def revoke(self, analyst: str) -> None:
        """Take back what an analyst was granted. What was spent stays spent."""
        with self._curator.lock:
            self._declare(self._curator.catalog.without_grant(analyst))

    def as_analyst(self, name: str) -> Analyst:
        """The session of an analyst who was granted something."""
        if name not in self._curator.catalog.grants:
            raise InvalidParameter("analyst", name, allowed="somebody who was granted a table")
        return Analyst(self._curator, name)

    def close(self) -> None:
        """Let go of files; a database without a folder of its own is gone then. Also done at the end of a `with` block.

        Nothing can be asked or imported afterwards.
        """
        self._curator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def log(self) -> OwnerLog:
        """Why paid work failed. It may quote rows: it is for the owner alone."""
        return self._curator.log

    def history(self) -> tuple[Receipt, ...]:
        """Every charge: who, when, which question, and how much of which account."""
        return self._curator.ledger.history()

    def _people(self) -> Mapping[str, Population]:
        return self._curator.catalog.populations

    def __repr__(self) -> str:
        return f"<Database with tables {', '.join(self._curator.catalog.tables) or '(none)'}>"


def create(path: str | Path | None = None) -> Database:
    """A new private database, in a new folder that holds the imported tables and that only this user can enter.

    Without a path the tables lie in a private temporary folder that is deleted at the end; if the process is killed,
    the next one deletes it.
    The ledger lives in memory for now, also where there is a folder: it ends with the process, and a folder that was
    used is not opened again, because what was spent of its budgets would be forgotten.
    """
    log = OwnerLog()
    engine = DuckDBEngine(None if path is None else _new_folder(Path(path)), log=log.remember)
    return Database(Curator(Ledger.in_memory(), engine, log))


def _new_folder(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidParameter(
            "path",
            str(folder),
            allowed="a new or empty folder",
            hint="The ledger of a folder is kept in memory and ends with its process; it cannot be opened again.",
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder
