"""Processes that are killed: no answer without a durable charge, no lost charge, no start on a corrupt ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from faults.kills import Victim, each_name_once
from faults.programs import Killer, killer

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


@pytest.fixture(scope="module")
def kill() -> Iterator[Killer]:
    with killer() as running:
        yield running


@pytest.mark.textbook("S18.1")
def test_a_kill_before_or_after_any_step_loses_no_charge_and_no_answer(kill: Killer, tmp_path: Path) -> None:
    victim = Victim.with_ledger(kill, tmp_path)
    steps = each_name_once(victim.steps(), seed=1)
    assert {f"{when} {step}" for when in ("before", "after") for step in STEPS} <= {name for name, _ in steps}
    assert [result.broken for result in victim.killed_at(steps, seed=1) if result.broken] == []
    assert victim.kills >= 38


def test_a_kill_at_any_time_loses_no_charge_and_no_answer(kill: Killer, tmp_path: Path) -> None:
    victim, chance = Victim.with_ledger(kill, tmp_path), Random(2)
    times = [chance.uniform(0, 0.15) for _ in range(10)]
    assert [result.broken for result in victim.killed_after(times, seed=2) if result.broken] == []
    assert victim.witness.replied


def test_a_kill_on_the_whole_way_from_question_to_answer_loses_neither(kill: Killer, tmp_path: Path) -> None:
    """The steps from the charge to the reply, in a database with rows."""
    victim = Victim.with_database(kill, tmp_path)
    steps = [(f"{when} {step}", 1) for step in ("reserve", "run", "store", "reply") for when in ("before", "after")]
    assert [result.broken for result in victim.killed_at(steps, seed=4) if result.broken] == []
    assert [result.broken for result in victim.killed_after([0.1, 0.3], seed=4) if result.broken] == []
    assert victim.steps()  # it still answers
    assert len(victim.witness.acknowledged) >= 7


def test_a_ledger_that_acknowledges_before_it_commits_is_noticed(kill: Killer, tmp_path: Path) -> None:
    victim = Victim.with_ledger(kill, tmp_path, planted=True)
    (result,) = victim.killed_at([("before COMMIT in the ledger", 3)], seed=5)
    assert "is lost" in result.broken[0]


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(3))
def test_330_kills_at_every_step_lose_no_charge_and_no_answer(kill: Killer, tmp_path: Path, seed: int) -> None:
    victim, chance = Victim.with_ledger(kill, tmp_path), Random(seed)
    steps = victim.steps()
    chosen = [*each_name_once(steps, seed), *chance.sample(steps, 110)][:110]
    assert [result.broken for result in victim.killed_at(chosen, seed=seed) if result.broken] == []
    assert victim.kills == 110


@pytest.mark.deep
def test_100_kills_at_any_time_lose_no_charge_and_no_answer(kill: Killer, tmp_path: Path) -> None:
    victim, chance = Victim.with_ledger(kill, tmp_path), Random(3)
    times = [chance.uniform(0, 0.3) for _ in range(100)]
    assert [result.broken for result in victim.killed_after(times, seed=3) if result.broken] == []
    assert victim.kills == 100


@pytest.mark.deep
def test_100_kills_on_the_whole_way_from_question_to_answer_lose_neither(kill: Killer, tmp_path: Path) -> None:
    victim, chance = Victim.with_database(kill, tmp_path), Random(6)
    steps = victim.steps()
    chosen = [*each_name_once(steps, seed=6), *chance.sample(steps, 70)][:70]
    assert [result.broken for result in victim.killed_at(chosen, seed=6) if result.broken] == []
    times = [chance.uniform(0, 0.6) for _ in range(30)]
    assert [result.broken for result in victim.killed_after(times, seed=6) if result.broken] == []
    assert victim.kills == 100
