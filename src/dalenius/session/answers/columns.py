"""The columns of an answer, and their Arrow types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dalenius.measuring.postprocess import Kind
from dalenius.measuring.released import decimals

_INT64 = range(-(1 << 63), 1 << 63)
_MOST_DIGITS = 38
_LONG = Context(prec=2 * _MOST_DIGITS)


@dataclass(frozen=True)
class AnswerColumn:
    """A named column; `errors` are the bars where it has some, and `kind` says what the values are, whatever was
    released."""

    name: str
    values: tuple[Any, ...]
    errors: tuple[Any, ...] | None = None
    kind: Kind | None = None
    is_key: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether it has numbers, and nothing else but NULL."""
        numbers = [value for value in self.values if value is not None]
        return bool(numbers) and all(isinstance(n, int | float | Decimal) and not isinstance(n, bool) for n in numbers)

    def first(self, rows: int) -> AnswerColumn:
        """The column in so many first rows."""
        return replace(self, values=self.values[:rows], errors=None if self.errors is None else self.errors[:rows])

    def titled(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """The column and its bars, with their titles."""
        yield self.name, self.values
        if self.errors is not None:
            yield f"{self.name} ±", self.errors

    def arrows(self) -> Iterator[tuple[str, pa.Array]]:
        """The column and its bars as Arrow arrays, with their titles."""
        yield self.name, arrow_array(self.values, self.kind)
        if self.errors is not None:
            yield f"{self.name} ±", arrow_array(self.errors, None if self.kind is None else self.kind.bar)


def arrow_array(values: Sequence[Any], kind: Kind | None) -> pa.Array:
    """An Arrow array of the type of a kind; without one, of the type that the values ask for."""
    if kind is None and any(isinstance(value, dict) for value in values):
        kind = Kind("histogram")
    if kind is not None and kind.name == "histogram":
        return _histograms(values, kind)
    type_ = _of_values(values) if kind is None else arrow_type(kind)
    return pa.array([None if value is None else _fitted(value, type_) for value in values], type=type_)


def arrow_type(kind: Kind) -> pa.DataType:
    """The Arrow type of the values of a kind other than histograms."""
    if kind.name == "exact":
        return _of_numbers(kind)
    kinds = {"date": pa.date32(), "moment": pa.timestamp("us"), "truth": pa.bool_(), "text": pa.string(),
             "span": pa.duration("us")}  # fmt: skip
    return kinds.get(kind.name, pa.float64())


def _of_numbers(kind: Kind) -> pa.DataType:
    """int64 or decimals by the unit; floats where a decimal never ends or 38 digits may not suffice."""
    if kind.unit.denominator == 1 and kind.size < 1 << 63:
        return pa.int64()
    places = decimals(kind.unit.denominator)
    if places is None or kind.size * 10**places >= 10**_MOST_DIGITS:
        return pa.float64()
    return pa.decimal128(_MOST_DIGITS, places)


def _fitted(value: Any, type_: pa.DataType) -> Any:
    """The value as the type holds it, moved to the nearest end of its range if it lies beyond."""
    if pa.types.is_float64(type_):
        return float(value)
    if pa.types.is_int64(type_):
        return max(_INT64[0], min(round(value), _INT64[-1]))
    if pa.types.is_decimal128(type_):
        end = 10**_MOST_DIGITS - 1
        steps = round(Fraction(value) * 10**type_.scale)
        return Decimal(max(-end, min(steps, end))).scaleb(-type_.scale, _LONG)
    return value


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
    return pa.decimal128(_MOST_DIGITS, scale) if digits <= _MOST_DIGITS else pa.float64()


def _histograms(values: Sequence[Any], kind: Kind) -> pa.Array:
    """Lists of (value, count)."""
    names = [name for value in values if value for name in value]
    type_ = _of_values(names) if kind.of is None else arrow_type(kind.of)
    listed = [
        None if value is None else [{"value": _fitted(name, type_), "count": count} for name, count in value.items()]
        for value in values
    ]
    return pa.array(listed, type=pa.list_(pa.struct([("value", type_), ("count", pa.int64())])))
