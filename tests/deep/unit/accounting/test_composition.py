"""The dear tests of `unit/accounting/test_composition.py`."""

from __future__ import annotations

from tests.unit.accounting.test_composition import check_optimal, check_root_theorems


def test_composition_against_the_oracle_many_times() -> None:
    check_root_theorems(3_000, seed=3)
    check_optimal(1_000, seed=4)
