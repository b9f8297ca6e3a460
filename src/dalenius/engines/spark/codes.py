"""What a scan makes of a value: Spark SQL that turns a source column into the codes of `reference.canonical`.

Total for every content: what lies outside the bounds moves to the nearest one, infinities too; NaN, a text with a NUL
character and one that is not valid become NULL. A number becomes the multiple of the column's step that is nearest,
halves upwards; a float is read as the shortest decimal that prints it. Integers and decimals are exact.

NFC and the shortest decimal are methods of Java libraries here, which Spark takes for random and so allows in a SELECT
alone. So every table is read through a view that has its codes.

Spark's names, literals and exact integers, on which both its dialect and its codes are built.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import ceil, floor

from dalenius.engines.sql.live import Kind, SourceColumn
from dalenius.query.calendar import DAY
from dalenius.query.types import LONGEST_READ, Bool, Days, Domain, Moments, Number, Ranged, Text

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


INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
FLOATS = frozenset({"float", "double"})
MOMENTS = frozenset({"timestamp", "timestamp_ntz"})
_NARROW = 2**63
_NFC = "try_reflect('com.ibm.icu.text.Normalizer', 'compose', {0}, false)"
_SHORTEST = "try_reflect('com.fasterxml.jackson.core.io.NumberOutput', 'toString', {0}, true)"
_LONGEST_INTEGER_ID = 18
_ODD = 40
"""More digits than any float has."""


@dataclass(frozen=True)
class Coded(SourceColumn):
    """A column of a view that has the codes of a declared column in another column, too."""

    code: str


def code(domain: Domain, column: SourceColumn) -> str | None:
    """SQL for the code of a value, or None if a column of this type cannot hold the domain."""
    if isinstance(domain, Text):
        return canonical_text(column) if is_text(column) else None
    if isinstance(domain, Bool):
        return column.name if column.type == "boolean" else None
    if isinstance(domain, Number):
        return _number(domain, column)
    if isinstance(domain, Days):
        return _day(domain, column)
    return _moment(domain, column) if isinstance(domain, Moments) else None


# ---- texts and ids


def is_text(column: SourceColumn) -> bool:
    return column.type.split("(")[0].split(" ")[0] in ("string", "varchar", "char")


def canonical_text(column: SourceColumn) -> str:
    """A text in the form in which keys are compared: NFC and by its bytes, of a long one the beginning; NULL if that is
    not valid, or has a NUL character. Texts of ASCII, which are as long in bytes as in characters, are left alone."""
    text = f"substr({_plain(column)}, 1, {LONGEST_READ})"
    proper = f"is_valid_utf8({text}) AND NOT contains({text}, {text_literal(chr(0))})"
    composed = f"CASE WHEN octet_length({text}) = length({text}) THEN {text} ELSE {_NFC.format(text)} END"
    return f"CASE WHEN {proper} THEN {composed} END"


def canonical_id(column: SourceColumn) -> str:
    """An id as a text; NULL where that is so long that its beginning alone would be compared."""
    return f"CASE WHEN length({_plain(column)}) <= {LONGEST_READ} THEN {canonical_text(column)} END"


def _plain(column: SourceColumn) -> str:
    """The text as it is stored; blanks that fill CHAR(n) up mean nothing."""
    text = f"CAST({column.name} AS STRING)"
    return f"rtrim({text})" if column.type.startswith("char") else text


def id_kind(column: SourceColumn) -> Kind | None:
    """Whole numbers, texts, or neither; long whole numbers are told apart as texts."""
    if is_text(column):
        return "text"
    digits, scale = _decimal(column) or (0, 1)
    if column.type in INTEGERS or (scale == 0 and digits <= _LONGEST_INTEGER_ID):
        return "integer"
    return "text" if scale == 0 else None


def id_text(column: SourceColumn) -> str:
    """An id as text."""
    return column.name if is_text(column) else f"CAST({column.name} AS STRING)"


# ---- numbers


def _number(domain: Number, column: SourceColumn) -> str | None:
    decimal = _decimal(column)
    if column.type in INTEGERS:
        found = _steps(domain, column.name, Fraction(1), wide_already=False)
    elif decimal:
        found = _of_decimal(domain, column.name, *decimal)
    elif column.type in FLOATS:
        return _of_float(domain, f"CAST({column.name} AS DOUBLE)")
    else:
        return None
    return found and f"CASE WHEN {column.name} IS NOT NULL THEN {found} END"


def _decimal(column: SourceColumn) -> tuple[int, int] | None:
    """The digits of a decimal type, and how many of them stand after the point."""
    if not column.type.startswith("decimal("):
        return None
    digits, scale = column.type.removeprefix("decimal(").rstrip(")").split(",")
    return int(digits), int(scale)


def _of_decimal(domain: Number, column: str, digits: int, scale: int) -> str | None:
    """From a multiple of the last place, or of the last place that counts where that would be too long."""
    places = _places_of_halves(domain.step)
    exact = _steps(domain, _digits_of_decimal(column, digits, scale), Fraction(1, 10**scale))
    if exact is not None or places is None:
        return exact
    return _steps(domain, named(_unsigned(column), "written", _floored("written", column, places)),
                  Fraction(1, 10**places))  # fmt: skip


def _digits_of_decimal(column: str, digits: int, scale: int) -> str:
    """A decimal as a multiple of its last place. A product that could need more than 38 digits would lose some."""
    if scale == 0:
        return wide(column)
    if digits + scale + 2 <= 38:
        return wide(f"({column} * CAST({10**scale} AS DECIMAL({scale + 1}, 0)))")
    return named(_unsigned(column), "written", _floored("written", column, scale))


def _unsigned(column: str) -> str:
    """A decimal as text, without its sign."""
    return f"trim(LEADING {text_literal('-')} FROM CAST({column} AS STRING))"


def _steps(domain: Number, value: str, unit: Fraction, *, wide_already: bool = True) -> str | None:
    """The nearest number of steps, halves upwards, of an integer multiple of `unit` that is not NULL.

    floor(value * ratio + 1/2) is floor((2 * value * n + d) / 2d) for ratio = n / d; values far outside are moved near
    the bounds first.
    """
    ratio = unit / domain.step
    n, d = ratio.numerator, ratio.denominator
    low, high = floor((domain.lower - 1) / ratio), ceil((domain.upper + 1) / ratio)
    shift = max(0, ceil(Fraction(-(2 * low * n + d), 2 * d)))
    # A whole ratio makes whole steps, which need no rounding.
    times, plus, over = (n, 0, 1) if d == 1 else (2 * n, d + 2 * d * shift, 2 * d)
    largest = max(abs(part) for end in (low, high) for part in (end, end * times, end * times + plus, times, over))
    if largest >= LIMIT:
        return None
    kind = NARROW if largest < _NARROW else WIDE
    near = _clamped(value if wide_already or kind == NARROW else wide(value), low, high)
    stepped = f"TRY_CAST({near} AS {kind}) * {times}"
    if d > 1:
        stepped = f"{quotient(f'({stepped} + {plus})', str(over), kind)} - {shift}"
    return _fitted(domain, _clamped(stepped, domain.lower, domain.upper))


def _clamped(value: str, lower: int, upper: int) -> str:
    """The nearest value in the bounds, of a value that is not NULL: LEAST and GREATEST would skip it."""
    return f"least(greatest({value}, {lower}), {upper})"


def _fitted(domain: Ranged, value: str) -> str:
    kind = NARROW if max(abs(domain.lower), abs(domain.upper)) < _NARROW else WIDE
    return f"TRY_CAST({value} AS {kind})"


# ---- floats


def _of_float(domain: Number, value: str) -> str | None:
    places = _places(domain.step)
    exact = _steps(domain, named(_SHORTEST.format(f"abs({value})"), "written", _floored("written", value, places)),
                   Fraction(1, 10**places))  # fmt: skip
    if exact is None:
        return None
    present = f"{value} IS NOT NULL AND NOT isnan({value})"
    return f"CASE WHEN {present} THEN CASE {_quick(domain, value)} ELSE {exact} END END"


def _quick(domain: Number, value: str) -> str:
    """The code where arithmetic of floats cannot err: far from every half.

    The decimal, the step's inverse, the product and the sum are each off by less than 2^-52 of at most 2^32 + 1, so
    that a sum whose fraction is further than 2^-16 from a whole number lies on the right side of it.
    """
    if not Fraction(1, 10**30) < domain.step < 10**30:
        return "WHEN false THEN NULL"
    moved = f"({value} * CAST('{float(1 / domain.step)!r}' AS DOUBLE) + CAST('0.5' AS DOUBLE))"
    fraction, margin = f"({moved} - floor({moved}))", 2.0**-16
    sure = f"{fraction} BETWEEN CAST('{margin!r}' AS DOUBLE) AND CAST('{1 - margin!r}' AS DOUBLE)"
    code = _fitted(domain, _clamped(f"floor({moved})", domain.lower, domain.upper))
    return f"WHEN abs({moved}) < CAST('{2.0**32!r}' AS DOUBLE) AND {sure} THEN {code}"


def _places(step: Fraction) -> int:
    """So many decimal places that cutting off the rest moves no float over a half: halves are written in them or, if no
    decimal is a half, every float from the first half on is."""
    written = _places_of_halves(step)
    if written is not None:
        return written
    magnitude = 0
    while Fraction(10) ** (magnitude + 1) <= step / 2:
        magnitude += 1
    while Fraction(10) ** magnitude > step / 2:
        magnitude -= 1
    return max(0, 17 - magnitude)


def _places_of_halves(step: Fraction) -> int | None:
    """How many decimal places halves between two steps are written in; None if no decimal is one."""
    half, rest = step / 2, (step / 2).denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    if rest != 1:
        return None
    return next(places for places in count() if (half * 10**places).denominator == 1)


def _floored(written: str, value: str, places: int) -> str:
    """A float as a multiple of 10^-places, rounded down, from its size as text; beyond 38 digits the largest."""
    size = f"coalesce({_whole_part(written, places)}, {LIMIT - 1})"
    digits, length = _digits(written), _length(written, places)
    rest = f"trim(BOTH '0' FROM substring({digits}, greatest({length}, 0) + 1, {_ODD})) <> ''"
    up = f"CASE WHEN {rest} THEN 1 ELSE 0 END"
    # Where there is a rest, the size has fewer digits than a float.
    return f"CASE WHEN {value} < 0 THEN 0 - {size} - {up} ELSE {size} END"


def _whole_part(written: str, places: int) -> str:
    """A number that is not negative, written as in Java (12.5, 1.25E10, 1E-7), times 10^places and without the rest."""
    length = f"greatest(least({_length(written, places)}, {2 * _ODD}), 0)"
    return f"TRY_CAST(concat('0', rpad({_digits(written)}, {length}, '0')) AS {WIDE})"


def _length(written: str, places: int) -> str:
    """How many of the digits stand before the point, after it was moved."""
    power = f"CASE WHEN contains({written}, 'E') THEN TRY_CAST(substring_index({written}, 'E', -1) AS INT) ELSE 0 END"
    return f"(length({_before_point(written)}) + {power} + {places})"


def _digits(written: str) -> str:
    return f"replace({_mantissa(written)}, {text_literal('.')}, '')"


def _before_point(written: str) -> str:
    return f"substring_index({_mantissa(written)}, {text_literal('.')}, 1)"


def _mantissa(written: str) -> str:
    return f"substring_index({written}, 'E', 1)"


# ---- days and moments


def _day(domain: Days, column: SourceColumn) -> str | None:
    if column.type == "date":
        days = f"CAST(unix_date({column.name}) AS {NARROW})"
    elif column.type in MOMENTS:
        low, high = (domain.lower - 1) * DAY, (domain.upper + 1) * DAY
        days = _floored_by_day(_clamped(_micros(column), low, high), low)
    else:
        return None
    return f"CASE WHEN {column.name} IS NOT NULL THEN {_clamped(days, domain.lower, domain.upper)} END"


def _moment(domain: Moments, column: SourceColumn) -> str | None:
    if column.type == "date":
        days = _clamped(f"CAST(unix_date({column.name}) AS {NARROW})", domain.lower // DAY - 1, domain.upper // DAY + 1)
        micros = f"{days} * {DAY}"
    elif column.type in MOMENTS:
        micros = _micros(column)
    else:
        return None
    return f"CASE WHEN {column.name} IS NOT NULL THEN {_clamped(micros, domain.lower, domain.upper)} END"


def _micros(column: SourceColumn) -> str:
    """The session's time zone is UTC, so a moment without a zone keeps its face."""
    return f"unix_micros(CAST({column.name} AS TIMESTAMP))"


def _floored_by_day(micros: str, least: int) -> str:
    shift = max(0, -(least // DAY))
    return f"(({micros} + {shift * DAY}) div {DAY} - {shift})"
