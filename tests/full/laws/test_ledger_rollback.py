"""The dear tests of `laws/test_ledger_rollback.py`."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from random import Random

from dalenius.errors import LedgerRefused
from dalenius.ledger.marks import Mark
from dalenius.ledger.reconciling import reconcile
from faults.copies import Files, spending
from faults.crashes import LEDGER, MARK
from faults.disk import Disk
from faults.files import SimulatedStore
from faults.rollbacks import World, reconciled
from faults.witness import NAME, opened
from tests.laws import test_ledger_rollback

world = test_ledger_rollback.world


def test_a_power_cut_while_reconciling_forgets_nothing_and_counts_nothing_twice(world: World, tmp_path: Path) -> None:
    old, new = world.copies[3].when_closed, world.last.when_closed
    disk = Disk.holding({LEDGER: old.ledger or b"", MARK: new.mark or b""})
    begin = len(disk.steps)
    with closing(SimulatedStore(disk, LEDGER)) as store, closing(SimulatedStore(disk, MARK)) as mark:
        reconcile(store, Mark(mark, NAME), NAME)
    for after in range(begin, len(disk.steps) + 1):
        image = disk.image(after, Random(after))
        Files(*(image.get(name) for name in (LEDGER, f"{LEDGER}-wal", MARK, f"{MARK}-wal"))).put(tmp_path)
        with suppress(LedgerRefused):
            opened(tmp_path / "ledger.sqlite", tmp_path / "mark.sqlite").close()
        reconciled(tmp_path)
        with closing(opened(tmp_path / "ledger.sqlite", tmp_path / "mark.sqlite")) as ledger:
            assert spending(ledger) == world.last.spent
