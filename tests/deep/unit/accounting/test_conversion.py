"""The dear tests of `unit/accounting/test_conversion.py`."""

from __future__ import annotations

from tests.full.unit.accounting.test_conversion import check_closed_forms
from tests.unit.accounting.test_conversion import check_searches


def test_conversions_against_the_oracle_ten_thousand_times() -> None:
    check_closed_forms(10_000, seed=13)
    check_searches(2_000, seed=14)
