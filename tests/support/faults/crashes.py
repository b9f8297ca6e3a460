"""Power cuts and failing calls, over and over: each makes one ledger on a simulated disk and opens what is left."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from dalenius.errors import LedgerRefused, LedgerStopped
from dalenius.ledger.accounts import Receipt
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from faults.disk import Disk, Fault, Image, Step
from faults.files import SimulatedStore
from faults.witness import NAME, Found, Witness, ask, found, open_accounts

LEDGER, MARK = "/folder/ledger.sqlite", "/state/mark.sqlite"
Change: TypeAlias = Callable[[Ledger, Callable[[Receipt], None]], Ledger]
_QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # what is durable was decided before
SHARED = 10
"""So many faults of a kind are tried on one history."""


@dataclass(frozen=True)
class Run:
    """What happened on a disk, and what was promised meanwhile."""

    disk: Disk
    witness: Witness


@dataclass(frozen=True)
class Outcome:
    """What a fault led to. `broken` lists promises that were not kept; there must be none."""

    fault: str
    seed: str
    refused: bool
    broken: list[str]


def run(
    disk: Disk,
    chance: Random,
    earlier: Witness | None = None,
    *,
    change: Change | None = None,
    files: type[SimulatedStore] = SimulatedStore,
) -> Run:
    """Make a ledger, or start the one that is there, and ask until something fails or all is asked.

    `change` and `files` plant bugs.
    """
    witness = earlier or Witness()
    witness.moment = lambda: len(disk.steps)
    stack = ExitStack()
    with suppress(LedgerStopped, LedgerRefused, sqlite3.DatabaseError), stack:
        store = stack.enter_context(closing(files(disk, LEDGER)))
        mark = Mark(stack.enter_context(closing(files(disk, MARK))), NAME)
        if witness.ready is None:
            ledger = Ledger.create(store, mark, NAME)
            open_accounts(ledger, cap=150, quota=90)
            witness.ready = witness.moment()
        else:
            ledger = Ledger.start(store, mark, NAME)
        ask(change(ledger, witness.charged) if change else ledger, witness, chance, rounds=8)
    return Run(disk, witness)


def opened_from(image: Image, witness: Witness, *, flying: int = 1) -> Found:
    """Put the files of an image down, and open the ledger with the real store."""
    with tempfile.TemporaryDirectory(dir=_QUICK) as place:
        for name in (LEDGER, MARK):
            Path(place + name).parent.mkdir()
        for name, data in image.items():
            Path(place + name).write_bytes(data)
        return found(Path(place + LEDGER), Path(place + MARK), witness, flying=flying)


# ---- the kinds of faults


def power_cuts(chance: Random, **planted: Any) -> Iterator[Found]:
    """At any step, from the first."""
    made = run(Disk(), chance, **planted)
    for after in _spread(len(made.disk.steps), chance):
        yield _must_start(opened_from(made.disk.image(after, chance), made.witness.until(after)), made, after)


def second_power_cuts(chance: Random) -> Iterator[Found]:
    """While the ledger is opened again after the first, or later."""
    made = run(Disk(), chance)
    for after in _spread(len(made.disk.steps), chance, start=made.witness.ready or 0):
        again = Disk.holding(made.disk.image(after, chance))
        before = len(again.steps)
        more = run(again, chance, made.witness.until(after).from_the_start())
        second = chance.randint(before, len(again.steps))
        yield _must_start(opened_from(again.image(second, chance), more.witness.until(second), flying=2), more, second)


def kills_and_power_cuts(chance: Random, **planted: Any) -> Iterator[Found]:
    """The process is killed, which loses nothing, and starts again; the power is cut before the disk has it all."""
    made = run(Disk(), chance)
    commits = [place for place, step in enumerate(made.disk.steps) if step == Step("synced", f"{LEDGER}-wal")]
    for anywhere in _spread(len(made.disk.steps), chance, start=made.witness.ready or 0):
        # Half of them between the write and the sync of a commit.
        after = chance.choice([anywhere, min(commits, key=lambda place, near=anywhere: abs(place - near))])
        after = max(after, made.witness.ready or 0)
        more = run(made.disk.as_of(after), chance, made.witness.until(after), **planted)
        second = chance.randint(after, min(len(more.disk.steps), after + 30))
        left = more.disk.image(second, chance)
        yield _must_start(opened_from(left, more.witness.until(second), flying=2), more, second)


def failed_calls(chance: Random) -> Iterator[Found]:
    """A read, write or sync fails, or a write is cut short, once or from then on; then the power is cut, or not."""
    seed = chance.random()
    calls = run(Disk(), Random(seed)).disk.calls
    for call in _spread(calls, chance):
        made = run(Disk(fault=_fault(call, chance)), Random(seed))
        yield _must_start(opened_from(_ended(made.disk, chance), made.witness), made, len(made.disk.steps))


def failed_starts(chance: Random) -> Iterator[Found]:
    """A call fails while the ledger is opened again, or later."""
    made = run(Disk(), chance)
    whole = made.disk.image(len(made.disk.steps), chance)
    for call in _spread(300, chance):
        again = Disk.holding(whole)
        again.fault = _fault(call, chance)
        more = run(again, chance, made.witness.until(len(made.disk.steps)).from_the_start())
        yield _must_start(opened_from(_ended(again, chance), more.witness), more, len(again.steps))


def forgotten_syncs(chance: Random) -> Iterator[Found]:
    """A sync fails, the process starts again and finds what it wrote, goes on, and then the power is cut: what the
    failed sync should have kept may be gone, and with it all that was written behind it."""
    seed = chance.random()
    calls = run(Disk(), Random(seed)).disk.calls
    for call in _spread(calls, chance):
        made = run(Disk(fault=Fault(call, "error")), Random(seed))
        made.disk.fault = None
        if made.witness.ready is not None:
            made = run(made.disk, chance, made.witness)
        yield opened_from(made.disk.image(len(made.disk.steps), chance), made.witness, flying=2)


def lying_disks(chance: Random) -> Iterator[Found]:
    """The ledger's disk says that it has written and has not; the mark's is honest."""
    made = run(Disk(lying=frozenset({LEDGER, f"{LEDGER}-wal"})), chance)
    for after in _spread(len(made.disk.steps), chance):
        yield opened_from(made.disk.image(after, chance), made.witness.until(after))


KINDS: Mapping[str, Callable[[Random], Iterator[Found]]] = {
    "power cut": power_cuts,
    "second power cut": second_power_cuts,
    "kill and power cut": kills_and_power_cuts,
    "failed call": failed_calls,
    "failed start": failed_starts,
    "forgotten sync": forgotten_syncs,
    "lying disk": lying_disks,
}


def outcomes(kind: str, count: int, seed: int) -> Iterator[Outcome]:
    """What `count` faults of a kind led to; the same for the same seed, but for the names of receipts."""
    for number in range(0, count, SHARED):
        named = f"{kind} {seed} {number}"
        for result in KINDS[kind](Random(named)):
            yield Outcome(kind, named, result.refused is not None, result.broken)


def _spread(most: int, chance: Random, *, start: int = 1) -> list[int]:
    """Places all over a range, one at random in each part of it."""
    width = max(1, (most - start + 1) // SHARED)
    return [start + number * width + chance.randrange(width) for number in range(SHARED)]


def _fault(call: int, chance: Random) -> Fault:
    return Fault(call, chance.choice(["error", "full", "short"]), lasting=chance.random() < 0.5)


def _ended(disk: Disk, chance: Random) -> Image:
    """What is found after the process has ended: all that it wrote, or what a power cut leaves of it."""
    if chance.random() < 0.4:
        return {name: bytes(data) for name, data in disk.files.items()}
    return disk.image(len(disk.steps), chance)


def _must_start(result: Found, made: Run, after: int) -> Found:
    """A ledger on an honest disk starts again, once it was made."""
    if result.refused and made.witness.ready is not None and made.witness.ready <= after:
        result.broken.append(f"refused without need: {result.refused}")
    return result
