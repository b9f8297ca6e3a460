"""What a column may hold, declared by the owner and never read from the data.

Inside a plan every value is a *code*: an integer number of steps, days or microseconds, a truth value, a text, or
`None` for NULL. A domain turns what people write into codes and codes into what people read. Numbers, dates and
truth values are NULL only where `nullable=True` says so; texts and categories may be NULL unless told otherwise.
"""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any, Self, TypeAlias

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number as Figure
from dalenius.privacy.numbers import exact, exact_written, positive
from dalenius.query.calendar import EVERY, Grain

Code: TypeAlias = int | bool | str | None
"""A value inside a plan."""

WIDEST = 2**126
"""Codes stay below this in size, so that a sum or difference of two of them still fits into 128 bits."""

EPOCH = dt.date(1970, 1, 1)
_EPOCH_MOMENT = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_LONG = Context(prec=200)  # no code of a column has as many digits


@dataclass(frozen=True)
class Domain:
    """The values that a column may hold; `nullable` says whether NULL is one of them."""

    nullable: bool

    @property
    def size(self) -> int | None:
        """How many different keys it has, NULL among them where it is allowed; None if they are not public."""
        return None

    def codes(self) -> list[Code]:
        """All keys in order, NULL last."""
        raise InvalidParameter("keys", str(self), allowed="public: a number, date, truth value or category")

    def code(self, value: Any) -> Code:
        """The code of a value that somebody wrote, clamped into the domain."""
        raise InvalidParameter("value", type(value), allowed=f"of a kind that can be written; {self} cannot")

    def decode(self, code: Code) -> Any:
        """The value of a code, for people."""
        return code

    def or_null(self, nullable: bool = True) -> Self:
        """The same domain, with or without NULL."""
        return replace(self, nullable=nullable)


@dataclass(frozen=True)
class Ranged(Domain):
    """Integers from `lower` to `upper`, both included; what they count is the subclass's business."""

    lower: int
    upper: int

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            lower, upper = self._readable(self.lower), self._readable(self.upper)
            raise InvalidParameter("upper", upper, allowed=f"at least the lower bound {lower}")
        if max(abs(self.lower), abs(self.upper)) >= WIDEST:
            raise InvalidParameter("range", "too wide", allowed="below 2^126 in steps of the column")

    def _readable(self, code: int) -> str | int:
        """A bound as people write it; a day that no calendar has stays a number."""
        try:
            shown = self.decode(code)
            return shown if isinstance(shown, int) else str(shown)
        except (OverflowError, ValueError):
            return code

    @property
    def size(self) -> int | None:
        return self.upper - self.lower + 1 + self.nullable

    def codes(self) -> list[Code]:
        return [*range(self.lower, self.upper + 1), *([None] if self.nullable else [])]

    def clamped(self, code: int) -> int:
        return max(self.lower, min(code, self.upper))

    def within(self, lower: int, upper: int) -> Self:
        """The same domain with new bounds."""
        return replace(self, lower=lower, upper=upper)


@dataclass(frozen=True)
class Number(Ranged):
    """Multiples of `step`: the code of a value is value / step."""

    step: Fraction = Fraction(1)

    def code(self, value: Any) -> Code:
        return None if value is None else self.clamped(floor(exact(value=value) / self.step + Fraction(1, 2)))

    def decode(self, code: Code) -> Any:
        if code is None:
            return None
        if self.step.denominator == 1:
            return int(code) * self.step.numerator
        return decimal(Fraction(code) * self.step)

    def __str__(self) -> str:
        if self.lower == self.upper:
            return str(self.decode(self.lower))
        bounds = f"{self.decode(self.lower)} to {self.decode(self.upper)}"
        return f"numbers from {bounds}" + ("" if self.step == 1 else f" in steps of {decimal(self.step)}")


class Int(Number):
    """Whole numbers from `lower` to `upper`; what lies outside is moved to the nearest bound."""

    def __init__(self, lower: int, upper: int, *, nullable: bool = False) -> None:
        low, high = exact_written(lower=lower), exact_written(upper=upper)
        if low.denominator != 1 or high.denominator != 1:
            raise InvalidParameter("bounds", (lower, upper), allowed="whole numbers; use Real for others")
        _fill(self, nullable=nullable, lower=int(low), upper=int(high), step=Fraction(1))

    def or_null(self, nullable: bool = True) -> Number:  # type: ignore[override]
        return Number(nullable, self.lower, self.upper, self.step)

    def within(self, lower: int, upper: int) -> Number:  # type: ignore[override]
        return Number(self.nullable, lower, upper, self.step)


class Real(Number):
    """Real numbers from `lower` to `upper`, kept as the nearest multiple of `step`."""

    def __init__(self, lower: Figure, upper: Figure, *, step: Figure | None = None, nullable: bool = False) -> None:
        if step is None:
            raise InvalidParameter("step", None, allowed="stated, such as Real(0, 5000, step='0.01')",
                                   hint="Values are kept as the nearest multiple of it.")  # fmt: skip
        size = positive(step=exact_written(step=step))
        low, high = ceil(exact_written(lower=lower) / size), floor(exact_written(upper=upper) / size)
        _fill(self, nullable=nullable, lower=low, upper=high, step=size)

    def or_null(self, nullable: bool = True) -> Number:  # type: ignore[override]
        return Number(nullable, self.lower, self.upper, self.step)

    def within(self, lower: int, upper: int) -> Number:  # type: ignore[override]
        return Number(self.nullable, lower, upper, self.step)


@dataclass(frozen=True)
class Dated(Ranged):
    """Days or moments; `grain` says which of the range occur, such as the first days of months."""

    grain: Grain = EVERY

    @property
    def size(self) -> int | None:
        return self.grain.count(self.lower, self.upper) + self.nullable

    def codes(self) -> list[Code]:
        return [*self.grain.codes(self.lower, self.upper), *([None] if self.nullable else [])]


@dataclass(frozen=True)
class Days(Dated):
    """Days, counted from 1970-01-01."""

    def code(self, value: Any) -> Code:
        return None if value is None else self.clamped((as_date(value) - EPOCH).days)

    def decode(self, code: Code) -> Any:
        return None if code is None else EPOCH + dt.timedelta(days=int(code))

    def __str__(self) -> str:
        if self.lower == self.upper:
            return str(self.decode(self.lower))
        return f"days from {self.decode(self.lower)} to {self.decode(self.upper)}"


class Date(Days):
    """Days from `lower` to `upper`, written as '2024-01-31' or `datetime.date`."""

    def __init__(self, lower: str | dt.date, upper: str | dt.date, *, nullable: bool = False) -> None:
        low, high = ((as_date(day) - EPOCH).days for day in (lower, upper))
        _fill(self, nullable=nullable, lower=low, upper=high)

    def or_null(self, nullable: bool = True) -> Days:  # type: ignore[override]
        return Days(nullable, self.lower, self.upper)

    def within(self, lower: int, upper: int) -> Days:  # type: ignore[override]
        return Days(self.nullable, lower, upper)


@dataclass(frozen=True)
class Moments(Dated):
    """Moments without a time zone, counted in microseconds from 1970-01-01 00:00."""

    def code(self, value: Any) -> Code:
        return None if value is None else self.clamped((as_moment(value) - _EPOCH_MOMENT) // _MICROSECOND)

    def decode(self, code: Code) -> Any:
        return None if code is None else _EPOCH_MOMENT + int(code) * _MICROSECOND

    def __str__(self) -> str:
        if self.lower == self.upper:
            return str(self.decode(self.lower))
        return f"moments from {self.decode(self.lower)} to {self.decode(self.upper)}"


class Timestamp(Moments):
    """Moments from `lower` to `upper`, written as '2024-01-31 12:00' or `datetime.datetime`, without a time zone."""

    def __init__(self, lower: str | dt.datetime, upper: str | dt.datetime, *, nullable: bool = False) -> None:
        low, high = ((as_moment(moment) - _EPOCH_MOMENT) // _MICROSECOND for moment in (lower, upper))
        _fill(self, nullable=nullable, lower=low, upper=high)

    def or_null(self, nullable: bool = True) -> Moments:  # type: ignore[override]
        return Moments(nullable, self.lower, self.upper)

    def within(self, lower: int, upper: int) -> Moments:  # type: ignore[override]
        return Moments(self.nullable, lower, upper)


@dataclass(frozen=True)
class Bool(Domain):
    """True or false."""

    nullable: bool = False

    @property
    def size(self) -> int | None:
        return 2 + self.nullable

    def codes(self) -> list[Code]:
        return [False, True, *([None] if self.nullable else [])]

    def code(self, value: Any) -> Code:
        if value is not None and not isinstance(value, bool):
            raise InvalidParameter("value", value, allowed="true or false")
        return value

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Text(Domain):
    """Any text. Its values are nobody's to list: as keys they are found privately."""

    nullable: bool = True

    def code(self, value: Any) -> Code:
        return None if value is None else normal(value)

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True)
class Choice(Text):
    """One of the texts that the owner listed, or that follow from these; anything else is NULL."""

    values: tuple[str, ...] = ()

    @property
    def size(self) -> int | None:
        return len(self.values) + self.nullable

    def codes(self) -> list[Code]:
        return [*self.values, *([None] if self.nullable else [])]

    def __str__(self) -> str:
        if len(self.values) <= 1:
            return f"'{self.values[0]}'" if self.values else "NULL"
        listed = ", ".join(self.values[:5])
        return f"one of {listed}" + ("" if len(self.values) <= 5 else f" and {len(self.values) - 5} more")


class Category(Choice):
    """One of the listed texts; a value that is not listed becomes NULL."""

    def __init__(self, *values: str, nullable: bool = True) -> None:
        listed = values[0] if len(values) == 1 and isinstance(values[0], list | tuple) else values
        texts = tuple(normal(value) for value in listed)
        if not texts or len(set(texts)) < len(texts):
            raise InvalidParameter("values", listed, allowed="one or more texts, each listed once")
        _fill(self, nullable=nullable, values=texts)

    def or_null(self, nullable: bool = True) -> Choice:  # type: ignore[override]
        return Choice(nullable, self.values)


@dataclass(frozen=True)
class Identifier(Domain):
    """Whose row this is: the unit of a population. It can be counted, grouped by per unit and joined on; nothing
    else may be computed from it."""

    population: str

    def __str__(self) -> str:
        return f"the unit of {self.population}"


def choice(values: Sequence[str], *, nullable: bool) -> Choice:
    """A domain of public texts, in bytewise order without repetition."""
    return Choice(nullable, tuple(sorted(set(values), key=str.encode)))


LONGEST_KEPT = 1_000
"""Code points that are kept of a text of no listed kind; what follows is cut off when it is read, so that no row can
make a question slow by the length of its texts. Ids are kept whole."""
LONGEST_READ = 4 * LONGEST_KEPT
"""Code points of a text that are read at all, before it is brought to NFC: for marks in a row that takes time that
grows with their square. An id that is longer names nobody."""


def normal(value: Any) -> str:
    """A text in the form in which keys are compared: NFC, without NUL."""
    if not isinstance(value, str):
        raise InvalidParameter("value", type(value), allowed="a text")
    text = unicodedata.normalize("NFC", value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidParameter("value", "a text with a lone surrogate", allowed="valid Unicode") from None
    if "\0" in text:
        raise InvalidParameter("value", "a text with a NUL character", allowed="text without NUL")
    return text


def as_date(value: Any) -> dt.date:
    """The day that somebody wrote."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    try:
        return dt.date.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidParameter("date", value, allowed="a date such as '2024-01-31'") from None


def as_moment(value: Any) -> dt.datetime:
    """The moment that somebody wrote."""
    try:
        moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidParameter("timestamp", value, allowed="a moment such as '2024-01-31 12:00:00'") from None
    if moment.tzinfo is not None:
        raise InvalidParameter("timestamp", value, allowed="without a time zone; convert it to one zone first")
    return moment


def decimal(value: Fraction) -> Decimal | Fraction:
    """The exact decimal, where there is one."""
    digits = _LONG.divide(Decimal(value.numerator), Decimal(value.denominator))
    return digits if Fraction(digits) == value else value


def _fill(domain: Domain, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(domain, name, value)
    check = getattr(domain, "__post_init__", None)
    if check:
        check()
