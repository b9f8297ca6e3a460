"""How far a model's counts can be from the truth, where a measured marginal holds all that is asked about.

Noisy marginals as an answer that a ledger stores, and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np

from dalenius.errors import DamagedAnswer
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.contents import BAR, NoisyMarginal, NoisyMarginals
from dalenius.synth.inference.beliefs import Array, summed
from dalenius.tabular.columns import BinnedColumn, grid_of
from dalenius.tabular.domains import CellDomain, Columns

_RISK = 0.05


@dataclass(frozen=True)
class KnownCounts:
    """What the measured marginals say of some columns by themselves: counts, and the deviation of each."""

    counts: Array
    deviation: float

    def cell_bars(self, told: Array) -> Array:
        """How far each of a model's counts can be from the truth, at 95 % each: its distance from what was measured,
        and the noise of that."""
        bars: Array = np.abs(told - self.counts) + BAR * self.deviation
        return bars

    def distance(self, told: Array) -> float:
        """How far a model's counts can be from the truth in l1 norm, at 95 %.

        Proof: the triangle inequality, and for n independent normal variables of deviation s the sum of their sizes,
        which has mean s n sqrt(2 / pi) and moves by at most sqrt(n) times the distance of two points: it is above the
        mean by s sqrt(2 n ln(1 / risk)) with probability at most `risk`. Noise of several measurements is near normal.
        """
        size = told.size
        noise = self.deviation * (size * sqrt(2 / pi) + sqrt(2 * size * log(1 / _RISK)))
        return float(np.abs(told - self.counts).sum()) + noise


def known(measured: Sequence[NoisyMarginal], columns: Columns, grid: CellDomain) -> KnownCounts | None:
    """The mean of all measured marginals that hold these columns, each weighted by how exact it is; None if none
    does."""
    holding = [part for part in measured if set(columns) <= set(part.columns)]
    if not holding:
        return None
    cells = grid.size(columns)
    weights = [cells / (part.counts.size * part.deviation**2) for part in holding]
    sums = [weight * summed(part.counts, part.columns, columns) for weight, part in zip(weights, holding, strict=True)]
    total = sum(weights)
    return KnownCounts(np.asarray(sum(sums)) / total, 1 / sqrt(total))


def noisy_marginals(answer: Answer, axes: Sequence[BinnedColumn]) -> tuple[NoisyMarginal, ...]:
    """The noisy marginals that an answer keeps, in order; refused where they are not over these columns."""
    grid = grid_of({axis.name: axis for axis in axes})
    parts = answer.content.parts if isinstance(answer.content, NoisyMarginals) else ()
    if not parts or not all(part.counts.shape == grid.shape(grid.ordered(part.columns)) for part in parts):
        raise DamagedAnswer("with marginals of the columns that were asked for")
    return parts
