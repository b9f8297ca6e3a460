"""What a linear score leaves unexplained: the sealed sum of features times residuals, cut off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.exact_sums import product
from dalenius.learn.moments.sums import largest_l1
from dalenius.learn.rows import ONE, PIECE, Entries, Integers, Rows
from dalenius.learn.slopes import HEAVIEST, WEIGHT
from dalenius.privacy.exact import Exact


def unexplained(rows: Rows, weights: NDArray[np.float64]) -> Exact[Integers]:
    """The sum of residuals times features, and times 1 as the last one, in steps of 1 / ONE^2; of a residual that is
    larger than half the target's range, so much is counted.

    Proof: a row adds its features and ONE, each times one integer of at most ONE in size. The score is an exact sum of
    integers, so the residual depends on that row and on the weights alone.
    """
    steps = np.rint(np.clip(weights, -HEAVIEST, HEAVIEST) * WEIGHT).astype(np.int64)
    return rows.summed(
        lambda entries: _unexplained(entries, steps),
        l2_squared=ONE**2 * (rows.norm_squared + ONE**2),
        l1=ONE * (largest_l1(rows) + ONE),
    )


def _unexplained(entries: Entries, weights: Integers) -> Integers:
    scores = product(entries.features, weights[:-1, None], largest=ONE * HEAVIEST * WEIGHT)[:, 0] + weights[-1] * ONE
    left = (entries.target * WEIGHT - scores + WEIGHT // 2) // WEIGHT
    counted = np.clip(left, -ONE, ONE) * entries.counts
    times_features = product(entries.features.T, counted[:, None], largest=ONE**2 * PIECE)[:, 0]
    return np.append(times_features, counted.sum() * ONE)
