"""Numbers as people write them, read exactly.

A float is read as the shortest decimal that prints it, so 0.1 is one tenth. NaN and infinity are errors.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TypeAlias, TypeVar

from dalenius.errors import InvalidParameter

Number: TypeAlias = int | float | str | Decimal | Fraction
T = TypeVar("T")

_WRITTEN = re.compile(r"\s*[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf(inity)?|s?nan\d*)\s*", re.ASCII | re.I)
_MOST_DIGITS = 4_200  # Python prints up to 4300; "1e999999999" must not fill the memory
_MOST_BITS = (10**_MOST_DIGITS).bit_length()


def exact(**parameter: Number) -> Fraction:
    """The parameter's exact value: `exact(epsilon="0.1") == Fraction(1, 10)`."""
    name, value = _only(parameter)
    if type(value) is Fraction:
        return value  # computed, and as long as it has to be
    if isinstance(value, bool):
        raise InvalidParameter(name, value, allowed="a number")
    if not isinstance(value, Rational):
        return _from_decimal(name, value)
    return _short(name, value, Fraction(int(value.numerator), int(value.denominator)))


def exact_written(**parameter: Number) -> Fraction:
    """The exact value of what somebody wrote down, which is shown and stored: a fraction too has few enough digits."""
    name, value = _only(parameter)
    return _short(name, value, exact(**parameter))


def _from_decimal(name: str, value: object) -> Fraction:
    # Not str() of a float: NumPy's depends on print settings.
    text = float.__repr__(float(value)) if isinstance(value, Real) else str(value)
    if len(text) > 2 * _MOST_DIGITS + 2:  # before anything is computed from it
        raise _too_long(name, value)
    try:
        if not isinstance(value, str | Decimal | Real) or not _WRITTEN.fullmatch(text):
            raise ValueError
        number = Fraction(text) if "/" in text else Decimal(text)
    except (ValueError, ArithmeticError, TypeError):
        raise InvalidParameter(
            name, value, allowed="a number such as 1, '0.1', Fraction(1, 3) or Decimal('2.5')"
        ) from None
    if isinstance(number, Fraction):
        return _short(name, value, number)
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidParameter(name, value, allowed="a finite number")
    if len(digits) + abs(exponent) > _MOST_DIGITS:
        raise _too_long(name, value)
    return Fraction(number)


def _short(name: str, value: object, number: Fraction) -> Fraction:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        raise _too_long(name, value)
    return number


def _too_long(name: str, value: object) -> InvalidParameter:
    return InvalidParameter(name, value, allowed=f"a number of at most {_MOST_DIGITS} digits")


def positive(**parameter: Number) -> Fraction:
    """The exact value of a parameter that must be greater than zero."""
    name, value = _only(parameter)
    number = exact(**parameter)
    if number <= 0:
        raise InvalidParameter(name, value, allowed="greater than 0")
    return number


def not_negative(**parameter: Number) -> Fraction:
    """The exact value of a parameter that must be zero or more."""
    name, value = _only(parameter)
    number = exact(**parameter)
    if number < 0:
        raise InvalidParameter(name, value, allowed="0 or more")
    return number


def probability(**parameter: Number) -> Fraction:
    """The exact value of a parameter that must lie in [0, 1]."""
    name, value = _only(parameter)
    number = exact(**parameter)
    if not 0 <= number <= 1:
        raise InvalidParameter(name, value, allowed="between 0 and 1")
    return number


def inside_unit(**parameter: Number) -> Fraction:
    """The exact value of a parameter that must lie strictly between 0 and 1, such as a failure probability."""
    name, value = _only(parameter)
    number = exact(**parameter)
    if not 0 < number < 1:
        raise InvalidParameter(name, value, allowed="strictly between 0 and 1")
    return number


def whole(least: int = 0, **parameter: object) -> int:
    """An integer parameter that must be at least `least`."""
    name, value = _only(parameter)
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InvalidParameter(name, value, allowed=f"a whole number, {least} or more")
    if int(value).bit_length() > _MOST_BITS:
        raise _too_long(name, value)
    return int(value)


def of_kind(kind: type[T], **parameter: object) -> T:
    """A parameter that must be an instance of `kind`."""
    name, value = _only(parameter)
    if not isinstance(value, kind):
        # The type and not the value: it might be one that was meant to be sealed.
        raise InvalidParameter(name, type(value), allowed=f"of type {kind.__name__}")
    return value


def format_number(value: Fraction) -> str:
    """A figure for people, in six digits, rounded up where it has more: a loss never looks smaller than it is."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{Context(prec=6, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator)):g}"


def _only(parameter: dict[str, T]) -> tuple[str, T]:
    (item,) = parameter.items()
    return item
