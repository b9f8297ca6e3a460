"""Names in a catalog: plain words that mean the same in every engine, and shares as people write them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from fractions import Fraction
from unicodedata import normalize

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, exact

OWNER = "owner"
"""Who asks when it is no analyst."""

_LONGEST = 63
PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,62}")
"""What the names of people are made of."""
_SQL = (
    "all and any as asc between both by case cast collate column constraint create cross current_date "
    "current_timestamp default desc distinct else end except exists false fetch for from full group having in inner "
    "intersect interval into is join lateral left like limit natural not null offset on or order outer over primary "
    "qualify references right select semi some table then to true union unique using values when where window with"
)
RESERVED = frozenset(_SQL.split())
"""Words that SQL reads as its own."""


def table_name(name: str) -> str:
    """A name for a table or population: letters, digits and underscores, and no word of SQL."""
    return _word("name", name, hint="Choose another name.")


def column_name(name: str) -> str:
    """A name for a column: letters, digits and underscores, and no word of SQL."""
    hint = f"Declare it under another name, and add rename={{'new_name': {name!r}}}." if isinstance(name, str) else ""
    return _word("column", name, hint=hint)


def _word(kind: str, name: str, *, hint: str) -> str:
    if not _is_word(name) or name.lower() in RESERVED:
        raise InvalidParameter(
            kind,
            name,
            allowed=f"up to {_LONGEST} letters, digits and underscores, not starting with a digit, and no word of SQL",
            hint=hint,
        )
    return name


def _is_word(name: object) -> bool:
    """Whether a name is a word in any script, written in the one form that equal letters share (NFKC)."""
    return isinstance(name, str) and name.isidentifier() and len(name) <= _LONGEST and normalize("NFKC", name) == name


def person_name(name: str) -> str:
    """A name for an analyst."""
    if not isinstance(name, str) or not PERSON.fullmatch(name) or name.lower() == OWNER:
        raise InvalidParameter("analyst", name, allowed=f"a name or mail address, and not {OWNER!r}")
    return name


def unused(kind: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is taken, in whatever case it is written."""
    if name.lower() in {other.lower() for other in known}:
        raise InvalidParameter(kind, name, allowed="new; capital letters make no difference")


def as_share(share: Number) -> Fraction:
    """A share of a budget: '25%', '0.25', 0.25 or Fraction(1, 4)."""
    size = fraction(share=share)
    if not 0 < size <= 1:
        raise InvalidParameter("share", share, allowed="greater than 0 and at most 100%")
    return size


def percent(share: Fraction, *, digits: int = 3) -> str:
    """A share for people, in so many digits."""
    return f"{float(100 * share):.{digits}g}%"


def percents(*shares: Fraction) -> list[str]:
    """Shares for people; those that differ look different."""
    for digits in range(3, 17):
        shown = [percent(share, digits=digits) for share in shares]
        if len(set(shown)) == len(set(shares)):
            break
    return shown


def fraction(**parameter: Number) -> Fraction:
    """A number that may be written in percent: '25%' is one quarter."""
    ((name, value),) = parameter.items()
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text.endswith("%"):
        return exact(**{name: text[:-1]}) / 100
    return exact(**{name: text})


def moment(**parameter: str | dt.date | None) -> dt.datetime | None:
    """The moment that a day begins, in UTC, or the one that was written; without a zone it is taken as UTC."""
    ((name, value),) = parameter.items()
    if value is None:
        return None
    try:
        read = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        found = read if isinstance(read, dt.datetime) else dt.datetime(read.year, read.month, read.day)
    except (AttributeError, TypeError, ValueError):
        raise InvalidParameter(name, value, allowed="a day or moment such as '2027-01-31'") from None
    return found.replace(tzinfo=dt.UTC) if found.tzinfo is None else found.astimezone(dt.UTC)
