"""Which marginal to measure next: the one that the model gets most wrong, beyond what its noise would hide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dalenius.privacy.sensitivity import Sensitivity
from dalenius.tabular.counts import CellCounts, Counts, SealedCounts
from dalenius.tabular.domains import CellDomain, Columns
from dalenius.tabular.workloads import Marginals

MOST_ROWS = 2**40
"""More rows than any table has."""
FINENESS = 1000
"""A model's counts are rounded to this part of one before they meet data."""
_WEIGHTS = 1024


def candidates(workload: Marginals) -> dict[Columns, int]:
    """Every group inside a group of the workload, with a whole weight that grows with how much it has in common with
    the workload's groups.

    Reference: McKenna, Mullins, Sheldon & Miklau 2022 (arXiv:2201.12677), Section 3.3: downward closure and weights.
    """
    groups = {
        part for group in workload.groups for size in range(1, len(group) + 1) for part in combinations(group, size)
    }
    columns = {name: Fraction(0) for name in workload.grid.columns}
    for group, importance in workload.importance.items():
        for name in group:
            columns[name] += importance
    shared = {group: sum(columns[name] for name in group) for group in groups}  # each shared column counts once a group
    most = max(shared.values())
    ordered = sorted(groups, key=lambda group: (len(group), group))
    return {group: max(1, round(shared[group] * _WEIGHTS / most)) for group in ordered}


def rounded(expected: NDArray[np.float64]) -> Counts:
    """Expected counts as whole numbers of the finest part: what a model says, before it meets data.

    What is no number of people at all is moved to the nearest one, so that nothing computed with it overflows.
    """
    people = np.clip(np.nan_to_num(expected, nan=0.0, posinf=MOST_ROWS, neginf=0.0), 0.0, MOST_ROWS)
    return np.rint(people * FINENESS).astype(np.int64)


def distance(counts: Counts, told: Counts) -> int:
    """The l1 distance of rounded counts from exact ones, in the finest parts, as a Python integer.

    Proof that it is exact: entries are below 2^51, and their upper and lower halves are summed apart.
    """
    off = np.abs(FINENESS * counts - told)
    return (int((off >> 32).sum()) << 32) + int((off & 0xFFFF_FFFF).sum())


def scores_change(people: SealedCounts, groups: Iterable[Columns], weights: Mapping[Columns, int]) -> Sensitivity:
    """How far one unit moves any single score."""
    most = max(weights[group] * people.change([group]).need("l1", mechanism="a choice") for group in groups)
    return Sensitivity(linf=FINENESS * most, neighbours=people.neighbours)


def scores(
    crowd: CellCounts,
    groups: Sequence[Columns],
    told: Sequence[Counts],
    weights: Mapping[Columns, int],
    noise: float,
    grid: CellDomain,
) -> list[int]:
    """For each group, how far the model is from the data in l1 norm, less the size of the noise that measuring it
    would add, times its weight. All are whole numbers; a unit's rows enter by the norm alone."""
    found = []
    for group, expected in zip(groups, told, strict=True):
        off = distance(crowd.marginal(group), expected)
        found.append(weights[group] * (off - round(FINENESS * noise * grid.size(group))))
    return found
