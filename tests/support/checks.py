"""What many tests share: a reproducible entropy source, and a goodness-of-fit test with a stated false-alarm rate."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import numpy as np
from scipy import stats

from dalenius.randomness.entropy import Entropy

ALARM = 1e-9
"""A correct sampler fails a statistical test with at most this probability."""


class SeededEntropy(Entropy):
    """Reproducible bytes for tests: SHAKE-256 of a seed. The product has no such source."""

    def __init__(self, seed: object) -> None:
        self._seed, self._block = repr(seed).encode(), 0

    def read(self, count: int) -> bytes:
        self._block += 1
        return hashlib.shake_256(self._seed + self._block.to_bytes(8, "little")).digest(count)


def chi_square(samples: Iterable[int] | np.ndarray, pmf: Callable[[int], float]) -> float:
    """The p-value of Pearson's test of `samples` against the probabilities `pmf`; outcomes expected fewer than ten
    times are pooled, with everything that was never seen, into one cell."""
    values, counts = np.unique(np.asarray(samples), return_counts=True)
    total = int(counts.sum())
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    span = range(min(seen) - 1, max(seen) + 2)
    expected = {value: total * pmf(value) for value in span}
    large = [value for value in span if expected[value] >= 10]
    observed_cells = [seen.get(value, 0) for value in large]
    expected_cells = [expected[value] for value in large]
    rest_expected, rest_observed = total - sum(expected_cells), total - sum(observed_cells)
    if rest_expected >= 5:
        observed_cells.append(rest_observed)
        expected_cells.append(rest_expected)
        return float(stats.chisquare(observed_cells, expected_cells).pvalue)
    scale = sum(observed_cells) / sum(expected_cells)
    fit = stats.chisquare(observed_cells, [cell * scale for cell in expected_cells]).pvalue if large else 1.0
    # A rest this small is Poisson: a few outcomes that should not occur are noticed too.
    return float(min(fit, stats.poisson.sf(rest_observed - 1, max(rest_expected, 1e-12))))
