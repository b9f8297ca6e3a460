"""Scalar functions on released values: the plain-Python meaning of what is computed after the noise.

Numbers are exact (int or Fraction), or floats where a value is one already (a mean, say) or by division; a float that
overflows is NULL, like a division by zero. NULL is None, and logic has three values.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import floor, isfinite
from typing import Any
from unicodedata import normalize

from dalenius.query.functions.evaluation import TRUTHS
from dalenius.query.types import LONGEST_KEPT

_LONG = Context(prec=10_000)  # no sum has as many digits
_DAY = dt.timedelta(days=1)
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def number(value: Fraction, unit: Fraction) -> int | Decimal | float:
    """A multiple of `unit` for people: a whole number, an exact decimal, or a float where there is no exact decimal."""
    if unit.denominator == 1:
        return int(value)
    digits = decimals(unit.denominator)
    if digits is None:
        return float(value)
    return Decimal(int(value * 10**digits)).scaleb(-digits, _LONG)


def numbers(codes: Sequence[int], unit: Fraction) -> list[int | Decimal | float]:
    """These multiples of `unit` for people, as `number` gives them one by one."""
    digits = decimals(unit.denominator)
    if digits is None:
        return [number(code * unit, unit) for code in codes]
    factor = int(unit * 10**digits)
    if not digits:
        return [code * factor for code in codes]
    return [Decimal(code * factor).scaleb(-digits, _LONG) for code in codes]


def tidy(value: Any) -> Any:
    """A computed value for people; fractions become whole numbers, decimals or floats."""
    return number(value, value) if isinstance(value, Fraction) else value


def plain(value: Any) -> Any:
    """A value as the functions below take it: decimals are fractions, texts are in normal form."""
    if isinstance(value, str):
        return normalize("NFC", value)
    return Fraction(value) if isinstance(value, Decimal) else value


def picked(values: list[Any], rows: Sequence[int]) -> list[Any]:
    """The values of these groups; all of them as they are."""
    return list(values) if rows == range(len(values)) else [values[row] for row in rows]


def apply(function: str, arguments: list[Any]) -> Any:
    """The value of a scalar function; NULL where it is not defined."""
    if function in _WITH_NULLS:
        return _WITH_NULLS[function](*arguments)
    if any(argument is None for argument in arguments):
        return None
    try:
        value = _STRICT[function](*arguments)
    except (ArithmeticError, ValueError, TypeError, re.error):
        return None
    return None if isinstance(value, float) and not isfinite(value) else value


def known(function: str) -> bool:
    """Whether there is such a function."""
    return function in _WITH_NULLS or function in _STRICT


def sort_key(value: Any) -> Any:
    """What values of one column are ordered by: numbers by size, texts by their bytes."""
    return value.encode() if isinstance(value, str) else value


@lru_cache(maxsize=256)
def decimals(denominator: int) -> int | None:
    """How many decimals a fraction with this denominator has; None if they never end."""
    digits = 0
    while denominator > 1:
        shared = next((factor for factor in (10, 5, 2) if denominator % factor == 0), None)
        if shared is None:
            return None
        denominator, digits = denominator // shared, digits + 1
    return digits


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def calculate(a: Any, b: Any) -> Any:
        if isinstance(a, float) or isinstance(b, float):
            return operation(float(a), float(b))
        return operation(a, b)

    return calculate


def _added(a: Any, b: Any) -> Any:
    """Numbers; or a date and days."""
    first, second = (b, a) if isinstance(b, dt.date) else (a, b)
    return first + int(second) * _DAY if isinstance(first, dt.date) else _sum(a, b)


def _subtracted(a: Any, b: Any) -> Any:
    """Numbers; or two dates, which are days apart; or a date and days."""
    if isinstance(b, dt.date):
        return Fraction((_day(a) - _day(b)).days)
    return a - int(b) * _DAY if isinstance(a, dt.date) else _difference(a, b)


def _divided(a: Any, b: Any) -> Any:
    return float(_quotient(a, b))


def _comparison(operation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool | None]:
    def compare(a: Any, b: Any) -> bool | None:
        if a is None or b is None:
            return None
        return operation(*_alike(a, b))

    return compare


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    if isinstance(a, dt.datetime) != isinstance(b, dt.datetime):
        return _moment(a), _moment(b)
    return sort_key(a), sort_key(b)


def _and(*parts: bool | None) -> bool | None:
    return False if False in parts else None if None in parts else True


def _or(*parts: bool | None) -> bool | None:
    return True if True in parts else None if None in parts else False


def _case(*arguments: Any) -> Any:
    pairs = zip(arguments[::2], arguments[1::2], strict=False)
    otherwise = arguments[-1] if len(arguments) % 2 else None
    return next((value for condition, value in pairs if condition is True), otherwise)


def _in(value: Any, *listed: Any) -> bool | None:
    return _or(*(_equal(value, other) for other in listed))


def _between(value: Any, low: Any, high: Any) -> bool | None:
    return _and(_greater_equal(value, low), _less_equal(value, high))


def _null_if(value: Any, other: Any) -> Any:
    return None if _equal(value, other) else value


def _nearest(value: Any, digits: Any = 0) -> Any:
    """Halves go away from zero."""
    scale = Fraction(10) ** int(digits)
    size = floor(abs(Fraction(value)) * scale + Fraction(1, 2)) / scale * (-1 if value < 0 else 1)
    return float(size) if isinstance(value, float) else size


def _kept(value: Any, rounded: int) -> Any:
    return float(rounded) if isinstance(value, float) else Fraction(rounded)


def _clamped(value: Any, low: Any, high: Any) -> Any:
    return max(low, min(value, high))


def _bin(value: Any, width: Any) -> Any:
    if isinstance(value, dt.date):
        first = _moment(dt.date.min) if isinstance(value, dt.datetime) else dt.date.min
        size = dt.timedelta(microseconds=int(Fraction(width) * 86_400_000_000))
        return first + (value - first) // size * size
    return floor(Fraction(value) / Fraction(width)) * Fraction(width)


@lru_cache(maxsize=64)
def _pattern(text: str) -> re.Pattern[str]:
    parts = {"%": ".*", "_": "."}
    return re.compile("".join(parts.get(letter, re.escape(letter)) for letter in text), re.DOTALL)


def _substring(text: str, start: Any, length: Any = None) -> str:
    first = int(start) - 1
    end = len(text) if length is None else first + max(0, int(length))
    return text[max(0, first) : max(0, end)]


def _truncated(part: str, moment: dt.date) -> dt.date:
    units = ["year", "month", "day", "hour", "minute", "second"]
    if part in ("week", "quarter"):
        day = _day(moment)
        start = (
            day - (day.isoweekday() - 1) * _DAY
            if part == "week"
            else dt.date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
        )
        return dt.datetime(start.year, start.month, start.day) if isinstance(moment, dt.datetime) else start
    fields = dict(zip(units, (1, 1, 1, 0, 0, 0), strict=True))
    dropped: dict[str, Any] = {name: fields[name] for name in units[units.index(part) + 1 :] if name != "year"}
    if isinstance(moment, dt.datetime):
        return moment.replace(**dropped, microsecond=0)
    return moment.replace(**{name: low for name, low in dropped.items() if name in ("month", "day")})


def _day(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(value)


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    return dt.datetime.fromisoformat(value)


def _real(value: Any, step: Any = None) -> Any:
    exact = value if isinstance(value, float) else Fraction(value)
    return exact if step is None else floor(Fraction(exact) / Fraction(step) + Fraction(1, 2)) * Fraction(step)


def _boolean(value: Any) -> bool | None:
    return TRUTHS.get(value.translate(_LOWER)) if isinstance(value, str) else bool(value)


def _part(name: str) -> Callable[[Any], Fraction]:
    return lambda moment: Fraction(getattr(moment, name, 0))


_sum, _difference, _quotient = map(_arithmetic, (operator.add, operator.sub, operator.truediv))
_equal, _less_equal, _greater_equal = map(_comparison, (operator.eq, operator.le, operator.ge))

_WITH_NULLS: Mapping[str, Callable[..., Any]] = {
    "and": _and,
    "or": _or,
    "is_null": lambda value: value is None,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
    "null_if": _null_if,
    "case": _case,
    "in": _in,
    "between": _between,
    "equal": _equal,
    "not_equal": _comparison(operator.ne),
    "less": _comparison(operator.lt),
    "less_equal": _less_equal,
    "greater": _comparison(operator.gt),
    "greater_equal": _greater_equal,
}

_STRICT: Mapping[str, Callable[..., Any]] = {
    "add": _added,
    "subtract": _subtracted,
    "multiply": _arithmetic(operator.mul),
    "divide": _divided,
    "floor_divide": lambda a, b: Fraction(floor(Fraction(a) / Fraction(b))),
    "modulo": _arithmetic(operator.mod),
    "negate": operator.neg,
    "abs": abs,
    "sign": lambda value: Fraction((value > 0) - (value < 0)),
    "least": lambda *values: min(values, key=sort_key),
    "greatest": lambda *values: max(values, key=sort_key),
    "floor": lambda value: _kept(value, floor(value)),
    "ceil": lambda value: _kept(value, -floor(-value)),
    "round": _nearest,
    "clamp": _clamped,
    "bin": _bin,
    "not": operator.not_,
    "like": lambda text, pattern: _pattern(pattern).fullmatch(text) is not None,
    "concat": lambda *texts: "".join(texts),
    "lower": lambda text: text.translate(_LOWER),
    "upper": lambda text: text.translate(_UPPER),
    "trim": lambda text: text.strip(" \t\n\r\x0b\x0c"),
    "length": lambda text: Fraction(min(len(text), LONGEST_KEPT)),
    "substring": _substring,
    "replace": lambda text, old, new: text.replace(old, new) if old else text,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": operator.contains,
    "year": _part("year"),
    "quarter": lambda day: Fraction((day.month + 2) // 3),
    "month": _part("month"),
    "day": _part("day"),
    "weekday": lambda day: Fraction(day.isoweekday()),
    "day_of_year": lambda day: Fraction(day.timetuple().tm_yday),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "date_trunc": _truncated,
    "add_days": _added,
    "days_between": lambda first, last: Fraction((_day(last) - _day(first)).days),
    "to_int": lambda value: _nearest(Fraction(value)),
    "to_real": _real,
    "to_text": lambda value: str(value).translate(_LOWER) if isinstance(value, bool) else str(tidy(value)),
    "to_bool": _boolean,
    "to_date": _day,
    "to_timestamp": _moment,
}
