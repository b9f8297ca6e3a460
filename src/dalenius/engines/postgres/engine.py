"""The engine over tables of a PostgreSQL database: everything up to the exact totals is computed there."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from itertools import count

import pyarrow as pa

from dalenius.engines.postgres import tables
from dalenius.engines.postgres.connection import FORBIDDEN, Server, watched
from dalenius.engines.postgres.dialect import PostgresDialect
from dalenius.engines.postgres.results import copied
from dalenius.engines.postgres.tables import LENT
from dalenius.engines.sql.live_engine import LiveEngine, Tick
from dalenius.errors import DataMismatch, InvalidParameter
from dalenius.query.tables import Place, Table


class PostgresEngine(LiveEngine):
    """Tables, views and foreign tables of the database at `address`, as postgresql://reader@host:5432/clinic.

    The role needs SELECT on the tables and nothing else. A password never stands in the address. `log` gets what
    failed, for the owner alone.
    """

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
        # At the latest with the process; an engine that nobody closed is no reason for a warning.
        self._close = weakref.finalize(self, self._server.close)

    @property
    def remarks(self) -> list[str]:
        """What the owner should know of the role that reads the tables; nothing if it may do no more than read."""
        return list(dict.fromkeys(remark for remarks in self._remarks.values() for remark in remarks))

    def described(self, place: Place) -> tuple[str, Mapping[str, str]]:
        """The table of a place: schema.table, or table in the schema public."""
        problem = ""
        try:
            with self._server.reading(self._seconds) as connection:
                found = tables.found(connection, place.table)
            self._remarks[place.table] = found.remarks
            return found.source, self._kept(found.types)
        except InvalidParameter as error:
            problem = f"the server's {error.name} is {error.given}, but it must be {error.allowed}"
        raise DataMismatch(place.table, problem=problem, instead="Use another server, or import the table.")

    def _kept(self, types: Mapping[str, str]) -> Mapping[str, str]:
        """Without columns whose names could be taken for others'."""
        return {name: kind for name, kind in types.items() if self.dialect.quote(name) == tables.quoted(name)}

    def lent(self, table: Table, rows: pa.Table) -> tuple[str, Mapping[str, str]]:
        """Rows in memory as a temporary table, or within each question where the role may make none."""
        given = tables.Rows(table.name, rows, self.dialect.quote)
        try:
            with self._server.lending() as connection:
                return tables.lent(connection, f"lent {next(self._numbers)}", given), given.types
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
        with self._server.reading(seconds, lent=self._lends) as connection:
            return watched(connection, lambda: copied(connection, sql), seconds=seconds, tick=tick)

    def close(self) -> None:
        """Let go of connections."""
        self._close()
