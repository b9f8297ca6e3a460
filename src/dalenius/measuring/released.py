"""Values that were released: as people read them, as functions take them, and as codes again.

Numbers are exact (int or Fraction), or floats where a value is one already (a mean, say); a float that overflows is
NULL, like a division by zero. NULL is None. What a function means stands with it, in `query.functions`.

Ranges of numbers, from noisy counts between public edges: what is made of them is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import floor, isfinite
from typing import Any
from unicodedata import normalize

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.query.calendar import day_number, moment_number
from dalenius.query.expressions import Literal
from dalenius.query.functions.evaluation import LENIENT
from dalenius.query.functions.functions import FUNCTIONS, call, literal
from dalenius.query.types import Bool, Code, Domain, Moments, Number, Text

_LONG = Context(prec=10_000)  # no sum has as many digits


def number(value: Fraction, unit: Fraction) -> int | Decimal | float:
    """A multiple of `unit` for people: a whole number, an exact decimal, or a float where there is no exact decimal."""
    if unit.denominator == 1:
        return int(value)
    digits = decimals(unit.denominator)
    if digits is None:
        return float(value)
    return Decimal(int(value * 10**digits)).scaleb(-digits, _LONG)


def numbers(codes: Sequence[int], unit: Fraction) -> list[int | Decimal | float]:
    """These multiples of `unit` for people, as `number` gives them one by one."""
    digits = decimals(unit.denominator)
    if digits is None:
        return [number(code * unit, unit) for code in codes]
    factor = int(unit * 10**digits)
    if not digits:
        return [code * factor for code in codes]
    return [Decimal(code * factor).scaleb(-digits, _LONG) for code in codes]


def tidy(value: Any) -> Any:
    """A computed value for people; fractions become whole numbers, decimals or floats."""
    return number(value, value) if isinstance(value, Fraction) else value


def real(value: Any) -> Any:
    """A computed value for people, where its column has floats; NULL beyond what these reach."""
    try:
        return float(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else value
    except OverflowError:
        return None


def plain(value: Any) -> Any:
    """A value as the functions below take it: decimals are fractions, texts are in normal form."""
    if isinstance(value, str):
        return normalize("NFC", value)
    return Fraction(value) if isinstance(value, Decimal) else value


def pick(values: list[Any], rows: Sequence[int]) -> list[Any]:
    """The values of these groups; all of them as they are."""
    return list(values) if rows == range(len(values)) else [values[row] for row in rows]


def apply(function: str, arguments: Sequence[Any]) -> Any:
    """The value of a scalar function of values as `plain` gives them; NULL where it is not defined.

    Of exact values it is what the function gives for them as constants.
    """
    try:
        if not any(isinstance(argument, float) for argument in arguments):
            found = call(function, *map(literal, arguments))
            assert isinstance(found, Literal)
            return plain(found.domain.decode(found.value))
        if None in arguments and function not in LENIENT:
            return None
        floats = FUNCTIONS[function].floats
        value = None if floats is None else floats(*arguments)
    except (QueryRefused, InvalidParameter, ArithmeticError, ValueError):
        return None
    return None if isinstance(value, float) and not isfinite(value) else value


def code_of(domain: Domain, value: Any) -> Code:
    """The code of a released value of this domain."""
    if value is None or isinstance(domain, Bool | Text):
        return value  # type: ignore[no-any-return]
    if isinstance(domain, Number):
        return floor(Fraction(value) / domain.step)
    return moment_number(value) if isinstance(domain, Moments) else day_number(value)


def sort_key(value: Any) -> Any:
    """What values of one column are ordered by: numbers by size, texts by their bytes."""
    return value.encode() if isinstance(value, str) else value


@lru_cache(maxsize=256)
def decimals(denominator: int) -> int | None:
    """How many decimals a fraction with this denominator has; None if they never end."""
    digits = 0
    while denominator > 1:
        shared = next((factor for factor in (10, 5, 2) if denominator % factor == 0), None)
        if shared is None:
            return None
        denominator, digits = denominator // shared, digits + 1
    return digits


LARGEST, SMALLEST = 12, -6
"""Powers of ten: no edge is beyond ±10^12, and none but 0 nearer to it than 10^-6."""
_NEGLIGIBLE = 20


def edges(kind: str) -> list[Decimal]:
    """0, and 1, 2 and 5 times every power of ten up to 10^12, with both signs."""
    powers = range(0 if kind == "Int" else SMALLEST, LARGEST)
    above = [Decimal(factor).scaleb(power) for power in powers for factor in (1, 2, 5)] + [Decimal(1).scaleb(LARGEST)]
    return [*(-edge for edge in reversed(above)), Decimal(0), *above]


def around(edges: Sequence[Decimal], counts: Mapping[int, int], noise: Fraction) -> tuple[Decimal, Decimal] | None:
    """The edges around all counts that stand out of the noise, and one more on each side for values that only few have,
    but not beyond zero; an end near zero becomes zero.

    >>> around([Decimal(0), Decimal(50), Decimal(100), Decimal(200)], {0: 3, 1: 400, 2: 90, 3: -2}, Fraction(20))
    (Decimal('0'), Decimal('200'))
    """
    places = sorted(place for place, count in counts.items() if count > noise)
    if not places:
        return None
    low, high = max(places[0] - 1, 0), min(places[-1], len(edges) - 1)
    lower = edges[low] if edges[low] == 0 else edges[max(low - 1, 0)]
    upper = edges[high] if edges[high] == 0 else edges[min(high + 1, len(edges) - 1)]
    if 0 < lower * _NEGLIGIBLE <= upper:
        lower = Decimal(0)
    if lower <= upper * _NEGLIGIBLE < 0:
        upper = Decimal(0)
    return lower, upper
