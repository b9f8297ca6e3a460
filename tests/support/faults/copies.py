"""Copies of a ledger and its mark, at every stage of its life, and putting them together wrongly."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from dalenius.ledger.accounts import AccountCharge
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import SQLiteStore
from faults.witness import ANALYSTS, NAME, open_accounts, opened, units

STAGES = 8
OTHER = "07" * 16


@dataclass(frozen=True)
class Files:
    """The bytes of a ledger and of its mark; None where there is no such file."""

    ledger: bytes | None
    log: bytes | None
    mark: bytes | None
    mark_log: bytes | None

    @classmethod
    def of(cls, place: Path) -> Files:
        return cls(*(path.read_bytes() if path.exists() else None for path in _paths(place)))

    def put(self, place: Path) -> None:
        """Write the files, and nothing else of a ledger."""
        for path, data in zip(_paths(place), (self.ledger, self.log, self.mark, self.mark_log), strict=True):
            path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            if data is not None:
                path.write_bytes(data)


def _paths(place: Path) -> list[Path]:
    return [place / f"{name}.sqlite{end}" for name in ("ledger", "mark") for end in ("", "-wal")]


@dataclass(frozen=True)
class Copy:
    """Files at a stage, copied while the ledger was open (so that a log is there) and when it was closed."""

    spent: int
    while_open: Files
    when_closed: Files


def life(place: Path, *, name: str = NAME, stages: int = STAGES, begin: Files | None = None) -> list[Copy]:
    """Make a ledger, or go on with one, and copy it after each charge. All the sums that can be are different."""
    place.mkdir(exist_ok=True)
    if begin is None:
        make(place, name)
    else:
        begin.put(place)
    copies = []
    for _ in range(stages):
        with closing(opened(place / "ledger.sqlite", place / "mark.sqlite", name)) as ledger:
            pay(ledger, 2 ** len(ledger.history()))
            spent, while_open = spending(ledger), Files.of(place)
        copies.append(Copy(spent, while_open, Files.of(place)))
    return copies


def make(place: Path, name: str = NAME) -> None:
    mark = Mark(SQLiteStore(place / "mark.sqlite"), name)
    with closing(Ledger.create(SQLiteStore(place / "ledger.sqlite"), mark, name)) as ledger:
        open_accounts(ledger, cap=100_000, quota=100_000)


def pay(ledger: Ledger, size: int) -> None:
    """One charge and its answer."""
    payer = ANALYSTS[size % 3]
    receipt = ledger.reserve([AccountCharge(payer, units(size))], question="q", who=payer.path[-1], request=str(size))
    ledger.store(receipt, f"answer for {size}")


def spending(ledger: Ledger) -> int:
    return ledger.spent(ANALYSTS[0].lineage[-1]).divergence
