"""What each function means, on codes: the reference that every engine must agree with, bit for bit.

Numbers have been brought to common steps before (see `functions`), so all arithmetic here is on integers. Every
function gives a result for all codes of its arguments' domains; nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from dalenius.query import calendar
from dalenius.query.expressions import Column, Expression, Literal
from dalenius.query.types import Code

Meaning: TypeAlias = Callable[..., Any]

LONGEST_TEXT = 200
"""Code points of the longest text that `concat` and `replace` make; a longer one is NULL."""
WIDE = 2**63
BLANKS = " \t\n\r\x0b\x0c"
"""What `trim` removes."""
CAPITALS, SMALLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_TO_LOWER, _TO_UPPER = str.maketrans(CAPITALS, SMALLS), str.maketrans(SMALLS, CAPITALS)
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]+))?")
TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def evaluate(expression: Expression, row: Mapping[str, Code]) -> Code:
    """The value of an expression for one row, given as codes."""
    if isinstance(expression, Column):
        return row[expression.name]
    if isinstance(expression, Literal):
        return expression.value
    arguments = [evaluate(argument, row) for argument in expression.arguments]  # type: ignore[attr-defined]
    return apply(expression.function, arguments)  # type: ignore[attr-defined]


def apply(function: str, codes: list[Code] | tuple[Code, ...]) -> Code:
    """The value of a function for these codes."""
    if function in STRICT and None in codes:
        return None
    result: Code = MEANINGS[function](*codes)
    return result


def same(function: str) -> Meaning:
    """The meaning of a function on numbers that are no codes, where it is the same: floats, say."""
    return lambda *values: apply(function, values)


def on_grid(function: str, x: Any, unit: Fraction) -> Fraction:
    """Any number as a multiple of `unit`, by floor, ceil or round."""
    steps: int = MEANINGS[function](Fraction(x), unit.denominator, unit.numerator)
    return steps * unit


def divide(x: int, y: int, times: int, over: int) -> int | None:
    """floor(x * times / (y * over))"""
    return None if y == 0 else x * times // (y * over)


def rounded(x: int, times: int, over: int) -> int:
    """x * times / over, half away from zero"""
    size = (2 * abs(x) * times + over) // (2 * over)
    return -size if x < 0 else size


def like(text: str, pattern: str) -> bool:
    """Whether the whole text matches: % stands for any code points, _ for one; no escapes."""
    place = start = 0
    star, retry = -1, 0
    while start < len(text):
        if place < len(pattern) and pattern[place] == "%":
            star, retry, place = place, start, place + 1
        elif place < len(pattern) and pattern[place] in ("_", text[start]):
            place, start = place + 1, start + 1
        elif star >= 0:
            retry += 1
            place, start = star + 1, retry
        else:
            return False
    return pattern[place:].strip("%") == ""


def concat(*texts: str) -> str | None:
    return "".join(texts) if sum(map(len, texts)) <= LONGEST_TEXT else None


def replaced(text: str, old: str, new: str) -> str | None:
    if not old or old not in text:
        return text
    length = len(text) + text.count(old) * (len(new) - len(old))
    return text.replace(old, new) if length <= LONGEST_TEXT else None


def to_int(value: str | bool) -> int | None:
    if isinstance(value, bool):
        return int(value)
    if not _WHOLE.fullmatch(value):
        return None
    number = _small_int(value)
    return number if number is not None and -WIDE <= number < WIDE else None


def read_decimal(text: str, places: int, most: int) -> int | None:
    """A plain decimal in units of 10^-places, cut off there; None beyond `most` units or for any other text."""
    found = _DECIMAL.fullmatch(text)
    if not found or not (found[2] or found[3]):
        return None
    size = _small_int(found[2] + (found[3] or "")[:places].ljust(places, "0"))
    if size is None or size > most:
        return None
    return -size if found[1] == "-" else size


def _small_int(digits: str) -> int | None:
    """The whole number, or None where it has more than 60 digits: Python reads no more than 4300 of them."""
    size = digits.lstrip("+-").lstrip("0")
    if len(size) > 60:
        return None
    return -int(size or "0") if digits.startswith("-") else int(size or "0")


def equal_or_null(x: Code, y: Code) -> Code:
    return None if x is not None and y is not None and x == y else x


def conjunction(*values: bool | None) -> bool | None:
    if any(value is False for value in values):
        return False
    return None if None in values else True


def disjunction(*values: bool | None) -> bool | None:
    if any(value is True for value in values):
        return True
    return None if None in values else False


def member(x: Code, *values: Code) -> bool | None:
    return disjunction(*(None if x is None or value is None else _ordered(x) == _ordered(value) for value in values))


def between(x: Code, low: Code, high: Code) -> bool | None:
    return conjunction(
        None if x is None or low is None else _ordered(low) <= _ordered(x),
        None if x is None or high is None else _ordered(x) <= _ordered(high),
    )


def case(*parts: Code) -> Code:
    for condition, value in zip(parts[:-1:2], parts[1:-1:2], strict=True):
        if condition is True:
            return value
    return parts[-1]


def _ordered(value: Code) -> Any:
    """Texts in the order of their UTF-8 bytes."""
    return value.encode() if isinstance(value, str) else value


def part(name: str) -> Meaning:
    return lambda day: getattr(calendar.as_day(day), name)


STRICT: Mapping[str, Meaning] = {
    "scale": lambda x, factor: x * factor,
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": divide,
    "floor_divide": lambda x, y: x // y if y else None,
    "modulo": lambda x, y: x % y if y else None,
    "negate": lambda x: -x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "least": lambda *values: min(values, key=_ordered),
    "greatest": lambda *values: max(values, key=_ordered),
    "floor": lambda x, times, over: x * times // over,
    "ceil": lambda x, times, over: -(-x * times // over),
    "round": rounded,
    "clamp": lambda x, low, high: max(low, min(x, high)),
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: _ordered(x) < _ordered(y),
    "less_equal": lambda x, y: _ordered(x) <= _ordered(y),
    "greater": lambda x, y: _ordered(x) > _ordered(y),
    "greater_equal": lambda x, y: _ordered(x) >= _ordered(y),
    "not": lambda x: not x,
    "like": like,
    "concat": concat,
    "lower": lambda text: text.translate(_TO_LOWER),
    "upper": lambda text: text.translate(_TO_UPPER),
    "trim": lambda text: text.strip(BLANKS),
    "length": len,
    "substring": lambda text, start, length: text[start - 1 : start - 1 + length],
    "replace": replaced,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda text, piece: piece in text,
    "year": part("year"),
    "month": part("month"),
    "day": part("day"),
    "quarter": lambda day: (calendar.as_day(day).month + 2) // 3,
    "day_of_year": lambda day: day - calendar.first_of_months(day, 12) + 1,
    "first_of_months": calendar.first_of_months,
    "to_int": to_int,
    "read_decimal": read_decimal,
    "to_bool": lambda text: TRUTHS.get(text.translate(_TO_LOWER)),
    "to_date": calendar.read_day,
    "to_timestamp": calendar.read_moment,
    "to_text": lambda value: str(value).lower(),
    "date_text": lambda day: calendar.as_day(day).isoformat(),
    "moment_text": calendar.moment_text,
}
"""Functions that are NULL as soon as one argument is; `functions` says what the others do."""

LENIENT: Mapping[str, Meaning] = {
    "and": conjunction,
    "or": disjunction,
    "is_null": lambda x: x is None,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
    "null_if": equal_or_null,
    "case": case,
    "in": member,
    "between": between,
}
"""Functions that may give a value although an argument is NULL."""

MEANINGS: Mapping[str, Meaning] = {**STRICT, **LENIENT}
