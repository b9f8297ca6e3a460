"""Tables of a PostgreSQL database: what they hold, and rows in memory as temporary ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dalenius.engines.postgres.codes import ENUM, MOMENT, ZONED
from dalenius.engines.postgres.connection import Connection
from dalenius.errors import DataMismatch

_FOUND = """
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind IN ('v', 'f'),
       has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'),
       has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
  AND (n.nspname::text || '.' || c.relname::text = %(name)s OR n.nspname = 'public' AND c.relname::text = %(name)s)
"""
_FAMILY = """
WITH RECURSIVE family AS (
  SELECT %(table)s::bigint::oid AS oid
  UNION SELECT i.inhrelid FROM family f JOIN pg_inherits i ON i.inhparent = f.oid
)
SELECT c.relkind::text, EXISTS (
  SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated = 'v' AND NOT a.attisdropped
)
FROM family f JOIN pg_class c ON c.oid = f.oid
"""
"""A table with all its partitions and heirs: what each of them is, and whether it has virtual columns."""
_UNREAD = """
SELECT attname::text FROM pg_attribute WHERE attrelid = %(table)s::bigint::oid AND attnum > 0 AND NOT attisdropped
  AND NOT has_column_privilege(attrelid, attnum, 'SELECT')
"""
_UNIQUE = """
SELECT a.attname::text
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = %(table)s::bigint::oid AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1
  AND i.indpred IS NULL AND i.indexprs IS NULL
  AND (c.relkind IN ('p', 'm') OR NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid))
"""
"""Columns that an index keeps unique by themselves and in all rows. An index does not reach the heirs of a table, whose
rows are read with its own; that of a partitioned table reaches all partitions."""
_COLUMNS = """
WITH RECURSIVE types AS (
  SELECT a.attnum, a.attname::text AS name, a.attcollation AS collation, t.oid, t.typtype, t.typbasetype
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = %(table)s::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped
    AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
  UNION ALL
  SELECT d.attnum, d.name, d.collation, t.oid, t.typtype, t.typbasetype
  FROM types d JOIN pg_type t ON t.oid = d.typbasetype WHERE d.typtype = 'd'
)
SELECT t.name, format_type(t.oid, NULL), t.typtype = 'e', coalesce(o.collisdeterministic, true)
FROM types t LEFT JOIN pg_collation o ON o.oid = t.collation WHERE t.typtype <> 'd' ORDER BY t.attnum
"""
_ROLE = "SELECT rolname::text, rolsuper FROM pg_roles WHERE rolname = current_user"
_TYPES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_uint64, "numeric"),
    (pa.types.is_int8, "smallint"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_int32, "integer"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_float64, "double precision"),
    (pa.types.is_decimal, "numeric"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_date32, "date"),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None, MOMENT),
    (pa.types.is_timestamp, ZONED),
)


@dataclass(frozen=True)
class Found:
    """A table of the database: its quoted name, the types of the columns that the role may read, the names of those
    that it may not, what the owner should know of the role, and the columns that have no value twice.

    `fenced` says that a condition of a question must not be moved into it.
    """

    name: str
    types: Mapping[str, str]
    unread: frozenset[str]
    fenced: bool
    remarks: tuple[str, ...]
    unique: frozenset[str] = frozenset()

    @property
    def source(self) -> str:
        """What stands for the table in a FROM."""
        return self.listing(map(quoted, self.types)) if self.fenced or self.unread else self.name

    def listing(self, columns: Iterable[str]) -> str:
        """The same with these quoted columns alone."""
        fence = " OFFSET 0" if self.fenced else ""
        return f"(SELECT {', '.join(dict.fromkeys(columns))} FROM {self.name}{fence})"


def found(connection: Connection, name: str) -> Found:
    """The table, view or foreign table of this name: schema.table, or table in the schema public."""
    rows = connection.execute(_FOUND, {"name": name}).fetchall() if "\0" not in name else []
    if len(rows) != 1:
        problem = "there are two tables of this name" if rows else "the database has no table of this name"
        raise DataMismatch(name, problem=problem, instead="Name it as schema.table, exactly as it is written there.")
    number, schema, table, computed, readable, writable = rows[0]
    if not readable:
        raise DataMismatch(name, problem="the role may not read it", instead=f"GRANT SELECT ON {name} to the role.")
    columns, unread, family, unique = (
        connection.execute(sql, {"table": number}).fetchall() for sql in (_COLUMNS, _UNREAD, _FAMILY, _UNIQUE)
    )
    return Found(
        f"{quoted(schema)}.{quoted(table)}",
        {column: _kind(*facts) for column, *facts in columns},
        frozenset(column for (column,) in unread),
        computed or has_computed_rows(family),
        tuple(_remarks(connection, name, writable)),
        frozenset(column for (column,) in unique),
    )


def has_computed_rows(family: Iterable[tuple[Any, ...]]) -> bool:
    """Whether a table, some partition or some heir is read elsewhere or has a column that is computed when it is read:
    there a condition could meet rows that are not in it, or a value that cannot be computed."""
    return any(kind == "f" or has_virtual for kind, has_virtual in family)


def _kind(kind: str, enum: bool, deterministic: bool) -> str:
    if not deterministic:
        return f"{kind} with a collation that takes different texts for equal"
    return ENUM if enum else kind


def _remarks(connection: Connection, table: str, writable: bool) -> list[str]:
    (role, superuser), *_ = connection.execute(_ROLE).fetchall()
    if superuser:
        return [f"the role {role!r} is a superuser; a role that may only SELECT is enough"]
    return [f"the role {role!r} may change {table}; SELECT is enough"] if writable else []


def quoted(name: str) -> str:
    """A name that PostgreSQL keeps as it is."""
    return '"' + name.replace('"', '""') + '"'


# ---- rows in memory

LENT = "pg_temp."
"""What temporary tables begin with in a FROM."""


def lent(connection: Connection, name: str, rows: LiteralRows) -> str:
    """A temporary table with these rows."""
    source = f"{LENT}{quoted(name)}"
    columns = ", ".join(f"{rows.names[column]} {kind}" for column, kind in rows.types.items())
    connection.execute(f"CREATE TEMP TABLE {quoted(name)} ({columns})".encode())
    with connection.cursor() as cursor, cursor.copy(f"COPY {source} FROM STDIN".encode()) as copy:
        for row in rows.values():
            copy.write_row(row)
    connection.execute(f"ANALYZE {source}".encode())
    return source


def inlined(rows: LiteralRows, literal: Callable[[str], str]) -> str:
    """The rows as a text within each question, for a role that may make no temporary tables and for a standby."""
    texts = [[None if value is None else _written(value) for value in row] for row in rows.values()]
    content = [{f"c{place}": text for place, text in enumerate(row)} for row in texts]
    places = list(enumerate(rows.types.items()))
    columns = ", ".join(f"c{place} {kind}" for place, (_, kind) in places)
    named = ", ".join(f"v.c{place} AS {rows.names[column]}" for place, (column, _) in places)
    return f"(SELECT {named} FROM json_to_recordset(CAST({literal(json.dumps(content))} AS JSON)) AS v({columns}))"


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class LiteralRows:
    """Rows in memory: what they hold in PostgreSQL's types, under quoted names."""

    def __init__(self, table: str, rows: pa.Table, quote: Callable[[str], str]) -> None:
        self._columns = {column: _plain(rows.column(column)) for column in rows.column_names}
        self.names = {column: quote(column) for column in self._columns}
        self.types = {name: _type_of(table, name, column.type) for name, column in self._columns.items()}

    def values(self) -> Iterator[tuple[Any, ...]]:
        return zip(*(column.to_pylist() for column in self._columns.values()), strict=True)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without dictionaries; a text with NUL, which PostgreSQL does not hold, is NULL here as everywhere."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.if_else(pc.match_substring(column, "\0"), pa.scalar(None, column.type), column)
    return column.cast(pa.timestamp("us", column.type.tz)) if pa.types.is_timestamp(column.type) else column


def _type_of(table: str, column: str, kind: pa.DataType) -> str:
    for fits, name in _TYPES:
        if fits(kind):
            return name
    raise DataMismatch(table, problem=f"column {column!r} holds {kind}", instead="Convert it first.")
