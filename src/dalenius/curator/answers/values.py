"""The values of an answer as JSON, each in one way."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dalenius.errors import DamagedAnswer

_MICROSECOND = dt.timedelta(microseconds=1)
_FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?", re.ASCII)
_LARGEST_EXPONENT = 5_000  # a larger one would fill the memory when it is written out


def written(value: Any) -> Any:
    """A value as JSON: what JSON has no word for becomes an object with one name, its type."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    for type_, name, write, _ in _TYPES:
        if isinstance(value, type_):
            return {name: write(value)}
    raise TypeError(type(value).__name__)


def read(value: Any) -> Any:
    """The value that was written; `DamagedAnswer` for what nothing is written as."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise DamagedAnswer("made of known values")
    ((name, text),) = value.items()
    for _, known, _, reading in _TYPES:
        if known == name:
            return _same(reading(text), value)
    raise DamagedAnswer("made of known values")


def fraction(text: Any) -> Fraction:
    """The fraction that was written."""
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise DamagedAnswer("with fractions such as 19/20")
    return Fraction(text)


def _same(found: Any, value: Any) -> Any:
    """The value that was read, if it is written that way: there is one text for each value."""
    if written(found) != value:
        raise DamagedAnswer("made of values in their usual form")
    return found


def _decimal(text: Any) -> Decimal:
    found = Decimal(text if isinstance(text, str) else "")
    if not found.is_finite() or abs(int(found.as_tuple().exponent)) > _LARGEST_EXPONENT:
        raise DamagedAnswer("with decimals of a moderate size")
    return found


def _endless(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise DamagedAnswer("made of known values")
    return float(text)


def _span(count: Any) -> dt.timedelta:
    if type(count) is not int:
        raise DamagedAnswer("with spans in microseconds")
    return count * _MICROSECOND


def _histogram(counts: Mapping[Any, Any]) -> list[Any]:
    return [[written(value), written(count)] for value, count in counts.items()]


def _histogram_from(pairs: Any) -> dict[Any, Any]:
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise DamagedAnswer("with histograms as lists of pairs")
    return {read(value): read(count) for value, count in pairs}


_TYPES: tuple[tuple[type, str, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    (float, "float", str, _endless),
    (Decimal, "decimal", str, _decimal),
    (Fraction, "fraction", str, fraction),
    (dt.datetime, "moment", dt.datetime.isoformat, dt.datetime.fromisoformat),  # before date: it is one too
    (dt.date, "date", dt.date.isoformat, dt.date.fromisoformat),
    (dt.timedelta, "span", lambda span: span // _MICROSECOND, _span),
    (dict, "histogram", _histogram, _histogram_from),
)
"""Each type with its name, how it is written and how it is read."""
