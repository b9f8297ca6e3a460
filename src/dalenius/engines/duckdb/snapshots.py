"""Import: a source becomes a numbered snapshot of codes, sorted by unit and checked once.

The layout stands in `names`. Either the whole snapshot is written or nothing. An error names columns and types;
numbers of rows only if the owner asks for counts; values never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

import duckdb
import pyarrow as pa

from dalenius.engines.duckdb.codes import INTEGERS, Chain, Source, chain, text, unreadable
from dalenius.engines.duckdb.hashes import folded, identity, mixed
from dalenius.engines.duckdb.names import OWNER, ROWS, TEXTS, rows_table, stored, stored_key, texts_table, width
from dalenius.engines.duckdb.sources import SOURCE, opened
from dalenius.errors import DataMismatch
from dalenius.query.tables import EachRow, Table, UnitColumn, Via
from dalenius.query.types import Choice, Domain, Ranged, Text

Connection: TypeAlias = duckdb.DuckDBPyConnection
Kind: TypeAlias = Literal["integer", "text", "row"]
_WRITTEN_INTEGER = "^(0|-?[1-9][0-9]{0,17})$"
_COPY = "content || '#' || copy"


def prepare(connection: Connection) -> None:
    """Make the schemas of an empty file."""
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {ROWS}; CREATE SCHEMA IF NOT EXISTS {TEXTS}")
    connection.execute("CREATE TABLE IF NOT EXISTS people (population VARCHAR PRIMARY KEY, kind VARCHAR)")


def write(connection: Connection, table: Table, source: Any, tables: Mapping[str, Table], *, counts: bool) -> None:
    """Import a table in one transaction; `tables` are those imported before, for key paths."""
    with opened(connection, table.name, source) as columns:
        connection.execute("BEGIN TRANSACTION")
        try:
            Import(connection, table, columns, tables, counts).run()
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


@dataclass(frozen=True)
class Import:
    """One import: the open file, the declaration, and what the source has."""

    connection: Connection
    table: Table
    columns: Mapping[str, Source]
    tables: Mapping[str, Table]
    counts: bool

    def run(self) -> None:
        """Stage the rows as codes and texts, number the texts, and write the rows sorted by unit."""
        self._require_names()
        self._require_readable()
        self._stage()
        self._write_texts()
        self._write_rows()
        self._require_no_nulls()
        self.connection.execute("DROP TABLE staged")

    # ---- what is imported

    @property
    def _unit(self) -> UnitColumn | Via | EachRow | None:
        return self.table.protection.unit if self.table.protection else None

    def _stage(self) -> None:
        terms: list[tuple[str, str, Chain]] = [
            (stored(name), self.columns[name].column, self._chain(name, domain)) for name, domain in self.table.columns
        ]
        terms += [(stored_key(key), self.columns[key].column, self._key_chain(key)) for key in self.table.keys]
        unit = self._unit
        if isinstance(unit, UnitColumn):
            terms.append((OWNER, self.columns[unit.column].column, self._unit_chain(unit.column)))
        if isinstance(unit, Via):
            terms.append(("via", self.columns[unit.column].column, self._via_chain(unit)))
        self.connection.execute(f"CREATE TEMP TABLE staged AS {_chained(terms, SOURCE)}")

    def _chain(self, name: str, domain: Domain) -> Chain:
        found = chain(domain, self.columns[name])
        if found is None:
            self._refuse(
                f"column {name!r} holds {self.columns[name].type}, which is not read as {domain}",
                "Declare what the file holds, or convert the file.",
            )
        return found

    def _unit_chain(self, column: str) -> Chain:
        assert self.table.protection is not None
        source, population = self.columns[column], self.table.protection.population
        kind = self._kind(population, source) or self._refuse_id(column)
        self._record(population, kind)
        return _id_chain(kind)

    def _key_chain(self, column: str) -> Chain:
        kind = self._kind(None, self.columns[column]) or self._refuse_id(column)
        return _id_chain(kind)

    def _via_chain(self, via: Via) -> Chain:
        """The child's key in the form in which the parent's key is stored."""
        parent = self.tables.get(via.table)
        if parent is None or parent.protection is None:
            self._refuse(f"there is no private table {via.table!r}", f"Import {via.table} first.")
        if via.key in parent.keys:
            return self._key_chain(via.column)
        domain = dict(parent.columns).get(via.key)
        if domain is None:
            self._refuse(f"{via.table!r} was imported without the key {via.key!r}", "Declare it there as a key.")
        return self._chain(via.column, domain)

    def _kind(self, population: str | None, source: Source) -> Kind | None:
        """How ids are told apart. Numbers in a file of texts are numbers if all of them are, or if the population's
        are."""
        if source.kind in INTEGERS:
            return "integer"
        if not source.text:
            return None
        if not source.written or self._recorded(population) == "text":
            return "text"
        other = f"{source.column} IS NOT NULL AND NOT regexp_matches({source.column}, '{_WRITTEN_INTEGER}')"
        return "text" if self._number_of(other, SOURCE) else "integer"

    def _recorded(self, population: str | None) -> str | None:
        found = self.connection.execute("SELECT kind FROM people WHERE population = ?", [population]).fetchone()
        return found[0] if found else None

    def _record(self, population: str, kind: Kind) -> None:
        before = self._recorded(population)
        if before is None:
            self.connection.execute("INSERT INTO people VALUES (?, ?)", [population, kind])
        elif before != kind:
            self._refuse(
                f"its units are told apart by {kind} ids, those of other tables of {population!r} by {before} ids",
                "Convert the column: all tables of a population name their units alike.",
            )

    # ---- what is written

    def _write_texts(self) -> None:
        for index, (name, domain) in enumerate(self.table.columns):
            if isinstance(domain, Choice):
                values = sorted(domain.values, key=str.encode)
                self.connection.register("listed", pa.table({"value": pa.array(values, pa.string())}))
                self._number_texts(index, "SELECT value FROM listed")
                self.connection.unregister("listed")
            elif isinstance(domain, Text):
                self._number_texts(index, f"SELECT DISTINCT {stored(name)} AS value FROM staged")

    def _number_texts(self, index: int, values: str) -> None:
        rank = "row_number() OVER (ORDER BY value) - 1 AS rank"
        numbered = f"SELECT value, {rank}, {folded('value', Text())} AS folded FROM ({values}) WHERE value IS NOT NULL"
        self.connection.execute(
            f"CREATE TABLE {texts_table(self.table, index)} AS "
            f"SELECT ({mixed('folded')}) * 4294967296 + rank AS code, value FROM ({numbered}) ORDER BY rank"
        )

    def _write_rows(self) -> None:
        columns, joins = self._stored_columns()
        source = self._owned()
        unit, order = ([f"s.{OWNER}"], f" ORDER BY s.{OWNER}") if self._unit else ([], "")
        selected = ", ".join([*unit, *columns, *(f"s.{stored_key(key)}" for key in self.table.keys)]) or "1"
        self.connection.execute(
            f"CREATE TABLE {rows_table(self.table)} AS SELECT {selected} FROM {source} s {' '.join(joins)}{order}"
        )

    def _stored_columns(self) -> tuple[list[str], list[str]]:
        columns, joins = [], []
        for index, (name, domain) in enumerate(self.table.columns):
            column = stored(name)
            if isinstance(domain, Text):
                columns.append(f"t{index}.code AS {column}")
                joins.append(f"LEFT JOIN {texts_table(self.table, index)} t{index} ON s.{column} = t{index}.value")
            elif isinstance(domain, Ranged):
                columns.append(f"s.{column}::{width(domain)} AS {column}")
            else:
                columns.append(f"s.{column}")
        return columns, joins

    def _owned(self) -> str:
        """The rows with their unit column, if they have one."""
        unit = self._unit
        if isinstance(unit, EachRow):
            return f"({self._each_row()})"
        if isinstance(unit, UnitColumn):
            self._require(f"{OWNER} IS NULL", "staged", f"the unit column {unit.column!r} has no value in some rows")
        if isinstance(unit, Via):
            return f"(SELECT p.{OWNER}, o.* FROM staged o JOIN ({self._pairs(unit)}) p ON o.via = p.via)"
        return "staged"

    def _each_row(self) -> str:
        """Each row's id: the hash of what it holds, and how many equal rows were counted before it."""
        assert self.table.protection is not None
        self._record(self.table.protection.population, "row")
        parts = [
            f"coalesce(length({stored(name)}::VARCHAR) || ':' || {stored(name)}::VARCHAR, 'null')"
            for name, _ in self.table.columns
        ]
        content = " || ',' || ".join([_literal(self.table.name), *parts])
        numbered = "SELECT *, row_number() OVER (PARTITION BY content) AS copy"
        return (
            f"SELECT {identity(_COPY)} AS {OWNER}, * EXCLUDE (content, copy) "
            f"FROM ({numbered} FROM (SELECT {content} AS content, * FROM staged))"
        )

    def _pairs(self, via: Via) -> str:
        """The units that own each key of the parent table."""
        parent = self.tables[via.table]
        if via.key in parent.keys:
            return f"SELECT DISTINCT {stored_key(via.key)} AS via, {OWNER} FROM {rows_table(parent)}"
        index = [name for name, _ in parent.columns].index(via.key)
        if not isinstance(parent.columns[index][1], Text):
            return f"SELECT DISTINCT {stored(via.key)} AS via, {OWNER} FROM {rows_table(parent)}"
        return (
            f"SELECT DISTINCT t.value AS via, {OWNER} FROM {rows_table(parent)} "
            f"JOIN {texts_table(parent, index)} t ON {stored(via.key)} = t.code"
        )

    # ---- what is refused

    def _require_names(self) -> None:
        unit = self._unit
        wanted = [name for name, _ in self.table.columns] + list(self.table.keys)
        wanted += [unit.column] if isinstance(unit, UnitColumn | Via) else []
        missing = [name for name in dict.fromkeys(wanted) if name not in self.columns]
        if missing:
            named = ", ".join(map(repr, missing))
            self._refuse(f"the source has no column {named}", "Names are compared exactly, with their case.")

    def _require_readable(self) -> None:
        for name, domain in self.table.columns:
            condition = unreadable(domain, self.columns[name])
            if condition:
                self._require(condition, SOURCE, f"some values of column {name!r} cannot be read as {domain}")

    def _require_no_nulls(self) -> None:
        for name, domain in self.table.columns:
            if not domain.nullable:
                problem = (
                    f"column {name!r} has no value, or none that is listed, in some rows, but is declared not nullable"
                )
                self._require(f"{stored(name)} IS NULL", rows_table(self.table), problem)

    def _require(self, condition: str, source: str, problem: str) -> None:
        found = self._number_of(condition, source)
        if found:
            self._refuse(problem + (f" ({found} of them)" if self.counts else ""), "Clean the source first.")

    def _number_of(self, condition: str, source: str) -> int:
        row = self.connection.execute(f"SELECT count(*) FROM {source} WHERE {condition}").fetchone()
        return int(row[0]) if row else 0

    def _refuse_id(self, column: str) -> NoReturn:
        problem = f"column {column!r} holds {self.columns[column].type}, which names nobody"
        self._refuse(problem, "Ids are whole numbers or texts.")

    def _refuse(self, problem: str, instead: str) -> NoReturn:
        raise DataMismatch(self.table.name, problem=problem, instead=instead)


def _id_chain(kind: Kind) -> Chain:
    """Whole numbers stay numbers below 2^63 in size; texts become the number that stands for them."""
    if kind == "integer":
        return [lambda column: f"TRY_CAST({column} AS BIGINT)"]
    return [text, lambda column: f"CASE WHEN {column} IS NOT NULL THEN {identity(column)} END"]


def _chained(terms: Sequence[tuple[str, str, Chain]], source: str) -> str:
    """Nested SELECTs that lead each column through its chain."""
    sql = f"SELECT {', '.join(f'{column} AS {name}' for name, column, _ in terms) or '1'} FROM {source}"
    for depth in range(max((len(way) for _, _, way in terms), default=0)):
        columns = [f"{way[depth](name)} AS {name}" if depth < len(way) else name for name, _, way in terms]
        sql = f"SELECT {', '.join(columns)} FROM ({sql})"
    return sql


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
