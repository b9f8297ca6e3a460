"""Answers as text: what a ledger stores, a server sends and a client reads. Reading gives back an equal answer."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.columns import Column
from dalenius.query.estimates.kinds import Kind

_MICROSECOND = dt.timedelta(microseconds=1)


def encoded(answer: Answer) -> str:
    """An answer as JSON; what was left of a budget at that time is no part of it."""
    facts = {
        "columns": [_column(column) for column in answer.columns],
        "level": str(answer.level),
        "charge": answer.charge,
        "receipt": answer.receipt,
        "derivation": answer.derivation,
        "notes": list(answer.notes),
    }
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def decoded(text: str) -> Answer:
    """The answer that a text holds."""
    facts = json.loads(text)
    return Answer(
        columns=tuple(_column_from(column) for column in facts["columns"]),
        level=Fraction(facts["level"]),
        charge=facts["charge"],
        receipt=facts["receipt"],
        derivation=facts["derivation"],
        notes=tuple(facts["notes"]),
    )


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "values": [written(value) for value in column.values],
        "errors": None if column.errors is None else [written(error) for error in column.errors],
        "kind": None if column.kind is None else _kind(column.kind),
        "key": column.is_key,
    }


def _column_from(facts: Mapping[str, Any]) -> Column:
    errors = None if facts["errors"] is None else tuple(map(read, facts["errors"]))
    kind = None if facts["kind"] is None else _kind_from(facts["kind"])
    return Column(facts["name"], tuple(map(read, facts["values"])), errors, kind, facts["key"])


def _kind(kind: Kind) -> dict[str, Any]:
    of = None if kind.of is None else _kind(kind.of)
    return {"name": kind.name, "unit": str(kind.unit), "size": str(kind.size), "of": of}


def _kind_from(facts: Mapping[str, Any]) -> Kind:
    of = None if facts["of"] is None else _kind_from(facts["of"])
    return Kind(facts["name"], Fraction(facts["unit"]), Fraction(facts["size"]), of)


def written(value: Any) -> Any:
    """A value as JSON: what JSON has no word for becomes an object with one name, its type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    for type_, name, write, _ in _TYPES:
        if isinstance(value, type_):
            return {name: write(value)}
    raise TypeError(type(value).__name__)


def read(value: Any) -> Any:
    """The value that was written."""
    if not isinstance(value, dict):
        return value
    ((name, text),) = value.items()
    return {name: read_ for _, name, _, read_ in _TYPES}[name](text)


def _histogram(counts: Mapping[Any, Any]) -> list[Any]:
    return [[written(value), written(count)] for value, count in counts.items()]


_TYPES: tuple[tuple[type, str, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    (Decimal, "decimal", str, Decimal),
    (Fraction, "fraction", str, Fraction),
    (dt.datetime, "moment", dt.datetime.isoformat, dt.datetime.fromisoformat),  # before date: it is one too
    (dt.date, "date", dt.date.isoformat, dt.date.fromisoformat),
    (dt.timedelta, "span", lambda span: span // _MICROSECOND, lambda count: count * _MICROSECOND),
    (dict, "histogram", _histogram, lambda pairs: {read(value): read(count) for value, count in pairs}),
)
