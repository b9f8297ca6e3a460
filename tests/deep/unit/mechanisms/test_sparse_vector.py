"""The dear tests of `unit/mechanisms/test_sparse_vector.py`."""

from __future__ import annotations

import pytest

from dalenius.privacy.reals import upper
from dalenius.verify.cases.sparse_vectors import (
    SparseVectorVersion,
    neighbours,
    worst,
)
from tests.unit.mechanisms.test_sparse_vector import numeric, sparse


@pytest.mark.parametrize("cutoff", [1, 2, 4])
def test_no_longer_stream_loses_more_than_epsilon_either(cutoff: int) -> None:
    version, numbers = (
        SparseVectorVersion.of(sparse(cutoff, epsilon=cutoff)),
        SparseVectorVersion.of(numeric(cutoff, epsilon=cutoff)),
    )
    assert worst(version, neighbours(4), version.transcripts(4), upper).loss <= cutoff
    assert worst(numbers, neighbours(3), numbers.transcripts(3, range(-2, 4)), upper).loss <= cutoff
