"""Where an owner's rows come from: a file, a table in memory, or a table of another DuckDB file.

Nothing is guessed from the content: the values of a CSV file are texts, and are read as their column is declared.

CSV files: the delimiter and the names are read from the header alone, and every value is a text.

No row decides how the others are read: a file with one row more or less is cut into fields in the same way.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from dalenius.engines.duckdb.codes import ImportedColumn
from dalenius.engines.duckdb.dialect import quote
from dalenius.errors import DataMismatch

_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 1 << 20
_PROBLEMS = (
    ("Expected Number of Columns", "some rows have more or fewer fields than the header",
     "Put quotes around values that hold the delimiter, and fill up short rows."),
    ("unterminated quote", "a quote is not closed, or something follows it in the same field",
     'Write a quote inside a value twice: "".'),
    ("not utf-8", "it is not written in UTF-8", "Save it as UTF-8, as most programs offer when they export."),
    ("Maximum line size", "some rows are too long", "Shorten the longest texts to below a million characters."),
)  # fmt: skip


def is_csv(source: Any) -> bool:
    """Whether a source is the path of a CSV file."""
    return isinstance(source, str | os.PathLike) and str(source).lower().endswith(_ENDINGS)


def header(table: str, path: Path) -> tuple[list[str], str]:
    """The names in the first line, and the delimiter that cuts it into most of them."""
    try:
        cut = [(_fields(path, delimiter), delimiter) for delimiter in _DELIMITERS]
    except (OSError, EOFError, zlib.error, csv.Error):
        cut = []
    if not cut or not cut[0][0]:
        raise DataMismatch(
            table, problem="the file is empty or not a CSV file", instead="Its first line must name the columns."
        )
    return max(cut, key=lambda found: len(found[0]))


def _fields(path: Path, delimiter: str) -> list[str]:
    opener = gzip.open if str(path).lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
        start = lines.read(_LONGEST_HEADER)
    return next(csv.reader(io.StringIO(start, newline=""), delimiter=delimiter), [])


def reader(path: str, names: Sequence[str], delimiter: str, nulls: Sequence[str]) -> str:
    """The SQL that reads the rows; an empty field is NULL, and so are the words in `nulls`."""
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    words = ", ".join(map(text, ["", *nulls]))
    return (
        f"read_csv({path}, auto_detect = false, header = true, columns = {{{columns}}}, delim = {text(delimiter)}, "
        f"""quote = '"', escape = '"', nullstr = [{words}])"""
    )


def explained(error: BaseException) -> tuple[str, str] | None:
    """What is wrong with a CSV file, in words without a value of it, and what to do; None for any other error."""
    if not isinstance(error, duckdb.Error):
        return None
    said = str(error)
    return next(((problem, instead) for sign, problem, instead in _PROBLEMS if sign in said), None)


def text(value: object) -> str:
    """A text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"


SOURCE = "source"
_KINDS = (
    "a Parquet file (.parquet), a CSV file (.csv, .csv.gz, .tsv), (file.duckdb, table), or an Arrow, pandas or Polars "
    "table"
)

Found: TypeAlias = "list[tuple[str, ImportedColumn]]"
"""The columns of a source, in order, with their names there."""


@contextmanager
def opened(
    connection: duckdb.DuckDBPyConnection, table: str, source: Any, nulls: Sequence[str] = ()
) -> Iterator[Found]:
    """The columns of a source, which can be read from the view `source` until the end of the block."""
    attached = isinstance(source, tuple)
    if nulls and not is_csv(source):
        raise DataMismatch(
            table, problem="words for NULL are for CSV files", instead="Leave nulls out: other sources have a NULL."
        )
    try:
        yield _viewed(connection, table, source, nulls)
    finally:
        connection.execute(f"DROP VIEW IF EXISTS {SOURCE}")
        if attached:
            connection.execute("DETACH DATABASE IF EXISTS owner_file")


def named(table: str, found: Found, wanted: Iterable[str], rename: Mapping[str, str]) -> dict[str, ImportedColumn]:
    """The wanted columns by their declared names; `DataMismatch` where one is missing or there twice."""
    names, columns = [name for name, _ in found], {}
    for declared in dict.fromkeys(wanted):
        name = rename.get(declared, declared)
        if names.count(name) > 1:
            raise DataMismatch(
                table, problem=f"the source has two columns {name!r}", instead="Give one of them another name there."
            )
        if name in names:
            columns[declared] = found[names.index(name)][1]
    missing = [rename.get(each, each) for each in dict.fromkeys(wanted) if each not in columns]
    if missing:
        _refuse_missing(table, missing, names)
    return columns


def _refuse_missing(table: str, missing: Sequence[str], names: Sequence[str]) -> None:
    near = {name.casefold(): name for name in names}
    alike = [f"{near[name.casefold()]!r}" for name in missing if name.casefold() in near]
    advice = f"It has {', '.join(alike)}. " if alike else ""
    raise DataMismatch(
        table,
        problem=f"the source has no column {', '.join(map(repr, missing))}",
        instead=f"{advice}Names are compared exactly, with their case; where they differ, add "
        f"rename={{'declared name': 'name in the source'}}.",
    )


def _viewed(connection: duckdb.DuckDBPyConnection, table: str, source: Any, nulls: Sequence[str]) -> Found:
    if isinstance(source, tuple):
        return _of_database(connection, table, source)
    if isinstance(source, str | os.PathLike):
        return _of_file(connection, table, Path(source), nulls)
    return _of_memory(connection, _arrow(table, source))


def _described(connection: duckdb.DuckDBPyConnection) -> Found:
    found = connection.execute(f"DESCRIBE SELECT * FROM {SOURCE}").fetchall()
    return [(name, ImportedColumn(quote(name), kind)) for name, kind, *_ in found]


# ---- files


def _of_file(connection: duckdb.DuckDBPyConnection, table: str, path: Path, nulls: Sequence[str]) -> Found:
    if not path.is_file():
        raise DataMismatch(table, problem="there is no such file", instead="Check the path of the file.")
    if set("*?[") & set(str(path)):
        raise DataMismatch(table, problem="the path contains one of the characters * ? [", instead="Rename the file.")
    if is_csv(path):
        return _of_csv(connection, table, path, nulls)
    if path.suffix.lower() != ".parquet":
        raise DataMismatch(table, problem="this kind of file is not supported", instead=f"Pass {_KINDS}.")
    connection.execute(f"CREATE TEMP VIEW {SOURCE} AS SELECT * FROM read_parquet({text(path)})")
    return _described(connection)


def _of_csv(connection: duckdb.DuckDBPyConnection, table: str, path: Path, nulls: Sequence[str]) -> Found:
    names, delimiter = header(table, path)
    places = [f"c{place}" for place in range(len(names))]
    rows = reader(text(path), places, delimiter, nulls)
    connection.execute(f"CREATE TEMP VIEW {SOURCE} AS SELECT * FROM {rows}")
    return [(name, ImportedColumn(quote(place), "VARCHAR", True)) for name, place in zip(names, places, strict=True)]


def _of_database(connection: duckdb.DuckDBPyConnection, table: str, source: tuple[Any, ...]) -> Found:
    if len(source) != 2 or not Path(source[0]).is_file():
        raise DataMismatch(table, problem="there is no such DuckDB file", instead="Pass (path, table).")
    _attach(connection, table, Path(source[0]))
    connection.execute(f"CREATE TEMP VIEW {SOURCE} AS SELECT * FROM {_place(connection, table, str(source[1]))}")
    return _described(connection)


def _attach(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    try:
        connection.execute(f"ATTACH {text(path)} AS owner_file (READ_ONLY)")
        return
    except duckdb.Error:
        pass
    raise DataMismatch(
        table,
        problem="the file cannot be opened as a DuckDB file",
        instead="Close it in the process that has it open for writing.",
    )


def _place(connection: duckdb.DuckDBPyConnection, table: str, name: str) -> str:
    """The quoted name of a table or view of the attached file: `table`, or `schema.table`."""
    sql = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'owner_file' UNION ALL "
    sql += "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'owner_file'"
    known = set(connection.execute(sql).fetchall())
    schema, _, rest = name.partition(".")
    found = next((place for place in (("main", name), (schema, rest)) if place in known), None)
    if found is None:
        raise DataMismatch(
            table, problem=f"the DuckDB file has no table {name!r}", instead="Pass (path, 'table') or 'schema.table'."
        )
    return f"owner_file.{quote(found[0])}.{quote(found[1])}"


# ---- tables in memory


def _of_memory(connection: duckdb.DuckDBPyConnection, found: pa.Table) -> Found:
    """Columns are registered under their places, since DuckDB would rename those that differ in case alone."""
    places = [f"c{place}" for place in range(found.num_columns)]
    connection.register(SOURCE, found.rename_columns(places))
    kinds = _described(connection)
    return [(name, column) for name, (_, column) in zip(found.column_names, kinds, strict=True)]


def _arrow(table: str, source: Any) -> pa.Table:
    """A checked Arrow table: columns have one type each, and texts are valid."""
    try:
        found = _as_arrow(source)
        found.validate(full=True)
    except (pa.ArrowException, UnicodeError, TypeError, ValueError, AttributeError):
        found = None
    if found is None:
        raise DataMismatch(
            table, problem="it cannot be read: not a table, columns of mixed types or equal names, or texts that are "
            "not valid", instead=f"Pass {_KINDS}, with one type in each column.",
        )  # fmt: skip
    return found


def _as_arrow(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if type(source).__name__ == "LazyFrame":
        source = source.collect()
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source.to_arrow_table()
    return source.to_arrow() if hasattr(source, "to_arrow") else pa.Table.from_pandas(source, preserve_index=False)
