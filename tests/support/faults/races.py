"""Races for one cap: processes with many threads that charge at once, and threads that a schedule steps through."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import SQLiteStore
from faults.programs import command, surroundings
from faults.recount import Recount, recount
from faults.witness import NAME, PATIENTS, open_accounts, opened


@dataclass(frozen=True)
class Race:
    """How a race ended: what its clients were told, and what an independent recount finds."""

    told: list[tuple[str, int, str | None]]
    refused: int
    counted: Recount
    spent: int

    @property
    def acknowledged(self) -> dict[str, int]:
        """The charges that somebody was told of, each once."""
        return {receipt: size for receipt, size, _ in self.told}

    @property
    def attempts(self) -> int:
        return len(self.told) + self.refused


def race(
    place: Path, *, processes: int, threads: int, attempts: int, cap: int, largest: int = 40, planted: bool = False
) -> Race:
    """Let `processes` times `threads` clients charge `attempts` times each, and then take the last units."""
    order = {
        "place": str(place),
        "processes": processes,
        "threads": threads,
        "attempts": attempts,
        "largest": largest,
        "planted": planted,
        "seed": 1,
    }
    mark = Mark(SQLiteStore(place / "mark.sqlite"), NAME)
    with closing(Ledger.create(SQLiteStore(place / "ledger.sqlite"), mark, NAME)) as ledger:
        open_accounts(ledger, cap=cap, quota=cap // 2)
    subprocess.run(command("racing", json.dumps(order)), env=surroundings(), check=True)
    notes = [json.loads((place / f"told {number}.json").read_text()) for number in range(processes)]
    told = [(receipt, size, key) for note in notes for receipt, size, key in note["told"]]
    return Race(told, sum(note["refused"] for note in notes), recount(place / "ledger.sqlite"), _spent(place, planted))


def _spent(place: Path, planted: bool) -> int:
    """What the ledger itself says; one that passed its cap would be refused, and rightly so."""
    if planted:
        return -1
    with closing(opened(place / "ledger.sqlite", place / "mark.sqlite")) as ledger:
        return ledger.spent(PATIENTS).divergence
