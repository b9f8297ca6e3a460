"""Small models that can be held cell by cell: what the tests of inference compare with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import nnls

from dalenius.session.answers.contents import NoisyMarginal
from dalenius.synth.inference.beliefs import Array, spread, summed
from dalenius.tabular.domains import CellDomain, Columns

GRID = CellDomain({"a": 3, "b": 4, "c": 2, "d": 3})
LOOPS = (
    [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")],
    [("a", "b"), ("c", "d")],
    [("a", "b", "c"), ("c", "d"), ("a",)],
    [("a", "b"), ("b", "c"), ("b", "d"), ("b",)],
    [("d",)],
    [("a", "b", "c", "d")],
)
"""Groups of columns that make chains, loops, stars, parts without connection, and single cliques."""


def all_groups(grid: CellDomain) -> list[Columns]:
    return [group for size in range(1, len(grid.columns) + 1) for group in combinations(grid.columns, size)]


def joint_of(grid: CellDomain, potentials: dict[Columns, Array]) -> Array:
    """The distribution with these potentials, cell by cell."""
    full = grid.columns
    joint = np.zeros(grid.shape())
    for group, array in potentials.items():
        joint = joint + spread(array, group, full)
    joint = np.exp(joint - joint.max())
    return joint / joint.sum()


def measured_of(
    truth: Array, groups: Sequence[Columns], seed: int, *, total: float = 500.0, grid: CellDomain = GRID
) -> list[NoisyMarginal]:
    """Noisy marginals of a distribution, each with a deviation of its own."""
    random = np.random.default_rng(seed)
    found = []
    for group in groups:
        deviation = float(random.uniform(3, 30))
        exact = total * summed(truth, grid.columns, group)
        found.append(NoisyMarginal(group, exact + random.normal(0, deviation, exact.shape), deviation))
    return found


def squares_of(joint: Array, measured: Sequence[NoisyMarginal], total: float, grid: CellDomain = GRID) -> float:
    return sum(
        0.5 * float(((total * summed(joint, grid.columns, part.columns) - part.counts) ** 2).sum()) / part.deviation**2
        for part in measured
    )


def least_squares(
    measured: Sequence[NoisyMarginal], total: float, grid: CellDomain = GRID, possible: Array | None = None
) -> tuple[float, Array]:
    """The least squares of any distribution, by a solver that holds all cells, and that distribution."""
    cells = np.eye(grid.cells).reshape(grid.cells, *grid.shape())
    lines, wanted = [], []
    for part in measured:
        dropped = tuple(1 + i for i, name in enumerate(grid.columns) if name not in part.columns)
        block = cells.sum(axis=dropped).reshape(grid.cells, -1).T if dropped else cells.reshape(grid.cells, -1).T
        lines.append(total * block / part.deviation)
        wanted.append(part.counts.ravel() / part.deviation)
    strict = 1e5
    matrix = np.vstack([*lines, np.full((1, grid.cells), strict)])
    if possible is not None:
        matrix = matrix * possible.ravel()
    found, _ = nnls(matrix, np.concatenate([*wanted, [strict]]), maxiter=100_000)
    if possible is not None:
        found = found * possible.ravel()
    joint = (found / found.sum()).reshape(grid.shape())
    return squares_of(joint, measured, total, grid), joint
