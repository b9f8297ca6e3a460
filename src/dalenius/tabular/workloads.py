"""A workload: many linear questions over one grid, each a whole number of parts of one for every cell.

Questions that are written out, weight by weight.

Products of workloads: every combination of one question on each of several separate groups of columns.

Ranges of one ordered column: how many people lie between two values, and up to each value.

Marginals: the counts of all combinations of values of some columns, for many groups of columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate, combinations
from math import lcm, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.privacy.numbers import Number, exact, positive, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.tabular.domains import CellDomain, Columns

Integers: TypeAlias = NDArray[np.int64]
Reals: TypeAlias = NDArray[np.float64]

MOST_PARTS = 2**16
"""The most parts of one that weights are counted in: with them, no sum of squared weights, and no answer about as many
rows as any table has, leaves 63 bits."""
MOST_ENTRIES = 10**8
"""The most entries of a workload that is written out in full."""


class Workload(ABC):
    """Linear questions over a grid. Question q gives a person in cell x the weight w_q(x) / denominator in [0, 1], and
    its answer is the sum of the weights of all people: a count, where all weights are 0 or 1.

    Weights are integers, so that exact answers are; `answers` of a histogram of integers is an array of integers, in
    parts of 1 / denominator, and of a histogram of real numbers an array of real numbers in the same parts.
    """

    grid: CellDomain
    denominator: int = 1

    @property
    @abstractmethod
    def count(self) -> int:
        """How many questions there are."""

    @abstractmethod
    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        """The answers to all questions, in order, in parts of 1 / denominator."""

    @abstractmethod
    def weights(self, question: int) -> Integers:
        """The weights of one question over all cells."""

    @abstractmethod
    def title(self, question: int) -> str:
        """What a question asks, for people."""

    def answer(self, question: int, histogram: NDArray[Any]) -> Any:
        """The answer to one question, in parts of 1 / denominator."""
        return self.weights(question) @ histogram

    def column_norms(self) -> tuple[int, int, int]:
        """The largest l1 norm, squared l2 norm and entry of a cell's weights in all questions together."""
        matrix = self.matrix
        return int(matrix.sum(axis=0).max()), int((matrix**2).sum(axis=0).max()), int(matrix.max())

    @cached_property
    def matrix(self) -> Integers:
        """All weights, a row for each question."""
        entries = self.count * self.grid.cells
        if entries > MOST_ENTRIES:
            raise InvalidParameter(
                "workload",
                f"{self.count} questions over {self.grid.cells} cells",
                allowed=f"at most {MOST_ENTRIES} weights in all where every one is needed",
                hint="Use fewer columns or bins, or a method that works by marginals.",
            )
        return np.stack([self.weights(question) for question in range(self.count)])

    def sensitivity(self, neighbours: Neighbours, *, rows: int = 1) -> Sensitivity:
        """How far one unit with at most `rows` rows moves the vector of `answers`, in parts of 1 / denominator.

        Proof: a row adds its cell's weights, which no norm of the sum of `rows` such vectors exceeds `rows` times. A
        replaced row changes by the difference of two vectors with entries of the same sign: its l1 and squared l2 norm
        are at most the sums of both, its largest entry at most the larger one.
        """
        l1, l2_squared, linf = self.column_norms()
        if isinstance(neighbours, AddRemove):
            return Sensitivity(
                l1=rows * l1, l2_squared=rows**2 * l2_squared, linf=rows * linf, monotone=True, neighbours=neighbours
            )
        return Sensitivity(
            l1=2 * rows * l1, l2_squared=2 * rows**2 * l2_squared, linf=rows * linf, neighbours=neighbours
        )

    def normalised(self, answers: NDArray[Any], total: int | Fraction) -> Reals:
        """Answers as shares of a number of people."""
        shares: Reals = np.asarray(answers, dtype=np.float64) / float(self.denominator * total)
        return shares

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<{self.count} questions over {' x '.join(map(str, self.grid.shape()))} cells>"


def few_parts(denominator: int) -> int:
    """A denominator, refused where weights would have too many parts to be computed with safely."""
    if whole(1, denominator=denominator) > MOST_PARTS:
        raise InvalidParameter(
            "denominator", denominator, allowed=f"at most {MOST_PARTS}", hint="Round the weights to a coarser grid."
        )
    return denominator


class MatrixWorkload(Workload):
    """Questions given as a matrix of integers from 0 to `denominator`, a row for each question."""

    def __init__(
        self, grid: CellDomain, weights: ArrayLike, *, denominator: int = 1, titles: Sequence[str] | None = None
    ) -> None:
        self.grid, self.denominator = grid, few_parts(denominator)
        matrix = np.asarray(weights)
        if matrix.ndim != 2 or matrix.shape[1] != grid.cells or not len(matrix):
            raise InvalidParameter("weights", matrix.shape, allowed=f"a row of {grid.cells} weights for each question")
        if matrix.dtype.kind not in "bui" or matrix.min() < 0 or matrix.max() > self.denominator:
            raise InvalidParameter("weights", "others", allowed=f"integers from 0 to {self.denominator}")
        if titles is not None and len(titles) != len(matrix):
            raise InvalidParameter("titles", len(titles), allowed=f"{len(matrix)}, one for each question")
        self.matrix = matrix.astype(np.int64)
        self._titles = titles

    @classmethod
    def from_numbers(
        cls, grid: CellDomain, weights: Sequence[Sequence[Number]], titles: Sequence[str] | None = None
    ) -> MatrixWorkload:
        """Questions with rational weights in [0, 1], as integers over their common denominator."""
        rows = [[exact(weight=weight) for weight in row] for row in weights]
        common = lcm(*(weight.denominator for row in rows for weight in row))
        return cls(grid, [[int(weight * common) for weight in row] for row in rows], denominator=common, titles=titles)

    @property
    def count(self) -> int:
        return len(self.matrix)

    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = self.matrix @ np.asarray(histogram).ravel()
        return found

    def weights(self, question: int) -> Integers:
        row: Integers = self.matrix[question]
        return row

    def title(self, question: int) -> str:
        return self._titles[question] if self._titles else f"question {question}"


def parities(dimension: int) -> MatrixWorkload:
    """All parities of `dimension` yes-no columns: whether an even number of the chosen ones is yes."""
    grid = CellDomain({f"x{place}": 2 for place in range(whole(1, dimension=dimension))})
    cells = np.arange(grid.cells)
    chosen = [[(cell & subset).bit_count() % 2 == 0 for cell in cells.tolist()] for subset in cells.tolist()]
    return MatrixWorkload(grid, np.array(chosen, dtype=np.int64))


def points(grid: CellDomain) -> MatrixWorkload:
    """One question for each cell: how many people are in it."""
    return MatrixWorkload(grid, np.eye(grid.cells, dtype=np.int64))


class Product(Workload):
    """Questions q1 and q2 and ..., one of each factor: a person's weight is the product of the weights. The factors'
    grids have no column in common; the last factor's questions run fastest."""

    def __init__(self, *factors: Workload) -> None:
        if not factors:
            raise InvalidParameter("factors", 0, allowed="at least one workload")
        names = [name for factor in factors for name in factor.grid.columns]
        if len(set(names)) < len(names):
            raise InvalidParameter("columns", sorted(names), allowed="in one factor only")
        self.factors = factors
        self.grid = CellDomain({name: size for factor in factors for name, size in factor.grid.sizes.items()})
        self.denominator = few_parts(prod(factor.denominator for factor in factors))

    @property
    def count(self) -> int:
        return prod(factor.count for factor in self.factors)

    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        found = np.asarray(histogram).reshape([factor.grid.cells for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            found = np.apply_along_axis(factor.answers, axis, found)
        return found.ravel()

    def weights(self, question: int) -> Integers:
        parts = zip(self.factors, self._places(question), strict=True)
        rows = [factor.weights(place) for factor, place in parts]
        return reduce(np.multiply.outer, rows).ravel()

    def title(self, question: int) -> str:
        return " and ".join(f.title(place) for f, place in zip(self.factors, self._places(question), strict=True))

    def column_norms(self) -> tuple[int, int, int]:
        """A cell's weights are all products of its weights in the factors, so every norm is a product."""
        l1, l2_squared, linf = zip(*(factor.column_norms() for factor in self.factors), strict=True)
        return prod(l1), prod(l2_squared), prod(linf)

    def _places(self, question: int) -> list[int]:
        return [int(place) for place in np.unravel_index(question, [factor.count for factor in self.factors])]


class Ranges(Workload):
    """Some ranges [first, last] of the values of a one-column grid, both ends included."""

    def __init__(self, grid: CellDomain, ranges: Iterable[tuple[int, int]] | NDArray[np.int64]) -> None:
        self.grid = grid
        if len(grid.columns) != 1:
            raise InvalidParameter("columns", len(grid.columns), allowed="one, ordered; see Product for several")
        given = np.asarray(ranges if isinstance(ranges, np.ndarray) else list(ranges), dtype=np.int64).reshape(-1, 2)
        self.first, self.last = given[:, 0], given[:, 1]
        if not len(given) or (self.first < 0).any() or (self.first > self.last).any() or self.last.max() >= grid.cells:
            raise InvalidParameter("ranges", "others", allowed=f"0 <= first <= last < {grid.cells}, and at least one")

    @classmethod
    def all(cls, grid: CellDomain) -> Ranges:
        """Every range."""
        return cls(grid, np.stack(np.triu_indices(grid.cells), axis=1))

    @classmethod
    def prefixes(cls, grid: CellDomain) -> Ranges:
        """For each value, how many people are at most there: the cumulative distribution."""
        return cls(grid, [(0, last) for last in range(grid.cells)])

    @property
    def count(self) -> int:
        return len(self.first)

    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        sums = np.concatenate([[0], np.cumsum(histogram)])
        found: NDArray[Any] = sums[self.last + 1] - sums[self.first]
        return found

    def weights(self, question: int) -> Integers:
        row = np.zeros(self.grid.cells, dtype=np.int64)
        row[self.first[question] : self.last[question] + 1] = 1
        return row

    def title(self, question: int) -> str:
        return f"{self.grid.columns[0]} from {self.first[question]} to {self.last[question]}"

    def column_norms(self) -> tuple[int, int, int]:
        """The most ranges that one value lies in, by a sweep over their ends."""
        changes = np.zeros(self.grid.cells + 1, dtype=np.int64)
        np.add.at(changes, self.first, 1)
        np.add.at(changes, self.last + 1, -1)
        most = int(np.cumsum(changes).max())
        return most, most, 1


class Marginals(Workload):
    """All cells of some marginals. It is held as the list of its groups of columns: nothing is as large as the grid
    unless a single answer over the whole grid is asked for.

    `importance` gives groups a weight in the error that a release tries to make small; 1 where none is given.
    """

    def __init__(
        self, grid: CellDomain, groups: Iterable[Iterable[str]], *, importance: Mapping[Columns, Number] | None = None
    ) -> None:
        self.grid = grid
        self.groups = tuple(dict.fromkeys(grid.ordered(group) for group in groups))
        if not self.groups or not all(self.groups):
            raise InvalidParameter("groups", self.groups, allowed="one or more groups of one or more columns")
        given = {grid.ordered(group): positive(importance=one) for group, one in (importance or {}).items()}
        unknown = [group for group in given if group not in self.groups]
        if unknown:
            raise InvalidParameter("importance", unknown[0], allowed="for groups of the workload")
        self.importance = {group: given.get(group, positive(importance=1)) for group in self.groups}
        self._ends = list(accumulate(grid.size(group) for group in self.groups))

    @classmethod
    def all(cls, grid: CellDomain, order: int, *, columns: Iterable[str] | None = None) -> Marginals:
        """Every group of `order` columns."""
        chosen = grid.columns if columns is None else grid.ordered(columns)
        if whole(1, order=order) > len(chosen):
            raise InvalidParameter("order", order, allowed=f"at most {len(chosen)}, the number of columns")
        return cls(grid, combinations(chosen, order))

    @property
    def count(self) -> int:
        return self._ends[-1]

    def answers(self, histogram: NDArray[Any]) -> NDArray[Any]:
        cube = np.asarray(histogram).reshape(self.grid.shape())
        return np.concatenate([marginal_of(cube, self.grid, group).ravel() for group in self.groups])

    def weights(self, question: int) -> Integers:
        group, cell = self._place(question)
        cube = np.zeros(self.grid.shape(), dtype=np.int64)
        values = dict(zip(group, np.unravel_index(cell, self.grid.shape(group)), strict=True))
        cube[tuple(values.get(name, slice(None)) for name in self.grid.columns)] = 1
        return cube.ravel()

    def title(self, question: int) -> str:
        group, cell = self._place(question)
        values = np.unravel_index(cell, self.grid.shape(group))
        return " and ".join(f"{name} = {int(value)}" for name, value in zip(group, values, strict=True))

    def column_norms(self) -> tuple[int, int, int]:
        """A person is in one cell of each marginal."""
        return len(self.groups), len(self.groups), 1

    def _place(self, question: int) -> tuple[Columns, int]:
        if not 0 <= question < self.count:
            raise InvalidParameter("question", question, allowed=f"from 0 to {self.count - 1}")
        group = bisect_right(self._ends, question)
        return self.groups[group], question - (self._ends[group - 1] if group else 0)


def marginal_of(cube: NDArray[Any], grid: CellDomain, group: Columns) -> NDArray[Any]:
    """A histogram with an axis for each column, added up over the columns that are not in the group."""
    dropped = tuple(axis for axis, name in enumerate(grid.columns) if name not in group)
    found: NDArray[Any] = cube.sum(axis=dropped)
    return found
