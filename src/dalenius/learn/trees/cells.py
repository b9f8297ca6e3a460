"""Cells: every feature cut into pieces by declared bounds alone, and every row in one cell of each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.encoding import Scale
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows
from dalenius.learn.tables import Encoder
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.types import Ranged

FINE = 2**8
"""How many cells of equal width a number has."""


@dataclass(frozen=True)
class NumberCells:
    """One column, from its lower to its upper bound in steps of the grid: cells of equal width."""

    column: int
    lower: int
    upper: int
    ordered = True

    @property
    def size(self) -> int:
        return min(FINE, self.upper - self.lower + 1)

    def of(self, features: Integers) -> Integers:
        """The cell of each row."""
        kept = np.clip(features[:, self.column], self.lower, self.upper)
        return (kept - self.lower) * self.size // (self.upper - self.lower + 1)


@dataclass(frozen=True)
class ChoiceCells:
    """Columns of which one is set, such as the indicators of a text: a cell for each, and one for rows without any.

    Where several are set the row is in the cell of the largest, and of the first of them if they are equal, so that a
    row is in one cell whatever it holds.
    """

    columns: tuple[int, ...]
    ordered = False

    @property
    def size(self) -> int:
        return len(self.columns) + 1

    def of(self, features: Integers) -> Integers:
        """The cell of each row."""
        parts = features[:, list(self.columns)]
        return np.where(parts.max(axis=1) > 0, parts.argmax(axis=1), len(self.columns))


@dataclass(frozen=True)
class Layout:
    """All features, one after the other, and their cells."""

    features: tuple[NumberCells | ChoiceCells, ...]

    @classmethod
    def of(cls, scale: Scale, groups: Any, encoder: Encoder | None = None) -> Layout:
        """Numbers by their declared bounds, and choices as they are declared."""
        width = len(scale.lower)
        chosen = _declared(groups, width) if encoder is None else _listed(encoder)
        lower, upper = (np.rint(scale.scaled(end) * ONE).astype(int).tolist() for end in (scale.lower, scale.upper))
        first = {group[0]: ChoiceCells(group) for group in chosen}
        taken = {column for group in chosen for column in group}
        return cls(
            tuple(
                first.get(column) or NumberCells(column, lower[column], upper[column])
                for column in range(width)
                if column in first or column not in taken
            )
        )

    def __len__(self) -> int:
        return len(self.features)

    @property
    def cells(self) -> int:
        """How many cells there are in all."""
        return sum(feature.size for feature in self.features)

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Where the cells of each feature are among all."""
        ends = np.cumsum([0, *(feature.size for feature in self.features)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))

    def indices(self, features: NDArray[Any]) -> Integers:
        """The cell of each row in each feature, among all cells: by whole numbers, each row by itself."""
        steps = features.astype(np.int64)
        return np.stack(
            [feature.of(steps) + part.start for feature, part in zip(self.features, self.parts, strict=True)], axis=1
        )

    def of_rows(self, rows: SealedRows) -> SealedRows:
        """The same rows, with the place of their cells instead of features; put together once."""
        unstated = Sensitivity(neighbours=rows.neighbours)
        entries = rows.entries.map(_Placing(self).entries, sensitivity=unstated)
        return SealedRows(entries, len(self), len(self), rows.most)


class _Placing:
    """Finds the cells of rows once. It lives inside an `Exact`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._made: Entries | None = None

    def entries(self, entries: Entries) -> Entries:
        if self._made is None:
            places: Any = np.asfortranarray(self._layout.indices(entries.features), dtype=np.int32)
            self._made = Entries(places, entries.target, entries.counts)
        return self._made


def _listed(encoder: Encoder) -> list[tuple[int, ...]]:
    """The indicators of each text of a table."""
    groups, start = [], 0
    for axis, table in zip(encoder.axes, encoder.tables, strict=True):
        end = start + table.shape[1]
        if not isinstance(axis.domain, Ranged):
            groups.append(tuple(range(start, end)))
        start = end
    return groups


def _declared(groups: Any, width: int) -> list[tuple[int, ...]]:
    """Groups of columns as a user lists them."""
    allowed = f"lists of columns, each from 0 to {width - 1} and in one list only"
    if groups is None:
        return []
    if not isinstance(groups, Sequence) or not all(isinstance(group, Sequence | np.ndarray) for group in groups):
        raise InvalidParameter("groups", groups, allowed=allowed)
    columns = [column for group in groups for column in group]
    if not all(isinstance(column, int | np.integer) and 0 <= column < width for column in columns):
        raise InvalidParameter("groups", groups, allowed=allowed)
    if len(set(columns)) < len(columns) or not all(len(group) for group in groups):
        raise InvalidParameter("groups", groups, allowed=allowed)
    return [tuple(sorted(map(int, group))) for group in groups]
