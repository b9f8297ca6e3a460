"""The Haar strategy: the total, and by how much each left half exceeds its right half."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.privacy.numbers import whole
from dalenius.release.strategies.strategy import Norms, Strategy
from dalenius.release.workloads.workload import Reals


class Haar(Strategy):
    """The integer form of the Haar wavelet: a difference for each block of a binary tree whose right half holds cells,
    and the total. There are as many counts as cells, so the reconstruction is exact: halves of sums and differences.

    Reference: Xiao, Wang & Gehrke 2010 (Privelet); with sums in the place of means, all noise has the same size.
    """

    def __init__(self, cells: int) -> None:
        self.cells = whole(1, cells=cells)

    @property
    def title(self) -> str:
        return "Haar wavelet"

    @property
    def added(self) -> Norms:
        """A cell is in the total and in one difference of each level."""
        return 1 + self._depth, 1 + self._depth, 1

    @property
    def replaced(self) -> Norms:
        """Cells that part at some level move that difference by 2 and two differences of each level below by 1."""
        return 2 * self._depth, 2 * self._depth + 2 if self._depth else 0, 2 if self._depth else 0

    def counts(self, histogram: NDArray[Any]) -> NDArray[Any]:
        levels, current = [], histogram
        for pairs in self._pairs[::-1]:
            left, right = current[0::2], current[1::2]
            levels.append(left[:pairs] - right)
            current = np.concatenate([left[:pairs] + right, left[pairs:]])
        return np.concatenate([current, *levels[::-1]])

    def reconstructed(self, noisy: Reals) -> Reals:
        values = np.asarray(noisy, dtype=np.float64)
        current, start = values[..., :1], 1
        for pairs, size in zip(self._pairs, self._sizes, strict=True):
            change = values[..., start : start + pairs]
            below = np.empty((*values.shape[:-1], size))
            below[..., 0::2] = current
            below[..., 0 : 2 * pairs : 2] = (current[..., :pairs] + change) / 2
            below[..., 1::2] = (current[..., :pairs] - change) / 2
            current, start = below, start + pairs
        return current

    def solved(self, weights: Reals) -> Reals:
        return self.reconstructed(self._transposed(np.asarray(weights, dtype=np.float64)))

    def _transposed(self, weights: Reals) -> Reals:
        """The transpose of `reconstructed`, which is the inverse of A."""
        levels, current = [], weights
        for pairs in self._pairs[::-1]:
            left, right = current[..., 0::2], current[..., 1::2]
            levels.append((left[..., :pairs] - right) / 2)
            current = np.concatenate([(left[..., :pairs] + right) / 2, left[..., pairs:]], axis=-1)
        return np.concatenate([current, *levels[::-1]], axis=-1)

    @property
    def _depth(self) -> int:
        return (self.cells - 1).bit_length()

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """How many blocks each level has, from below the root to the cells."""
        return tuple(-(-self.cells >> (self._depth - level)) for level in range(1, self._depth + 1))

    @cached_property
    def _pairs(self) -> tuple[int, ...]:
        """How many blocks above each of these levels have two halves that hold cells."""
        return tuple(size // 2 for size in self._sizes)
