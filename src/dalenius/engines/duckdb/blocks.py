"""Blocks: which listed value of a partition's column each unit ever had, over all versions of the table.

For each population with a partition the file holds a table of its listed values (blocks."listed patients": a number
and the value as text) and one of its units (blocks."units patients": the stored id and the number of the value). A
unit is written down with the first listed value that it has, and that stays, also when its rows have gone; of several
in one version it is the one that the partition lists first. Rows with another listed value are left out, so that
nobody stops an import by having two. No value, or one that is not listed, is not written down: such a unit bears
nothing that was charged to a block.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from dalenius.engines.duckdb.dialect import OWNER, quote, rows_table, stored, texts_table
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
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {SCHEMA}.left_out (name VARCHAR PRIMARY KEY, units BIGINT, rows BIGINT)"
    )


def divide(connection: duckdb.DuckDBPyConnection, table: Table, column: str, values: Sequence[Code]) -> None:
    """Begin a partition with the rows that the table now has, in one transaction; an earlier one is forgotten.

    Here units with two of the values are refused: a partition never changes, and a column that many have moved in
    would cost their rows for ever.
    """
    assert table.protection is not None
    population = table.protection.population
    connection.execute("BEGIN TRANSACTION")
    try:
        prepare(connection)
        connection.execute(f"DELETE FROM {SCHEMA}.partitions WHERE population = ?", [population])
        _list(connection, population, values)
        unit = f"SELECT {OWNER} AS unit, 0::INTEGER AS block FROM {rows_table(table)} LIMIT 0"
        connection.execute(f"CREATE OR REPLACE TABLE {_units(population)} AS {unit}")
        facts = [population, table.name, column, table.version]
        connection.execute(f"INSERT INTO {SCHEMA}.partitions VALUES (?, ?, ?, ?)", facts)
        keep(connection, table)
        _require_nobody_left_out(connection, table, column)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def keep(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Write down the blocks of the units of a new version, if its table has a partition, and leave out rows with the
    value of another block.

    It is part of the transaction that writes the version. Once a version was missed, as in a file that was put back
    from a copy, the partition stays behind for ever: what is not known of that version is never known again.

    Guarantee: which rows of a unit stay is decided by the rows that this unit has, now and in the versions before.
    """
    found = connection.execute(
        f"SELECT population, place FROM {SCHEMA}.partitions WHERE name = ?", [table.name]
    ).fetchone()
    if found is None:
        return
    population, column = found
    if column in dict(table.columns):  # where it is not, nobody has a value
        _write_down(connection, table, column, population)
    connection.execute(
        f"UPDATE {SCHEMA}.partitions SET version = ? WHERE name = ? AND version = ?",
        [table.version, table.name, table.version - 1],
    )


def _write_down(connection: duckdb.DuckDBPyConnection, table: Table, column: str, population: str) -> None:
    units, having = _units(population), _blocks(table, column, population)
    first = f"SELECT unit, min(block) FROM ({having}) ANTI JOIN {units} USING (unit) GROUP BY unit"
    connection.execute(f"INSERT INTO {units} {first}")
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE elsewhere AS SELECT h.unit, h.row FROM ({having}) h "
        f"JOIN {units} u ON h.unit = u.unit WHERE h.block <> u.block"
    )
    connection.execute(f"DELETE FROM {rows_table(table)} WHERE rowid IN (SELECT row FROM elsewhere)")
    connection.execute(
        f"INSERT OR REPLACE INTO {SCHEMA}.left_out SELECT ?, count(DISTINCT unit), count(*) FROM elsewhere",
        [table.name],
    )
    connection.execute("DROP TABLE elsewhere")


def left_out(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[int, int]:
    """How many units had rows with the value of another block than theirs in the last import of a table, and how many
    such rows there were: for the owner alone."""
    found = connection.execute(f"SELECT units, rows FROM {SCHEMA}.left_out WHERE name = ?", [name]).fetchone()
    return (int(found[0]), int(found[1])) if found else (0, 0)


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
    """Each row with a listed value, its unit and its block. Values are compared as texts of codes of one type, which
    are equal exactly if the codes are."""
    index = [name for name, _ in table.columns].index(column)
    source, value = f"{rows_table(table)} r", f"r.{stored(column)}::VARCHAR"
    if isinstance(table.columns[index][1], Text):
        source, value = f"{source} JOIN {texts_table(table, index)} t ON r.{stored(column)} = t.code", "t.value"
    listed = f"JOIN {_listed(population)} l ON l.value = {value}"
    return f"SELECT r.rowid AS row, r.{OWNER} AS unit, l.block FROM {source} {listed} WHERE r.{OWNER} IS NOT NULL"


def _listed(population: str) -> str:
    return f"{SCHEMA}.{quote(f'listed {population}')}"


def _units(population: str) -> str:
    return f"{SCHEMA}.{quote(f'units {population}')}"


def _require_nobody_left_out(connection: duckdb.DuckDBPyConnection, table: Table, column: str) -> None:
    units, rows = left_out(connection, table.name)
    if units:
        raise DataMismatch(
            table.name,
            problem=f"some units ({units} of them, with {rows} rows in a second block) have two of the values of "
            f"{column!r}",
            instead="Partition by a column that never changes for a unit; or update the table with a file in which "
            "those values are empty, or those rows are left out.",
        )
