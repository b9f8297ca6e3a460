"""The columns of an answer, and their Arrow types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dalenius.query.types import Bool, Days, Domain, Moments, Number, Text

_INT64 = range(-(1 << 63), 1 << 63)
_MOST_DIGITS = 38


@dataclass(frozen=True)
class Column:
    """A named column; `errors` are the bars, for a column that has some, and `domain` is that of a key."""

    name: str
    values: tuple[Any, ...]
    errors: tuple[Any, ...] | None = None
    domain: Domain | None = None

    def titled(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """The column and its bars, with their titles."""
        yield self.name, self.values
        if self.errors is not None:
            yield f"{self.name} ±", self.errors

    @property
    def is_key(self) -> bool:
        return self.domain is not None


def arrow_array(values: Sequence[Any], domain: Domain | None) -> pa.Array:
    """An Arrow array of the type that the domain or the values ask for."""
    if any(isinstance(value, dict) for value in values):
        return _histograms(values)
    kind = _of_domain(domain, values) if domain is not None else _of_values(values)
    if pa.types.is_float64(kind):
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, type=kind)


def _of_domain(domain: Domain, values: Sequence[Any]) -> pa.DataType:
    if isinstance(domain, Number) and any(value is not None for value in values):
        return _of_values(values)
    kinds = ((Number, pa.int64()), (Days, pa.date32()), (Moments, pa.timestamp("us")), (Bool, pa.bool_()))
    found = next((kind for type_, kind in kinds if isinstance(domain, type_)), None)
    return found or (pa.string() if isinstance(domain, Text) else _of_values(values))


def _of_values(values: Sequence[Any]) -> pa.DataType:
    types = {type(value) for value in values if value is not None}
    if not types or float in types or Fraction in types:
        return pa.float64()
    if types <= {int, Decimal}:
        return _exact([value for value in values if value is not None])
    # A datetime is a date too, so it comes first; bool is an int and does not reach the line above.
    kinds = (
        (bool, pa.bool_()),
        (dt.datetime, pa.timestamp("us")),
        (dt.date, pa.date32()),
        (dt.timedelta, pa.duration("us")),
    )
    return next((kind for type_, kind in kinds if types == {type_}), pa.string())


def _exact(values: Sequence[int | Decimal]) -> pa.DataType:
    """int64 or decimals, as wide as needed; floats where even these are too narrow."""
    if all(isinstance(value, int) and value in _INT64 for value in values):
        return pa.int64()
    parts = [Decimal(value).as_tuple() for value in values]
    scale = max(0, *(-int(part.exponent) for part in parts)) if parts else 0
    digits = max(len(part.digits) + int(part.exponent) for part in parts) + scale
    if digits <= _MOST_DIGITS:
        return pa.decimal128(_MOST_DIGITS, scale)
    return pa.decimal256(2 * _MOST_DIGITS, scale) if digits <= 2 * _MOST_DIGITS else pa.float64()


def _histograms(values: Sequence[Any]) -> pa.Array:
    """Lists of (value, count)."""
    names = [name for value in values if value for name in value]
    kind = pa.list_(pa.struct([("value", _of_values(names)), ("count", pa.int64())]))
    listed = [
        None if value is None else [{"value": name, "count": count} for name, count in value.items()]
        for value in values
    ]
    return pa.array(listed, type=kind)
