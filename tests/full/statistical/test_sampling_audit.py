"""The dear tests of `statistical/test_sampling_audit.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.sampling.sampling import sampling_audit
from tests.statistical.test_sampling_audit import Outputs, laplace


@pytest.mark.textbook("S7.7")
def test_vectors_that_never_repeat_are_told_apart_by_all_entries_together() -> None:
    """Sixteen entries move a little each: no single one shows it, and no output comes twice."""

    def run(moved: int, size: int) -> Outputs:
        return moved + laplace(moved)(4, (size, 16))

    finding = sampling_audit(run, 0, 1, samples=40_000)
    assert "linear rule" in finding.event
    assert finding.refutes(epsilon=1)
    assert not finding.refutes(epsilon=4)
