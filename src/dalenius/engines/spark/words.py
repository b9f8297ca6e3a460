"""Spark's names, literals and exact integers, on which both its dialect and its codes are built."""

from __future__ import annotations

NARROW, WIDE, TEXT = "BIGINT", "DECIMAL(38, 0)", "STRING"
LIMIT = 10**38
"""Wide integers are smaller than this, and no code reaches 2^126, which is less."""
_HALF = 10**19
_EXACT_FROM = 10**6
"""Quotients of DECIMAL(38, 0) have 32 digits before the point: a divisor of this size gives no more."""
_SHORT = 400
"""Characters of a term that is written down as often as it is needed."""


def quote(name: str) -> str:
    """A name of a column or table."""
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    """Spark reads backslashes inside quotes, so all but letters and digits of ASCII is written by its number."""
    return "'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if character.isascii() and character.isalnum():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 2**16 else f"\\U{number:08x}"


def named(value: str, name: str, term: str) -> str:
    """A term that uses a value many times under a name, where the value itself is long.

    A lambda over one element: SQL has no other way to name a value within a term.
    """
    return f"element_at(transform(array({value}), {name} -> {term}), 1)"


def is_long(*terms: str) -> bool:
    """Whether terms are too long to be written down several times."""
    return sum(map(len, terms)) > _SHORT


def wide(sql: str) -> str:
    """An integer in the wide type."""
    return f"CAST({sql} AS {WIDE})"


def quotient(x: str, y: str, kind: str) -> str:
    """x / y of this type, towards zero; y is never 0, but may be NULL.

    Between whole numbers Spark's / is a float, and between decimals `div` has 64 bits. So wide ones are made divisible
    first, and where the quotient may be too long, x is divided in two halves, as one does by hand.
    """
    if kind == NARROW:
        return f"({x} div {y})"
    divided = _divided if y.isdecimal() and int(y) >= _EXACT_FROM else _long_division
    if not is_long(x, y):
        return divided(wide(x), y if y.isdecimal() else wide(y))
    return named(f"struct({wide(x)} AS x, {wide(y)} AS y)", "both", divided("both.x", "both.y"))


def _long_division(x: str, y: str) -> str:
    """With x = high * 10^19 + low and high = q * y + r this is q * 10^19 + (r * 10^19 + low) / y; no part of it reaches
    10^38, and no quotient 10^20."""
    high = _divided(x, str(_HALF))
    rest = f"(({high} % {y}) * {_HALF} + {x} % {_HALF})"
    return wide(f"({_divided(high, y)} * {_HALF} + {_divided(rest, y)})")


def _divided(x: str, y: str) -> str:
    """The exact quotient of decimals, where it has 32 digits at most."""
    return wide(f"(({x} - {x} % {y}) / {y})")
