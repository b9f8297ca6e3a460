"""Strategies that are written out as a matrix of integers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.release.strategies.strategy import Norms, Strategy
from dalenius.release.workloads.workload import Integers, Reals

MOST_CELLS = 2048
"""The most cells of a strategy that is written out."""
_TINY = 1e-10
_LARGEST = 2**20
"""The largest weight, so that norms of columns fit into 64 bits."""


class Explicit(Strategy):
    """Any matrix of integers with independent columns, a row for each count."""

    def __init__(self, matrix: ArrayLike, *, title: str = "matrix") -> None:
        given = np.asarray(matrix)
        if given.ndim != 2 or given.dtype.kind not in "bui" or not given.size or given.shape[1] > MOST_CELLS:
            raise InvalidParameter(
                "matrix", given.shape, allowed=f"a row of at most {MOST_CELLS} integers for each count"
            )
        self.matrix: Integers = given.astype(np.int64)
        if len(given) > 64 * MOST_CELLS or not -_LARGEST <= self.matrix.min() <= self.matrix.max() <= _LARGEST:
            raise InvalidParameter("matrix", "larger", allowed=f"integers of a size of at most {_LARGEST}")
        self.cells, self._title = given.shape[1], title

    @property
    def title(self) -> str:
        return self._title

    @cached_property
    def added(self) -> Norms:
        sizes = np.abs(self.matrix)
        return int(sizes.sum(axis=0).max()), int((sizes**2).sum(axis=0).max()), int(sizes.max())

    @cached_property
    def replaced(self) -> Norms:
        """Every pair of columns is tried, one column against all others at a time."""
        norms = [0, 0, 0]
        for column in self.matrix.T:
            apart = np.abs(self.matrix - column[:, None])
            found = apart.sum(axis=0).max(), (apart**2).sum(axis=0).max(), apart.max()
            norms = [max(norm, int(new)) for norm, new in zip(norms, found, strict=True)]
        return norms[0], norms[1], norms[2]

    def counts(self, histogram: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = self.matrix @ histogram
        return found

    def reconstructed(self, noisy: Reals) -> Reals:
        return self.solved(np.asarray(noisy, dtype=np.float64) @ self.matrix)

    def solved(self, weights: Reals) -> Reals:
        flat = np.asarray(weights, dtype=np.float64).reshape(-1, self.cells)
        found: Reals = (flat @ self._inverse).reshape(np.shape(weights))
        return found

    @cached_property
    def _inverse(self) -> Reals:
        """(A'A)^-1, by the factors of A itself, whose condition is the root of that of A'A."""
        triangle = np.linalg.qr(self.matrix.astype(np.float64), mode="r")
        sizes = np.abs(np.diag(triangle))
        if len(triangle) < self.cells or sizes.min() <= _TINY * sizes.max():
            raise InvalidParameter(
                "matrix", self.matrix.shape, allowed="of independent columns, or cells could not be told apart"
            )
        inverse = np.linalg.inv(triangle)
        found: Reals = inverse @ inverse.T
        return found
