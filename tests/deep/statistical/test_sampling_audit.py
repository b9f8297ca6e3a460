"""The dear tests of `statistical/test_sampling_audit.py`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.checks.sampling.sampling import sampling_audit
from dalenius.verify.cases.sparse_vectors import (
    SparseVectorVersion,
)
from tests.statistical.test_sampling_audit import Outputs, Run, audit, laplace, svt


def noisy_max(scores: tuple[int, ...], size: int) -> Outputs:
    return (np.array(scores) + laplace(scores)(1, (size, len(scores)))).argmax(axis=1)


@pytest.mark.textbook("S7.7")
@pytest.mark.parametrize(
    ("run", "first", "second", "least"),
    [
        pytest.param(lambda value, size: value + laplace(value)(1, size), 0, 1, "0.99", id="Laplace"),
        pytest.param(noisy_max, (0,) * 5, (0,) + (1,) * 4, "0.95", id="noisy max"),
        pytest.param(
            svt(SparseVectorVersion(2, 4, 1), "deep"), (0,) * 9 + (1,), (1,) * 9 + (0,), "0.8", id="sparse vector"
        ),
    ],
)
def test_the_bound_comes_close_with_millions_of_samples(run: Run, first: Any, second: Any, least: str) -> None:
    finding = sampling_audit(run, first, second, samples=3_000_000, confidence="0.95")
    assert Fraction(least) <= finding.epsilon
    assert not audit(run, first, second, samples=3_000_000).refutes(epsilon=1)
