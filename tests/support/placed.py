"""Tables that stay: rows in a real PostgreSQL, which a role reads that may do nothing else, and in Parquet folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from postgres_server import server

READER = "reader"
_TYPES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_string, "text"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "timestamp"),
)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a server's owner; the role `reader` may read what is loaded there."""
    with server() as url:
        run(url, f"CREATE ROLE {READER} LOGIN PASSWORD 'hushhush'")
        yield url


def as_reader(url: str) -> str:
    """The same database for the role that may only read."""
    return f"postgresql://{READER}@{urlsplit(url).netloc.rpartition('@')[2]}{urlsplit(url).path}"


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def load(url: str, schema: str, name: str, rows: pa.Table) -> None:
    """Make or replace a table that `reader` may read."""
    types = ", ".join(f"{_quoted(field.name)} {_type(field.type)}" for field in rows.schema)
    place = f"{_quoted(schema)}.{_quoted(name)}"
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            f"CREATE SCHEMA IF NOT EXISTS {_quoted(schema)}", f"GRANT USAGE ON SCHEMA {_quoted(schema)} TO {READER}",
            f"DROP TABLE IF EXISTS {place}", f"CREATE TABLE {place} ({types})", f"GRANT SELECT ON {place} TO {READER}",
        ):  # fmt: skip
            connection.execute(statement.encode())
        with connection.cursor() as cursor, cursor.copy(f"COPY {place} FROM STDIN".encode()) as copy:
            for row in rows.to_pylist():
                copy.write_row(list(row.values()))


def parquet(folder: Path, tables: Mapping[str, pa.Table]) -> dict[str, Path]:
    """Folders of Parquet files, two files each."""
    places = {}
    for name, rows in tables.items():
        places[name] = folder / name
        places[name].mkdir(parents=True)
        half = len(rows) // 2
        pq.write_table(rows.slice(0, half), places[name] / "part-0.parquet")
        pq.write_table(rows.slice(half), places[name] / "part-1.parquet")
    return places


def _type(kind: pa.DataType) -> str:
    return next(name for fits, name in _TYPES if fits(kind))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
