"""Questions that are written out, weight by weight."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, exact, whole
from dalenius.release.grid import Grid
from dalenius.release.workloads.workload import Integers, Workload, few_parts


class Questions(Workload):
    """Questions given as a matrix of integers from 0 to `denominator`, a row for each question."""

    def __init__(
        self, grid: Grid, weights: ArrayLike, *, denominator: int = 1, titles: Sequence[str] | None = None
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
        cls, grid: Grid, weights: Sequence[Sequence[Number]], titles: Sequence[str] | None = None
    ) -> Questions:
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


def parities(dimension: int) -> Questions:
    """All parities of `dimension` yes-no columns: whether an even number of the chosen ones is yes."""
    grid = Grid({f"x{place}": 2 for place in range(whole(1, dimension=dimension))})
    cells = np.arange(grid.cells)
    chosen = [[(cell & subset).bit_count() % 2 == 0 for cell in cells.tolist()] for subset in cells.tolist()]
    return Questions(grid, np.array(chosen, dtype=np.int64))


def points(grid: Grid) -> Questions:
    """One question for each cell: how many people are in it."""
    return Questions(grid, np.eye(grid.cells, dtype=np.int64))
