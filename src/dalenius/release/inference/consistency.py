"""Consistency: noisy counts of overlapping groups of columns, averaged where they speak of the same thing.

The counts of a group split into orthogonal parts, one for each of its subsets of columns: what the subset says beyond
its own subsets. Two groups measure the same part if both hold the subset, and the best estimate of a part is the mean
over all groups that hold it, weighted by their exactness. So least squares that may go below zero have a closed form.
Reference: Xiao, He, Zhang & Kifer 2023 (arXiv:2305.08175), residual bases of marginals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from dalenius.release.grid import Columns
from dalenius.release.inference.tables import Array, spread, summed


def agreed(arrays: Mapping[Columns, Array], weights: Mapping[Columns, float]) -> dict[Columns, Array]:
    """The arrays nearest to these by weighted squares that are all marginals of one array."""
    sums: dict[Columns, Array] = {}
    total: dict[Columns, float] = {}
    for group, array in arrays.items():
        for subset, repeats in _subsets(group, array):
            weight = weights[group] / repeats
            part = weight * _beyond_its_subsets(summed(array, group, subset))
            sums[subset] = sums[subset] + part if subset in sums else part
            total[subset] = total.get(subset, 0.0) + weight
    means = {subset: part / total[subset] for subset, part in sums.items()}
    found = {}
    for group, array in arrays.items():
        whole = np.zeros(array.shape)
        for subset, repeats in _subsets(group, array):
            whole += spread(means[subset], subset, group) / repeats
        found[group] = whole
    return found


def _subsets(group: Columns, array: Array) -> Iterator[tuple[Columns, int]]:
    """All subsets of a group, and how many cells of the group make one cell of each."""
    lengths = dict(zip(group, array.shape, strict=True))
    for size in range(len(group) + 1):
        for subset in combinations(group, size):
            cells = 1
            for name in subset:
                cells *= lengths[name]
            yield subset, array.size // cells


def _beyond_its_subsets(array: Array) -> Array:
    for axis in range(array.ndim):
        array = array - array.mean(axis=axis, keepdims=True)
    return array
