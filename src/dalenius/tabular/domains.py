"""The cells that people can fall into: declared columns with finitely many values each, never looked up in data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole

Columns: TypeAlias = tuple[str, ...]
"""Some columns of a grid, in its order."""

MOST_CELLS = 10**7
"""The most cells that are held one by one; what works by marginals needs no such limit."""


@dataclass(frozen=True)
class CellDomain:
    """Columns in order, and how many values each can have. A cell is a value for each column, the last one runs
    fastest; a histogram is a vector of counts over all cells."""

    sizes: Mapping[str, int]

    def __post_init__(self) -> None:
        if not self.sizes:
            raise InvalidParameter("sizes", {}, allowed="at least one column")
        object.__setattr__(self, "sizes", {name: whole(1, size=size) for name, size in self.sizes.items()})

    @property
    def columns(self) -> Columns:
        return tuple(self.sizes)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(self.sizes.values())

    def of(self, columns: Iterable[str]) -> CellDomain:
        """The grid of some columns alone."""
        return CellDomain({name: self.sizes[name] for name in self.ordered(columns)})

    def ordered(self, columns: Iterable[str]) -> Columns:
        """The columns once each, in the order of the grid."""
        chosen = {columns} if isinstance(columns, str) else set(columns)
        unknown = chosen - self.sizes.keys()
        if unknown:
            raise InvalidParameter("columns", sorted(unknown), allowed=f"some of {', '.join(self.sizes)}")
        return tuple(sorted(chosen, key=self._places.__getitem__))

    def shape(self, columns: Iterable[str] | None = None) -> tuple[int, ...]:
        return tuple(self.sizes[name] for name in (self.sizes if columns is None else columns))

    def size(self, columns: Iterable[str]) -> int:
        """How many combinations of values some columns have."""
        return prod(self.shape(columns))

    def require_small(self, *, most: int = MOST_CELLS, use: str, instead: str) -> None:
        """Refuse a grid whose cells are too many to be held one by one."""
        if self.cells > most:
            raise InvalidParameter(
                "cells",
                self.cells,
                allowed=f"at most {most} for {use}",
                hint=f"Use fewer columns or bins, or {instead}.",
            )

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.sizes)}
