"""What an observer can tell apart: of every thing, all that is seen of it and in it. The one definition of all checks.

Two things are the same only if nobody who holds them can tell them apart, by what they show or by what they keep: that
-0.0 prints with a sign, that 1 is not 1.0, a list no tuple, which key of a dictionary comes first, a field that is not
printed. What cannot be looked into, such as a function or a generator that each run made anew, is like nothing else: it
may well hold rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import takewhile
from pathlib import PurePath
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
import pyarrow as pa

_PLAIN = (int, str, bool, bytes, type(None), Fraction, np.int64)
_FLOATS = (float, np.float64)
_BARE: tuple[type, ...] = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    np.ndarray,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
"""Containers that keep nothing but their entries."""
_ARROW = (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray)
_TABLES = ("__dataframe__", "iloc", "to_frame")
"""What tables of Polars and pandas have; like those of Arrow, they print only some of their rows."""


@dataclass(frozen=True, slots=True)
class SeenNumber:
    """A number with what else is seen of it: its type, and how it is written where that says more than its value."""

    value: Any
    form: str

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class View:
    """A thing as it is seen: of what kind it is, what it shows of itself, and the things in it.

    The last ones of its parts have `names`; those before them are entries in their order. `kept` is what Python would
    copy of a thing besides, which shows in no other way.
    """

    kind: str
    shown: str | bytes | SeenNumber | None = None
    parts: Sequence[Any] = ()
    names: tuple[str, ...] = ()
    kept: tuple[Any, ...] = ()

    def place(self, part: int) -> str:
        """Where a part stands in the thing."""
        named = part - (len(self.parts) - len(self.names))
        return self.names[named] if named >= 0 else f"[{part}]"


def view(thing: Any) -> View | None:
    """All that is seen of a thing; None of one that cannot be looked into."""
    kind = _kind(thing)
    match thing:
        case None | bool() | np.bool():
            return View(kind, str(thing))
        case Enum():
            return View(kind, thing.name)
        case type() | FunctionType():
            name = _global_name(thing)
            return View(kind, name) if name else None
        case str() | bytes():
            return _with_attributes(thing, View(kind, str.__str__(thing) if isinstance(thing, str) else bytes(thing)))
        case int() | float() | Fraction() | Decimal() | np.integer() | np.floating():
            return _with_attributes(thing, _number(thing, kind))
        case complex() | np.complexfloating():
            return _with_attributes(thing, View(kind, parts=(thing.real, thing.imag), names=(".real", ".imag")))
        case np.ma.MaskedArray():
            seen = View(kind, parts=(thing.data, np.ma.getmaskarray(thing)), names=(".data", ".mask"))
            return _with_attributes(thing, seen)
        case np.ndarray():
            return _with_attributes(
                thing, View(f"{kind} of {thing.dtype}, {thing.shape}", parts=thing.ravel().tolist())
            )
        case Mapping():
            parts, names = [list(thing), *thing.values()], (".keys()", *(f"[{key!r}]" for key in thing))
            return _with_attributes(thing, View(kind, parts=parts, names=names))
        case Set() if not isinstance(thing, MappingView):
            return _with_attributes(thing, View(kind, parts=sorted(thing, key=repr)))
        case Sequence() | MappingView() if not isinstance(thing, range | memoryview):
            return _with_attributes(thing, View(kind, parts=list(cast("Iterable[Any]", thing))))
    if isinstance(thing, _ARROW) or any(hasattr(type(thing), name) for name in _TABLES):
        return View(kind, parts=_table_parts(thing))
    return _object(thing, kind)


def _kind(thing: Any) -> str:
    """The class of a thing by its whole name: NumPy has a `bool` too."""
    kind = type(thing)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def first_difference(first: Any, second: Any, place: str = "the result") -> str | None:
    """Where two things can be told apart, or None where they are alike."""
    return next(_Comparison().differences(first, second, place), None)


def written(thing: Any) -> str | None:
    """How something is written; None where that says only which one it is."""
    text = repr(thing)
    return None if " at 0x" in text or isinstance(thing, Iterator) else text


class _Comparison:
    """One walk through two things, which looks at each pair of objects once: they may hold each other."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], tuple[Any, Any]] = {}  # kept, so that no number of an object comes again

    def differences(self, first: Any, second: Any, place: str) -> Iterator[str]:
        if first is second or (id(first), id(second)) in self._seen or _plainly_alike(first, second):
            return
        self._seen[id(first), id(second)] = first, second
        if type(first) is not type(second):
            yield f"{place}: {type(first).__name__} or {type(second).__name__}"
            return
        one, other = view(first), view(second)
        if one is None or other is None:
            yield f"{place}: a {type(first).__name__} cannot be compared with another"
        elif one.kind != other.kind:
            yield f"{place}: {one.kind} or {other.kind}"
        elif one.shown != other.shown:
            yield f"{place}: {_apart(repr(first), repr(second))}"
        elif len(one.parts) != len(other.parts):
            yield f"{place}: {len(one.parts)} or {len(other.parts)} entries"
        else:
            yield from self._parts(one, other, place)

    def _parts(self, one: View, other: View, place: str) -> Iterator[str]:
        for number, (mine, theirs) in enumerate(zip(one.parts, other.parts, strict=True)):
            if one.place(number) != other.place(number):
                yield f"{place}{one.place(number)}: there on one side only"
            yield from self.differences(mine, theirs, place + one.place(number))
        yield from self.differences(one.kept, other.kept, f"{place}, as it is copied,")


def _plainly_alike(first: Any, second: Any) -> bool:
    """Whether two things made of plain values are the same, kinds included: a quick look at long lists of numbers."""
    kind = type(first)
    if kind is not type(second):
        return False
    if kind in _PLAIN:
        return bool(first == second)
    if kind in _FLOATS:  # -0.0 prints with a sign
        return bool(first == second and first != 0) or repr(first) == repr(second)
    if kind is np.ndarray and not first.dtype.hasobject:
        shape = first.shape == second.shape and first.dtype == second.dtype
        return bool(shape and first.tobytes() == second.tobytes())
    return kind in (tuple, list) and len(first) == len(second) and all(map(_plainly_alike, first, second))


def _number(thing: Any, kind: str) -> View:
    if thing.is_nan() if isinstance(thing, Decimal) else thing != thing:
        return View(f"{kind} that is not a number")
    if isinstance(thing, Decimal):
        return View(kind, SeenNumber(Fraction(thing) if thing.is_finite() else float(thing), f"{kind} {thing}"))
    if isinstance(thing, np.longdouble) and np.isfinite(thing):
        return View(kind, SeenNumber(Fraction(*thing.as_integer_ratio()), f"{kind} {thing}"))
    value = thing.item() if isinstance(thing, np.generic) else thing
    return View(kind, SeenNumber(value, f"{kind} -0.0" if value == 0 and str(value).startswith("-") else kind))


def _object(thing: Any, kind: str) -> View | None:
    """What is no plain value: how it is written, by what it holds and, where that may be less, by what is copied."""
    if name := _global_name(thing):
        return View(kind, name)
    inside = _attributes(thing)
    if isinstance(thing, BaseException):  # what it was given, and those that led to it, which are printed with it
        led = {"args": thing.args, "__cause__": thing.__cause__, "__context__": thing.__context__}
        return _held(View(kind), inside | led)
    parameters = getattr(type(thing), "__dataclass_params__", None)
    text = None if parameters and parameters.repr else written(thing)
    if parameters:
        return _held(View(kind, text), inside)
    try:
        return _held(View(kind, text, kept=_copied(thing)), inside)
    except Exception:
        # A class that is written in Python holds no more than its attributes, though it may refuse to be copied.
        return _held(View(kind, text), inside) if isinstance(type(thing).__reduce_ex__, FunctionType) else None


def _copied(thing: Any) -> tuple[Any, ...]:
    """What Python would copy: all that an object holds, also where it is not written in Python; without the attributes
    that are looked at anyhow."""
    made = thing.__reduce_ex__(4)
    kind = type(thing)
    usual = all(
        getattr(kind, name) is getattr(object, name) for name in ("__reduce_ex__", "__reduce__", "__getstate__")
    )
    return (*made[:2], *made[3:]) if usual else (made,)


def _with_attributes(thing: Any, seen: View) -> View:
    """What a value or a container keeps beside what it is."""
    plain = type(thing) in _BARE or type(thing) in _PLAIN or type(thing) in _FLOATS or isinstance(thing, np.generic)
    return seen if plain else _held(seen, _attributes(thing))


def _held(seen: View, attributes: Mapping[str, Any]) -> View:
    names = (*seen.names, *(f".{name}" for name in attributes))
    return View(seen.kind, seen.shown, [*seen.parts, *attributes.values()], names, seen.kept)


def _attributes(thing: Any) -> dict[str, Any]:
    """All that an object keeps by name, in slots too, but for what it works out of the rest when first asked for."""
    if isinstance(thing, PurePath):
        return {}
    state = object.__getstate__(thing)
    parts = state if isinstance(state, tuple) else (state,)
    held = {name: value for part in parts if part for name, value in part.items()}
    return {
        name: value for name, value in held.items() if not isinstance(getattr(type(thing), name, None), cached_property)
    }


def _global_name(thing: Any) -> str | None:
    """By which name anybody finds a class, a function or a module; None of one that a run made, and of other things."""
    if isinstance(thing, ModuleType):
        return thing.__name__ if sys.modules.get(thing.__name__) is thing else None
    module, path = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str):
        return None
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return f"{module}.{path}" if found is thing else None


def _table_parts(table: Any) -> list[Any]:
    """What a table shows, and of Arrow what is asked for by other names: into which pieces its columns are cut."""
    columns = getattr(table, "columns", [table]) if isinstance(table, _ARROW) else []
    pieces = [piece for column in columns for piece in getattr(column, "chunks", [column])]
    values = [piece.dictionary.to_pylist() for piece in pieces if isinstance(piece, pa.DictionaryArray)]
    return [getattr(table, "schema", None), list(map(len, pieces)), values, *_cells(table)]


def _cells(table: Any) -> Iterator[Any]:
    """All of a table, which would be printed in part only."""
    if hasattr(table, "to_arrow"):  # frames of Polars
        yield from _cells(table.to_arrow())
    elif hasattr(table, "to_pylist"):  # arrays and tables of Arrow
        yield str(table.schema if hasattr(table, "schema") else table.type)
        yield from (column.to_pylist() for column in getattr(table, "columns", [table]))
    elif hasattr(table, "iloc"):  # frames and series of pandas
        kinds = list(table.dtypes) if hasattr(table, "columns") else [table.dtypes]
        yield [[str(kind), list(getattr(kind, "categories", ()))] for kind in kinds]
        yield [table.index.tolist(), list(getattr(table, "columns", [getattr(table, "name", None)]))]
        yield dict(table.attrs)
        yield table.to_numpy(dtype=object).tolist()
    elif hasattr(table, "to_frame"):  # indexes of pandas
        yield from _cells(table.to_frame(index=False))


def _apart(first: str, second: str) -> str:
    """Two texts as they are; of long ones the part in which they begin to differ."""
    texts = [text.replace("\n", " ") for text in (first, second)]
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(0, alike - 20)
    return " or ".join(text if len(text) <= 60 else _cut(text, start) for text in texts)


def _cut(text: str, start: int) -> str:
    end = start + 60
    return f"{'... ' if start else ''}{text[start:end]}{' ...' if end < len(text) else ''}"
