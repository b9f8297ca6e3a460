"""Import: a source becomes a numbered snapshot of codes, sorted by unit and checked once.

The layout stands in `names`. Either the whole snapshot is written or nothing. An error names columns and types;
numbers of rows only if the owner asks for counts; values never.

How ids are told apart never depends on rows. The first table of a population decides by the type of its column: whole
numbers stay numbers, texts (and all values of a CSV file) are texts. Later tables are brought to that kind: numbers
become decimal texts; texts become numbers if every one is written plainly, else the import is refused. Keys of paths
are brought to the kind of the parent's key, and one that does not fit matches nothing.

Each key belongs to one unit. An import refuses a table in which units state the same value of a key that is declared
unique, and says how many; where the claims of units are bounded instead, `engines.claims` says whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, TypeAlias

import duckdb
import pyarrow as pa

from dalenius.engines import hashing as claims
from dalenius.engines.duckdb import blocks
from dalenius.engines.duckdb.codes import FLOATS, INTEGERS, Chain, ImportedColumn, chain, text_id, unreadable
from dalenius.engines.duckdb.dialect import (
    DUCKDB,
    OWNER,
    ROWS,
    TEXTS,
    quote,
    rows_table,
    stored,
    stored_key,
    texts_table,
)
from dalenius.engines.duckdb.sources import SOURCE, named, opened
from dalenius.engines.engine import Reading
from dalenius.engines.hashing import refuse_shared, refuse_wandering, require_known_claims, unique_keys
from dalenius.engines.sql.hashes import folded, mixed, owned_keys, shared, shared_and_cut
from dalenius.errors import DataMismatch
from dalenius.query.tables import EachRow, ForeignKey, Table, UnitColumn
from dalenius.query.types import LONGEST_KEPT, Choice, Domain, Ranged, Text

Connection: TypeAlias = duckdb.DuckDBPyConnection
Kind: TypeAlias = Literal["integer", "text", "row"]
_WRITTEN_INTEGER = "0|-?[1-9][0-9]{0,18}"
_UNREADABLE = "Clean the source, or name the words that stand for no value, as in nulls=['NA', '?']."
_COPY = "content || '#' || copy"
_WIDE = {"unit_size": DUCKDB.wide, "key_size": DUCKDB.wide}


def prepare(connection: Connection) -> None:
    """Make the schemas of an empty file."""
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {ROWS}; CREATE SCHEMA IF NOT EXISTS {TEXTS}")
    connection.execute("CREATE TABLE IF NOT EXISTS people (population VARCHAR PRIMARY KEY, kind VARCHAR)")
    connection.execute("CREATE TABLE IF NOT EXISTS keys (key VARCHAR PRIMARY KEY, kind VARCHAR)")
    blocks.prepare(connection)


def rows_of(connection: Connection, tables: Iterable[Table]) -> dict[tuple[str, int], int]:
    """How many rows each of these tables has in its version; those whose rows are not there are left out."""
    there = _stored(connection)
    known = {(table.name, table.version): table for table in tables if (table.name, table.version) in there}
    counts = {name: f"SELECT count(*) FROM {rows_table(table)}" for name, table in known.items()}
    return {name: int((connection.execute(count).fetchone() or (0,))[0]) for name, count in counts.items()}


def discard_orphan(connection: Connection, table: Table, held: Mapping[str, Table]) -> None:
    """Drop what is left of an import of this version that was never written down."""
    orphan = (table.name, table.version)
    if orphan in _stored(connection) and (table.name not in held or held[table.name].version < table.version):
        _drop(connection, *orphan)


def discard(connection: Connection, held: Mapping[str, Table]) -> None:
    """Drop tables that are not held, and versions before those held. The version that an import replaces stays until
    the next one: a question that was paid for may still need it."""
    for name, version in _stored(connection):
        if name not in held or version < held[name].version:
            _drop(connection, name, version)


def discard_tables(connection: Connection, held: Mapping[str, Table]) -> None:
    """Drop all versions of tables that are not held."""
    for name, version in _stored(connection):
        if name not in held:
            _drop(connection, name, version)


def _stored(connection: Connection) -> set[tuple[str, int]]:
    sql = f"SELECT table_name FROM duckdb_tables() WHERE schema_name = '{ROWS}' AND NOT internal"
    pairs = [name.rpartition("@") for (name,) in connection.execute(sql).fetchall()]
    return {(name, int(version)) for name, _, version in pairs}


def _drop(connection: Connection, name: str, version: int) -> None:
    sql = f"SELECT table_name FROM duckdb_tables() WHERE schema_name = '{TEXTS}' AND starts_with(table_name, ?)"
    texts = connection.execute(sql, [f"{name}@{version}@"]).fetchall()
    for schema, each in [(ROWS, f"{name}@{version}"), *((TEXTS, each) for (each,) in texts)]:
        connection.execute(f"DROP TABLE {schema}.{quote(each)}")
    connection.execute("DELETE FROM keys WHERE starts_with(key, ?)", [f"{ROWS}.{quote(f'{name}@{version}')}."])


def shared_keys(connection: Connection, table: Table) -> list[str]:
    """What the owner should know of the keys of a table whose claims are bounded."""
    found = []
    for key, most in table.claims:
        row = connection.execute(shared_and_cut(DUCKDB, _stated(table, key), most)).fetchone()
        found += claims.remarks(key, most, *(int(count or 0) for count in row or (0, 0)))
    return found


def counted(connection: Connection, table: Table) -> Table:
    """A public table with the number of its rows, and of the rows with each column's most frequent value."""
    assert table.protection is None
    source = rows_table(table)
    total = _figure(connection, f"SELECT count(*) FROM {source}")
    repeats = [(name, _figure(connection, _most_frequent(stored(name), source))) for name, _ in table.columns]
    return replace(table, rows=total, repeats=tuple(repeats))


def _most_frequent(column: str, source: str) -> str:
    return f"SELECT max(n) FROM (SELECT count(*) AS n FROM {source} WHERE {column} IS NOT NULL GROUP BY {column})"


def _figure(connection: Connection, sql: str) -> int:
    """A count, or 1 where there is nothing to count."""
    row = connection.execute(sql).fetchone()
    return max(1, row[0] or 1) if row else 1


def write(
    connection: Connection, table: Table, source: Any, tables: Mapping[str, Table], *, counts: bool, reading: Reading
) -> None:
    """Import a table in one transaction; `tables` are those imported before, for key paths."""
    with opened(connection, table.name, source, reading.nulls) as found:
        columns = named(table.name, found, table.sources, dict(reading.rename))
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
    columns: Mapping[str, ImportedColumn]
    tables: Mapping[str, Table]
    counts: bool

    def run(self) -> None:
        """Stage the rows as codes and texts, number the texts, and write the rows sorted by unit."""
        self._require_readable()
        self._stage()
        self._write_texts()
        self._write_rows()
        self._require_no_nulls()
        self._require_unique_keys()
        blocks.keep(self.connection, self.table)
        self.connection.execute("DROP TABLE staged")

    # ---- what is imported

    @property
    def _unit(self) -> UnitColumn | ForeignKey | EachRow | None:
        return self.table.protection.unit if self.table.protection else None

    def _stage(self) -> None:
        terms: list[tuple[str, str, Chain]] = [
            (stored(name), self.columns[name].column, self._chain(name, domain)) for name, domain in self.table.columns
        ]
        terms += [(stored_key(key), self.columns[key].column, self._key_chain(key)) for key in self.table.keys]
        unit = self._unit
        if isinstance(unit, UnitColumn):
            terms.append((OWNER, self.columns[unit.column].column, self._unit_chain(unit.column)))
        if isinstance(unit, ForeignKey):
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
        own = self._kind(column)
        kind = self._recorded("people", population) or own
        if kind == "row":
            self._refuse_mixed(population)
        if kind == "integer" and own == "text":
            self._require(f"NOT ({_plain(source.column)})", SOURCE, f"some ids in {column!r} are not whole numbers, "
                          f"by which other tables of {population!r} tell their units apart")  # fmt: skip
        if kind == "integer" and own == "integer":
            self._require(f"{source.column} IS NOT NULL AND {_number(source.column)} IS NULL", SOURCE,
                          f"some ids in {column!r} are 2^63 or more in size", "Write the ids as texts.")  # fmt: skip
        self._record("people", population, kind)
        return _id_chain(kind, own)

    def _key_chain(self, column: str) -> Chain:
        kind = self._kind(column)
        self._record("keys", _key_place(self.table, column), kind)
        return _id_chain(kind, kind)

    def _via_chain(self, via: ForeignKey) -> Chain:
        """The child's key in the form in which the parent's key is stored."""
        parent = self.tables.get(via.table)
        if parent is None or parent.protection is None:
            self._refuse(f"there is no private table {via.table!r}", f"Import {via.table} first.")
        kind = self._recorded("keys", _key_place(parent, via.key))
        if kind is None:
            self._refuse(f"{via.table!r} was imported without the key {via.key!r}", "List it there in keys=[...].")
        require_known_claims(self.table, self.tables)
        return _id_chain(kind, self._kind(via.column))

    def _kind(self, column: str) -> Kind:
        """How the ids of a column are told apart, by its type alone."""
        source = self.columns[column]
        if source.kind not in INTEGERS and not source.text:
            self._refuse_id(column)
        return "integer" if source.kind in INTEGERS else "text"

    def _recorded(self, where: Literal["people", "keys"], name: str) -> Kind | None:
        name_column = "population" if where == "people" else "key"
        found = self.connection.execute(f"SELECT kind FROM {where} WHERE {name_column} = ?", [name]).fetchone()
        return found[0] if found else None

    def _record(self, where: Literal["people", "keys"], name: str, kind: Kind) -> None:
        if self._recorded(where, name) is None:
            self.connection.execute(f"INSERT INTO {where} VALUES (?, ?)", [name, kind])

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
        numbered = (
            f"SELECT value, {rank}, {folded(DUCKDB, 'value', Text())} AS folded FROM ({values}) WHERE value IS NOT NULL"
        )
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
                columns.append(f"s.{column}::{DUCKDB.type_of(domain)} AS {column}")
            else:
                columns.append(f"s.{column}")
        return columns, joins

    def _owned(self) -> str:
        """The rows with their unit column, if they have one."""
        unit = self._unit
        if isinstance(unit, EachRow):
            return f"({self._each_row()})"
        if isinstance(unit, UnitColumn):
            self._require(f"{OWNER} IS NULL", "staged", f"the unit column {unit.column!r} has no value in some rows",
                          "Leave out the rows that belong to nobody.")  # fmt: skip
        if isinstance(unit, ForeignKey):
            return f"(SELECT p.{OWNER}, o.* FROM staged o JOIN ({self._pairs(unit)}) p ON o.via = p.via)"
        return "staged"

    def _each_row(self) -> str:
        """Each row's id: the hash of what it holds, and how many equal rows were counted before it."""
        assert self.table.protection is not None
        population = self.table.protection.population
        if self._recorded("people", population) not in (None, "row"):
            self._refuse_mixed(population)
        self._record("people", population, "row")
        texts = [f"substring({stored(name)}::VARCHAR, 1, {LONGEST_KEPT})" for name, _ in self.table.columns]
        parts = [f"coalesce(length({each}) || ':' || {each}, 'null')" for each in texts]
        content = " || ',' || ".join([_literal(self.table.name), *parts])
        numbered = "SELECT *, row_number() OVER (PARTITION BY content) AS copy"
        return (
            f"SELECT {DUCKDB.identity(_COPY)} AS {OWNER}, * EXCLUDE (content, copy) "
            f"FROM ({numbered} FROM (SELECT {content} AS content, * FROM staged))"
        )

    def _pairs(self, via: ForeignKey) -> str:
        """The unit that owns each key of the parent table; keys are stored as they are, never clamped."""
        parent = self.tables[via.table]
        most = parent.claims_of(via.key)
        if most is None:  # the parent's own import made sure that each has one
            return f"SELECT DISTINCT {stored_key(via.key)} AS via, {OWNER} FROM {rows_table(parent)}"
        return f"SELECT claim AS via, {OWNER} FROM ({owned_keys(DUCKDB, _stated(parent, via.key), **_WIDE, most=most)})"

    # ---- what is refused

    def _require_readable(self) -> None:
        for name, domain in self.table.columns:
            condition = unreadable(domain, self.columns[name])
            if condition:
                self._require(
                    condition, SOURCE, f"some values of column {name!r} cannot be read as {domain}", _UNREADABLE
                )

    def _require_no_nulls(self) -> None:
        for name, domain in self.table.columns:
            if not domain.nullable:
                listed = ", or none that is listed," if isinstance(domain, Choice) else ""
                problem = f"column {name!r} has no value{listed} in some rows, but is declared not nullable"
                instead = f"Declare it nullable=True{', or list all its values' if listed else ''}."
                self._require(f"{stored(name)} IS NULL", rows_table(self.table), problem, instead)

    def _require_unique_keys(self) -> None:
        """Refuse keys that are declared unique and stated by several units. Behind a path with bounded claims it may
        change which unit owns a row, so there a key must always come with one key of that path."""
        guard = self.table.protection
        if guard is None or isinstance(guard.unit, EachRow):
            return
        source, by = ("staged", "via") if guard.claims else (rows_table(self.table), OWNER)
        for key in unique_keys(self.table):
            keys, units = self._shared(f"SELECT DISTINCT {stored_key(key)} AS claim, {by} AS {OWNER} FROM {source}")
            if keys and guard.claims:
                assert isinstance(guard.unit, ForeignKey)
                refuse_wandering(self.table.name, key, guard.unit.column, keys)
            if keys:
                refuse_shared(self.table.name, key, keys, units)

    def _shared(self, pairs: str) -> tuple[int, int]:
        stated = f"SELECT * FROM ({pairs}) WHERE claim IS NOT NULL AND {OWNER} IS NOT NULL"
        row = self.connection.execute(shared(DUCKDB, stated)).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def _require(self, condition: str, source: str, problem: str, instead: str = "Clean the source first.") -> None:
        found = self._number_of(condition, source)
        if found:
            self._refuse(problem + (f" ({found} of them)" if self.counts else ""), instead)

    def _number_of(self, condition: str, source: str) -> int:
        row = self.connection.execute(f"SELECT count(*) FROM {source} WHERE {condition}").fetchone()
        return int(row[0]) if row else 0

    def _refuse_id(self, column: str) -> NoReturn:
        problem = f"column {column!r} holds {self.columns[column].type}, which names nobody"
        floats = self.columns[column].kind in FLOATS
        hint = " In pandas: table[column].astype('Int64'), or read the column as text." if floats else ""
        self._refuse(problem, f"Ids are whole numbers or texts.{hint}")

    def _refuse_mixed(self, population: str) -> NoReturn:
        self._refuse(
            f"other tables of {population!r} name their units in another way",
            "Either each row is a unit, or all tables of a population name their units by an id.",
        )

    def _refuse(self, problem: str, instead: str) -> NoReturn:
        raise DataMismatch(self.table.name, problem=problem, instead=instead)


def _id_chain(kind: Kind, own: Kind) -> Chain:
    """Ids of a column of kind `own` as `kind`: whole numbers below 2^63 in size stay numbers, and what is no such
    number becomes NULL; texts become the number that stands for them."""
    if kind == "integer" and own == "integer":
        return [_number]
    if kind == "integer":
        return [lambda column: f"CASE WHEN {_plain(column)} THEN {_number(column)} END"]
    return [text_id, lambda column: f"CASE WHEN {column} IS NOT NULL THEN {DUCKDB.identity(column)} END"]


def _number(column: str) -> str:
    return f"TRY_CAST({column} AS BIGINT)"


def _plain(column: str) -> str:
    """Whether a text is a whole number as everybody writes it: no sign of plus, no zeros before it, no spaces."""
    written = f"regexp_full_match({column}::VARCHAR, '{_WRITTEN_INTEGER}')"
    return f"({written} AND {_number(column)} IS NOT NULL)"


def _stated(table: Table, key: str) -> str:
    """The different pairs of a unit and a key that it states."""
    pairs = f"SELECT DISTINCT {stored_key(key)}::{DUCKDB.wide} AS claim, {OWNER} FROM {rows_table(table)}"
    return f"SELECT * FROM ({pairs}) WHERE claim IS NOT NULL AND {OWNER} IS NOT NULL"


def _key_place(table: Table, key: str) -> str:
    return f"{rows_table(table)}.{stored_key(key)}"


def _chained(terms: Sequence[tuple[str, str, Chain]], source: str) -> str:
    """Nested SELECTs that lead each column through its chain."""
    sql = f"SELECT {', '.join(f'{column} AS {name}' for name, column, _ in terms) or '1'} FROM {source}"
    for depth in range(max((len(way) for _, _, way in terms), default=0)):
        columns = [f"{way[depth](name)} AS {name}" if depth < len(way) else name for name, _, way in terms]
        sql = f"SELECT {', '.join(columns)} FROM ({sql})"
    return sql


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
