"""Formulas for frames: columns, values, operators and aggregates, written in Python.

    dl.col("age") >= 65        (dl.col("city") == "Oslo") & ~dl.col("urgent")        dl.mean("cost")

A formula only describes; it holds no data. A text in place of a column is its name, and a text that is compared with
one is a value.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any, NoReturn, TypeAlias

from dalenius.errors import QueryRefused
from dalenius.privacy.numbers import Number, exact_written
from dalenius.query.rendering import text
from dalenius.query.syntax import Apply, Constant, Name, Term, UnitsIn

Value: TypeAlias = "Formula | bool | int | float | Decimal | Fraction | str | dt.date | dt.datetime | None"
"""What can stand beside a formula."""


class Formula:
    """A value that every row or group has. Operators and methods make new formulas."""

    __slots__ = ("name", "term")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Term, name: str | None = None) -> None:
        self.term, self.name = term, name

    def alias(self, name: str) -> Formula:
        """The same, under a name."""
        return Formula(self.term, name)

    def __repr__(self) -> str:
        return text(self.term) if self.name is None else f"{text(self.term)} AS {self.name}"

    # ---- what Python would decide, and cannot

    def __bool__(self) -> NoReturn:
        raise QueryRefused(
            repr(self),
            rule="a formula is neither true nor false before it is asked, so `and`, `or`, `not` and `if` cannot use it",
            instead="Write & for and, | for or, ~ for not, each side in brackets; and .between(a, b) for a < x < b.",
        )

    def __iter__(self) -> NoReturn:
        raise QueryRefused(repr(self), rule="a formula is not a list", instead="Use .is_in([...]) or .contains(...).")

    # ---- arithmetic

    def __add__(self, other: Value) -> Formula:
        return apply("add", self, other)

    def __radd__(self, other: Value) -> Formula:
        return apply("add", other, self)

    def __sub__(self, other: Value) -> Formula:
        return apply("subtract", self, other)

    def __rsub__(self, other: Value) -> Formula:
        return apply("subtract", other, self)

    def __mul__(self, other: Value) -> Formula:
        return apply("multiply", self, other)

    def __rmul__(self, other: Value) -> Formula:
        return apply("multiply", other, self)

    def __truediv__(self, other: Value) -> Formula:
        return apply("divide", self, other)

    def __rtruediv__(self, other: Value) -> Formula:
        return apply("divide", other, self)

    def __floordiv__(self, other: Value) -> Formula:
        return apply("floor_divide", self, other)

    def __rfloordiv__(self, other: Value) -> Formula:
        return apply("floor_divide", other, self)

    def __mod__(self, other: Value) -> Formula:
        return apply("modulo", self, other)

    def __rmod__(self, other: Value) -> Formula:
        return apply("modulo", other, self)

    def __neg__(self) -> Formula:
        value = self.term.value if isinstance(self.term, Constant) else None
        if isinstance(value, int | Fraction) and not isinstance(value, bool):
            return Formula(Constant(-value))  # as in SQL, the sign before a number is part of it
        return apply("negate", self)

    def __abs__(self) -> Formula:
        return apply("abs", self)

    def abs(self) -> Formula:
        """Its size without the sign."""
        return apply("abs", self)

    def sign(self) -> Formula:
        """-1, 0 or 1."""
        return apply("sign", self)

    def floor(self) -> Formula:
        """The largest whole number that is not above it."""
        return apply("floor", self)

    def ceil(self) -> Formula:
        """The smallest whole number that is not below it."""
        return apply("ceil", self)

    def round(self, digits: int = 0) -> Formula:
        """Rounded to so many decimal places."""
        return apply("round", self, digits)

    def clamp(self, lower: Value, upper: Value) -> Formula:
        """Moved to the nearest value from `lower` to `upper`."""
        return apply("clamp", self, lower, upper)

    def bin(self, width: Number) -> Formula:
        """The lower edge of its bin: bins start at multiples of `width`."""
        return apply("bin", self, exact_written(width=width))

    # ---- comparison and logic

    def __eq__(self, other: Value) -> Formula:  # type: ignore[override]
        return apply("equal", self, other)

    def __ne__(self, other: Value) -> Formula:  # type: ignore[override]
        return apply("not_equal", self, other)

    def __lt__(self, other: Value) -> Formula:
        return apply("less", self, other)

    def __le__(self, other: Value) -> Formula:
        return apply("less_equal", self, other)

    def __gt__(self, other: Value) -> Formula:
        return apply("greater", self, other)

    def __ge__(self, other: Value) -> Formula:
        return apply("greater_equal", self, other)

    def __and__(self, other: Value) -> Formula:
        return apply("and", self, other)

    def __rand__(self, other: Value) -> Formula:
        return apply("and", other, self)

    def __or__(self, other: Value) -> Formula:
        return apply("or", self, other)

    def __ror__(self, other: Value) -> Formula:
        return apply("or", other, self)

    def __invert__(self) -> Formula:
        if isinstance(self.term, UnitsIn):
            return Formula(replace(self.term, negated=not self.term.negated))
        return apply("not", self)

    def between(self, lower: Value, upper: Value) -> Formula:
        """Whether it lies from `lower` to `upper`, both included."""
        return apply("between", self, lower, upper)

    def is_in(self, values: Iterable[Value] | Any) -> Formula:
        """Whether it is one of the values; or, for the unit, whether a frame that selects the unit has it."""
        within = getattr(values, "syntax", None)
        if within is not None:
            return Formula(UnitsIn(_unit(self), within()))
        listed = list(values)
        if not listed:
            raise QueryRefused(repr(self), rule="is_in got no values", instead="Give one or more.")
        return apply("in", self, *listed)

    def is_null(self) -> Formula:
        """Whether it is missing."""
        return apply("is_null", self)

    def is_not_null(self) -> Formula:
        """Whether it is there."""
        return ~apply("is_null", self)

    def fill_null(self, value: Value) -> Formula:
        """Another value where it is missing."""
        return apply("coalesce", self, value)

    def null_if(self, value: Value) -> Formula:
        """Missing where it equals the value."""
        return apply("null_if", self, value)

    # ---- text

    def like(self, pattern: str) -> Formula:
        """Whether it matches a pattern with % (any text) and _ (any character)."""
        return apply("like", self, pattern)

    def lower(self) -> Formula:
        """In small letters, A to Z alone."""
        return apply("lower", self)

    def upper(self) -> Formula:
        """In capitals, a to z alone."""
        return apply("upper", self)

    def trim(self) -> Formula:
        """Without blanks at both ends."""
        return apply("trim", self)

    def length(self) -> Formula:
        """How many characters it has."""
        return apply("length", self)

    def substring(self, start: int, length: int) -> Formula:
        """So many characters from a place; the first is at 1."""
        return apply("substring", self, start, length)

    def replace(self, old: str, new: str) -> Formula:
        """With every `old` turned into `new`."""
        return apply("replace", self, old, new)

    def starts_with(self, start: str) -> Formula:
        """Whether it begins with a text."""
        return apply("starts_with", self, start)

    def ends_with(self, end: str) -> Formula:
        """Whether it ends with a text."""
        return apply("ends_with", self, end)

    def contains(self, part: str) -> Formula:
        """Whether a text occurs in it."""
        return apply("contains", self, part)

    def concat(self, other: Value) -> Formula:
        """It and another text, one after the other."""
        return apply("concat", self, other)

    # ---- dates and moments

    def year(self) -> Formula:
        """The year of a date or moment."""
        return apply("year", self)

    def quarter(self) -> Formula:
        """The quarter, 1 to 4."""
        return apply("quarter", self)

    def month(self) -> Formula:
        """The month, 1 to 12."""
        return apply("month", self)

    def day(self) -> Formula:
        """The day of the month."""
        return apply("day", self)

    def weekday(self) -> Formula:
        """The day of the week: 1 is Monday, 7 is Sunday."""
        return apply("weekday", self)

    def day_of_year(self) -> Formula:
        """The day of the year, from 1."""
        return apply("day_of_year", self)

    def hour(self) -> Formula:
        """The hour of a moment."""
        return apply("hour", self)

    def minute(self) -> Formula:
        """The minute of a moment."""
        return apply("minute", self)

    def second(self) -> Formula:
        """The second of a moment."""
        return apply("second", self)

    def date_trunc(self, unit: str) -> Formula:
        """The start of its year, quarter, month, week, day, ..."""
        return apply("date_trunc", unit, self)

    def add_days(self, days: Value) -> Formula:
        """So many days later."""
        return apply("add_days", self, days)

    def days_until(self, end: Value) -> Formula:
        """The number of days from here to `end`."""
        return apply("days_between", self, end)

    # ---- other types

    def to_int(self) -> Formula:
        """As a whole number."""
        return apply("to_int", self)

    def to_real(self, step: Number) -> Formula:
        """As a number in steps."""
        return apply("to_real", self, exact_written(step=step))

    def to_text(self) -> Formula:
        """As text."""
        return apply("to_text", self)

    def to_bool(self) -> Formula:
        """As true or false."""
        return apply("to_bool", self)

    def to_date(self) -> Formula:
        """As a day."""
        return apply("to_date", self)

    def to_timestamp(self) -> Formula:
        """As a moment."""
        return apply("to_timestamp", self)


def apply(function: str, *arguments: Value) -> Formula:
    """A function of formulas and values, by the name in the list of functions."""
    terms = tuple(lit(argument).term for argument in arguments)
    return Formula(Apply(function, terms))


def col(name: str, *, table: str | None = None) -> Formula:
    """A column, by its name: `col("age")`, `col("visits.age")` or `col("age", table="visits")`."""
    if not isinstance(name, str) or not name or name == "*":
        raise QueryRefused(str(name), rule="a column is named by a text", instead='Write col("age").')
    if table is None and "." in name:
        table, _, name = name.partition(".")
    return Formula(Name(name, table))


def lit(value: Value) -> Formula:
    """A constant; a formula stays as it is. A float is read as the shortest decimal that prints it."""
    if isinstance(value, Formula):
        return value
    if value is None or isinstance(value, bool | str | dt.date):
        return Formula(Constant(value))
    if isinstance(value, Integral):
        return Formula(Constant(int(exact_written(value=int(value)))))
    if isinstance(value, int | float | Decimal | Fraction):
        return Formula(Constant(exact_written(value=value)))
    raise QueryRefused(
        type(value).__name__,
        rule="it is neither a formula nor a number, text, truth value, date or moment",
        instead="Name columns with col(...).",
    )


def named(column: str | Formula) -> Formula:
    """A column given by its name, or a formula."""
    return col(column) if isinstance(column, str) else lit(column)


def _unit(formula: Formula) -> Name:
    if not isinstance(formula.term, Name):
        raise QueryRefused(
            repr(formula), rule="only the unit can be looked up in a frame", instead='Write col("unit").is_in(frame).'
        )
    return formula.term


class When:
    """when(condition).then(value), with more pairs and .otherwise(value): CASE."""

    def __init__(self, condition: Value, before: tuple[Term, ...] = ()) -> None:
        self._condition, self._before = lit(condition).term, before

    def then(self, value: Value) -> Then:
        """The value where the condition is true."""
        return Then((*self._before, self._condition, lit(value).term))


class Then(Formula):
    """A CASE that is missing where no condition is true."""

    __slots__ = ("_arms",)

    def __init__(self, arms: tuple[Term, ...]) -> None:
        super().__init__(Apply("case", (*arms, Constant(None))))
        self._arms = arms

    def when(self, condition: Value) -> When:
        """One more condition."""
        return When(condition, self._arms)

    def otherwise(self, value: Value) -> Formula:
        """The value where no condition is true."""
        return Formula(Apply("case", (*self._arms, lit(value).term)))


def when(condition: Value) -> When:
    """The start of a CASE: `when(col("age") >= 65).then("old").otherwise("young")`."""
    return When(condition)


def least(*values: Value) -> Formula:
    """The smallest of several values of a row."""
    return apply("least", *values)


def greatest(*values: Value) -> Formula:
    """The largest of several values of a row."""
    return apply("greatest", *values)


def coalesce(*values: Value) -> Formula:
    """The first of several values that is not missing."""
    return apply("coalesce", *values)
