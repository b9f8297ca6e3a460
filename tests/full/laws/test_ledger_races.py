"""The dear tests of `laws/test_ledger_races.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.races import Race, race

CAP = 20_000


@pytest.mark.textbook("S18.3")
def test_200_clients_over_8_processes_never_pass_the_cap_and_reach_it_to_the_last_unit(tmp_path: Path) -> None:
    require_exact(race(tmp_path, processes=8, threads=25, attempts=10, cap=CAP), attempts=2_000, cap=CAP)


def require_exact(ended: Race, *, attempts: int, cap: int) -> None:
    """Every acknowledged charge is there, no other is, and together they are the cap."""
    assert ended.attempts >= attempts
    assert ended.refused >= attempts // 10
    assert ended.counted.problems == []
    assert ended.counted.charges == ended.acknowledged
    assert sum(ended.acknowledged.values()) == ended.counted.spent["patients",] == ended.spent == cap
    keys = {key: {receipt for receipt, _, other in ended.told if other == key} for _, _, key in ended.told if key}
    assert keys
    assert {len(receipts) for receipts in keys.values()} == {1}
    assert len(ended.told) > len(ended.acknowledged)  # some retries were told of the same charge
