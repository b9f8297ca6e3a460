"""Whether two released things are the same, part by part; and where they are not.

Two things are alike only if nobody who holds them can tell them apart, by what they show or by what they keep. What
cannot be looked into, such as a function or a generator that each run made anew, counts as a difference: it may well
hold rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MappingView, Sequence, Set
from dataclasses import is_dataclass
from fractions import Fraction
from functools import cached_property
from itertools import takewhile
from numbers import Number
from pathlib import PurePath
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np
import pyarrow as pa

from dalenius.audit.forms import cells, written

_PLAIN = (int, str, bool, bytes, type(None), Fraction, np.int64)
_FLOATS = (float, np.float64)
_VALUES = (Number, np.generic, str, bytes, range)
_CONTAINERS = (np.ndarray, Mapping, Set, Sequence, MappingView)
_ARROW = (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray)
_PANDAS = ("iloc", "to_frame")
_ARROW_TYPES = (pa.Schema, pa.Field, pa.DataType)


def first_difference(first: Any, second: Any, place: str = "the result") -> str | None:
    """Where two results differ, or None where they are alike."""
    return next(_Comparison().differences(first, second, place), None)


def compares_values(value: object) -> bool:
    """Whether things of this kind are compared by what they hold, and not by which one it is."""
    equal: object = type(value).__eq__
    return equal is not object.__eq__


class _Comparison:
    """One walk through two results, which looks at each pair of objects once: they may hold each other."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], tuple[Any, Any]] = {}  # kept, so that no number of an object comes again

    def differences(self, first: Any, second: Any, place: str) -> Iterator[str]:
        if first is second or _plainly_alike(first, second):
            return
        if type(first) is not type(second):
            yield f"{place}: {type(first).__name__} or {type(second).__name__}"
        elif isinstance(first, type | FunctionType):
            yield _cannot(first, place)
        elif isinstance(first, _ARROW) or any(hasattr(type(first), name) for name in _PANDAS):
            yield from self._listed(_table_parts(first), _table_parts(second), place)
        elif isinstance(first, _VALUES):
            yield from _values(first, second, place)
            yield from self._attributes(first, second, place)
        elif isinstance(first, _CONTAINERS):
            yield from self._entries(first, second, place)
            yield from self._attributes(first, second, place)
        else:
            yield from self._objects(first, second, place)

    def _entries(self, first: Any, second: Any, place: str) -> Iterator[str]:
        """What differs between two containers."""
        if isinstance(first, np.ndarray):
            yield from self._arrays(first, second, place)
        elif isinstance(first, Mapping):
            yield from self._listed(list(first), list(second), f"the keys of {place}")
            for key in first:
                yield from self.differences(first[key], second[key], f"{place}[{key!r}]")
        elif isinstance(first, Set) and not isinstance(first, MappingView):
            yield from self._listed(sorted(first, key=repr), sorted(second, key=repr), place)
        else:
            yield from self._listed(list(first), list(second), place)

    def _arrays(self, first: Any, second: Any, place: str) -> Iterator[str]:
        if first.shape != second.shape or first.dtype != second.dtype:
            yield f"{place}: {first.dtype}{first.shape} or {second.dtype}{second.shape}"
        elif first.dtype.hasobject or first.tobytes() != second.tobytes():
            yield from self._listed(first.ravel().tolist(), second.ravel().tolist(), place)

    def _listed(self, first: Sequence[Any], second: Sequence[Any], place: str) -> Iterator[str]:
        if len(first) != len(second):
            yield f"{place}: {len(first)} or {len(second)} entries"
            return
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from self.differences(one, other, f"{place}[{number}]")

    def _objects(self, first: Any, second: Any, place: str) -> Iterator[str]:
        pair = id(first), id(second)
        if pair in self._seen:
            return
        self._seen[pair] = first, second
        yield from self._attributes(first, second, place)
        if isinstance(first, BaseException):
            yield from self._errors(first, second, place)
        elif not is_dataclass(first):
            unsaid = _said_equal(first, second) is None
            yield from self._copies(first, second, place) if unsaid else _values(first, second, place)

    def _errors(self, first: BaseException, second: BaseException, place: str) -> Iterator[str]:
        """What an error was given, and those that led to it, which are printed with it."""
        for name in ("args", "__cause__", "__context__"):
            yield from self.differences(getattr(first, name), getattr(second, name), f"{place}.{name}")

    def _attributes(self, first: Any, second: Any, place: str) -> Iterator[str]:
        mine, theirs = _attributes(first), _attributes(second)
        for name in {**mine, **theirs}:
            if name in mine and name in theirs:
                yield from self.differences(mine[name], theirs[name], f"{place}.{name}")
            else:
                yield f"{place}.{name}: there on one side only"

    def _copies(self, first: Any, second: Any, place: str) -> Iterator[str]:
        """What differs in what Python would copy: all that an object holds, also where it is not written in Python."""
        try:
            mine, theirs = (thing.__reduce_ex__(4) for thing in (first, second))
        except Exception:
            # A class that is written in Python holds no more than its attributes, though it may refuse to be copied.
            if not isinstance(type(first).__reduce_ex__, FunctionType):
                yield _cannot(first, place)
            return
        yield from self.differences(mine, theirs, place)


def _plainly_alike(first: Any, second: Any) -> bool:
    """Whether two things made of plain values are the same, kinds included: a quick look at long lists of numbers."""
    kind = type(first)
    if kind is not type(second):
        return False
    if kind in _PLAIN:
        return bool(first == second)
    if kind in _FLOATS:  # -0.0 prints with a sign
        return bool(first == second and first != 0) or repr(first) == repr(second)
    return kind in (tuple, list) and len(first) == len(second) and all(map(_plainly_alike, first, second))


def _values(first: Any, second: Any, place: str) -> Iterator[str]:
    """Whether two values say that they are the same, and are written in the same way: 1.00 equals 1.0."""
    if not _said_equal(first, second) or written(first) != written(second):
        yield f"{place}: {_apart(first, second)}"


def _said_equal(first: Any, second: Any) -> bool | None:
    """Whether two things say that they are equal; None where things of this kind say nothing of what they hold."""
    if not compares_values(first) or isinstance(first, MethodType | BuiltinMethodType):
        return None
    if isinstance(first, _ARROW_TYPES):
        return bool(first.equals(second, check_metadata=True))
    try:
        return bool(first == second or (first != first and second != second))
    except Exception:  # those that compare entry by entry have no one answer
        return None


def _attributes(thing: Any) -> Mapping[str, Any]:
    """All that an object keeps by name, in slots too, but for what it works out of the rest when first asked for."""
    if isinstance(thing, PurePath):
        return {}
    state = object.__getstate__(thing)
    parts = state if isinstance(state, tuple) else (state,)
    held = {name: value for part in parts if part for name, value in part.items()}
    return {
        name: value for name, value in held.items() if not isinstance(getattr(type(thing), name, None), cached_property)
    }


def _table_parts(table: Any) -> list[Any]:
    """What a table shows, and of Arrow what is asked for by other names: into which pieces its columns are cut."""
    columns = getattr(table, "columns", [table]) if isinstance(table, _ARROW) else []
    pieces = [piece for column in columns for piece in getattr(column, "chunks", [column])]
    values = [piece.dictionary.to_pylist() for piece in pieces if isinstance(piece, pa.DictionaryArray)]
    return [getattr(table, "schema", None), list(map(len, pieces)), values, *cells(table)]


def _cannot(thing: Any, place: str) -> str:
    return f"{place}: a {type(thing).__name__} cannot be compared with another"


def _apart(first: Any, second: Any) -> str:
    """Two values as they are written; of long ones the part in which they begin to differ."""
    texts = [repr(value).replace("\n", " ") for value in (first, second)]
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(0, alike - 20)
    return " or ".join(text if len(text) <= 60 else _part(text, start) for text in texts)


def _part(text: str, start: int) -> str:
    end = start + 60
    return f"{'... ' if start else ''}{text[start:end]}{' ...' if end < len(text) else ''}"
