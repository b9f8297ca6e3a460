"""Conversions between kinds. What cannot be converted becomes NULL; a conversion is never an error for a row."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

from dalenius.query.calendar import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from dalenius.query.expressions import Expression
from dalenius.query.functions.arguments import (
    as_kind,
    constant_number,
    day_of_moment,
    images,
    in_step,
    integer,
    kind,
    made,
    made_text,
    moment_of_day,
    step,
)
from dalenius.query.functions.evaluation import WIDE, apply, on_grid
from dalenius.query.functions.logic import compared
from dalenius.query.functions.numbers import regridded
from dalenius.query.functions.signatures import NEVER, REFUSED, Cell, Function, Unfit
from dalenius.query.types import Bool, Days, Moments, Number, Ranged

MOST_PLACES = 15
"""Decimals after the point of a text that is read as a number."""
FINEST_READ = Fraction(1, 10**6)
"""The step of a number that is read from a text, unless told otherwise."""


def to_int(x: Expression) -> Expression:
    x = as_kind(x, "number", "truth", "text")
    if kind(x) == "number":
        return _in_ones(regridded("round", x, Fraction(1)))
    low, high = (0, 1) if kind(x) == "truth" else (-WIDE, WIDE - 1)
    return _read("to_int", (x,), Number(x.domain.nullable or kind(x) == "text", low, high))


def _in_ones(x: Expression) -> Expression:
    return in_step(x, Fraction(1))


def _read(function: str, arguments: tuple[Expression, ...], domain: Ranged) -> Expression:
    """The call, in the least range that public texts leave."""
    values = images(function, arguments)
    codes = [int(value) for value in values or () if value is not None]
    if values is None or not codes:
        return made(function, arguments, domain)
    return made(function, arguments, domain.within(min(codes), max(codes)).or_null(None in values))


def to_real(x: Expression, size: Expression | None = None) -> Expression:
    x = as_kind(x, "number", "text")
    if size is None and kind(x) == "number":
        return x
    unit = FINEST_READ if size is None else constant_number(size, "the step")
    if unit <= 0:
        raise Unfit("the step must be positive", "Give a step such as 0.01.")
    number = x if kind(x) == "number" else _decimal(x, unit)
    moved = regridded("round", number, unit)
    return in_step(moved, unit)


def _decimal(x: Expression, unit: Fraction) -> Expression:
    """The number in a text, cut off so finely that rounding it to `unit` gives what rounding the whole would give:
    half of `unit` is a multiple of where it is cut off, so cutting off never crosses a half."""
    places = next((n for n in range(1, MOST_PLACES + 1) if (unit / 2 * 10**n).denominator == 1), None)
    if places is None or unit * 10**places > 10**MOST_PLACES:
        raise Unfit("a text is read as a number in a decimal step of at most 14 places", "Use a step such as 0.01.")
    most = (WIDE - 1) * int(unit * 10**places)
    domain = Number(True, -most, most, Fraction(1, 10**places))
    return _read("read_decimal", (x, integer(places), integer(most)), domain)


def to_text(x: Expression) -> Expression:
    found = kind(x)
    if found in ("text", "null"):
        return as_kind(x, "text")
    if found in ("date", "moment"):
        return made_text(f"{found}_text", (x,))
    if found == "number" and step(x).denominator != 1:
        raise Unfit(f"only whole numbers have a text, but these are {x.domain}", "Use to_int() or floor() first.")
    return made_text("to_text", (_in_ones(x) if found == "number" else x,))


def to_bool(x: Expression) -> Expression:
    x = as_kind(x, "truth", "number", "text")
    if kind(x) == "number":
        return compared("not_equal")(x, integer(0))
    return x if kind(x) == "truth" else made("to_bool", (x,), Bool(True))


def to_date(x: Expression) -> Expression:
    x = as_kind(x, "date", "moment", "text")
    if kind(x) == "text":
        return _read("to_date", (x,), Days(True, FIRST_DAY, LAST_DAY))
    return x if kind(x) == "date" else day_of_moment(x)


def to_timestamp(x: Expression) -> Expression:
    x = as_kind(x, "moment", "date", "text")
    if kind(x) == "text":
        return _read("to_timestamp", (x,), Moments(True, FIRST_MOMENT, LAST_MOMENT))
    return x if kind(x) == "moment" else moment_of_day(x)


_NULL = "NULL if x is NULL"
_REFUSED_DATE = Cell("other kinds are refused", (dt.date(2024, 1, 1),), REFUSED)
_REFUSED_NUMBER = Cell("NULL for another text; other kinds are refused", (5,), REFUSED)

FUNCTIONS = (
    Function(
        "to_int", "a number, truth value or text", "a whole number",
        Cell("the nearest whole number, halves away from zero; of a text, digits with an optional sign", ("-012",),
             -12),
        Cell(_NULL, (None,)), Cell("NULL for a text beyond -2^63 to 2^63 - 1", ("9223372036854775808",)),
        Cell("NULL for another text; dates are refused", ("1e5",)), to_int, 1, 1,
        lambda x: on_grid("round", x, Fraction(1)),
    ),
    Function(
        "to_real", "a number or text, and a constant step (0.000001 for texts if left out)", "a number in that step",
        Cell("the nearest multiple of the step, halves away from zero; of a text, a plain decimal", ("-1.25", 0.1),
             Decimal("-1.3")),
        Cell(_NULL, (None, 0.1)), Cell("NULL for a text of 2^63 steps or more", ("9223372036854775808", 1)),
        Cell("NULL for another text; other kinds are refused", (" 12", 1)), to_real, 1, 2,
        lambda x, size=None: x if size is None else on_grid("round", x, Fraction(size)),
    ),
    Function(
        "to_text", "a whole number, truth value, date or moment", "a text: public up to 10,000 values, else unknown",
        Cell("12, true, 2024-01-31 or 2024-01-31 12:00:00", (dt.date(2024, 1, 31),), "2024-01-31"),
        Cell(_NULL, (None,)), NEVER, Cell("refused for numbers that are not whole", (0.5,), REFUSED), to_text, 1, 1,
    ),
    Function(
        "to_bool", "a text or number", "true or false",
        Cell("true, t, 1 and false, f, 0 in any ASCII case; a number that is not 0 is true", ("TRUE",), True),
        Cell(_NULL, (None,)), NEVER, Cell("NULL for another text; dates are refused", ("yes",)), to_bool, 1, 1,
        lambda x: apply("not_equal", (x, 0)),
    ),
    Function(
        "to_date", "a text 'YYYY-MM-DD' or a moment", "a date",
        Cell("the day", ("2024-02-29",), dt.date(2024, 2, 29)), Cell(_NULL, (None,)),
        Cell("NULL for the year 0", ("0000-01-01",)),
        Cell("NULL for another text; other kinds are refused", ("2023-02-29",)), to_date, 1, 1,
    ),
    Function(
        "to_timestamp", "a text 'YYYY-MM-DD HH:MM:SS.ffffff' (shorter ones too, or with T), or a date", "a moment",
        Cell("the moment; of a date, its midnight", ("2024-02-29T12:30",), dt.datetime(2024, 2, 29, 12, 30)),
        Cell(_NULL, (None,)), Cell("NULL for the year 0", ("0000-01-01 00:00",)),
        Cell("NULL for another text; other kinds are refused", ("2024-02-29 24:00",)), to_timestamp, 1, 1,
    ),
)  # fmt: skip
