"""Processes that are killed: no answer without a durable charge, no lost charge, no start on a corrupt ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from faults.kills import Victim
from faults.programs import Killer, killer


@pytest.fixture(scope="module")
def kill() -> Iterator[Killer]:
    with killer() as running:
        yield running


def test_a_kill_at_any_time_loses_no_charge_and_no_answer(kill: Killer, tmp_path: Path) -> None:
    victim, chance = Victim.with_ledger(kill, tmp_path), Random(2)
    times = [chance.uniform(0, 0.15) for _ in range(10)]
    assert [result.broken for result in victim.killed_after(times, seed=2) if result.broken] == []
    assert victim.witness.replied


def test_a_ledger_that_acknowledges_before_it_commits_is_noticed(kill: Killer, tmp_path: Path) -> None:
    victim = Victim.with_ledger(kill, tmp_path, planted=True)
    (result,) = victim.killed_at([("before COMMIT in the ledger", 4)], seed=5)
    assert "is lost" in result.broken[0]
