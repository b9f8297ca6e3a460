"""A sealed histogram: how far one step moves its answers, found by trying every step."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from dalenius.errors import InvalidParameter, UnknownSensitivity
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.synth.online.sealed import bounded, require_computable, rows_moved, sealed_answers
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload

WORKLOAD = MatrixWorkload(CellDomain({"x": 3}), [[3, 1, 0], [0, 2, 2], [1, 1, 1]], denominator=3)


def changes(neighbours: Neighbours, rows: int) -> np.ndarray:
    """All changes of the answers when a unit with up to `rows` rows comes, goes or is replaced."""
    units = [np.bincount(unit, minlength=3) for size in range(1, rows + 1)
             for unit in combinations_with_replacement(range(3), size)]  # fmt: skip
    if isinstance(neighbours, AddRemove):
        return np.array([WORKLOAD.answers(unit) for unit in units])
    return np.array([WORKLOAD.answers(new) - WORKLOAD.answers(old) for old in units for new in units])


@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_no_step_moves_the_answers_further_than_is_stated(neighbours: Neighbours, rows: int) -> None:
    moved, bounds = changes(neighbours, rows), bounded(WORKLOAD, neighbours, rows=rows)
    assert np.abs(moved).sum(axis=1).max() <= bounds.l1
    assert (moved**2).sum(axis=1).max() <= bounds.l2_squared
    assert np.abs(moved).max() <= bounds.linf
    fewer = bounded(WORKLOAD, neighbours, rows=rows - 1) if rows > 1 else Sensitivity(linf=0)
    assert np.abs(moved).max() > fewer.linf


def test_the_seal_says_how_many_rows_a_unit_has() -> None:
    counts = np.array([1, 2, 3])
    for relation, l1, rows in ((AddRemove(), 3, 3), (Replace(), 2, 1), (Replace(), 6, 3), (Replace(), 3, 2)):
        sealed = Exact(counts, sensitivity=Sensitivity(l1=l1), neighbours=relation)
        assert rows_moved(sealed) == rows
        assert sealed_answers(sealed, WORKLOAD).sensitivity.linf == Fraction(3 * rows)
    with pytest.raises(UnknownSensitivity):
        rows_moved(Exact(counts, sensitivity=Sensitivity(linf=1), neighbours=Replace()))


@pytest.mark.parametrize("facts", [{"people": 2**41}, {"people": 5, "denominator": 2**21}, {"people": 0}])
def test_numbers_that_could_overflow_are_refused(facts: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        require_computable(**facts)
