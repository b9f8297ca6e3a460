"""How a snapshot is laid out in the curator's DuckDB file.

A table's rows lie in rows."visits@1" (name and version): the column "unit", a column "column.age" for each declared
column, and "key.id" for each column that other tables find their units by. Texts are codes there, whose values lie in
texts."visits@1@3" (name, version, index of the column). A code is 2^32 times the text's number in the public hash,
plus its rank by bytes, so that grouping, hashing and ordering need no texts. It never leaves the engine.
"""

from __future__ import annotations

from dalenius.engines.duckdb.expressions import quote
from dalenius.query.plan.relations import UNIT
from dalenius.query.tables import Table
from dalenius.query.types import Domain, Ranged

ROWS, TEXTS = "rows", "texts"
OWNER = quote(UNIT)
NARROW = 2**62
"""Codes below this in size are stored as BIGINT, others as HUGEINT."""


def rows_table(table: Table) -> str:
    """The quoted name of a table's rows."""
    return f"{ROWS}.{quote(f'{table.name}@{table.version}')}"


def texts_table(table: Table, index: int) -> str:
    """The quoted name of the texts of a table's column."""
    return f"{TEXTS}.{quote(f'{table.name}@{table.version}@{index}')}"


def text_number(code: str) -> str:
    """The number of a coded text in the public hash."""
    return f"({code} >> 32)"


def text_rank(code: str) -> str:
    """The place of a coded text among those of its column, ordered by their bytes."""
    return f"({code} & 4294967295)"


def stored(column: str) -> str:
    """The quoted name under which a declared column is stored."""
    return quote(f"column.{column}")


def stored_key(column: str) -> str:
    """The quoted name under which a key column is stored."""
    return quote(f"key.{column}")


def width(domain: Domain) -> str:
    """The type of a ranged domain's codes."""
    assert isinstance(domain, Ranged)
    return "BIGINT" if max(abs(domain.lower), abs(domain.upper)) < NARROW else "HUGEINT"
