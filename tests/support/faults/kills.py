"""Killing processes over real files, again and again on one ledger, and holding it against all it ever promised."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

import dalenius as dl
from clinics import add_visits, visits
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import SQLiteStore
from faults.programs import Killer
from faults.witness import NAME, Found, Witness, found, open_accounts

THREADS = 4


@dataclass
class Victim:
    """A ledger whose processes are killed, and everything that it has promised so far."""

    killer: Killer
    place: Path
    over: Literal["ledger", "database"]
    ledger: Path
    name: str
    witness: Witness = field(default_factory=Witness)
    kills: int = 0
    planted: bool = False

    @classmethod
    def with_ledger(cls, killer: Killer, place: Path, *, planted: bool = False) -> Victim:
        """A ledger alone: what is asked of it needs no data. A planted one acknowledges before it commits."""
        path = place / "ledger.sqlite"
        mark = Mark(SQLiteStore(place / "mark.sqlite"), NAME)
        with closing(Ledger.create(SQLiteStore(path), mark, NAME)) as ledger:
            open_accounts(ledger, cap=10**7, quota=10**7)
        return cls(killer, place, "ledger", path, NAME, Witness(ready=0), planted=planted)

    @classmethod
    def with_database(cls, killer: Killer, place: Path) -> Victim:
        """A whole database, with rows, in a folder."""
        with dl.create(place / "clinic", mark=place / "mark.sqlite") as db:
            db.add_population("patients", budget=dl.Budget(epsilon=3), least_share="1e-15")
            add_visits(db, "visits", visits(30, 1))
        catalog = tomllib.loads((place / "clinic" / "catalog.toml").read_text())
        return cls(killer, place, "database", place / "clinic" / "ledger.sqlite", catalog["database"]["ledger"])

    # ---- ways to die

    def steps(self) -> list[tuple[str, int]]:
        """The steps of a process that nobody kills, by name and how often they came."""
        told = self._run(step=None, rounds=2)
        assert told["code"] == 0
        return [(name, count) for kind, name, count in (_padded(event) for event in told["events"]) if kind == "step"]

    def killed_at(self, steps: Sequence[tuple[str, int]], seed: int) -> Iterator[Found]:
        """Kills right before or after a step."""
        for number, step in enumerate(steps):
            yield self._checked(self._run(step=step, rounds=50, seed=f"{seed} {number}"), flying=1)

    def killed_after(self, seconds: Sequence[float], seed: int) -> Iterator[Found]:
        """Kills at any time, of a process with threads that commit together."""
        for number, time in enumerate(seconds):
            told = self._run(after=time, rounds=10**6, seed=f"{seed} {number}", threads=THREADS)
            yield self._checked(told, flying=THREADS)

    def _run(self, **order: Any) -> dict[str, Any]:
        told = self.killer.killed(
            **{"over": self.over, "place": str(self.place), "seed": 0, "threads": 1, "planted": self.planted, **order}
        )
        for kind, *facts in told["events"]:
            if kind == "charged":
                self.witness.acknowledged.append((0, facts[0], facts[1]))
            elif kind == "answered":
                self.witness.replied.append((0, facts[0], facts[1]))
        return told

    def _checked(self, told: dict[str, Any], *, flying: int) -> Found:
        assert told["killed"], told
        self.kills += 1
        result = found(self.ledger, self.place / "mark.sqlite", self.witness, name=self.name, flying=flying)
        if result.refused:
            result.broken.append(f"refused without need: {result.refused}")
        # What nobody was told of is there now, and stays.
        self.witness.acknowledged = [(0, name, size) for name, size in result.charges.items()]
        return result


def each_name_once(steps: Sequence[tuple[str, int]], seed: int) -> list[tuple[str, int]]:
    """Every kind of step, at one of the times that it comes."""
    chance, names = Random(seed), sorted({name for name, _ in steps})
    return [chance.choice([step for step in steps if step[0] == name]) for name in names]


def _padded(event: list[Any]) -> tuple[Any, Any, Any]:
    kind, name, count, *_ = [*event, None, None]
    return kind, name, count
