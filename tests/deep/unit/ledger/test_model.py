"""The dear tests of `unit/ledger/test_model.py`."""

from __future__ import annotations

from ledger_cases import disagreement
from tests.unit.ledger.test_model import in_memory


def test_it_is_so_on_many_long_histories() -> None:
    assert [found for seed in range(1000, 1300) if (found := disagreement(in_memory, seed, 120))] == []
