"""Strategies that are written out as a matrix of integers.

The matrix mechanism's optimum: the strategy that answers a small workload with the least Gaussian noise.

Over all Gram matrices X = A'A with a diagonal of at most 1, the total variance trace(W X^-1 W') is convex. Its dual
gives, for any weights v >= 0 on the cells, the lower bound 2 trace(R) - sum(v) with R the root of D W'W D and
D = diag(sqrt(v)); the best X for v is D^-1 R D^-1, whose diagonal is 1 at the optimum. So v is multiplied by this
diagonal until the bound and what X itself gives meet. With all v equal the bound is the one by singular values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole
from dalenius.synth.strategies.strategy import Norms, Strategy, batches
from dalenius.tabular.workloads import Integers, Ranges, Reals, Workload

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


_EMPTY = 1e-8
_TOWARDS_IDENTITY = 1e-4


@dataclass(frozen=True, eq=False)
class Optimised:
    """A strategy of integers near the optimum, and how near.

    `error` is the root of the mean variance of an answer, in standard deviations of the noise that a single count of
    sensitivity 1 would get; no strategy of any kind is below `bound`, and `singular_bound` is the weaker bound by
    singular values.
    """

    strategy: Explicit
    error: float
    bound: float
    singular_bound: float
    steps: int

    @property
    def gap(self) -> float:
        """How far the error is above the bound, as a share of it."""
        return self.error / self.bound - 1


def optimised(workload: Workload, *, tolerance: float = 0.002, steps: int = 100, scale: int = 2**14) -> Optimised:
    """The strategy for a workload under Gaussian noise, to within a share `tolerance` of the optimum or `steps` steps,
    rounded to multiples of 1 / `scale`: it depends on the workload alone, and its sensitivity is that of its integers.

    Reference: Yuan, Yang, Zhang & Hao 2016 (arXiv:1602.04302) for the convex problem; the fixed point is that of
    Denisov, McMahan, Rush, Smith & Thakurta 2022 (arXiv:2202.08312), Section 3; the bound by singular values is Li &
    Miklau 2013 (arXiv:1202.3807).
    """
    cells = workload.grid.cells
    if cells > MOST_CELLS:
        raise InvalidParameter(
            "cells", cells, allowed=f"at most {MOST_CELLS} for the optimum", hint="Use Haar or a Hierarchical strategy."
        )
    gram, questions = gram_of(workload), workload.count * workload.denominator**2
    found = _fixed_point(gram, tolerance=tolerance, most=whole(1, steps=steps))
    strategy = Explicit(_rounded(found.gram, whole(1, scale=scale)), title="optimised matrix")
    error = sqrt(strategy.added[1] * float(np.trace(strategy.solved(gram))) / questions)
    return Optimised(strategy, error, sqrt(found.bound / questions), sqrt(found.singular / questions), found.steps)


class _FixedPoint(NamedTuple):
    gram: Reals
    bound: float
    singular: float
    steps: int


def _fixed_point(gram: Reals, *, tolerance: float, most: int) -> _FixedPoint:
    """The Gram matrix of the best strategy, the bound that it nearly meets and the one by singular values."""
    weights, best = np.ones(len(gram)), (inf, gram)
    bounds: list[float] = []
    while len(bounds) < most and best[0] > (1 + tolerance) ** 2 * max(bounds, default=0):
        root = _root(gram * np.sqrt(np.outer(weights, weights)))
        bounds.append(float(np.trace(root)) ** 2 / float(weights.sum()))  # the best over all multiples of the weights
        gram_for = root / np.sqrt(np.outer(weights, weights))
        for candidate in _feasible(gram_for):
            total = float(np.trace(np.linalg.solve(candidate, gram)))
            best = min(best, (total, candidate), key=lambda pair: pair[0])
        weights = np.maximum(np.diag(root), _EMPTY * np.diag(root).max())
    return _FixedPoint(best[1], max(bounds), bounds[0], len(bounds))


def singular_bound(workload: Workload) -> float:
    """No strategy has a smaller root of the mean variance, in standard deviations of the noise of a single count."""
    singular = float(np.trace(_root(gram_of(workload)))) ** 2 / workload.grid.cells
    return sqrt(singular / (workload.count * workload.denominator**2))


def gram_of(workload: Workload) -> Reals:
    """W'W: how much weight the questions give to both of two cells."""
    cells = workload.grid.cells
    if not isinstance(workload, Ranges):
        return np.asarray(sum((rows.T @ rows for rows in batches(workload)), np.zeros((cells, cells))))
    corners = np.zeros((cells + 1, cells + 1))
    first, after = workload.first, workload.last + 1
    for across, down, sign in ((first, first, 1), (first, after, -1), (after, first, -1), (after, after, 1)):
        np.add.at(corners, (across, down), sign)
    found: Reals = corners.cumsum(axis=0).cumsum(axis=1)[:cells, :cells]
    return found


def _feasible(gram: Reals) -> Iterator[Reals]:
    """Two ways to give a Gram matrix ones on its diagonal: every column scaled, or all alike and what is missing added.

    A little towards the identity, so that cells can be told apart which no question tells apart: it costs a share
    `_TOWARDS_IDENTITY` of the variance at most.
    """
    sizes = np.maximum(np.diag(gram), _EMPTY)
    for scaled in (gram / np.sqrt(np.outer(sizes, sizes)), gram / sizes.max()):
        feasible = (1 - _TOWARDS_IDENTITY) * scaled
        np.fill_diagonal(feasible, 1)
        yield feasible


def _root(matrix: Reals) -> Reals:
    values, vectors = np.linalg.eigh(matrix)
    found: Reals = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return found


def _rounded(gram: Reals, scale: int) -> Integers:
    """Integers whose Gram matrix is about scale^2 times this one."""
    found: Integers = np.rint(scale * _root(gram)).astype(np.int64)
    return found
