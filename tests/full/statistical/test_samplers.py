"""The dear tests of `statistical/test_samplers.py`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy
from dalenius import randomness
from tests.statistical.test_samplers import WRONG


@pytest.mark.textbook("S2.4")
def test_vast_binomial_counts_follow_their_law_and_a_wrong_spread_is_noticed() -> None:
    n, source = 10**14, SeededEntropy("vast")
    drawn = np.array([randomness.binomial(n, entropy=source) for _ in range(2500)], dtype=float)
    normal = (drawn - n / 2) / (n / 4) ** 0.5
    assert stats.kstest(normal, "norm").pvalue > ALARM
    assert spread_p_value(normal) > ALARM
    assert spread_p_value(normal * float(WRONG)) < ALARM


def spread_p_value(normal: np.ndarray) -> float:
    """Two-sided, from the law of the sum of squares of standard normal draws."""
    below = stats.chi2(normal.size).cdf(float(np.sum(normal**2)))
    return float(2 * min(below, stats.chi2(normal.size).sf(float(np.sum(normal**2)))))
