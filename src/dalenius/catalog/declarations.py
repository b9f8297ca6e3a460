"""Declarations as plain values of a TOML file: columns, units, moments and shares, in both directions.

A number that TOML cannot hold exactly is written as text. `"?"` stands for what the owner has still to fill in.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from dalenius.errors import InvalidParameter
from dalenius.query.tables import EachRow
from dalenius.query.types import (
    Bool,
    Category,
    Choice,
    Date,
    Days,
    Domain,
    Int,
    Moments,
    Number,
    Real,
    Text,
    Timestamp,
    decimal,
)

Plain: TypeAlias = dict[str, Any]
"""What a TOML table says, in values of Python."""

UNKNOWN = "?"
"""To be filled in by the owner."""

TYPES: Mapping[str, tuple[Callable[..., Domain], tuple[str, ...]]] = {
    "Int": (Int, ("lower", "upper")),
    "Real": (Real, ("lower", "upper", "step")),
    "Category": (lambda values, **more: Category(*_texts(values), **more), ("values",)),
    "Text": (Text, ()),
    "Date": (Date, ("lower", "upper")),
    "Timestamp": (Timestamp, ("lower", "upper")),
    "Bool": (Bool, ()),
}
"""The kinds of columns, and what must be said about each."""
_NULLABLE = ("Category", "Text")
_WIDEST = 2**63


# ---- columns


def column_facts(domain: Domain) -> Plain:
    """A column as it is written: `{ type = "Int", lower = 0, upper = 120 }`."""
    kind, facts = _kind(domain)
    return {"type": kind, **facts} | ({} if domain.nullable == (kind in _NULLABLE) else {"nullable": domain.nullable})


def _kind(domain: Domain) -> tuple[str, Plain]:
    if isinstance(domain, Number):
        low, high, step = (number(figure * domain.step) for figure in (domain.lower, domain.upper, 1))
        return ("Int", {"lower": low, "upper": high}) if domain.step == 1 else (
            "Real", {"lower": low, "upper": high, "step": step})  # fmt: skip
    if isinstance(domain, Days | Moments):
        kind = "Date" if isinstance(domain, Days) else "Timestamp"
        return kind, {"lower": domain.decode(domain.lower), "upper": domain.decode(domain.upper)}
    if isinstance(domain, Choice):
        return "Category", {"values": list(domain.values)}
    return ("Bool" if isinstance(domain, Bool) else "Text"), {}


def column(facts: object) -> Domain:
    """The column that was written."""
    if not isinstance(facts, Mapping):
        raise InvalidParameter("column", facts, allowed='written like { type = "Int", lower = 0, upper = 120 }')
    kind = facts.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise InvalidParameter("type", kind, allowed=f"one of {', '.join(TYPES)}")
    made, needed = TYPES[kind]
    require_names(facts, ("type", "nullable", *needed), needed)
    nullable = of(bool, nullable=facts.get("nullable", kind in _NULLABLE))
    return made(**{name: facts[name] for name in needed}, nullable=nullable)


def draft_column(kind: Domain | str | Mapping[str, Any]) -> Plain:
    """A column of which perhaps only the type is known, or what is written of it."""
    if isinstance(kind, Domain):
        return column_facts(kind)
    if isinstance(kind, Mapping):
        return dict(kind)
    if not isinstance(kind, str) or kind not in TYPES:
        raise InvalidParameter("type", kind, allowed=f"one of {', '.join(TYPES)}")
    return {"type": kind, **dict.fromkeys(TYPES[kind][1], UNKNOWN)}


def draft_protection(population: str | None, unit: str | None, max_rows: int | None, max_groups: int | None) -> Plain:
    """Whom a table protects, as far as it is known. Where each row is a unit, it has one row."""
    bounds = {"max_rows": max_rows or UNKNOWN, **({"max_groups": max_groups} if max_groups else {})}
    return {"population": population or UNKNOWN, "unit": unit or UNKNOWN, **({} if unit == str(EachRow()) else bounds)}


def unfilled(facts: Mapping[str, Any], *, but: Sequence[str] = ()) -> Iterator[str]:
    """Where something is still to be filled in: 'columns.age.lower'. Lists are not looked into: "?" may be a value."""
    for name, value in facts.items():
        if name in but:
            continue
        if value == UNKNOWN:
            yield name
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in unfilled(value))


# ---- single values


def number(value: Fraction | int) -> int | str:
    """An exact number: an integer where TOML has it, else a decimal or a fraction as text."""
    if Fraction(value).denominator == 1:
        return int(value) if abs(int(value)) < _WIDEST else str(int(value))
    shown = decimal(Fraction(value))
    return str(shown) if isinstance(shown, Fraction) else f"{shown:f}"


def figure(value: Fraction) -> str:
    """An exact number as text, in the form that people write: '3', '0.5', '1e-9' or '1/3'."""
    shown = decimal(value)
    if isinstance(shown, Fraction):
        return str(shown)
    short = f"{shown.normalize():e}".replace("e+", "e").replace("E", "e")
    plain = f"{shown:f}"
    return plain if len(plain) <= max(6, len(short)) else short


def share(value: Fraction) -> str:
    """A share of a budget: '25%' or '1/3'."""
    shown = decimal(100 * value)
    return str(value) if isinstance(shown, Fraction) else f"{shown:f}%"


def day(value: dt.datetime) -> dt.date | dt.datetime:
    """A moment, as a day where it is the beginning of one."""
    return value.date() if value.time() == dt.time() else value


def of(kind: type[Any], **parameter: object) -> Any:
    """A value that must be of one of TOML's kinds."""
    ((name, value),) = parameter.items()
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        words = {bool: "true or false", str: "a text", int: "a whole number", list: "a list", dict: "a table"}
        raise InvalidParameter(name, value, allowed=words[kind])
    return value


def _texts(values: object) -> list[str]:
    return texts(values=values)


def texts(**parameter: object) -> list[str]:
    """A list of texts."""
    ((name, value),) = parameter.items()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidParameter(name, value, allowed='a list of texts such as ["a", "b"]')
    return value


def require_names(facts: Mapping[str, Any], known: Sequence[str], needed: Sequence[str] = ()) -> None:
    """Refuse names that mean nothing, and missing ones."""
    for name in facts:
        if name not in known:
            raise InvalidParameter("name", name, allowed=f"one of {', '.join(known)}")
    for name in needed:
        if name not in facts:
            raise InvalidParameter(name, None, allowed="stated")
