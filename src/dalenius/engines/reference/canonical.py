"""What an import makes of a raw value: the reference meaning of codes, written once in plain Python.

Total: every raw value becomes a code of its domain or NULL. NaN, a category that nobody listed, a value of another
type and a text that is not valid become NULL; what lies outside the bounds moves to the nearest one, infinities too.
Moments with a time zone are taken in UTC.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from dalenius.engines.hashing import identity, key_owners, refuse_shared
from dalenius.errors import InvalidParameter
from dalenius.query.tables import EachRow, ForeignKey, Table, UnitColumn
from dalenius.query.types import (
    LONGEST_KEPT,
    LONGEST_READ,
    Bool,
    Choice,
    Code,
    Days,
    Domain,
    Identifier,
    Moments,
    Number,
    Ranged,
    Text,
    normal,
)

RawRows: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
"""The raw rows of each table: a mapping from column to value for each row."""


@dataclass(frozen=True)
class CodedRow:
    """One row as codes, and whose it is; `unit` is None in a public table."""

    unit: Code
    values: Mapping[str, Code]


def canonical(domain: Domain, raw: Any) -> Code:
    """The code of a raw value, or NULL; never an error."""
    if raw is None or _is_nan(raw):
        return None
    if isinstance(domain, Identifier):
        return unit_code(raw)
    if isinstance(domain, Bool):
        return bool(raw) if _is_truth_value(raw) else None
    if isinstance(domain, Text):
        return _text(domain, raw)
    return _ranged(domain, raw) if isinstance(domain, Ranged) else None


def unit_code(raw: Any) -> Code:
    """The id of a unit: whole numbers stay numbers, everything else is NFC text; NULL belongs to nobody.

    Here the ids of a population, and both ends of a path, have one type; an engine brings them to one kind.
    """
    if raw is None or _is_nan(raw):
        return None
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    text = raw if isinstance(raw, str) else str(raw)
    return _read(text) if len(text) <= LONGEST_READ else None


def import_rows(table: Table, raw: RawRows, tables: Mapping[str, Table]) -> list[CodedRow]:
    """The rows of a table as codes, with the unit that owns each; rows that nobody owns are dropped."""
    found = []
    for row, unit in zip(raw[table.name], owners(table, raw, tables), strict=True):
        if unit is not None or table.protection is None:
            found.append(CodedRow(unit, {name: canonical(domain, row.get(name)) for name, domain in table.columns}))
    return found


def owners(table: Table, raw: RawRows, tables: Mapping[str, Table]) -> list[Code]:
    """The unit that owns each row of a table; None where nobody does, and throughout if it is public."""
    rows = raw[table.name]
    unit = table.protection.unit if table.protection else None
    if unit is None:
        return [None for _ in rows]
    if isinstance(unit, EachRow):
        return list(row_identities(table, rows))
    if isinstance(unit, UnitColumn):
        return [unit_code(row.get(unit.column)) for row in rows]
    matches = _owners_by_key(unit, raw, tables)
    return [matches.get(unit_code(row.get(unit.column))) for row in rows]


def row_identities(table: Table, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Each row's id where each row is a unit: a hash of what it holds, and of how many equal rows came before it.

    No position enters, so a row that comes or goes leaves the set of all other ids as it is.
    """
    seen: Counter[str] = Counter()
    found = []
    for row in rows:
        content = ",".join([table.name, *(_content(domain, row.get(name)) for name, domain in table.columns)])
        seen[content] += 1
        found.append(identity(f"{content}#{seen[content]}"))
    return found


def _content(domain: Domain, raw: Any) -> str:
    code = canonical(Text() if isinstance(domain, Choice) else domain, raw)
    if code is None:
        return "null"
    text = str(code).lower() if isinstance(code, bool) else str(code)
    return f"{len(text)}:{text}"


def _owners_by_key(via: ForeignKey, raw: RawRows, tables: Mapping[str, Table]) -> dict[Code, Code]:
    """The unit behind each key of a parent table. Keys are compared like ids: as they are, never clamped."""
    parent = tables[via.table]
    keys = [unit_code(row.get(via.key)) for row in raw[via.table]]
    pairs = zip(owners(parent, raw, tables), keys, strict=True)
    stated = {(unit, key) for unit, key in pairs if unit is not None and key is not None}
    most = parent.claims_of(via.key)
    if most is not None:
        return {key: unit for key, unit in key_owners(stated, most).items()}  # noqa: C416
    found: dict[Code, Code] = {key: unit for unit, key in stated}
    if len(found) < len(stated):
        refuse_shared(parent.name, via.key)
    return found


def _ranged(domain: Ranged, raw: Any) -> Code:
    if isinstance(raw, float) and math.isinf(raw):
        return domain.upper if raw > 0 else domain.lower
    if isinstance(domain, Number) and isinstance(raw, float | Decimal):
        raw = Fraction(Decimal(repr(raw)) if isinstance(raw, float) else raw)
    if isinstance(domain, Moments) and isinstance(raw, dt.date) and not isinstance(raw, dt.datetime):
        raw = dt.datetime(raw.year, raw.month, raw.day)
    try:
        if isinstance(raw, dt.datetime) and raw.tzinfo is not None:
            raw = _in_utc(raw)
        if isinstance(domain, Days) and isinstance(raw, dt.datetime):
            raw = raw.date()
        return domain.code(raw)
    except (InvalidParameter, TypeError, ValueError, OverflowError):
        return None


def _in_utc(moment: dt.datetime) -> dt.datetime:
    """The moment without its zone; what is before the first or after the last year stays at the end of these."""
    try:
        return moment.astimezone(dt.UTC).replace(tzinfo=None)
    except OverflowError:
        return dt.datetime.min if moment.year == 1 else dt.datetime.max


def _text(domain: Text, raw: Any) -> Code:
    text = _read(raw[:LONGEST_READ]) if isinstance(raw, str) else None
    if isinstance(domain, Choice):
        return text if text in domain.values else None
    return None if text is None else text[:LONGEST_KEPT]


def _read(raw: str) -> str | None:
    try:
        return normal(raw)
    except InvalidParameter:
        return None


def _is_nan(raw: Any) -> bool:
    return isinstance(raw, float) and math.isnan(raw)


def _is_truth_value(raw: Any) -> bool:
    return isinstance(raw, bool)
