"""Outputs of any kind, put in order: numbers, vectors, texts, nothing at all, tuples and dictionaries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import zip_longest
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NOTHING = ("nothing",)
NOT_A_NUMBER = -1
"""The rank of an entry that is not a number."""


@dataclass(frozen=True)
class Outputs:
    """The distinct outputs of two inputs, and which of them each run gave.

    `places` has a row for each input. An outcome is looked at as a row of entries: `ranks` says where each entry that
    is a number stands among the numbers of its column, `numbers`, and `kinds` tells all entries apart.
    """

    places: NDArray[np.intp]
    outcomes: Sequence[Any] | NDArray[Any]
    ranks: NDArray[np.int64]
    kinds: NDArray[np.int64]
    numbers: tuple[Sequence[Any] | NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def samples(self) -> int:
        return int(self.places.shape[1])

    def named(self, place: int) -> str:
        """An outcome as it is shown."""
        outcome = self.outcomes[place]
        return str(outcome.tolist() if isinstance(outcome, np.ndarray | np.generic) else outcome)

    def counts(self, start: int, stop: int) -> NDArray[np.int64]:
        """How often each input gave each outcome in some of its runs."""
        return np.array([np.bincount(row, minlength=len(self)) for row in self.places[:, start:stop]])


def gathered(first: Sequence[Any] | NDArray[Any], second: Sequence[Any] | NDArray[Any]) -> Outputs:
    """The outputs of both inputs, equally many of each."""
    arrays = [_plain(first), _plain(second)]
    if arrays[0] is not None and arrays[1] is not None and _alike(arrays[0], arrays[1]):
        return _numeric(np.concatenate([arrays[0], arrays[1]]), len(first))
    return _mixed([*first, *second], len(first))


def _alike(first: NDArray[Any], second: NDArray[Any]) -> bool:
    return first.shape == second.shape and (first.dtype.kind == "b") == (second.dtype.kind == "b")


def _plain(outputs: Sequence[Any] | NDArray[Any]) -> NDArray[Any] | None:
    """Numbers, or rows of numbers, as an array; None for anything else."""
    if isinstance(outputs, np.ndarray):
        array: NDArray[Any] = outputs
    elif {type(output) for output in outputs} in ({int}, {float}, {int, float}, {bool}):
        array = np.asarray(outputs)
    else:
        return None
    return array if array.dtype.kind in "biuf" and array.ndim in (1, 2) else None


def _numeric(outputs: NDArray[Any], size: int) -> Outputs:
    """Column by column, which is fast."""
    columns = [np.unique(column, return_inverse=True) for column in outputs.reshape(len(outputs), -1).T]
    places = np.zeros(len(outputs), dtype=np.intp)
    for values, entries in columns:
        places = np.unique(places * len(values) + entries.reshape(-1), return_inverse=True)[1].reshape(-1)
    at = np.unique(places, return_index=True)[1]
    entries = np.stack([column.reshape(-1)[at] for _, column in columns], axis=1) if columns else _no_entries(len(at))
    kinds = entries.astype(np.int64)
    ranks = kinds.copy()
    for column, (values, _) in enumerate(columns):
        if values.dtype.kind == "f":
            ranks[np.isnan(values)[kinds[:, column]], column] = NOT_A_NUMBER
    return Outputs(places.reshape(2, size), outputs[at], ranks, kinds, tuple(values for values, _ in columns))


def _no_entries(rows: int) -> NDArray[np.int64]:
    return np.zeros((rows, 0), dtype=np.int64)


def _mixed(outputs: list[Any], size: int) -> Outputs:
    """In an order that does not depend on which outputs came when, so that no event is chosen by what is tested."""
    keys = [frozen(output) for output in outputs]
    shown = dict(zip(keys, outputs, strict=True))
    known = sorted(shown, key=_order)
    place = {key: number for number, key in enumerate(known)}
    rows = [tuple(_entries(key)) for key in known]
    columns = [_ranked(column) for column in zip_longest(*rows, fillvalue=_NOTHING)] if rows else []
    shape = (len(known), len(columns))
    ranks, kinds = (np.array([column[part] for column in columns], dtype=np.int64).T for part in (0, 1))
    return Outputs(
        np.array([place[key] for key in keys], dtype=np.intp).reshape(2, size),
        [shown[key] for key in known],
        ranks.reshape(shape),
        kinds.reshape(shape),
        tuple(column[2] for column in columns),
    )


def _order(key: Hashable) -> tuple[bool, Any, str]:
    return (False, key, "") if _is_number(key) else (True, 0, repr(key))


def frozen(output: Any) -> Hashable:
    """An output as something that can be looked up; equal exactly for what a reader sees as equal."""
    if isinstance(output, np.ndarray | np.generic):
        return frozen(output.tolist())
    if isinstance(output, Mapping):
        items = sorted(((frozen(key), frozen(value)) for key, value in output.items()), key=repr)
        return ("a mapping", *items)
    if isinstance(output, AbstractSet):
        return ("a set", *sorted(map(frozen, output), key=repr))
    if isinstance(output, list | tuple):
        return tuple(map(frozen, output))
    if isinstance(output, float) and output != output:
        return ("nan",)
    if isinstance(output, bool):
        return ("yes" if output else "no",)
    return output if isinstance(output, str | int | float | bytes | None) else _seen(output)


def _seen(output: Any) -> Hashable:
    return output if _is_number(output) else (type(output).__name__, repr(output))


def _entries(key: Hashable) -> Iterable[Hashable]:
    if not isinstance(key, tuple):
        yield key
        return
    for part in key:
        yield from _entries(part)


def _ranked(column: Sequence[Hashable]) -> tuple[list[int], list[int], Sequence[Any]]:
    numbers: list[Any] = sorted({entry for entry in column if _is_number(entry)}, key=_order)
    rank = {number: place for place, number in enumerate(numbers)}
    kinds = {entry: place for place, entry in enumerate(sorted(set(column), key=_order))}
    return [rank.get(entry, NOT_A_NUMBER) for entry in column], [kinds[entry] for entry in column], numbers


def _is_number(entry: object) -> bool:
    return isinstance(entry, Real) and not isinstance(entry, bool) and entry == entry
