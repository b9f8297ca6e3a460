"""The dear tests of `laws/test_ledger_races.py`."""

from __future__ import annotations

from pathlib import Path

from faults.races import race
from tests.full.laws.test_ledger_races import CAP, require_exact


def test_20000_attempts_of_200_clients_never_pass_the_cap_and_reach_it_to_the_last_unit(tmp_path: Path) -> None:
    cap = 10 * CAP
    require_exact(race(tmp_path, processes=8, threads=25, attempts=100, cap=cap), attempts=20_000, cap=cap)
