"""What an import makes of a value: SQL that turns a source column into codes of its domain.

Total for every content: what lies outside the bounds moves to the nearest one, infinities too; NaN, an unlisted
category and a text with a NUL character become NULL. A number becomes the multiple of the column's step that is
nearest, halves upwards; a float is read as the shortest decimal that prints it, as everywhere else. Integers and
decimals are exact. Moments with a time zone are taken in UTC.

The way to a code is a chain of small expressions, each over the column that the one before it made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from dalenius.query.types import (
    LONGEST_KEPT,
    LONGEST_READ,
    WIDEST,
    Bool,
    Choice,
    Days,
    Domain,
    Moments,
    Number,
    Ranged,
    Text,
)

_SIGNED = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
INTEGERS = frozenset(_SIGNED | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"})
FLOATS = frozenset({"FLOAT", "DOUBLE"})
MOMENTS = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
ZONED = "TIMESTAMP WITH TIME ZONE"
DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True)
class ImportedColumn:
    """A column of what is imported: its quoted name and DuckDB's type. In a file of texts, such as CSV, every value is
    written as text and read as the domain says."""

    column: str
    type: str
    written: bool = False

    @property
    def kind(self) -> str:
        return "DECIMAL" if self.type.startswith("DECIMAL") else "ENUM" if self.type.startswith("ENUM") else self.type

    @property
    def text(self) -> bool:
        return self.kind in ("VARCHAR", "ENUM")


Chain: TypeAlias = "list[Callable[[str], str]]"
"""Expressions over a column, one after the other."""


def chain(domain: Domain, source: ImportedColumn) -> Chain | None:
    """How a column becomes codes (texts stay texts), or None if a column of this type cannot hold the domain."""
    if isinstance(domain, Text):
        kept: Chain = [text] if isinstance(domain, Choice) else [text, _cut]
        return kept if source.text else None
    if isinstance(domain, Bool):
        return [_read("BOOLEAN")] if source.written or source.kind == "BOOLEAN" else None
    if isinstance(domain, Number):
        return _number(domain, source)
    way = _days(source) if isinstance(domain, Days) else _micros(source) if isinstance(domain, Moments) else None
    return [*way, _clamp(domain.lower, domain.upper)] if way and isinstance(domain, Ranged) else None


def unreadable(domain: Domain, source: ImportedColumn) -> str | None:
    """A condition that is true for written values that cannot be read as the domain, or None if there are none."""
    if not source.written or isinstance(domain, Text):
        return None
    kinds = {Bool: "BOOLEAN", Number: "DOUBLE", Days: "DATE", Moments: "TIMESTAMP"}
    kind = next(kind for each, kind in kinds.items() if isinstance(domain, each))
    return f"{source.column} IS NOT NULL AND TRY_CAST({source.column} AS {kind}) IS NULL"


def text(column: str) -> str:
    """The text in the form in which keys are compared: NFC, of a long one the beginning; NULL if there is a NUL."""
    read = f"substring({column}::VARCHAR, 1, {LONGEST_READ})"
    return f"CASE WHEN contains({read}, chr(0)) THEN NULL ELSE nfc_normalize({read}) END"


def text_id(column: str) -> str:
    """An id as a text; NULL where that is so long that its beginning alone would be compared."""
    return f"CASE WHEN length({column}::VARCHAR) <= {LONGEST_READ} THEN {text(column)} END"


def _cut(column: str) -> str:
    return f"substring({column}, 1, {LONGEST_KEPT})"


def _clamp(lower: int, upper: int) -> Callable[[str], str]:
    return lambda value: (
        f"CASE WHEN {value} < {lower} THEN {lower} WHEN {value} > {upper} THEN {upper} ELSE {value} END"
    )


def _read(kind: str) -> Callable[[str], str]:
    return lambda column: f"TRY_CAST({column} AS {kind})"


# ---- numbers


def _number(domain: Number, source: ImportedColumn) -> Chain | None:
    if source.kind in INTEGERS:
        return _steps(domain, [_whole], Fraction(1))
    if source.kind == "DECIMAL":
        scale = int(source.type.rstrip(")").split(",")[1])
        return _steps(domain, [lambda column: _digits(f"{column}::VARCHAR")], Fraction(1, 10**scale))
    if source.kind in FLOATS:
        return _from_decimal(domain, lambda column: f"{column}::DOUBLE", lambda column: f"{column}::DOUBLE::VARCHAR")
    return _from_decimal(domain, _read("DOUBLE"), lambda column: column) if source.written else None


def _whole(column: str) -> str:
    # Only an unsigned value of 128 bits does not fit, and that one lies above every bound.
    return f"CASE WHEN {column} IS NOT NULL THEN coalesce(TRY_CAST({column} AS HUGEINT), {2 * WIDEST - 1}) END"


def _digits(decimal: str) -> str:
    """A decimal with a fixed number of places, without its point: an exact integer."""
    return f"replace({decimal}, '.', '')::HUGEINT"


def _from_decimal(domain: Number, double: Callable[[str], str], text: Callable[[str], str]) -> Chain | None:
    """From the decimal that prints a number, with as many places as 126 bits hold."""
    places = next((places for places in range(34, -1, -1) if _fits(domain, Fraction(1, 10**places))), None)
    if places is None:
        return None
    unit = Fraction(1, 10**places)
    low, high = (domain.lower - 2) * domain.step, (domain.upper + 2) * domain.step

    def digits(column: str) -> str:
        # The float is only asked whether the value is far outside the bounds, where the decimal would not fit.
        value = double(column)
        near = _digits(f"coalesce(TRY_CAST({text(column)} AS DECIMAL(38, {places})), 0)::VARCHAR")
        return (
            f"CASE WHEN {value} IS NULL OR isnan({value}) THEN NULL WHEN {value} > {float(high)!r}::DOUBLE THEN "
            f"{ceil(high / unit)} WHEN {value} < {float(low)!r}::DOUBLE THEN {floor(low / unit)} ELSE {near} END"
        )

    return _steps(domain, [digits], unit)


def _fits(domain: Number, unit: Fraction) -> bool:
    """Whether values near the domain, as multiples of `unit`, can be turned into steps within 126 bits."""
    ratio = unit / domain.step
    largest = max(abs(domain.lower), abs(domain.upper)) + 4
    return largest / ratio < 10**37 and 4 * largest * (ratio.numerator + ratio.denominator) < WIDEST


def _steps(domain: Number, before: Chain, unit: Fraction) -> Chain | None:
    """The nearest number of steps, halves upwards, of an integer multiple of `unit`."""
    ratio = unit / domain.step
    final = _clamp(domain.lower, domain.upper)
    if ratio == 1:
        return [*before, final]
    if not _fits(domain, unit):
        return None
    near = _clamp(floor((domain.lower - 1) / ratio), ceil((domain.upper + 1) / ratio))
    return [*before, near, lambda value: f"{value}::HUGEINT * {2 * ratio.numerator} + {ratio.denominator}",
            _floor_by(2 * ratio.denominator), final]  # fmt: skip


def _floor_by(divisor: int) -> Callable[[str], str]:
    return lambda value: f"{value} // {divisor} - CASE WHEN {value} % {divisor} < 0 THEN 1 ELSE 0 END"


# ---- days and moments


def _days(source: ImportedColumn) -> Chain | None:
    if source.written or source.kind == "DATE":
        # Infinite days are the largest and smallest integers, so they are clamped like any other.
        return [lambda column: f"(TRY_CAST({column} AS DATE) - DATE '1970-01-01')::BIGINT"]
    way = _micros(source)
    return [*way, _floor_by(DAY)] if way else None


def _micros(source: ImportedColumn) -> Chain | None:
    if source.kind == "DATE":
        return [lambda column: f"({column} - DATE '1970-01-01')::HUGEINT * {DAY}"]
    if source.kind not in MOMENTS and source.kind != ZONED and not source.written:
        return None
    zone, far = "TIMESTAMPTZ" if source.kind == ZONED else "TIMESTAMP", 2**64
    return [
        _read(zone),
        lambda moment: (
            f"CASE WHEN {moment} = '-infinity'::{zone} THEN {-far} WHEN {moment} = 'infinity'::{zone} "
            f"THEN {far} ELSE epoch_us({moment})::HUGEINT END"
        ),
    ]
