"""Hierarchical strategies: the counts of all nodes of a tree over ordered cells, reconstructed in two passes.

The Haar strategy: the total, and by how much each left half exceeds its right half.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole
from dalenius.synth.strategies.strategy import Norms, Strategy
from dalenius.tabular.workloads import Reals


class Hierarchical(Strategy):
    """Each level of a tree counts blocks of cells, `branching` times finer than the level above; the finest counts the
    cells. A level is measured `weight` times as large, and not at all where its weight is 0. With one level it is the
    noisy histogram.

    Proof of the reconstruction: on the way up each node joins its own count with the sum of its children, weighted by
    one over their variances; on the way down what a parent has gained is shared out in proportion to the children's
    variances. That is the least-squares solution, in time linear in the number of nodes.
    Reference: Hay, Rastogi, Miklau & Suciu 2010 (arXiv:0904.0942), Theorem 3, here for any branching and weights;
    Qardaji, Yang & Li 2013 for larger branching.
    """

    def __init__(self, cells: int, branching: int, *, weights: Sequence[int] | None = None) -> None:
        self.cells, self.branching = whole(1, cells=cells), whole(2, branching=branching)
        self.blocks = _blocks(self.cells, self.branching)
        given = [1] * len(self.blocks) if weights is None else [whole(0, weight=weight) for weight in weights]
        if len(given) != len(self.blocks) or not given[-1]:
            raise InvalidParameter(
                "weights", given, allowed=f"{len(self.blocks)} whole numbers, from the root down, the last above 0"
            )
        self.weights = tuple(given)

    @classmethod
    def rootless(cls, cells: int, branching: int) -> Self:
        """All levels but the root, whose count the level below gives nearly as well: with few levels it is dear."""
        levels = len(_blocks(whole(1, cells=cells), whole(2, branching=branching)))
        return cls(cells, branching, weights=[0] * (levels > 1) + [1] * max(1, levels - 1))

    @classmethod
    def for_smoothing(cls, cells: int, branching: int, *, sparse: bool = False) -> Self:
        """The root at half weight, because smoothing leans on the total; and so the cells where people are sparse,
        because most cells are then smoothed away."""
        levels = len(_blocks(whole(1, cells=cells), whole(2, branching=branching)))
        light = {0, levels - 1} if sparse and levels > 2 else {0}
        return cls(cells, branching, weights=[1 if level in light else 2 for level in range(levels)])

    @property
    def title(self) -> str:
        plain = f"tree of branching {self.branching}"
        if set(self.weights) == {1}:
            return plain
        if not self.weights[0] and set(self.weights[1:]) == {1}:
            return f"{plain} without its root"
        return f"{plain} with weights {', '.join(map(str, self.weights))}"

    @property
    def added(self) -> Norms:
        """A cell lies in one block of each level."""
        return sum(self.weights), sum(weight**2 for weight in self.weights), max(self.weights)

    @property
    def replaced(self) -> Norms:
        """Two cells share at least the root, whose count stays."""
        below = self.weights[1:] or (0,)
        return 2 * sum(below), 2 * sum(weight**2 for weight in below), max(below)

    def counts(self, histogram: NDArray[Any]) -> NDArray[Any]:
        levels, current = [], histogram
        for weight in reversed(self.weights):
            levels.append(current * weight if weight else current[:0])
            current = grouped(current, self.branching).sum(axis=-1)
        return np.concatenate(levels[::-1])

    def reconstructed(self, noisy: Reals) -> Reals:
        ends = np.cumsum([size if weight else 0 for size, weight in zip(self.sizes, self.weights, strict=True)])
        levels = np.split(np.asarray(noisy, dtype=np.float64), ends[:-1], axis=-1)
        return self._least_squares(levels)

    def solved(self, weights: Reals) -> Reals:
        """Counts that are 0 but for the leaves have A' y = weights, so the same passes solve the normal equations."""
        kept = [size if weight else 0 for size, weight in zip(self.sizes, self.weights, strict=True)]
        shape = np.shape(weights)[:-1]
        levels = [np.zeros((*shape, size)) for size in kept[:-1]] + [np.asarray(weights) / self.weights[-1]]
        return self._least_squares(levels)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many blocks that hold cells each level has."""
        return tuple(-(-self.cells // block) for block in self.blocks)

    def _least_squares(self, levels: Sequence[Reals]) -> Reals:
        below, sums = [levels[-1] / self.weights[-1]], []
        for level, shares in zip(range(len(levels) - 2, -1, -1), self._shares, strict=True):
            total = grouped(below[-1], self.branching).sum(axis=-1)
            sums.append(total)
            weight = self.weights[level]
            below.append(total if not weight else total + shares.gain * (levels[level] / weight - total))
        best = below.pop()
        for total, estimate, shares in zip(sums[::-1], below[::-1], self._shares[::-1], strict=True):
            spread = np.repeat(best - total, self.branching, axis=-1)[..., : estimate.shape[-1]]
            best = estimate + shares.spread * spread
        return best

    @cached_property
    def _shares(self) -> list[_Shares]:
        """From the leaves' parents up: what the own count weighs against the children, and how gains are shared out."""
        found, spread = [], np.full(self.cells, 1 / self.weights[-1] ** 2)
        for weight in self.weights[-2::-1]:
            total = grouped(spread, self.branching).sum(axis=-1)
            parent = np.repeat(total, self.branching)[: len(spread)]
            gain = weight**2 * total / (1 + weight**2 * total)
            found.append(_Shares(gain, spread / parent))
            spread = total * (1 - gain)
        return found


class _Shares(NamedTuple):
    gain: Reals
    spread: Reals


class Identity(Strategy):
    """Each cell is counted by itself: the noisy histogram."""

    def __init__(self, cells: int) -> None:
        self.cells = whole(1, cells=cells)

    @property
    def title(self) -> str:
        return "histogram"

    @property
    def added(self) -> Norms:
        return 1, 1, 1

    @property
    def replaced(self) -> Norms:
        return 2, 2, 1

    def counts(self, histogram: NDArray[Any]) -> NDArray[Any]:
        return histogram

    def reconstructed(self, noisy: Reals) -> Reals:
        return noisy

    def solved(self, weights: Reals) -> Reals:
        return weights


def _blocks(cells: int, branching: int) -> tuple[int, ...]:
    """The block sizes of all levels, from the root, which holds all cells, down to 1."""
    sizes = [1]
    while sizes[-1] < cells:
        sizes.append(sizes[-1] * branching)
    return tuple(reversed(sizes))


def grouped(values: NDArray[Any], branching: int) -> NDArray[Any]:
    """Neighbouring values in groups, the last one filled up with zeros."""
    missing = -values.shape[-1] % branching
    if missing:
        values = np.concatenate([values, np.zeros((*values.shape[:-1], missing), dtype=values.dtype)], axis=-1)
    return values.reshape(*values.shape[:-1], -1, branching)


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
