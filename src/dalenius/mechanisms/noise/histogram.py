"""Counting questions whose answer is a vector of integers, each with its sensitivity: what the noise is scaled to.

A row stands for one protected thing. The questions are public and fixed before the data is read; the same rows give
exact counts, `DiscreteLaplace` or `DiscreteGaussian` makes them noisy, and dividing by a public number of rows turns
counts into shares, means and distribution functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import Neighbours, Replace, require_same, stated
from dalenius.privacy.numbers import whole
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many rows lie in each cell; cells without rows count zero, and rows without a cell count nowhere.

    Guarantee: the cells are fixed in advance and disjoint, so adding or removing a row changes one count by one, and
    replacing a row changes two.
    Reference: Dwork & Roth 2014, Examples 3.2 and 3.3.
    Textbook: S4.4.
    """

    cells: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", _distinct(cells=self.cells))

    def counts(self, rows: Iterable[Hashable]) -> list[int]:
        """The exact count of each cell, in the order of the cells."""
        seen = Counter(row for row in rows if _is_hashable(row))
        return [seen[cell] for cell in self.cells]

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """How far one neighbour step can move the answer."""
        replaces = _replaces(neighbours)
        return Sensitivity.sparse(
            coordinates=min(1 + replaces, len(self.cells)), each=1, monotone=not replaces, neighbours=neighbours
        )


@dataclass(frozen=True, slots=True)
class Cumulative:
    """How many rows are at or below each point; divided by the number of rows, the distribution function.

    A row is a number, or a tuple, list or array of one. Whatever is not a number is at or below no point.
    Guarantee: a row changes every count from its own value on, each by at most one.
    Reference: Gaboardi & Stoughton, Formal Methods in Security and Privacy (lecture), cumulative distribution.
    Textbook: S4.10.
    """

    points: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _distinct(points=self.points))
        if others := [point for point in self.points if not isinstance(point, Real)]:
            raise InvalidParameter("points", others[0], allowed="numbers")

    def counts(self, rows: Iterable[int]) -> list[int]:
        """The exact count at each point, in the order of the points."""
        values = [number for row in rows if isinstance(number := _single(row), Real)]
        return [sum(bool(value <= point) for value in values) for point in self.points]

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """How far one neighbour step can move the answer."""
        return Sensitivity.sparse(
            coordinates=len(self.points), each=1, monotone=not _replaces(neighbours), neighbours=neighbours
        )


@dataclass(frozen=True, slots=True)
class OneWayMarginals:
    """How many rows have a one in each of their yes-or-no columns.

    Guarantee: a row changes each count by at most one.
    Reference: Gaboardi & Stoughton, Formal Methods in Security and Privacy (lecture), marginals.
    Textbook: S4.10.
    """

    columns: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", whole(1, columns=self.columns))

    def counts(self, rows: Iterable[Sequence[int]]) -> list[int]:
        """The exact count of each column."""
        counts = [0] * self.columns
        for row in rows:
            for column, cell in enumerate(list(row)[: self.columns] if isinstance(row, Iterable) else ()):
                counts[column] += _is_one(cell)
        return counts

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """How far one neighbour step can move the answer."""
        return Sensitivity.sparse(
            coordinates=self.columns, each=1, monotone=not _replaces(neighbours), neighbours=neighbours
        )


@dataclass(frozen=True, slots=True)
class BoundedTotal:
    """The sum of integers, each moved into [lower, upper] first; divided by a public number of rows, the mean.

    A row is a number, or a tuple, list or array of one.
    Fractions are rounded down, and whatever is not a number counts as `lower`: every row has an answer.
    Guarantee: adding or removing a row moves the sum by at most max(|lower|, |upper|), replacing one by upper - lower.
    Reference: Dwork & Roth 2014, Example 3.1 (linear queries).
    Textbook: S4.10.
    """

    lower: int
    upper: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", _integer(lower=self.lower))
        object.__setattr__(self, "upper", _integer(upper=self.upper))
        if self.lower > self.upper:
            raise InvalidParameter("lower", self.lower, allowed=f"at most upper = {self.upper}")

    def total(self, rows: Iterable[int]) -> int:
        """The exact sum of the bounded rows."""
        return sum(self._bounded(row) for row in rows)

    def _bounded(self, row: Any) -> int:
        # As Python integers: those of NumPy wrap around. In this order NaN becomes `lower`.
        number: Any = _single(row)
        if not isinstance(number, Real):
            return self.lower
        bounded: int = floor(max(self.lower, min(number, self.upper)))  # type: ignore[arg-type]
        return bounded

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """How far one neighbour step can move the answer."""
        largest = max(abs(self.lower), abs(self.upper))
        size = self.upper - self.lower if _replaces(neighbours) else largest
        return Sensitivity.sparse(coordinates=1, each=size, monotone=True, neighbours=neighbours)


def joint_sensitivity(*queries: SensitivityLike) -> Sensitivity:
    """The sensitivity of any queries that are answered together as one vector: the sums of theirs.

    Guarantee: it holds whatever the queries have to do with each other. Where more is known, as for the disjoint cells
    of a histogram, state that smaller sensitivity instead.
    Reference: Dwork & Roth 2014, Example 3.1 (a fixed but arbitrary list of counting queries).
    Textbook: S4.5.
    """
    each = [Sensitivity.of(query) for query in queries]
    if not each:
        raise InvalidParameter("queries", queries, allowed="at least one")
    return Sensitivity(
        l1=sum(known, Fraction(0)) if (known := _all_known(query.l1 for query in each)) else None,
        l2_squared=sum(known, Fraction(0)) if (known := _all_known(query.l2_squared for query in each)) else None,
        linf=max(known) if (known := _all_known(query.linf for query in each)) else None,
        neighbours=_common([query.neighbours for query in each]),
    )


def _common(relations: list[Neighbours | None]) -> Neighbours | None:
    """The relation that all state, or None where one of them states none."""
    known = [relation for relation in relations if relation is not None]
    require_same(**{f"query {place}": relation for place, relation in enumerate(known, start=1)})
    return known[0] if len(known) == len(relations) else None


def _all_known(bounds: Iterable[Fraction | None]) -> list[Fraction]:
    """The bounds, or nothing where one of them is missing."""
    given = list(bounds)
    known = [bound for bound in given if bound is not None]
    return known if len(known) == len(given) else []


def _distinct(**items: Iterable[Item]) -> tuple[Item, ...]:
    ((name, given),) = items.items()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidParameter(name, given, allowed="a list or tuple of names")
    listed = tuple(given)
    if not listed or len(set(listed)) < len(listed):
        raise InvalidParameter(name, given, allowed="one or more, each named once")
    return listed


def _single(row: Any) -> Any:
    """The value of a row of one column, whether it stands alone or in a tuple, list or array."""
    line = isinstance(row, tuple | list) or (isinstance(row, np.ndarray) and row.ndim == 1)
    return row[0] if line and len(row) == 1 else row


def _is_one(cell: object) -> bool:
    try:
        return bool(cell == 1)
    except (TypeError, ValueError):
        return False


def _is_hashable(row: object) -> bool:
    try:
        hash(row)
    except TypeError:
        return False
    return True


def _integer(**parameter: int) -> int:
    ((name, value),) = parameter.items()
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameter(name, value, allowed="an integer, in steps of the column")
    return int(value)


def _replaces(neighbours: Neighbours) -> bool:
    return isinstance(stated(neighbours), Replace)
