"""The dear tests of `unit/mechanisms/robust/test_propose_test_release.py`."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import pytest
from flint import arb

from dalenius.mechanisms.robust.propose_test_release import (
    ProposedQuantile,
)
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.reals import precise
from dalenius.verify.checked import finite
from tests.unit.mechanisms.robust.test_propose_test_release import quantile, relations


def law(mechanism: ProposedQuantile, rows: tuple[int, ...], reach: int = 30) -> dict[Any, arb]:
    value, distance = mechanism.proposed(rows)
    with precise():
        passed = mechanism.inner.test.chance(distance)
        noisy = {z: passed * mechanism.inner.noise.law.pmf(z - value) for z in range(-reach, reach + 1)}
        return {None: 1 - passed, **noisy}


@pytest.mark.textbook("S11.4")
@relations
def test_no_pair_of_small_databases_refutes_the_claim(neighbours: Neighbours) -> None:
    mechanism = quantile(neighbours=neighbours)
    databases = [rows for size in range(1, 4) for rows in combinations_with_replacement(range(4), size)]
    pairs = [(x, y) for x in databases for y in databases if neighbours.related(Counter(x), Counter(y))]
    found = finite({rows: law(mechanism, rows) for rows in databases}, pairs, truncated=True)
    loss = mechanism.loss(sensitivity=neighbours.add_remove_steps)
    assert found.holds(loss, tolerance=Fraction(1, 10**9)) is not False
    assert found.holds(ApproximateDP(loss.epsilon / 2, 0)) is False
