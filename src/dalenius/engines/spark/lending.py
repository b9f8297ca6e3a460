"""Rows in memory for a Spark session: Arrow types that Spark has no word for, in those that hold the same values."""

from __future__ import annotations

import pyarrow as pa

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
