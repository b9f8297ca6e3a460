"""What is sent: questions as SQL, and numbers as exact texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.privacy.numbers import Number, exact, whole
from dalenius.query.rendering import query_text
from dalenius.query.sql.reader import read
from dalenius.query.syntax import QueryTree
from dalenius.randomness.entropy import system_entropy

_KEY = re.compile(r"[ -~]{1,200}", re.ASCII)


def sql_text(query: QueryTree) -> str:
    """The SQL that asks the same; refuses a question that SQL cannot say.

    Guarantee: whoever reads the text has an equal question.
    """
    text = query_text(query)
    if read(text) != query:
        raise QueryRefused(
            text,
            rule="it is sent to the server as SQL, and SQL cannot say a part of it",
            instead="Write constants as decimals, and add up or join in the order from left to right.",
        )
    return text


def attempt_key(key: str | None) -> str:
    """A name for an attempt that a header can carry: the one that was given, or a new one."""
    if key is None:
        return system_entropy().read(16).hex()
    if not isinstance(key, str) or not _KEY.fullmatch(key) or key != key.strip():
        raise InvalidParameter("key", "something else", allowed="1 to 200 printable letters, digits and signs")
    return key


def offer(**given: Any) -> dict[str, Any]:
    """The fields of a price and a form that were given, as JSON."""
    return {name: _FIELDS[name](name, value) for name, value in given.items() if value is not None}


def _number(name: str, value: Number) -> str:
    """A number as text that has the same exact value; a text stays as it is."""
    if isinstance(value, str):
        return value
    exact(**{name: value})  # refuses what is no number, in the same words as on the server
    if isinstance(value, float):
        return float.__repr__(float(value))
    return str(value) if isinstance(value, Decimal) else str(Fraction(value))


def _numbers(name: str, value: Number | Mapping[str, Number]) -> str | dict[str, str]:
    if isinstance(value, Mapping):
        return {str(column): _number(name, each) for column, each in value.items()}
    return _number(name, value)


def _count(name: str, value: int) -> int:
    return whole(1 if name == "size" else 0, **{name: value})


def _flag(name: str, value: object) -> bool | None:
    return True if value else None  # left out where it says nothing


_FIELDS: Mapping[str, Any] = {
    "epsilon": _number, "share": _number, "error": _numbers, "size": _count, "level": _number, "weights": _numbers,
    "nonnegative": _flag, "digits": _count, "fresh": _flag,
}  # fmt: skip
