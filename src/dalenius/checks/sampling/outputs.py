"""Outputs of any kind, put in order: numbers, vectors, texts, nothing at all, tuples and dictionaries."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.checks.observer import SeenNumber
from dalenius.checks.sampling.forms import GroupForm, entries, form, in_order, outline

_NOTHING = GroupForm("nothing")
NOT_A_NUMBER = -1
"""The rank of an entry that is not a number."""


@dataclass(frozen=True)
class PairedOutputs:
    """The distinct outputs of two inputs, and which of them each run gave.

    `places` has a row for each input. An outcome is looked at as a row of entries: `ranks` says where each entry that
    is a number stands among the numbers of its column, `numbers`, and `kinds` tells all entries apart.
    """

    places: NDArray[np.intp]
    outcomes: Sequence[Any] | NDArray[Any]
    ranks: NDArray[np.int64]
    kinds: NDArray[np.int64]
    numbers: tuple[Sequence[Any] | NDArray[Any], ...]
    texts: tuple[Sequence[str], ...] = ()
    """Of mixed outputs, what stands in each column, by its kind."""

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def samples(self) -> int:
        return int(self.places.shape[1])

    def named(self, place: int) -> str:
        """An outcome as it is shown."""
        outcome = self.outcomes[place]
        return str(outcome.tolist() if isinstance(outcome, np.ndarray | np.generic) else outcome)

    def entry_named(self, place: int, entry: int) -> str:
        """An entry of an outcome as it is shown."""
        kind = int(self.kinds[place, entry])
        return self.texts[entry][kind] if self.texts else str(self.numbers[entry][kind])

    def counts(self, start: int, stop: int) -> NDArray[np.int64]:
        """How often each input gave each outcome in some of its runs."""
        return np.array([np.bincount(row, minlength=len(self)) for row in self.places[:, start:stop]])


def gathered(first: Sequence[Any] | NDArray[Any], second: Sequence[Any] | NDArray[Any]) -> PairedOutputs:
    """The outputs of both inputs, equally many of each."""
    arrays = [_plain(first), _plain(second)]
    if arrays[0] is None or arrays[1] is None or arrays[0].shape != arrays[1].shape:
        return _mixed([*_each(first), *_each(second)], len(first))
    both = _together(arrays[0], arrays[1], typed=not isinstance(first, np.ndarray))
    return _numeric(both, len(first)) if isinstance(both, np.ndarray) else _mixed(both, len(first))


def _each(outputs: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    """Outputs one by one; the type of an array of numbers says nothing about one of them."""
    plain = isinstance(outputs, np.ndarray) and _plain(outputs) is not None and outputs.ndim == 1
    return outputs.tolist() if plain else outputs  # type: ignore[union-attr, return-value]


def _plain(outputs: Sequence[Any] | NDArray[Any]) -> NDArray[Any] | None:
    """Numbers, or rows of numbers, as an array; None for anything else."""
    if isinstance(outputs, np.ma.MaskedArray):
        return None
    if isinstance(outputs, np.ndarray):
        array: NDArray[Any] = outputs
        kinds = "biuf"
    elif {type(output) for output in outputs} in ({int}, {float}, {bool}):
        array = np.asarray(outputs)
        kinds = "f" if isinstance(outputs[0], float) else "biu"  # no array of floats stands for large integers
    else:
        return None
    return array if array.dtype.kind in kinds and array.ndim in (1, 2) else None


def _together(first: NDArray[Any], second: NDArray[Any], *, typed: bool) -> NDArray[Any] | list[Any]:
    """Both as one array, or as a list where an array would merge numbers that differ.

    Numbers of lists have types of their own. The type of an array belongs to all its outputs at once, so it says
    nothing about one of them: there 1 and 1.0 are the same.
    """
    kinds = {first.dtype.kind, second.dtype.kind}
    if len(kinds) == 1:
        return np.concatenate([first, second])
    if "b" in kinds or (typed and "f" in kinds):
        return [*first.tolist(), *second.tolist()]
    return [*map(_by_value, first.tolist()), *map(_by_value, second.tolist())]


def _by_value(output: Any) -> Any:
    if isinstance(output, list):
        return tuple(map(_by_value, output))
    return int(output) if isinstance(output, float) and output.is_integer() else output


def _numeric(outputs: NDArray[Any], size: int) -> PairedOutputs:
    """Column by column, which is fast."""
    columns = [_distinct(column) for column in outputs.reshape(len(outputs), -1).T]
    places = np.zeros(len(outputs), dtype=np.intp)
    for values, here in columns:
        places = np.unique(places * len(values) + here.reshape(-1), return_inverse=True)[1].reshape(-1)
    at = np.unique(places, return_index=True)[1]
    stacked = np.stack([column.reshape(-1)[at] for _, column in columns], axis=1) if columns else _no_entries(len(at))
    kinds = stacked.astype(np.int64)
    ranks = kinds.copy()
    for column, (values, _) in enumerate(columns):
        if values.dtype.kind == "f":
            ranks[np.isnan(values)[kinds[:, column]], column] = NOT_A_NUMBER
    return PairedOutputs(places.reshape(2, size), outputs[at], ranks, kinds, tuple(values for values, _ in columns))


def _distinct(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different numbers of a column in order, -0.0 before 0.0, and which of them each entry is."""
    if column.dtype.kind != "f" or column.dtype.itemsize > 8:
        values, places = np.unique(column, return_inverse=True)
        return values, places
    exact = column.astype(np.float64)
    exact[np.isnan(exact)] = np.nan  # all of them look the same
    bits = exact.view(np.int64)
    rising = np.where(bits < 0, np.iinfo(np.int64).min - bits - 1, bits)
    _, at, places = np.unique(rising, return_index=True, return_inverse=True)
    return column[at], places


def _no_entries(rows: int) -> NDArray[np.int64]:
    return np.zeros((rows, 0), dtype=np.int64)


def _mixed(outputs: list[Any], size: int) -> PairedOutputs:
    """In an order that does not depend on which outputs came when, so that no event is chosen by what is tested."""
    keys = [form(output) for output in outputs]
    shown = dict(zip(keys, outputs, strict=True))
    known = sorted(shown, key=in_order)
    place = {key: number for number, key in enumerate(known)}
    rows = [tuple(entries(key)) for key in known]
    columns = [_ranked(column) for column in zip_longest(*rows, fillvalue=_NOTHING)] if rows else []
    outlines = [outline(key) for key in known]
    if len(set(outlines)) > 1:
        columns.append(_ranked(outlines))
    shape = (len(known), len(columns))
    ranks, kinds = (np.array([column[part] for column in columns], dtype=np.int64).T for part in (0, 1))
    return PairedOutputs(
        np.array([place[key] for key in keys], dtype=np.intp).reshape(2, size),
        [shown[key] for key in known],
        ranks.reshape(shape),
        kinds.reshape(shape),
        tuple(column[2] for column in columns),
        tuple(column[3] for column in columns),
    )


def _ranked(column: Sequence[Hashable]) -> tuple[list[int], list[int], Sequence[Any], Sequence[str]]:
    numbers = sorted({entry for entry in column if isinstance(entry, SeenNumber)}, key=in_order)
    rank: dict[Hashable, int] = {number: place for place, number in enumerate(numbers)}
    known = sorted(set(column), key=in_order)
    kinds = {entry: place for place, entry in enumerate(known)}
    values, texts = [number.value for number in numbers], [str(entry) for entry in known]
    return [rank.get(entry, NOT_A_NUMBER) for entry in column], [kinds[entry] for entry in column], values, texts
