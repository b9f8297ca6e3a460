"""The dear tests of `laws/test_ledger_kills.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.kills import Victim, each_name_once
from faults.programs import Killer
from tests.laws import test_ledger_kills

kill = test_ledger_kills.kill

STEPS = [
    "BEGIN in the mark",
    "BEGIN in the ledger",
    "INSERT INTO entries in the ledger",
    "COMMIT in the ledger",
    "INSERT INTO marks in the mark",
    "COMMIT in the mark",
    "reserve",
    "store",
    "reply",
]


@pytest.mark.textbook("S18.1")
def test_a_kill_before_or_after_any_step_loses_no_charge_and_no_answer(kill: Killer, tmp_path: Path) -> None:
    victim = Victim.with_ledger(kill, tmp_path)
    steps = each_name_once(victim.steps(), seed=1)
    assert {f"{when} {step}" for when in ("before", "after") for step in STEPS} <= {name for name, _ in steps}
    assert [result.broken for result in victim.killed_at(steps, seed=1) if result.broken] == []
    assert victim.kills >= 38


def test_a_kill_on_the_whole_way_from_question_to_answer_loses_neither(kill: Killer, tmp_path: Path) -> None:
    """The steps from the charge to the reply, in a database with rows."""
    victim = Victim.with_database(kill, tmp_path)
    steps = [(f"{when} {step}", 1) for step in ("reserve", "run", "store", "reply") for when in ("before", "after")]
    assert [result.broken for result in victim.killed_at(steps, seed=4) if result.broken] == []
    assert [result.broken for result in victim.killed_after([0.1, 0.3], seed=4) if result.broken] == []
    assert victim.steps()  # it still answers
    assert len(victim.witness.acknowledged) >= 7
