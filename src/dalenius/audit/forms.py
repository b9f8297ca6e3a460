"""An output as something that can be looked up: two are the same only if nobody who holds them can tell them apart.

That -0.0 prints with a sign, that 1 is not 1.0, a list no tuple, and which key of a dictionary comes first, can all be
seen, so all of it can tell.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dalenius.errors import UnfitRelease

_SHORTENED = ("__arrow_c_stream__", "__dataframe__")
"""What tables have that print only some of their rows."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number with what else is seen of it: its type, and how it is written where that says more than its value."""

    value: Any
    form: str

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Group:
    """Parts that are held by something of a kind, such as a list, in an order that is the same whatever they are."""

    kind: str
    parts: tuple[Hashable, ...] = ()
    order: tuple[Hashable, ...] = ()
    """Of a dictionary, its keys as they come."""

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.parts))})" if self.parts else self.kind


@dataclass(frozen=True, slots=True)
class Raised:
    """An output that is an error: whoever asks sees its kind and its text."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"raised {self.kind}: {self.text}" if self.text else f"raised {self.kind}"


def frozen(output: Any) -> Hashable:
    """An output in its form; equal exactly for what looks equal in every way."""
    match output:
        case None | Number() | Group() | Raised():
            return output
        case bool():
            return Group(str(output))
        case np.generic() if not isinstance(output, np.longdouble):
            return frozen(output.tolist())
        case int() | float() | Fraction() | Decimal():
            return _number(output)
        case complex():
            return Group("complex", (_number(output.real), _number(output.imag)))
        case str() | bytes() if type(output) in (str, bytes):
            return output
        case np.ma.MaskedArray():
            return Group("masked array", (frozen(output.data), frozen(np.ma.getmaskarray(output))))
        case np.ndarray():
            return Group(f"array of {output.dtype}, {output.shape}", tuple(map(frozen, output.ravel().tolist())))
        case Mapping():
            items = [(frozen(key), frozen(value)) for key, value in output.items()]
            parts = tuple(Group("item", item) for item in sorted(items, key=repr))
            return Group(type(output).__name__, parts, tuple(key for key, _ in items))
        case AbstractSet():
            return Group(type(output).__name__, tuple(sorted(map(frozen, output), key=repr)))
        case list() | tuple():
            return Group(type(output).__name__, tuple(map(frozen, output)))
    return _seen(output)


def cells(output: Any) -> Iterator[Any]:
    """All of a table, which would be printed in part only; nothing of what is none."""
    if hasattr(output, "to_arrow"):  # answers of this library, frames of Polars
        yield from cells(output.to_arrow())
    elif hasattr(output, "to_pylist"):  # arrays and tables of Arrow
        yield str(output.schema if hasattr(output, "schema") else output.type)
        yield from (column.to_pylist() for column in getattr(output, "columns", [output]))
    elif hasattr(output, "iloc"):  # frames and series of pandas
        kinds = list(output.dtypes) if hasattr(output, "columns") else [output.dtypes]
        yield [[str(kind), list(getattr(kind, "categories", ()))] for kind in kinds]
        yield [output.index.tolist(), list(getattr(output, "columns", [getattr(output, "name", None)]))]
        yield dict(output.attrs)
        yield output.to_numpy(dtype=object).tolist()
    elif hasattr(output, "to_frame"):  # indexes of pandas
        yield from cells(output.to_frame(index=False))


def written(output: Any) -> str | None:
    """How something is written; None where that says only which one it is, or not all of it."""
    text = str(output) if isinstance(output, str) else repr(output)
    unsaid = " at 0x" in text or isinstance(output, Iterator) or any(hasattr(output, name) for name in _SHORTENED)
    return None if unsaid else text


def entries(key: Hashable) -> Iterable[Hashable]:
    """The parts of a form that have none of their own."""
    if isinstance(key, Group) and key.parts:
        for part in key.parts:
            yield from entries(part)
    else:
        yield key


def outline(key: Hashable) -> Hashable:
    """All that is seen of a form but its values."""
    if isinstance(key, Group):
        return key.kind, key.order, tuple(map(outline, key.parts))
    return key.form if isinstance(key, Number) else type(key).__name__


def in_order(key: Hashable) -> tuple[bool, Any, str]:
    """Numbers first, by their values; the rest by how it is written."""
    return (False, key.value, key.form) if isinstance(key, Number) else (True, 0, repr(key))


def _number(output: Any) -> Hashable:
    kind = type(output).__name__
    if output.is_nan() if isinstance(output, Decimal) else output != output:
        return Group(f"{kind} that is not a number")
    if isinstance(output, Decimal):
        return Number(Fraction(output) if output.is_finite() else float(output), f"{kind} {output}")
    if isinstance(output, np.longdouble) and np.isfinite(output):
        return Number(Fraction(*output.as_integer_ratio()), f"{kind} {output}")
    return Number(output, f"{kind} -0.0" if output == 0 and str(output).startswith("-") else kind)


def _seen(output: Any) -> Hashable:
    """What is no plain value: tables by all their cells, the rest by how it is written and by what it holds."""
    kind = type(output).__name__
    parts = tuple(cells(output))
    if parts:
        return Group(kind, tuple(map(frozen, parts)))
    if isinstance(output, Real):
        return _number(output)
    text, inside = written(output), held(output)
    if text is None and not inside:
        raise unseen(kind)
    try:
        return Group(kind, (text or "", *((frozen(inside),) if inside else ())))
    except RecursionError:
        raise unseen(f"{kind} that holds itself") from None


def unseen(what: str) -> UnfitRelease:
    """The refusal of an output that shows no value."""
    return UnfitRelease(
        "release",
        f"a function that gives a {what}",
        allowed="one that gives numbers, texts, None, lists, dictionaries, arrays, tables, or objects of such values",
        hint="Give what people get to see, such as a tuple of numbers.",
    )


def held(output: Any) -> dict[str, Any]:
    """What an object holds, also what it does not print; nothing of a class, a function or a module."""
    if isinstance(output, type | FunctionType | ModuleType):
        return {}
    slots = [name for kind in type(output).__mro__ for name in _named(getattr(kind, "__slots__", ()))]
    found = {name: getattr(output, name) for name in slots if not name.startswith("__") and hasattr(output, name)}
    return found | getattr(output, "__dict__", {})


def _named(slots: str | Iterable[str]) -> Iterable[str]:
    return [slots] if isinstance(slots, str) else slots
