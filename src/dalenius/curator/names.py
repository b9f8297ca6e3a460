"""Names in a catalog: plain words that mean the same in every engine, and shares as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, exact

OWNER = "owner"
"""Who asks when it is no analyst."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,62}")
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
    return _word("name", name)


def column_name(name: str) -> str:
    """A name for a column: letters, digits and underscores, and no word of SQL."""
    return _word("column", name)


def _word(kind: str, name: str) -> str:
    if not isinstance(name, str) or not _WORD.fullmatch(name) or name.lower() in RESERVED:
        raise InvalidParameter(
            kind,
            name,
            allowed="letters a to z, digits and underscores, not starting with a digit, and no word of SQL",
            hint="Rename it in the source.",
        )
    return name


def person_name(name: str) -> str:
    """A name for an analyst."""
    if not isinstance(name, str) or not _PERSON.fullmatch(name) or name.lower() == OWNER:
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


def fraction(**parameter: Number) -> Fraction:
    """A number that may be written in percent: '25%' is one quarter."""
    ((name, value),) = parameter.items()
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text.endswith("%"):
        return exact(**{name: text[:-1]}) / 100
    return exact(**{name: text})
