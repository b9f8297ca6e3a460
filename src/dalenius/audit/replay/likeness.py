"""Whether two released things are the same, part by part; and where they are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa

_PLAIN = (int, str, bool, bytes, type(None))


def first_difference(first: Any, second: Any, place: str = "the result") -> str | None:
    """Where two results differ, or None where they are alike."""
    return next(_differences(first, second, place), None)


def _differences(first: Any, second: Any, place: str) -> Iterator[str]:
    if first is second or _plainly_alike(first, second):
        return
    if type(first) is not type(second):
        yield f"{place}: {type(first).__name__} or {type(second).__name__}"
    elif isinstance(first, np.ndarray):
        yield from _arrays(first, second, place)
    elif is_dataclass(first) and not isinstance(first, type):
        for field in fields(first):
            yield from _differences(getattr(first, field.name), getattr(second, field.name), f"{place}.{field.name}")
    elif isinstance(first, Mapping):
        yield from _listed(list(first), list(second), f"the keys of {place}")
        for key in first:
            yield from _differences(first[key], second.get(key), f"{place}[{key!r}]")
    elif isinstance(first, Sequence) and not isinstance(first, str | bytes):
        yield from _listed(first, second, place)
    elif isinstance(first, pa.Table | pa.Array | pa.ChunkedArray | Set | str | bytes | int):
        yield from () if first == second else _unlike(first, second, place)
    elif not compares_values(first) and hasattr(first, "__dict__"):
        yield from _differences(vars(first), vars(second), place)
    elif not (first == second or (first != first and second != second)):
        yield from _unlike(first, second, place)


def _plainly_alike(first: Any, second: Any) -> bool:
    """Whether two things made of plain values are the same, kinds included: a quick look at long lists of keys."""
    kind = type(first)
    if kind is not type(second):
        return False
    if kind in _PLAIN:
        return bool(first == second)
    return kind in (tuple, list) and len(first) == len(second) and all(map(_plainly_alike, first, second))


def compares_values(value: object) -> bool:
    """Whether things of this kind are compared by what they hold, and not by which one it is."""
    equal: object = type(value).__eq__
    return equal is not object.__eq__


def _arrays(first: Any, second: Any, place: str) -> Iterator[str]:
    if first.shape != second.shape or first.dtype != second.dtype:
        yield f"{place}: {first.dtype}{first.shape} or {second.dtype}{second.shape}"
    elif first.dtype.hasobject or first.tobytes() != second.tobytes():
        yield from _listed(first.ravel().tolist(), second.ravel().tolist(), place)


def _listed(first: Sequence[Any], second: Sequence[Any], place: str) -> Iterator[str]:
    if len(first) != len(second):
        yield f"{place}: {len(first)} or {len(second)} entries"
        return
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        yield from _differences(one, other, f"{place}[{number}]")


def _unlike(first: Any, second: Any, place: str) -> Iterator[str]:
    yield f"{place}: {_short(first)} or {_short(second)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]} ..."
