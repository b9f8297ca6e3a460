"""Where an owner's rows come from: a file, a table in memory, or a table of another DuckDB file.

Nothing is guessed from the content: the values of a CSV file are texts, and are read as their column is declared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dalenius.engines.duckdb.codes import Source
from dalenius.engines.duckdb.expressions import quote
from dalenius.errors import DataMismatch

SOURCE = "source"
_CSV = """all_varchar = true, header = true, delim = ',', quote = '"', escape = '"'"""
_FILES = (
    "a Parquet file (.parquet), a CSV file (.csv, .csv.gz), (file.duckdb, table), or an Arrow, pandas or Polars table"
)


@contextmanager
def opened(connection: duckdb.DuckDBPyConnection, table: str, source: Any) -> Iterator[dict[str, Source]]:
    """The columns of a source by name, which can be read from the view `source` until the end of the block."""
    attached = isinstance(source, tuple)
    if attached:
        _attach(connection, table, source)
    elif isinstance(source, str | os.PathLike):
        _view_of_file(connection, table, Path(source))
    else:
        connection.register(SOURCE, _arrow(table, source))
    try:
        yield _columns(connection, written=_is_csv(source))
    finally:
        connection.execute(f"DROP VIEW IF EXISTS {SOURCE}")
        if attached:
            connection.execute("DETACH owner_file")


def _columns(connection: duckdb.DuckDBPyConnection, *, written: bool) -> dict[str, Source]:
    found = connection.execute(f"DESCRIBE SELECT * FROM {SOURCE}").fetchall()
    return {name: Source(quote(name), kind, written) for name, kind, *_ in found}


def _view_of_file(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    if not path.is_file():
        raise DataMismatch(table, problem="there is no such file", instead="Check the path of the file.")
    if set("*?[") & set(str(path)):
        raise DataMismatch(table, problem="the path has one of the signs * ? [", instead="Rename the file.")
    if _is_csv(path):
        reader = f"read_csv({_text(path)}, {_CSV})"
    elif path.suffix.lower() == ".parquet":
        reader = f"read_parquet({_text(path)})"
    else:
        raise DataMismatch(table, problem="this kind of file is not known", instead=f"Pass {_FILES}.")
    connection.execute(f"CREATE TEMP VIEW {SOURCE} AS SELECT * FROM {reader}")


def _attach(connection: duckdb.DuckDBPyConnection, table: str, source: tuple[Any, ...]) -> None:
    if len(source) != 2 or not Path(source[0]).is_file():
        raise DataMismatch(table, problem="there is no such DuckDB file", instead="Pass (path, table).")
    connection.execute(f"ATTACH {_text(Path(source[0]))} AS owner_file (READ_ONLY)")
    connection.execute(f"CREATE TEMP VIEW {SOURCE} AS SELECT * FROM owner_file.{quote(str(source[1]))}")


def _arrow(table: str, source: Any) -> pa.Table:
    """A checked Arrow table: columns have one type each, and texts are valid."""
    try:
        found = _as_arrow(source)
        found.validate(full=True)
    except (pa.ArrowException, UnicodeError, TypeError, ValueError, AttributeError):
        found = None
    if found is None:
        raise DataMismatch(
            table, problem="it cannot be read: not a table, columns of mixed types, or texts that are not valid",
            instead=f"Pass {_FILES}, with one type in each column.",
        )  # fmt: skip
    return found


def _as_arrow(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if hasattr(source, "to_arrow"):
        return source.to_arrow()
    return pa.Table.from_pandas(source, preserve_index=False)


def _is_csv(source: Any) -> bool:
    return isinstance(source, str | os.PathLike) and str(source).lower().endswith((".csv", ".csv.gz"))


def _text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
