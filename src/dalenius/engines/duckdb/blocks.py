"""Blocks: which listed value of a partition's column each unit ever had, over all versions of the table.

For each population with a partition the file holds a table of its listed values (blocks."listed patients": a number
and the value as text) and one of its units (blocks."units patients": the stored id and the number of the value). A
unit is written down with the first listed value that it has, and that stays, also when its rows have gone. No value,
or one that is not listed, is not written down: such a unit bears nothing that was charged to a block.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from dalenius.engines.duckdb.names import OWNER, quote, rows_table, stored, texts_table
from dalenius.engines.engine import Divided
from dalenius.errors import DataMismatch
from dalenius.query.tables import Table
from dalenius.query.types import Code, Text

SCHEMA = "blocks"


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the schema, and the list of partitions."""
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {SCHEMA}.partitions "
        "(population VARCHAR PRIMARY KEY, name VARCHAR, place VARCHAR, version BIGINT)"
    )


def divide(connection: duckdb.DuckDBPyConnection, table: Table, column: str, values: Sequence[Code]) -> None:
    """Begin a partition with the rows that the table now has, in one transaction; an earlier one is forgotten."""
    assert table.protection is not None
    population = table.protection.population
    connection.execute("BEGIN TRANSACTION")
    try:
        connection.execute(f"DELETE FROM {SCHEMA}.partitions WHERE population = ?", [population])
        _list(connection, population, values)
        unit = f"SELECT {OWNER} AS unit, 0::INTEGER AS block FROM {rows_table(table)} LIMIT 0"
        connection.execute(f"CREATE OR REPLACE TABLE {_units(population)} AS {unit}")
        facts = [population, table.name, column, table.version]
        connection.execute(f"INSERT INTO {SCHEMA}.partitions VALUES (?, ?, ?, ?)", facts)
        keep(connection, table, counts=False)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def keep(connection: duckdb.DuckDBPyConnection, table: Table, *, counts: bool) -> None:
    """Write down the blocks of the units of a new version, if its table has a partition; refuse a unit with two.

    It is part of the transaction that writes the version. Once a version was missed, as in a file that was put back
    from a copy, the partition stays behind for ever: what is not known of that version is never known again.
    """
    found = connection.execute(
        f"SELECT population, place FROM {SCHEMA}.partitions WHERE name = ?", [table.name]
    ).fetchone()
    if found is None:
        return
    population, column = found
    if column in dict(table.columns):  # where it is not, nobody has a value
        _write_down(connection, table, column, population, counts=counts)
    connection.execute(
        f"UPDATE {SCHEMA}.partitions SET version = ? WHERE name = ? AND version = ?",
        [table.version, table.name, table.version - 1],
    )


def _write_down(
    connection: duckdb.DuckDBPyConnection, table: Table, column: str, population: str, *, counts: bool
) -> None:
    units = _units(population)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE now AS {_blocks(table, column, population)}")
    known = f"SELECT unit, block FROM now UNION SELECT unit, block FROM {units}"
    torn = connection.execute(
        f"SELECT count(*) FROM (SELECT unit FROM ({known}) GROUP BY unit HAVING count(*) > 1)"
    ).fetchone()
    if torn and torn[0]:
        _refuse(table, column, torn[0] if counts else None)
    connection.execute(f"INSERT INTO {units} SELECT unit, block FROM now ANTI JOIN {units} USING (unit)")
    connection.execute("DROP TABLE now")


def divided(connection: duckdb.DuckDBPyConnection) -> dict[str, Divided]:
    """The partitions by their populations."""
    rows = connection.execute(f"SELECT population, name, place, version FROM {SCHEMA}.partitions").fetchall()
    return {population: Divided(*facts) for population, *facts in rows}


def _list(connection: duckdb.DuckDBPyConnection, population: str, values: Sequence[Code]) -> None:
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    source = pa.table({"block": pa.array(range(len(texts)), pa.int32()), "value": pa.array(texts, pa.string())})
    connection.register("wanted", source)
    connection.execute(f"CREATE OR REPLACE TABLE {_listed(population)} AS SELECT block, value FROM wanted")
    connection.unregister("wanted")


def _blocks(table: Table, column: str, population: str) -> str:
    """Each unit with each of its listed values, once. Values are compared as texts of codes of one type, which are
    equal exactly if the codes are."""
    index = [name for name, _ in table.columns].index(column)
    source, value = f"{rows_table(table)} r", f"r.{stored(column)}::VARCHAR"
    if isinstance(table.columns[index][1], Text):
        source, value = f"{source} JOIN {texts_table(table, index)} t ON r.{stored(column)} = t.code", "t.value"
    listed = f"JOIN {_listed(population)} l ON l.value = {value}"
    return f"SELECT DISTINCT r.{OWNER} AS unit, l.block FROM {source} {listed} WHERE r.{OWNER} IS NOT NULL"


def _listed(population: str) -> str:
    return f"{SCHEMA}.{quote(f'listed {population}')}"


def _units(population: str) -> str:
    return f"{SCHEMA}.{quote(f'units {population}')}"


def _refuse(table: Table, column: str, count: int | None) -> None:
    many = f" ({count} of them)" if count else ""
    raise DataMismatch(
        table.name,
        problem=f"some units{many} have two of the values of {column!r} by which their population is partitioned, now "
        "or compared with an earlier version",
        instead="A unit stays in its block for ever; leave a value empty where it is not known, or correct the source.",
    )
