"""The dear tests of `unit/engines/test_duckdb_expressions.py`."""

from __future__ import annotations

import pytest

from dalenius.engines.conformance.cases import random_expressions as randoms
from dalenius.engines.conformance.edges import edge_rows
from scalars import disagreements


@pytest.mark.parametrize("seed", range(10))
def test_many_random_expressions_agree(seed: int) -> None:
    assert disagreements(randoms(2_000, seed, heaviest=60), edge_rows(seed)) == []
