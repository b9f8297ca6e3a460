"""Results of PostgreSQL as Arrow: copied out as text and read by Arrow, with exact integers."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import csv

from dalenius.engines.postgres.connection import Connection

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
