"""Losses of a margin by their slopes: tables of integers on a public grid, so that a row's part is exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.rows import ONE, Integers

WEIGHT = 2**14
"""The grid of weights: 1 is so many steps."""
HEAVIEST = 2**10
"""No weight is larger in size."""
_STEPS = 2**7  # of a margin of 1 in the table
_REACH = 16  # the largest margin in the table
SLOPE = 2**12
"""The grid of slopes: 1 is so many steps."""


def on_grid(weights: NDArray[np.float64]) -> Integers:
    """Weights in whole steps of the grid; what is no number counts as 0, the same on every machine."""
    kept = np.clip(np.where(np.isnan(weights), 0.0, weights), -HEAVIEST, HEAVIEST)
    return np.asarray(np.rint(kept * WEIGHT), dtype=np.int64)


@dataclass(frozen=True)
class Slope:
    """The slope of a loss that falls with the margin (the score times the label, 1 or -1): between -steepest and 0.

    `logistic` is that of log(1 + exp(-margin)), and no steeper than `steepest`. Where the slope is cut off at 1/2 or
    less, the best score still rises with the probability p of the label: its slope at the margin m > 0 is
    steepest (1 - p) / p, so probabilities can be told from scores.
    `hinge` is that of max(0, 1 - margin), rounded off within `width` of its corner.
    """

    kind: str = "logistic"
    steepest: float = 1.0
    width: float = field(default=0.5)

    def at(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """The slopes at margins, without the sign."""
        if self.kind == "hinge":
            return np.clip((1 + self.width - margins) / (2 * self.width), 0.0, 1.0) * self.steepest
        return np.minimum(1 / (1 + np.exp(np.clip(margins, -40, 40))), self.steepest)

    def odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The odds of the positive label that scores stand for."""
        ahead, behind = self.at(scores), self.at(-scores)
        return np.asarray(np.maximum(behind, 1e-12) / np.maximum(ahead, 1e-12))

    @property
    def cap(self) -> int:
        """The largest entry of the table."""
        return int(np.ceil(self.steepest * SLOPE))

    @cached_property
    def _table(self) -> Integers:
        middle = (np.arange(-_REACH * _STEPS, _REACH * _STEPS) + 0.5) / _STEPS
        return np.minimum(np.rint(self.at(middle) * SLOPE).astype(np.int64), self.cap)

    def steps(self, margins: Integers) -> Integers:
        """The slopes, in steps of 1 / SLOPE, at margins in steps of 1 / (ONE WEIGHT): looked up, so exact and the same
        whatever other rows there are."""
        places = margins // (ONE * WEIGHT // _STEPS)
        return self._table[np.clip(places + _REACH * _STEPS, 0, len(self._table) - 1)]
