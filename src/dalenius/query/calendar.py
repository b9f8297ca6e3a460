"""Days and moments as integers: proleptic Gregorian arithmetic for the years 1 to 9999."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

EPOCH_ORDINAL = dt.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = 1 - EPOCH_ORDINAL, dt.date.max.toordinal() - EPOCH_ORDINAL
"""0001-01-01 (a Monday) and 9999-12-31, in days from 1970-01-01."""
DAY = 86_400_000_000
"""Microseconds in a day."""
FIRST_MOMENT, LAST_MOMENT = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1

_DATE = r"(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-([0-9]{2})-([0-9]{2})"
_TIME = r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,6}))?)?"
DATE_PATTERN = _DATE
"""A day as text, before it is known whether the month has it; the same in Python and in RE2."""
MOMENT_PATTERN = f"{_DATE}(?:[ T]{_TIME})?"
_DATE_TEXT, _MOMENT_TEXT = re.compile(DATE_PATTERN), re.compile(MOMENT_PATTERN)


@dataclass(frozen=True)
class Grain:
    """Which integers of a range occur: `offset` and every `size`-th from there, in both directions; or, where `months`
    is set, `size` times the first day of every `months`-th month."""

    size: int = 1
    offset: int = 0
    months: int = 0

    def floor(self, code: int) -> int:
        """The last code of the grain up to this one."""
        if self.months:
            return first_of_months(code // self.size, self.months) * self.size
        return (code - self.offset) // self.size * self.size + self.offset

    def count(self, lower: int, upper: int) -> int:
        """How many codes of the grain lie in a range."""
        return self._index(upper) - self._index(lower - 1)

    def codes(self, lower: int, upper: int) -> list[int]:
        """The codes of the grain in a range, in order."""
        if not self.months:
            first = -(-(lower - self.offset) // self.size) * self.size + self.offset
            return list(range(first, upper + 1, self.size))
        starts = range(self._index(lower - 1) + 1, self._index(upper) + 1)
        return [first_day(start * self.months) * self.size for start in starts]

    def _index(self, code: int) -> int:
        if not self.months:
            return (code - self.offset) // self.size
        day = code // self.size
        return 12 // self.months - 1 if day < FIRST_DAY else month_index(day) // self.months


EVERY = Grain()


def as_day(day: int) -> dt.date:
    """The date of a number of days from 1970-01-01."""
    return dt.date.fromordinal(day + EPOCH_ORDINAL)


def day_number(date: dt.date) -> int:
    """The number of days from 1970-01-01."""
    return date.toordinal() - EPOCH_ORDINAL


def moment_number(moment: dt.datetime) -> int:
    """The number of microseconds from 1970-01-01 00:00."""
    return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def month_index(day: int) -> int:
    """Months since January of the year 0."""
    date = as_day(day)
    return date.year * 12 + date.month - 1


def first_day(index: int) -> int:
    """The first day of the month with this index."""
    return day_number(dt.date(index // 12, index % 12 + 1, 1))


def first_of_months(day: int, months: int) -> int:
    """The first day of the day's month (1), quarter (3) or year (12)."""
    return first_day(month_index(day) // months * months)


def read_day(text: str) -> int | None:
    """The day that a text 'YYYY-MM-DD' names; None for any other text."""
    found = _DATE_TEXT.fullmatch(text)
    if not found:
        return None
    try:
        return day_number(dt.date(*(int(part) for part in found.groups())))
    except ValueError:
        return None


def read_moment(text: str) -> int | None:
    """The moment that a text 'YYYY-MM-DD', 'YYYY-MM-DD HH:MM' or 'YYYY-MM-DD HH:MM:SS.ffffff' names (a T may stand for
    the blank); None for any other text."""
    found = _MOMENT_TEXT.fullmatch(text)
    day = read_day(text[:10])
    if not found or day is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[3:6])
    return day * DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000 + int((found[7] or "").ljust(6, "0"))


def moment_text(moment: int) -> str:
    """'YYYY-MM-DD HH:MM:SS', with six digits of a second's fraction where that is not 0."""
    written = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=moment)
    return written.isoformat(sep=" ")
