"""The dear tests of `laws/test_ledger_crashes.py`."""

from __future__ import annotations

import pytest

from faults.crashes import outcomes
from tests.laws.test_ledger_crashes import FAULTS, require_kept


@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize("kind", FAULTS)
def test_after_5000_faults_no_charge_is_lost_and_no_ledger_starts_corrupt(kind: str, seed: int) -> None:
    require_kept(kind, list(outcomes(kind, 2 * FAULTS[kind], seed)), 2 * FAULTS[kind])
