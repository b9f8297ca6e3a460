"""Sessions: the owner's, who declares and grants, and an analyst's, who asks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from dalenius.accounting.budget import Budget
from dalenius.curator.asking.asking import Asked
from dalenius.curator.catalog import Catalog, Population
from dalenius.curator.curator import Asker, Balance, Curator, balance
from dalenius.curator.ledger import Account, MemoryLedger, Receipt
from dalenius.curator.log import OwnerLog
from dalenius.curator.names import OWNER, as_share
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.errors import DataMismatch, InvalidParameter
from dalenius.privacy.numbers import Number, of_kind
from dalenius.query.binding.binder import bind
from dalenius.query.frames.frames import Frame
from dalenius.query.sql.reader import read
from dalenius.query.syntax.syntax import Query
from dalenius.query.tables import Most, Table, Unit, Via
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
        return Frame(self._asker.table(name).name, ask=self._asked)

    def _asked(self, query: Query, most: Most | None = None) -> Asked:
        limit = None if most is None else of_kind(Most, most=most)
        return Asked(bind(query, self._asker.tables(), most=limit), self._asker)

    def tables(self) -> dict[str, str]:
        """The tables that may be asked about, and whom each protects."""
        known = self._asker.tables()
        return {name: described(table, known) for name, table in known.items()}

    def columns(self, table: str) -> dict[str, str]:
        """The declared columns of a table. They are what the owner wrote down, and say nothing about the rows."""
        return {name: _domain_text(domain) for name, domain in self._asker.table(table).columns}

    def left(self) -> dict[str, Balance]:
        """What may still be spent of each population's budget."""
        return self._balances(left=True)

    def spent(self) -> dict[str, Balance]:
        """What was spent of each population's budget: by this analyst, or by everybody for the owner."""
        return self._balances(left=False)

    def _balances(self, *, left: bool) -> dict[str, Balance]:
        amount = self._asker.left if left else self._asker.spent
        return {name: balance(each, amount(name), left=left) for name, each in self._people().items()}

    def _people(self) -> Mapping[str, Population]:
        return self._asker.populations()


class Analyst(Session):
    """An analyst's session. Tables that were not granted do not exist here."""

    def __repr__(self) -> str:
        return f"<Analyst {self._asker.name}, tables: {', '.join(self._asker.tables())}>"


class Database(Session):
    """The owner's session: declares populations and tables, grants, and asks (charged like anyone).

    The ledger lives in memory: it ends with the process. Nothing about a table is learnt from its rows; what is
    declared here is all that analysts see.
    """

    def __init__(self, curator: Curator) -> None:
        super().__init__(curator, None)

    def add_population(self, name: str, *, budget: Budget, neighbours: str = "add_remove") -> None:
        """Declare the people that some tables are about, and how much may ever be learnt about them.

        Budget and neighbours never change. `neighbours` is 'add_remove', which hides whether someone
        takes part, or 'replace', which hides what their rows say while the number of people is public.
        """
        with self._curator.lock:
            catalog = self._curator.catalog.with_population(name, budget=budget, neighbours=neighbours)
            self._curator.ledger.open(Account((name,)), catalog.population(name).rectangle.cap)
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

    def grant(self, analyst: str, *, tables: Iterable[str], share: Number = 1) -> None:
        """Let an analyst ask about tables, and spend at most a share ('25%') of their populations' budgets in all.

        It is a quota inside the population's cap: analysts who work together still meet the cap.
        """
        with self._curator.lock:
            catalog = self._curator.catalog.with_grant(analyst, tables=tables, share=as_share(share))
            for name, part in catalog.grants[analyst].shares:
                cap = catalog.population(name).rectangle.part(share=part)
                self._curator.ledger.open(Account((name, analyst)), cap)
            self._curator.catalog = catalog

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
    return Database(Curator(MemoryLedger(), engine, log))


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


def described(table: Table, known: Container[str]) -> str:
    """A table in a line, from public facts; other tables are named only if they are among the `known` ones."""
    size = f"; about {table.size} rows" if table.size else ""
    if table.protection is None:
        return f"public{size}"
    most = table.protection.most
    limit = f"; of one unit at most {most} enter an answer" if most else ""
    unit = table.protection.unit
    owner = unit.told(known) if isinstance(unit, Via) else str(unit)
    return f"protects {table.protection.population} by {owner}{limit}{size}"


def _domain_text(domain: Domain) -> str:
    return f"{domain}, or NULL" if domain.nullable else str(domain)
