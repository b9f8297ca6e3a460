"""How a snapshot is laid out in the curator's DuckDB file.

A table's rows lie in rows."visits@1" (name and version): the column "unit", a column "column.age" for each declared
column, and "key.id" for each column that other tables find their units by. Texts are codes there, whose values lie in
texts."visits@1@3" (name, version, index of the column). A code is 2^32 times the text's number in the public hash,
plus its rank by bytes, so that grouping, hashing and ordering need no texts. It never leaves the engine.
"""

from __future__ import annotations

from dalenius.query.plan.relations import UNIT
from dalenius.query.tables import Table

ROWS, TEXTS = "rows", "texts"


def quote(name: str) -> str:
    """A name of a column or table."""
    return '"' + name.replace('"', '""') + '"'


OWNER = quote(UNIT)


def rows_table(table: Table) -> str:
    """The quoted name of a table's rows."""
    return f"{ROWS}.{quote(f'{table.name}@{table.version}')}"


def texts_table(table: Table, index: int) -> str:
    """The quoted name of the texts of a table's column."""
    return f"{TEXTS}.{quote(f'{table.name}@{table.version}@{index}')}"


def stored(column: str) -> str:
    """The quoted name under which a declared column is stored."""
    return quote(f"column.{column}")


def stored_key(column: str) -> str:
    """The quoted name under which a key column is stored."""
    return quote(f"key.{column}")
