"""The dear tests of `unit/accounting/test_calibration.py`."""

from __future__ import annotations

from tests.unit.accounting.test_calibration import check_largest_rho


def test_the_largest_rho_against_the_oracle_many_times() -> None:
    check_largest_rho(2_000, seed=22)
