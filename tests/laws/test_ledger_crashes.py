"""Power cuts, full disks, failed and forgotten writes at every step, on a simulated disk: no charge is ever lost.

Each case is one fault; `make test-full` tries 500, `make test-deep` 5,000 more; `faults.witness` says what is checked.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from costs import cases
from dalenius.ledger import journal
from faults.crashes import KINDS, Outcome, kills_and_power_cuts, outcomes, power_cuts, run
from faults.disk import Disk, Fault
from faults.files import SeldomSynced, StartedUnsynced
from faults.planted import acknowledging_early, marking_first

FAULTS = {
    "power cut": 150,
    "second power cut": 80,
    "kill and power cut": 70,
    "failed call": 100,
    "failed start": 40,
    "forgotten sync": 30,
    "lying disk": 30,
}
"""How many of each."""


def test_every_kind_of_fault_is_tried_and_there_are_500() -> None:
    assert set(FAULTS) == set(KINDS)
    assert sum(FAULTS.values()) == 500


@pytest.mark.textbook("S18.1")
@cases("kind", FAULTS, fast=1)
def test_after_a_fault_no_charge_is_lost_and_no_ledger_starts_corrupt(kind: str) -> None:
    require_kept(kind, list(outcomes(kind, FAULTS[kind], seed=1)), FAULTS[kind])


def require_kept(kind: str, ends: list[Outcome], count: int) -> None:
    assert [end for end in ends if end.broken] == []
    assert len(ends) == count
    started = Counter(end.refused for end in ends)[False]
    assert started > count // 2 or kind == "lying disk"  # the promises are also looked at


# ---- the disk is as bad as it says


def test_power_cuts_come_at_every_moment_of_both_commits() -> None:
    """The steps between which the power is cut belong to the ledger, its log, the mark and its log, in turn."""
    made = run(Disk(), Random(1))
    files = Counter(step.file.rsplit("/", 1)[-1] for step in made.disk.steps if step.kind in ("written", "synced"))
    assert {"ledger.sqlite", "ledger.sqlite-wal", "mark.sqlite", "mark.sqlite-wal"} <= set(files)
    assert len(made.witness.replied) >= 3


@pytest.mark.parametrize("kind", ["error", "full", "short"])
def test_a_failed_call_stops_the_ledger_at_once(kind: str) -> None:
    calls = run(Disk(), Random(1)).disk.calls
    made = run(Disk(fault=Fault(calls // 2, kind)), Random(1))  # type: ignore[arg-type]
    assert calls // 2 <= made.disk.calls < calls
    assert 0 < len(made.witness.replied) < len(run(Disk(), Random(1)).witness.replied)


def test_unsynced_writes_are_lost_in_whole_or_in_part() -> None:
    disk = Disk()
    disk.make("/a")
    disk.write("/a", b"x" * 2000, 0)
    disk.sync("/a")
    disk.write("/a", b"y" * 2000, 0)
    left = {disk.image(4, Random(seed))["/a"] for seed in range(100)}
    assert {b"x" * 2000, b"y" * 2000} < left
    assert len({image.count(b"y") for image in left}) > 5
    assert {disk.image(3, Random(seed))["/a"] for seed in range(100)} == {b"x" * 2000}


def test_a_failed_sync_is_not_made_good_by_the_next() -> None:
    disk = Disk()
    disk.make("/a")
    disk.sync("/a")
    disk.write("/a", b"lost", 0)
    disk.fault = Fault(disk.calls + 1, "error")
    with pytest.raises(Exception, match="error"):
        disk.sync("/a")
    disk.sync("/a")
    assert b"" in {disk.image(len(disk.steps), Random(seed))["/a"] for seed in range(20)}


# ---- planted bugs are noticed


@cases(
    ("planted", "noticed"),
    [
        ({"files": SeldomSynced}, "is lost"),
        ({"change": acknowledging_early}, "is lost"),
        ({"change": marking_first}, "refused without need"),
    ],
    fast=1,
)
def test_a_ledger_that_promises_what_is_not_durable_is_noticed(planted: dict[str, Any], noticed: str) -> None:
    ends = [end for seed in range(8) for end in power_cuts(Random(seed), **planted)]
    assert any(noticed in problem for end in ends for problem in end.broken)


def test_a_start_that_trusts_what_was_not_synced_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_touch", lambda rows: None)
    ends = [end for seed in range(4) for end in kills_and_power_cuts(Random(seed), files=StartedUnsynced)]
    assert any("refused without need" in problem for end in ends for problem in end.broken)
