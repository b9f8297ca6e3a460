"""The dear tests of `laws/test_ledger_kills.py`."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from faults.kills import Victim, each_name_once
from faults.programs import Killer
from tests.laws import test_ledger_kills

kill = test_ledger_kills.kill


@pytest.mark.parametrize("seed", range(3))
def test_330_kills_at_every_step_lose_no_charge_and_no_answer(kill: Killer, tmp_path: Path, seed: int) -> None:
    victim, chance = Victim.with_ledger(kill, tmp_path), Random(seed)
    steps = victim.steps()
    chosen = [*each_name_once(steps, seed), *chance.sample(steps, 110)][:110]
    assert [result.broken for result in victim.killed_at(chosen, seed=seed) if result.broken] == []
    assert victim.kills == 110


def test_100_kills_at_any_time_lose_no_charge_and_no_answer(kill: Killer, tmp_path: Path) -> None:
    victim, chance = Victim.with_ledger(kill, tmp_path), Random(3)
    times = [chance.uniform(0, 0.3) for _ in range(100)]
    assert [result.broken for result in victim.killed_after(times, seed=3) if result.broken] == []
    assert victim.kills == 100


def test_100_kills_on_the_whole_way_from_question_to_answer_lose_neither(kill: Killer, tmp_path: Path) -> None:
    victim, chance = Victim.with_database(kill, tmp_path), Random(6)
    steps = victim.steps()
    chosen = [*each_name_once(steps, seed=6), *chance.sample(steps, 70)][:70]
    assert [result.broken for result in victim.killed_at(chosen, seed=6) if result.broken] == []
    times = [chance.uniform(0, 0.6) for _ in range(30)]
    assert [result.broken for result in victim.killed_after(times, seed=6) if result.broken] == []
    assert victim.kills == 100
