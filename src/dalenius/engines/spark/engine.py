"""Spark as an engine: plans run as SQL inside the cluster, and only the totals of groups come here, as Arrow.

Rows in memory for a Spark session: Arrow types that Spark has no word for, in those that hold the same values.

The view through which a table is read: its codes, and its ids as they are, under names of our own.

So the names in the source, however odd, stand in no question's SQL but this one, and a table whose columns are called
like ours is read like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from itertools import count
from typing import Any

import pyarrow as pa

from dalenius.engines.durations import Rates
from dalenius.engines.spark.codes import Coded, canonical_id, code, is_text, quote
from dalenius.engines.spark.dialect import SparkDialect
from dalenius.engines.spark.running import run
from dalenius.engines.spark.sessions import end, is_ours_still, own_session
from dalenius.engines.sql.live import SourceColumn, Staying
from dalenius.engines.sql.live_engine import LiveEngine, Tick
from dalenius.errors import DataMismatch
from dalenius.query.tables import Table, TableLocation

_WIDER = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(), pa.large_string(): pa.string(), pa.string_view(): pa.string(),
    pa.date64(): pa.date32(), pa.null(): pa.string(),
}  # fmt: skip


def readable(rows: pa.Table) -> pa.Table:
    """The same rows in types that Spark reads; moments without a zone are taken in UTC, as everywhere."""
    kinds = {field.name: _readable(field.type) for field in rows.schema}
    return rows.cast(pa.schema(list(kinds.items())))


def _readable(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _readable(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC")
    return _WIDER.get(kind, kind)


def coded_view(table: Table, source: str, columns: Mapping[str, SourceColumn]) -> tuple[str, str, dict[str, Coded]]:
    """The name of the view of a table, the SELECT that makes it, and its columns by their declared names."""
    domains, terms, found = dict(table.columns), [], {}
    for place, (name, column) in enumerate(columns.items()):
        raw, coded = f"c{place}", f"c{place}"
        terms.append(f"{canonical_id(column) if is_text(column) else column.name} AS {raw}")
        if name in domains:
            coded = f"code{place}"
            terms.append(f"{code(domains[name], column)} AS {coded}")
        found[name] = Coded(f"s.{raw}", column.type, f"s.{coded}")
    view = f"dalenius_{sha256(table.name.encode()).hexdigest()[:16]}"
    return view, f"SELECT {', '.join(terms) or '1 AS one'} FROM {source} s", found


_PARQUET = ".parquet"
_KEPT_IN = ("parquet", "delta", "iceberg", "orc", "hudi", "hive")
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps the type of a column that it reads as text and that was declared CHAR(n) or VARCHAR(n)."""


class SparkEngine(LiveEngine):
    """Tables of a Spark catalog and Parquet files. `address` is "spark" (the session of this process), "local[2]" or
    another master, "sc://host:port" (Connect), or a session; nothing is changed in that session."""

    rates = Rates(start=0.8, read=1e-4, made=2e-4)

    def __init__(
        self, address: Any, *, seconds: float = 3600, log: Callable[[BaseException], object] = lambda error: None
    ) -> None:
        super().__init__(SparkDialect(), seconds=seconds, log=log)
        self.session = own_session(address)
        self._frames: set[str] = set()
        self._sources: dict[str, str] = {}
        self._numbers = count()

    def described(self, place: TableLocation) -> tuple[str, Mapping[str, str]]:
        """A path goes through Spark's reader, a name of a table as quoted parts; neither is read as SQL."""
        if "/" in place.table or place.table.endswith(_PARQUET):
            frame = self.session.read.parquet(place.table)
            return self._named(frame), _types(frame)
        parts = place.table.split(".")
        if not all(parts):
            raise DataMismatch(
                place.table, problem="this is not the name of a table", instead="Write catalog.schema.table, or a path."
            )
        name = ".".join(map(quote, parts))
        if self.session.catalog.getTable(name).tableType in ("VIEW", "TEMPORARY"):
            # Spark moves conditions of a question into a view, where they could meet rows that are not in it, and a
            # view keeps the settings of whoever made it, under which its casts may fail.
            raise DataMismatch(
                place.table, problem="it is a view", instead="Write it out as a table, or name the table beneath it."
            )
        self._require_kept_in_files(place.table, name)
        return name, _types(self.session.table(name))

    def _require_kept_in_files(self, table: str, name: str) -> None:
        """Refuse what another database computes, or what is read line by line: one row could stop every question."""
        facts = self.session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        kept = next((str(row[1]).lower() for row in reversed(facts) if row[0] == "Provider"), "nothing known")
        if kept not in _KEPT_IN:
            raise DataMismatch(
                table, problem=f"its rows are kept by {kept}", instead=f"Write it out as one of {', '.join(_KEPT_IN)}."
            )

    def lent(self, table: Table, rows: pa.Table) -> tuple[str, Mapping[str, str]]:
        frame = self.session.createDataFrame(readable(rows))
        return self._named(frame), _types(frame)

    def fetched(self, sql: str, seconds: float, tick: Tick | None) -> pa.Table:
        def query() -> Any:
            for view, source in list(self._sources.items()):
                if view in sql:  # files may have come or gone
                    self.session.catalog.refreshTable(source)
            return self.session.sql(sql)

        return run(self.session, query, seconds=seconds, tick=tick)

    def hold(self, tables: Iterable[Table]) -> None:
        super().hold(tables)
        for view in self._sources.keys() - {held.source for held in self.dialect.staying.values()}:
            self.session.catalog.dropTempView(view)
            self._drop_frame(self._sources.pop(view))

    def answers(self) -> bool:
        return is_ours_still(self.session)

    def close(self) -> None:
        end(self.session)

    def _named(self, frame: Any) -> str:
        """A data frame as a view of our session."""
        name = f"dalenius_source_{next(self._numbers)}"
        frame.createOrReplaceTempView(name)
        self._frames.add(name)
        return name

    def _drop_frame(self, source: str) -> None:
        if source in self._frames:
            self._frames.remove(source)
            self.session.catalog.dropTempView(source)

    def _hold(self, table: Table, source: str, types: Mapping[str, str], rename: Mapping[str, str]) -> None:
        """Read the table through a view that has its codes."""
        super()._hold(table, source, types, rename)
        held = self.dialect.staying[table.name]
        view, select, columns = coded_view(table, source, held.columns)
        if source in self._frames:
            self.session.sql(select).createOrReplaceTempView(view)
        else:  # as text, so that Spark looks at the table anew for each question
            self.session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS {select}")
        self._drop_frame(self._sources.get(view, ""))
        self._sources[view] = source
        self.dialect.staying[table.name] = Staying(held.table, view, columns)


def _types(frame: Any) -> dict[str, str]:
    """The types of columns by their names."""
    return {field.name: field.metadata.get(_DECLARED, field.dataType.simpleString()) for field in frame.schema.fields}
