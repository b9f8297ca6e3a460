"""The engine over tables of a PostgreSQL database: everything up to the exact totals is computed there.

Results of PostgreSQL as Arrow: copied out as text and read by Arrow, with exact integers.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import TypeVar

import pyarrow as pa
from pyarrow import csv

from dalenius.engines.durations import Rates
from dalenius.engines.postgres import tables
from dalenius.engines.postgres.connection import FORBIDDEN, LENDING, Connection, Server, ServerCall, watched
from dalenius.engines.postgres.dialect import PostgresDialect
from dalenius.engines.postgres.tables import LENT, Found
from dalenius.engines.sql.live import Staying
from dalenius.engines.sql.live_engine import LiveEngine, Tick
from dalenius.errors import DataMismatch, InvalidParameter
from dalenius.query.tables import EachRow, Table, TableLocation

_TYPES = {
    16: pa.bool_(),
    20: pa.int64(),
    21: pa.int64(),
    23: pa.int64(),
    25: pa.string(),
    1700: pa.decimal128(38, 0),
}
"""By the numbers that PostgreSQL gives its types for ever; decimals are whole here."""
_BLOCK = 2**22


def copied(connection: Connection, sql: str) -> pa.Table:
    """The result of a query. What is held here is the result alone, however many rows the query reads."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM ({sql}) q LIMIT 0".encode())
        assert cursor.description is not None
        schema = {column.name: _TYPES[column.type_code] for column in cursor.description}
        # A line of names comes first: Arrow would take U+FEFF at the beginning of a file for no part of its text.
        with cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT csv, HEADER)".encode()) as copy:
            lines = [bytes(line) for line in copy]
    longest = max(map(len, lines), default=0)
    content, found = b"".join(lines), len(lines) > 1
    del lines
    return _read(content, schema, longest) if found else pa.schema(schema.items()).empty_table()


def _read(content: bytes, schema: dict[str, pa.DataType], longest: int) -> pa.Table:
    """NULL is nothing at all, an empty text two quotes."""
    return csv.read_csv(
        pa.py_buffer(content),
        read_options=csv.ReadOptions(column_names=list(schema), skip_rows=1, block_size=max(_BLOCK, 2 * longest)),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


Result = TypeVar("Result")

LOOKING = 10.0
"""How many seconds a server has to say what a table holds."""


class PostgresEngine(LiveEngine):
    """Tables, views and foreign tables of the database at `address`, as postgresql://reader@host:5432/clinic.

    The role needs SELECT on the tables and nothing else. A password is never part of the address. `log` gets what
    failed, for the owner alone.
    """

    rates = Rates(start=0.02, read=5e-5, made=2e-4)
    unkept = (
        "no constraint or index of the database keeps its column unique by itself",
        "Add a primary key, a UNIQUE constraint or a unique index on it; or say",
    )

    def __init__(
        self,
        address: str,
        *,
        password: str | None = None,
        seconds: float = 3600,
        log: Callable[[BaseException], object] = lambda error: None,
    ) -> None:
        super().__init__(PostgresDialect(), seconds=seconds, log=log)
        self._server, self._numbers = Server(address, password), count(1)
        self._remarks: dict[str, tuple[str, ...]] = {}
        self._found: dict[str, Found] = {}
        self._unique: dict[str, frozenset[str]] = {}
        # At the latest with the process; an engine that nobody closed is no reason for a warning.
        self._close = weakref.finalize(self, self._server.close)

    @property
    def remarks(self) -> list[str]:
        """What the owner should know of the role that reads the tables; nothing if it may do no more than read."""
        return list(dict.fromkeys(remark for remarks in self._remarks.values() for remark in remarks))

    def described(self, place: TableLocation) -> tuple[str, Mapping[str, str]]:
        """The table of a place: schema.table, or table in the schema public."""
        problem = ""
        try:
            found = self._looked_at(place.table)
            self._found[found.source], self._remarks[place.table] = found, found.remarks
            self._unique[place.table] = found.unique
            self._renew(place.table, found)
            return found.source, self._kept(found.types)
        except InvalidParameter as error:
            problem = f"the server's {error.name} is {error.given}, but it must be {error.allowed}"
        raise DataMismatch(place.table, problem=problem, instead="Use another server, or import the table.")

    def keeps_unique(self, place: TableLocation, column: str) -> bool:
        """Whether a constraint or an index keeps a column unique, by the last look at its table."""
        return column in self._unique.get(place.table, frozenset())

    def _looked_at(self, name: str) -> Found:
        seconds = min(LOOKING, self._seconds)

        def look(call: ServerCall) -> Found:
            with self._server.reading(seconds, call=call) as connection:
                return tables.found(connection, name)

        return self._watched(look, seconds)

    def _renew(self, name: str, found: Found) -> None:
        """A table that became another kind, such as a view, is read as what it is now."""
        staying = self.dialect.staying
        for each in list(staying.values()):
            if each.table.place is not None and each.table.place.table == name and staying.get(each.table.name) is each:
                staying[each.table.name] = _narrowed(each, found)

    def _hold(self, table: Table, source: str, types: Mapping[str, str], rename: Mapping[str, str]) -> None:
        found = self._found.get(source)
        if found is not None:
            _require_rights(table, found, rename)
        super()._hold(table, source, types, rename)
        if found is not None:
            self.dialect.staying[table.name] = _narrowed(self.dialect.staying[table.name], found)

    def _kept(self, types: Mapping[str, str]) -> Mapping[str, str]:
        """Without columns whose names could be taken for others'."""
        return {name: kind for name, kind in types.items() if self.dialect.quote(name) == tables.quoted(name)}

    def lent(self, table: Table, rows: pa.Table) -> tuple[str, Mapping[str, str]]:
        """Rows in memory as a temporary table, or within each question where the role may make none."""
        given = tables.LiteralRows(table.name, rows, self.dialect.quote)

        def lend(call: ServerCall) -> str:
            with self._server.lending(call) as connection:
                return tables.lent(connection, f"lent {next(self._numbers)}", given)

        try:
            return self._watched(lend, LENDING), given.types
        except FORBIDDEN:
            self._server.end_lending()
        return tables.inlined(given, self.dialect.text_literal), given.types

    def hold(self, tables: Iterable[Table]) -> None:
        """Take over which tables count, and where they stay; rows in memory are dropped when none of them does."""
        super().hold(tables)
        if not self._lends:
            self._server.end_lending()

    @property
    def _lends(self) -> bool:
        return any(each.source.startswith(LENT) for each in list(self.dialect.staying.values()))

    def fetched(self, sql: str, seconds: float, tick: Tick | None) -> pa.Table:
        """The result of a query, in a read-only transaction that is cancelled on the server when its time is over."""
        lent = self._lends

        def ask(call: ServerCall) -> pa.Table:
            with self._server.reading(seconds, lent=lent, call=call) as connection:
                return copied(connection, sql)

        return self._watched(ask, seconds, tick)

    def _watched(self, use: Callable[[ServerCall], Result], seconds: float, tick: Tick | None = None) -> Result:
        """What is got from the server in time; after a silence no connection is trusted that was kept."""
        try:
            return watched(use, seconds=seconds, tick=tick)
        except TimeoutError:
            self._server.drop_idle()
            raise

    def close(self) -> None:
        """Let go of connections."""
        self._close()


def _narrowed(staying: Staying, found: Found) -> Staying:
    """The columns that are declared and no others, wherever all columns of the source are read: the role may have no
    right to others, and whether they can be computed is no concern of a question."""
    unit = staying.table.protection.unit if staying.table.protection else None
    columns = [column.name.removeprefix("s.") for column in staying.columns.values()]
    listed = found.fenced or isinstance(unit, EachRow)
    return replace(staying, source=found.listing(columns) if listed else found.name)


def _require_rights(table: Table, found: Found, rename: Mapping[str, str]) -> None:
    unread = [name for name in (rename.get(each, each) for each in table.sources) if name in found.unread]
    if unread:
        raise DataMismatch(
            table.name, problem=f"the role may not read column {', '.join(map(repr, unread))}",
            instead="GRANT SELECT on these columns to the role.",
        )  # fmt: skip
