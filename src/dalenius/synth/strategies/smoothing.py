"""Smoothing: what noisy counts cannot tell from nothing or from evenness is taken to be so. It costs no privacy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.synth.strategies.estimates import Estimate
from dalenius.synth.strategies.trees import Hierarchical, grouped
from dalenius.tabular.workloads import Reals

_PER_PARAMETER = 2
"""What one more free count must lower the squares by, in variances: Mallows' criterion."""


def smooth(estimate: Estimate) -> Estimate:
    """The estimate of a tree without negative counts, and even below each block where evenness fits about as well.

    From the leaves up, a block is taken to be even if that raises the squares by no more than 2 variances for each
    count that it saves: Mallows' Cp. From the root down, the counts of the other blocks' children are the nearest ones
    that are not negative and have their parent's sum. All of it is a function of what was released.
    Its error is mostly smaller than that of the estimate and can be larger where structure is as faint as the noise:
    bars stay those of the estimate, whose coverage for the smoothed one is measured, not proved.
    Reference: Mallows 1973; pruning from below as Breiman, Friedman, Olshen & Stone 1984.
    """
    tree = estimate.strategy
    if not isinstance(tree, Hierarchical):
        raise InvalidParameter("strategy", tree, allowed="hierarchical, where blocks are to be made even")
    sums = [_block_sums(estimate.histogram, block) for block in tree.blocks]
    even = _even(tree, sums, float(estimate.noise.law.variance()))
    return replace(estimate, histogram=_descended(tree, sums, even), smoothed=True)


def _even(tree: Hierarchical, sums: list[Reals], variance: float) -> list[NDArray[np.bool_]]:
    """For each level but the finest, which blocks are better taken to be even."""
    found: list[NDArray[np.bool_]] = []
    best = np.zeros(len(sums[-1]))
    for level in range(len(sums) - 2, -1, -1):
        even = _even_squares(tree, sums, level) / variance
        children = _nearest(sums[level + 1], np.maximum(sums[level], 0), tree.branching)
        own = tree.weights[level + 1] ** 2 * (sums[level + 1] - children) ** 2 / variance
        saved = grouped(np.ones(len(children)), tree.branching).sum(axis=-1) - 1
        split = grouped(own + best, tree.branching).sum(axis=-1) + _PER_PARAMETER * saved
        found.append(even <= split)
        best = np.minimum(even, split)
    return found[::-1]


def _even_squares(tree: Hierarchical, sums: list[Reals], level: int) -> Reals:
    """How far the counts below each block of a level are from even ones, in squares."""
    block, each = tree.blocks[level], np.maximum(sums[level], 0) / _block_sums(np.ones(tree.cells), tree.blocks[level])
    total = np.zeros(len(sums[level]))
    for finer in range(level + 1, len(sums)):
        if not tree.weights[finer]:
            continue
        ratio = block // tree.blocks[finer]
        sizes = _block_sums(np.ones(tree.cells), tree.blocks[finer])
        apart = sums[finer] - np.repeat(each, ratio)[: len(sizes)] * sizes
        total += grouped(tree.weights[finer] ** 2 * apart**2, ratio).sum(axis=-1)
    return total


def _descended(tree: Hierarchical, sums: list[Reals], even: list[NDArray[np.bool_]]) -> Reals:
    counts, flat = np.maximum(sums[0], 0), np.zeros(1, dtype=bool)
    for level, choice in enumerate(even):
        flat = flat | choice
        finer = tree.blocks[level + 1]
        sizes, size = _block_sums(np.ones(tree.cells), tree.blocks[level]), _block_sums(np.ones(tree.cells), finer)
        shares = np.repeat(counts / sizes, tree.branching)[: len(size)] * size
        kept = np.repeat(flat, tree.branching)[: len(size)]
        counts, flat = np.where(kept, shares, _nearest(sums[level + 1], counts, tree.branching)), kept
    return counts


def _nearest(children: Reals, parents: Reals, branching: int) -> Reals:
    """The nearest counts that are not negative and add up to their parents': the projection onto a simplex."""
    filled = np.full(len(parents) * branching, -np.inf)
    filled[: len(children)] = children
    falling = -np.sort(-filled.reshape(-1, branching), axis=-1)
    held = np.isfinite(falling)
    excess = np.where(held, falling, 0).cumsum(axis=-1) - parents[:, None]
    means = excess / np.arange(1, branching + 1)
    last = np.maximum((held & (falling > means)).sum(axis=-1), 1) - 1
    level = np.repeat(means[np.arange(len(parents)), last], branching)[: len(children)]
    found: Reals = np.maximum(children - level, 0)
    return found


def _block_sums(values: Reals, block: int) -> Reals:
    found: Reals = grouped(values, block).sum(axis=-1)
    return found
