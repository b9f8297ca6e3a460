"""What a scan makes of a value: SQL that turns a column of a PostgreSQL table into codes of its domain.

Total for every content: what lies outside the bounds moves to the nearest one, infinities and years before Christ too;
NaN becomes NULL. A number becomes the multiple of the column's step that is nearest, halves upwards; a float is read as
the shortest decimal that prints it. Moments with a time zone are taken in UTC. Texts become NFC and are compared by
their bytes; char(n) has no blanks at its end.

PostgreSQL has no cast that gives NULL instead of an error. So values are clamped before they are cast, and by LEAST and
GREATEST, which also catch NaN (it is above all numbers); that these skip NULL is undone by the CASE around them.
"""

from __future__ import annotations

import datetime as dt
from math import ceil, floor

from dalenius.query.calendar import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, as_day
from dalenius.query.types import LONGEST_READ, Bool, Days, Domain, Moments, Number, Ranged, Text

INTEGERS = frozenset({"smallint", "integer", "bigint"})
FLOATS = frozenset({"real", "double precision"})
ENUM = "an enum"
TEXTS = frozenset({"text", "character varying", "character", "uuid", ENUM})
MOMENT, ZONED = "timestamp without time zone", "timestamp with time zone"
_EXACT = 2**53
"""Up to here PostgreSQL prints a float as everybody does: where two decimals are as short, or one lies in the middle of
two floats, its choice differs."""


def code(domain: Domain, column: str, kind: str, narrow: str, wide: str) -> str | None:
    """The code of a column of this kind (texts stay texts), or None if it cannot hold the domain."""
    if isinstance(domain, Text):
        return text(column) if kind in TEXTS else None
    if isinstance(domain, Bool):
        return f"CAST({column} AS BOOLEAN)" if kind == "boolean" else None
    if isinstance(domain, Number):
        return _number(domain, column, kind, narrow if _is_narrow(domain) else wide)
    if isinstance(domain, Days):
        return _days(domain, column, kind)
    return _micros(domain, column, kind) if isinstance(domain, Moments) else None


def _is_narrow(domain: Ranged) -> bool:
    return max(abs(domain.lower), abs(domain.upper)) < 2**63


def text(column: str) -> str:
    """A text in the form in which keys are compared; of a long one the beginning."""
    plain = f"left({_plain(column)}, {LONGEST_READ})"
    return f"CASE WHEN octet_length({plain}) = length({plain}) THEN {plain} ELSE normalize({plain}, NFC) END"


def text_id(column: str) -> str:
    """An id as a text; NULL where that is so long that its beginning alone would be compared."""
    return f"CASE WHEN length({_plain(column)}) <= {LONGEST_READ} THEN {text(column)} END"


def is_normal(column: str) -> str:
    """Whether a text is its own NFC."""
    return f"{_plain(column)} = {text_id(column)}"


def _plain(column: str) -> str:
    return f'(CAST({column} AS TEXT) COLLATE "C")'


# ---- numbers


def _number(domain: Number, column: str, kind: str, result: str) -> str | None:
    if kind in INTEGERS and domain.step == 1:
        value, (lower, upper) = f"CAST({column} AS {result})", (domain.lower, domain.upper)
        return f"CASE WHEN {value} < {lower} THEN {lower} WHEN {value} > {upper} THEN {upper} ELSE {value} END"
    if kind in INTEGERS:
        return _steps(domain, f"CAST({column} AS NUMERIC)", f"{column} IS NOT NULL", result)
    if kind == "numeric":
        value = f"CAST({column} AS NUMERIC)"
        return _steps(domain, value, f"{value} <> 'NaN'", result)
    decimal = _decimal(domain, f"CAST({column} AS FLOAT8)") if kind in FLOATS else None
    return _steps(domain, decimal, f"CAST({column} AS FLOAT8) <> 'NaN'", result) if decimal else None


def _near(domain: Number) -> tuple[int, int]:
    """Whole numbers just outside the domain, in its values."""
    return floor((domain.lower - 1) * domain.step), ceil((domain.upper + 1) * domain.step)


def _steps(domain: Number, value: str, present: str, result: str) -> str:
    """The nearest number of steps, halves upwards."""
    (low, high), (over, times) = _near(domain), domain.step.as_integer_ratio()
    near = f"LEAST(GREATEST({value}, {low}), {high})"
    if over == 1:
        found = f"floor({near} * {times} + 0.5)"
    else:
        base = floor(low / domain.step) - 1  # div rounds towards zero, so what it divides is moved above it
        found = f"div({near} * {2 * times} + {over - 2 * over * base}, {2 * over}) + ({base})"
    clamped = f"LEAST(GREATEST({found}, {domain.lower}), {domain.upper})"
    return f"CASE WHEN {present} THEN CAST({clamped} AS {result}) END"


def _decimal(domain: Number, value: str) -> str | None:
    """The shortest decimal that prints a float, for floats near the domain; None where no float comes near."""
    size = max(map(abs, _near(domain)))
    if size <= _EXACT:
        return f"CAST(CAST({value} AS TEXT) AS NUMERIC)"
    digits = len(str(size)) + 1
    return _large_decimal(value, f"1e{digits}") if digits <= 300 else None


def _large_decimal(value: str, limit: str) -> str:
    """The same for large floats. PostgreSQL avoids decimals that lie in the middle of two floats, such as 1e23, though
    they are read back right; so it is tried whether one of 15 or 16 digits is."""
    near = f"LEAST(GREATEST({value}, CAST(-{limit} AS FLOAT8)), CAST({limit} AS FLOAT8))"
    printed = f"CAST(CAST({near} AS TEXT) AS NUMERIC)"
    short = f"CAST({near} AS NUMERIC)"  # 15 digits
    places = f"(16 - length(CAST(trunc(abs({printed})) AS TEXT)))"
    inner = f"trunc({printed}, {places})"
    outer = f"({inner} + sign({printed}) * CAST('1e' || CAST(-{places} AS TEXT) AS NUMERIC))"
    tried = " ".join(f"WHEN CAST({each} AS FLOAT8) = {near} THEN {each}" for each in (short, inner, outer))
    return f"CASE WHEN abs({near}) < {_EXACT} THEN {printed} {tried} ELSE {printed} END"


# ---- days and moments


def _days(domain: Days, column: str, kind: str) -> str | None:
    day = _day(column, kind)
    if day is None or domain.lower < FIRST_DAY or domain.upper > LAST_DAY:
        return None
    near = f"LEAST(GREATEST({day}, {_date(domain.lower)}), {_date(domain.upper)})"
    return f"CASE WHEN {column} IS NOT NULL THEN CAST({near} - DATE '1970-01-01' AS BIGINT) END"


def _micros(domain: Moments, column: str, kind: str) -> str | None:
    moment = _moment(column, kind)
    if moment is None or domain.lower < FIRST_MOMENT or domain.upper > LAST_MOMENT:
        return None
    near = f"LEAST(GREATEST({moment}, {_timestamp(domain.lower)}), {_timestamp(domain.upper)})"
    return f"CASE WHEN {column} IS NOT NULL THEN {epoch_micros(near)} END"


def epoch_micros(moment: str) -> str:
    """The microseconds from 1970-01-01 to a finite moment; PostgreSQL gives seconds as an exact decimal."""
    return f"CAST(EXTRACT(EPOCH FROM {moment}) * 1000000 AS BIGINT)"


def _day(column: str, kind: str) -> str | None:
    if kind == "date":
        return f"CAST({column} AS DATE)"
    moment = _moment(column, kind)
    return f"CAST({moment} AS DATE)" if moment else None


def _moment(column: str, kind: str) -> str | None:
    if kind == "date":  # moments do not reach as far as days
        return f"CAST(LEAST(GREATEST(CAST({column} AS DATE), DATE '0001-01-01'), DATE '10000-01-01') AS TIMESTAMP)"
    if kind == ZONED:
        return f"(CAST({column} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC')"
    return f"CAST({column} AS TIMESTAMP)" if kind == MOMENT else None


def _date(day: int) -> str:
    return f"DATE '{as_day(day).isoformat()}'"


def _timestamp(moment: int) -> str:
    written = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=moment)
    return f"TIMESTAMP '{written.isoformat(sep=' ')}'"
