"""Parts of dates and moments, and steps between them, as integer arithmetic on days and microseconds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from dalenius.query.calendar import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, Grain
from dalenius.query.expressions import Expression, Literal
from dalenius.query.functions.arguments import (
    as_kind,
    bounds,
    constant,
    day,
    fold,
    in_step,
    integer,
    kind,
    made,
    moment_of_day,
    nullable,
    span,
    step,
)
from dalenius.query.functions.evaluation import apply
from dalenius.query.functions.signatures import NEVER, REFUSED, Cell, Function, Unfit
from dalenius.query.types import Bool, Dated, Days, Moments, Number

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_SIZES = {"second": DAY // 86_400, "minute": DAY // 1_440, "hour": DAY // 24, "day": DAY, "week": 7 * DAY}
_RANGES = {"year": (1, 9999), "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "day_of_year": (1, 366)}


def part_of_day(name: str) -> Callable[[Expression], Expression]:
    """year, quarter, month, day or day_of_year."""

    def build(x: Expression) -> Expression:
        date = day(x)
        return made(name, (date,), Number(date.domain.nullable, *_part_range(name, *bounds(date))))

    return build


def _part_range(name: str, low: int, high: int) -> tuple[int, int]:
    if name == "year" or high - low <= 366:
        days = [low, high] if name == "year" else range(low, high + 1)
        codes = [code for code in (apply(name, [each]) for each in days) if isinstance(code, int)]
        return min(codes), max(codes)
    return _RANGES[name]


def weekday(x: Expression) -> Expression:
    monday = shift(day(x), -FIRST_DAY)  # 0001-01-01 is a Monday
    return shift(remainder(monday, 7), 1)


def part_of_moment(unit: int, cycle: int) -> Callable[[Expression], Expression]:
    """How many `unit` there are since the last full `cycle`."""

    def build(x: Expression) -> Expression:
        moment = shift(as_kind(x, "moment"), -FIRST_MOMENT)
        return quotient(remainder(moment, cycle), unit)

    return build


def shift(x: Expression, by: int) -> Expression:
    """x + by, as a number."""
    low, high = bounds(x)
    return made("add", (x, integer(by)), span([low + by, high + by], null=x.domain.nullable))


def remainder(x: Expression, size: int) -> Expression:
    """x modulo a positive constant."""
    low, high = bounds(x)
    codes = [low % size, high % size] if low // size == high // size else [0, size - 1]
    return made("modulo", (x, integer(size)), span(codes, null=x.domain.nullable))


def quotient(x: Expression, size: int) -> Expression:
    """x / size, rounded down."""
    codes = [code // size for code in bounds(x)]
    return made("floor", (x, integer(1), integer(size)), span(codes, null=x.domain.nullable))


def snapped(x: Expression, grain: Grain) -> Expression:
    """The last date or moment of the grain up to x."""
    domain = x.domain
    assert isinstance(domain, Dated)
    low, high = (grain.floor(code) for code in bounds(x))
    target = replace(domain.within(low, high), grain=grain)
    if isinstance(x, Literal):
        return fold(None if x.value is None else grain.floor(int(x.value)), target)
    if grain.months:
        return made("first_of_months", (x, integer(grain.months)), target)
    bins = quotient(shift(x, -grain.offset), grain.size)
    edges = made("scale", (bins, integer(grain.size)), _times(bins, grain.size))
    return made("add", (edges, integer(grain.offset)), target)


def _times(x: Expression, factor: int) -> Number:
    return span([code * factor for code in bounds(x)], null=x.domain.nullable)


def date_trunc(unit: Expression, x: Expression) -> Expression:
    word = str(constant(as_kind(unit, "text"), "the unit")).lower()
    x = as_kind(x, "date", "moment")
    allowed = [*_MONTHS, "week", "day"] if kind(x) == "date" else [*_MONTHS, *_SIZES]
    if word not in allowed:
        raise Unfit(f"{x.domain} cannot be cut to a {word}", f"Use one of {', '.join(allowed)}.")
    if word in _MONTHS:
        first = snapped(day(x), Grain(months=_MONTHS[word]))
        return first if kind(x) == "date" else _months_as_moments(first, _MONTHS[word])
    size = _SIZES[word] if kind(x) == "moment" else _SIZES[word] // DAY
    return snapped(x, Grain(size, _origin(x) % size))


def _months_as_moments(first: Expression, months: int) -> Expression:
    moment = moment_of_day(first)
    assert isinstance(moment.domain, Moments)
    return replace(moment, domain=replace(moment.domain, grain=Grain(size=DAY, months=months)))


def _origin(x: Expression) -> int:
    return FIRST_DAY if kind(x) == "date" else FIRST_MOMENT


def bin_of_dates(x: Expression, width: Fraction) -> Expression:
    size = width if kind(x) == "date" else width * DAY
    if size.denominator != 1 or size > LAST_MOMENT:
        raise Unfit("a bin of dates is a whole number of days, of moments a whole number of microseconds", "Round it.")
    return snapped(x, Grain(int(size), _origin(x) % int(size)))


def add_days(x: Expression, days: Expression) -> Expression:
    x, days = as_kind(x, "date", "moment"), as_kind(days, "number")
    if step(days).denominator != 1:
        raise Unfit(f"days are whole numbers, but these are {days.domain}", "Round them first, with to_int().")
    days = in_step(days, Fraction(1))
    size, first, last = (1, FIRST_DAY, LAST_DAY) if kind(x) == "date" else (DAY, FIRST_MOMENT, LAST_MOMENT)
    moved = days if size == 1 else made("scale", (days, integer(size)), _times(days, size))
    codes = [a + b for a, b in zip(bounds(x), bounds(moved), strict=True)]
    return _inside(made("add", (x, moved), span(codes, null=nullable((x, days)))), first, last, kind(x))


def _inside(x: Expression, first: int, last: int, name: str) -> Expression:
    """x as a date, NULL where it lies outside the calendar."""
    low, high = bounds(x)
    family = Days if name == "date" else Moments
    if isinstance(x, Literal):
        inside = isinstance(x.value, int) and first <= x.value <= last
        return fold(x.value if inside else None, family(True, *((low, high) if inside else (0, 0))))
    if first <= low and high <= last:
        return replace(x, domain=family(x.domain.nullable, low, high))
    if high < first or low > last:
        return Literal(family(True, 0, 0), None)
    within = made("between", (x, integer(first), integer(last)), Bool(x.domain.nullable))
    domain = family(True, max(low, first), min(high, last))
    return made("case", (within, x, Literal(domain, None)), domain)


def days_between(start: Expression, end: Expression) -> Expression:
    start, end = day(start), day(end)
    (low, high), (least, most) = bounds(start), bounds(end)
    return made("subtract", (end, start), span([least - high, most - low], null=nullable((start, end))))


_NULL = "NULL if an argument is NULL"
_LEAP = dt.date(2024, 2, 29)
_NOON = dt.datetime(2024, 2, 29, 12, 34, 56, 789_000)
_KIND = Cell("refused for what is not a date or moment", (5,), REFUSED)
_MOMENT = Cell("refused for what is not a moment", (_LEAP,), REFUSED)


def _part(name: str, meaning: str, gives: str, result: int) -> Function:
    return Function(
        name, "a date or moment", gives, Cell(meaning, (_LEAP,), result), Cell(_NULL, (None,)), NEVER, _KIND,
        weekday if name == "weekday" else part_of_day(name), 1, 1,
    )  # fmt: skip


def _time(name: str, meaning: str, gives: str, unit: int, cycle: int, result: int) -> Function:
    return Function(
        name, "a moment", gives, Cell(meaning, (_NOON,), result), Cell(_NULL, (None,)), NEVER, _MOMENT,
        part_of_moment(unit, cycle), 1, 1,
    )  # fmt: skip


FUNCTIONS = (
    _part("year", "the year", "1 to 9999", 2024),
    _part("quarter", "the quarter", "1 to 4", 1),
    _part("month", "the month", "1 to 12", 2),
    _part("day", "the day of the month", "1 to 31", 29),
    _part("weekday", "the day of the week: 1 is Monday, 7 is Sunday", "1 to 7", 4),
    _part("day_of_year", "the day of the year", "1 to 366", 60),
    _time("hour", "the hour", "0 to 23", _SIZES["hour"], DAY, 12),
    _time("minute", "the minute", "0 to 59", _SIZES["minute"], _SIZES["hour"], 34),
    _time("second", "the second, without its fraction", "0 to 59", _SIZES["second"], _SIZES["minute"], 56),
    Function(
        "date_trunc", "a constant unit (year, quarter, month, week, day; for moments also hour, minute, second), and a "
        "date or moment", "a date or moment; as keys, the beginnings of units only",
        Cell("the beginning of the unit; weeks begin on Monday", ("week", _LEAP), dt.date(2024, 2, 26)),
        Cell("NULL if the date is NULL", ("month", None)), NEVER,
        Cell("refused for another unit", ("hour", _LEAP), REFUSED), date_trunc, 2, 2,
    ),
    Function(
        "add_days", "a date or moment, and a whole number", "a date or moment",
        Cell("so many days later", (_LEAP, 366), dt.date(2025, 3, 1)), Cell(_NULL, (_LEAP, None)),
        Cell("NULL before the year 1 or after 9999", (dt.date(9999, 12, 31), 1)),
        Cell("refused for days that are not whole", (_LEAP, Fraction(1, 2)), REFUSED), add_days, 2, 2,
    ),
    Function(
        "days_between", "two dates or moments", "a whole number",
        Cell("days from the first to the second; of moments, from day to day", (_LEAP, dt.date(2024, 3, 1)), 1),
        Cell(_NULL, (None, _LEAP)), NEVER, Cell("refused for what is not a date or moment", (1, 2), REFUSED),
        days_between, 2, 2,
    ),
)  # fmt: skip
