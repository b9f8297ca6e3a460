"""An engine that reads tables where they stay, and keeps nothing of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa

from dalenius.engines import hashing as claims
from dalenius.engines.durations import LEAST_CLASS, Rates, expected_seconds
from dalenius.engines.engine import AS_DECLARED, Divided, Reading
from dalenius.engines.hashing import refuse_shared, remedies, require_known_claims, unique_keys
from dalenius.engines.sql.hashes import shared, shared_and_cut
from dalenius.engines.sql.live import LiveDialect, SourceColumn, Staying
from dalenius.engines.sql.passes import cells, compile_sql
from dalenius.errors import DataMismatch, WorkStopped
from dalenius.privacy.exact import Exact
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.plan.passes import Cells, Pass
from dalenius.query.plan.relations import Scan
from dalenius.query.tables import EachRow, ForeignKey, Table, TableLocation, UnitColumn
from dalenius.query.types import Choice, Code

Tick = Callable[[float], object]
_READ = "The owner's log says why; the reason may quote rows."


class LiveEngine(ABC):
    """What engines over tables that stay have in common. One of them says how to describe and how to fetch.

    `fetched` runs an SQL text in a read-only way and gives its result as Arrow, stopped after `seconds`; whatever it
    raises is hidden from analysts.
    """

    unkept = "nothing here keeps rows that change from having equal keys", "Say"
    """Why a key that is declared unique is refused, and what begins the advice."""

    rates: ClassVar[Rates]

    def __init__(self, dialect: LiveDialect, *, seconds: float, log: Callable[[BaseException], object]) -> None:
        self.dialect, self._seconds, self._log = dialect, seconds, log

    @abstractmethod
    def described(self, place: TableLocation) -> tuple[str, Mapping[str, str]]:
        """What stands for a table in a FROM, and the types of its columns by their names there; raises `DataMismatch`
        where there is no such table."""

    @abstractmethod
    def lent(self, table: Table, rows: pa.Table) -> tuple[str, Mapping[str, str]]:
        """The same for rows in memory, which go with the connection: for `conformance` and for tests."""

    @abstractmethod
    def fetched(self, sql: str, seconds: float, tick: Tick | None) -> pa.Table:
        """The result of a query."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""

    # ---- tables

    def register(
        self,
        table: Table,
        source: Any,
        *,
        counts: bool = False,
        reading: Reading = AS_DECLARED,
        keep_earlier: bool = False,
    ) -> None:
        """Look at a table where it stays, or take rows in memory; raises `DataMismatch` if they disagree with it."""
        place, types = self._described(table, source)
        if isinstance(source, TableLocation):
            self._require_unique(table, source)
        self._hold(table, place, types, dict(reading.rename))
        try:
            self._require_values(table, counts)
            if not isinstance(source, TableLocation):
                self._require_unique_rows(table)
        except BaseException:
            self.dialect.staying.pop(table.name)
            raise

    def hold(self, tables: Iterable[Table]) -> None:
        """Take over which tables count, and where they stay."""
        held = list(tables)
        for name in self.dialect.staying.keys() - {table.name for table in held}:
            del self.dialect.staying[name]
        for table in held:
            known = self.dialect.staying.get(table.name)
            if known is not None and same_source(known.table, table):
                self.dialect.staying[table.name] = replace(known, table=table)
            elif table.place is not None:
                described = self._described(table, table.place)
                self._require_unique(table, table.place)
                self._hold(table, *described, dict(table.place.rename))

    def answers(self) -> bool:
        """Whether the engine can still be asked; one that cannot is reopened before a question is charged."""
        return True

    def missing(self, tables: Iterable[Table]) -> list[str]:
        """The names of tables that this engine does not hold, or not with all that their paths lead through."""
        return [table.name for table in tables if not self._holds_path(table.name)]

    def _holds_path(self, name: str) -> bool:
        known = self.dialect.staying.get(name)
        unit = known.table.protection.unit if known and known.table.protection else None
        return self._holds_path(unit.table) if isinstance(unit, ForeignKey) else known is not None

    def discard(self) -> None:
        """Nothing is kept, so nothing is dropped."""
        return

    def counted(self, table: Table) -> Table:
        """A public table with its figures; a private one as it is."""
        if table.protection is not None:
            return table
        rows = self.dialect.scan(Scan(table, "c")).sql
        total = self._figure(table, f"SELECT count(*) AS n FROM ({rows}) r")
        repeats = [(name, self._figure(table, _most_frequent(self.dialect.quote(f"c.{name}"), rows)))
                   for name, _ in table.columns]  # fmt: skip
        return replace(table, rows=total, repeats=tuple(repeats))

    def divide(self, table: Table, column: str, values: Sequence[Code]) -> None:
        """Refused: nobody can keep watch over rows that change elsewhere."""
        raise DataMismatch(
            table.name,
            problem="its rows stay where they are, so nobody can promise that a unit never has a second value",
            instead="Import the table to partition its population.",
        )

    def divided(self) -> Mapping[str, Divided]:
        """No partitions."""
        return {}

    def _described(self, table: Table, source: Any) -> tuple[str, Mapping[str, str]]:
        problem: DataMismatch | None = None
        try:
            return self.described(source) if isinstance(source, TableLocation) else self.lent(table, source)
        except DataMismatch as error:
            problem = error
        except Exception as error:
            self._log(error)
        raise problem or DataMismatch(table.name, problem="the source could not be read", instead=_READ)

    def _hold(self, table: Table, source: str, types: Mapping[str, str], rename: Mapping[str, str]) -> None:
        names = {declared: rename.get(declared, declared) for declared in table.sources}
        missing = [name for name in names.values() if name not in types]
        if missing:
            raise DataMismatch(
                table.name, problem=f"the source has no column {', '.join(map(repr, missing))}",
                instead="Names are compared exactly, with their case; where they differ, add "
                "rename={'declared name': 'name in the source'}.",
            )  # fmt: skip
        columns = {
            declared: SourceColumn(f"s.{self.dialect.quote(name)}", types[name]) for declared, name in names.items()
        }
        self._require_types(table, columns)
        self.dialect.staying[table.name] = Staying(table, source, columns)

    # ---- what is refused

    def _require_types(self, table: Table, columns: Mapping[str, SourceColumn]) -> None:
        for name, domain in table.columns:
            if self.dialect.code(domain, columns[name]) is None:
                raise DataMismatch(
                    table.name, problem=f"column {name!r} holds {columns[name].type}, which is not read as {domain}",
                    instead="Declare what the table holds, or convert it in a view.",
                )  # fmt: skip
        unit = table.protection.unit if table.protection else None
        if isinstance(unit, ForeignKey):
            self._require_parent(table, unit)
        self._require_one_way(table)
        for name in (*table.keys, *([unit.column] if isinstance(unit, UnitColumn | ForeignKey) else [])):
            if self.dialect.id_kind(columns[name]) is None:
                raise DataMismatch(
                    table.name, problem=f"column {name!r} holds {columns[name].type}, which names nobody",
                    instead="Ids are whole numbers or texts.",
                )  # fmt: skip

    def keeps_unique(self, place: TableLocation, column: str) -> bool:
        """Whether a source makes sure by itself that no two rows have the same value in a column, as they are now and
        whatever becomes of them."""
        return False

    def unkept_keys(self, table: Table, place: TableLocation) -> list[str]:
        """The keys of a table that are declared unique, and that its source does not keep so."""
        names = dict(place.rename)
        return [key for key in unique_keys(table) if not self.keeps_unique(place, names.get(key, key))]

    def _require_unique(self, table: Table, place: TableLocation) -> None:
        for key in self.unkept_keys(table, place):
            why, instead = self.unkept
            problem = f"the key {key!r} is declared unique, and {why}"
            raise DataMismatch(table.name, problem=problem, instead=remedies(key, instead))

    def _require_unique_rows(self, table: Table) -> None:
        """Refuse rows in memory, which do not change, where several units state a key that is declared unique."""
        for key in unique_keys(table) if table.protection else ():
            result = self._owners(table, shared(self.dialect, self.dialect.stated(table.name, key)))
            keys, units = (int(column[0].as_py() or 0) for column in result.columns)
            if keys:
                refuse_shared(table.name, key, keys, units)

    def shared_keys(self, table: Table) -> list[str]:
        """What the owner should know of the keys of a table whose claims are bounded, as its rows are now."""
        found = []
        for key, most in table.claims:
            figures = self._owners(table, shared_and_cut(self.dialect, self.dialect.stated(table.name, key), most))
            found += claims.remarks(key, most, *(int(column[0].as_py() or 0) for column in figures.columns))
        return found

    def _require_one_way(self, table: Table) -> None:
        """Either each row is a unit of a population, or all its tables name units by an id."""
        for other in self.dialect.staying.values():
            mine, theirs = table.protection, other.table.protection
            if mine and theirs and mine.population == theirs.population and other.table.name != table.name:
                kinds = {type(each.unit) for each in (mine, theirs)}
                if kinds == {EachRow, UnitColumn}:
                    raise DataMismatch(
                        table.name, problem=f"other tables of {mine.population!r} name their units in another way",
                        instead="Either each row is a unit, or all tables of a population name their units by an id.",
                    )  # fmt: skip

    def _require_parent(self, table: Table, via: ForeignKey) -> None:
        parent = self.dialect.staying.get(via.table)
        if parent is None or parent.table.protection is None or via.key not in parent.columns:
            raise DataMismatch(
                table.name, problem=f"there is no private table {via.table!r} with the key {via.key!r} in this place",
                instead=f"Add {via.table} first, from the same place, and list the key there in keys=[...].",
            )  # fmt: skip
        require_known_claims(table, {name: each.table for name, each in self.dialect.staying.items()})

    def _require_values(self, table: Table, counts: bool) -> None:
        """Refuse a table that has no value where it is declared to have one. Later such rows do not count."""
        checked = {}
        unit = table.protection.unit if table.protection else None
        if isinstance(unit, UnitColumn):
            checked[f"the unit column {unit.column!r} has no value in some rows"] = ("unit", unit.column)
        for name, domain in table.columns:
            if not domain.nullable:
                listed = ", or none that is listed," if isinstance(domain, Choice) else ""
                problem = f"column {name!r} has no value{listed} in some rows, but is declared not nullable"
                checked[problem] = ("column", name)
        for problem, found in zip(checked, self._empty(table, list(checked.values())), strict=True):
            if found:
                number = f" ({found} of them)" if counts else ""
                raise DataMismatch(table.name, problem=problem + number, instead="Declare it nullable, or use a view.")

    def _empty(self, table: Table, checked: Sequence[tuple[str, str]]) -> list[int]:
        """How many rows have no value in each of these."""
        if not checked:
            return []
        terms = [
            f"{self.dialect.checked(table.name, what, name)} AS v{place}" for place, (what, name) in enumerate(checked)
        ]
        values = f"SELECT {', '.join(terms)} FROM {self.dialect.staying[table.name].source} s"
        counts = [f"count(*) - count(v{place}) AS n{place}" for place in range(len(terms))]
        result = self._owners(table, f"SELECT {', '.join(counts)} FROM ({values}) e")
        return [int(column[0].as_py() or 0) for column in result.columns]

    def _figure(self, table: Table, sql: str) -> int:
        """A count, or 1 where there is nothing to count."""
        result = self._owners(table, sql)
        return max(1, int(result.column(0)[0].as_py() or 1)) if result.num_rows else 1

    def _owners(self, table: Table, sql: str) -> pa.Table:
        """What the owner's own look at a table gives; what goes wrong is said in other words than the engine's."""
        try:
            return self.fetched(sql, self._seconds, None)
        except Exception as error:
            self._log(error)
        raise DataMismatch(table.name, problem="the source could not be read", instead=_READ)

    # ---- passes

    def compile_sql(self, step: Pass) -> str:
        """The SQL of a pass; it depends on public facts alone."""
        return compile_sql(step, self.dialect)

    def expected_seconds(self, step: Pass) -> float:
        """About how long a pass takes, by public facts: the plan and, since rows that stay elsewhere are never
        counted, the size that the owner has stated, or that of a small table."""
        return expected_seconds(step, lambda table: table.size or table.rows or LEAST_CLASS, self.rates)

    def run(
        self, step: Pass, *, sql: str | None = None, seconds: float | None = None, tick: Tick | None = None
    ) -> Exact[Cells]:
        """The result of a pass, sealed; stopped after `seconds`, or the engine's own limit."""
        interrupted = False
        try:
            table = self.fetched(sql or self.compile_sql(step), self._seconds if seconds is None else seconds, tick)
            return Exact(cells(step, table), sensitivity=Sensitivity(), neighbours=step.child.neighbours)
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            self._log(error)
        # Raised out here, so that the engine's error does not travel along.
        raise KeyboardInterrupt if interrupted else WorkStopped


def same_source(known: Table, table: Table) -> bool:
    """Whether a table that is held is read in the same way as another declaration of it."""
    return (known.place, known.columns, known.keys, known.claims) == (
        table.place, table.columns, table.keys, table.claims
    )  # fmt: skip


def _most_frequent(column: str, rows: str) -> str:
    counted = f"SELECT count(*) AS n FROM ({rows}) r WHERE {column} IS NOT NULL GROUP BY {column}"
    return f"SELECT max(n) AS n FROM ({counted}) m"
