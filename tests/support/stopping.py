"""A process that fits a synthetic table and is killed in the middle. `python stopping.py FOLDER STAGE NUMBER KIND`.

It kills itself at the chosen moment of the chosen outcome, or of the end, and prints a line for every outcome that it
draws, before anything is done with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dalenius as dl
from dalenius.ledger.ledger import Ledger
from dalenius.session.databases import Database
from dalenius.synth.tables import journal

STAGES = ("before the draw", "after the draw", "after the file", "after the ledger")
KEY = "a fit"
COLUMNS = ["age", "city", "cost"]
TABLE = dl.Synthesizer(columns=COLUMNS, bins={"age": 5, "cost": 4}, order=2)
FAMILY = dl.FamilySynthesizer(
    parent=dl.Synthesizer(columns=["age", "city"], bins={"age": 5}, order=2),
    child=dl.Synthesizer(columns=["cost"], bins={"cost": 4}, order=2, rows=3),
)


def fitted(db: Database, kind: str = "table", **more: Any) -> Any:
    """The fit that is stopped, and gone on with."""
    if kind == "table":
        return TABLE.fit(db.table("visits"), epsilon=1, key=KEY, **more)
    return FAMILY.fit(db.table("patients"), db.table("visits"), epsilon=1, key=KEY, **more)


def killed(folder: Path, stage: str, number: int, kind: str = "table") -> int:
    """How many outcomes a process drew that was killed then."""
    command = [sys.executable, __file__, str(folder), stage, str(number), kind]
    paths = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout.count("drawn\n")


def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(stage: str, number: int) -> None:
    """Make this process die at that moment."""
    drawn, steps = 0, 0
    draw, step, store = journal.measure, Ledger.step, Ledger.store

    def measured(*arguments: Any) -> Any:
        nonlocal drawn
        drawn += 1
        here = drawn == number
        if here and stage == "before the draw":
            dies()
        outcome = draw(*arguments)
        print("drawn", flush=True)
        if here and stage == "after the draw":
            dies()
        return outcome

    def stepped(self: Ledger, *arguments: Any, **named: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == number and stage == "after the file":
            dies()
        step(self, *arguments, **named)
        if steps == number and stage == "after the ledger":
            dies()

    def stored(self: Ledger, *arguments: Any) -> None:
        if stage == "before the answer":
            dies()
        store(self, *arguments)
        if stage == "after the answer":
            dies()

    put: Callable[..., None] = setattr
    put(journal, "measure", measured)
    put(Ledger, "step", stepped)
    put(Ledger, "store", stored)


if __name__ == "__main__":
    dying(sys.argv[2], int(sys.argv[3]))
    with dl.open(sys.argv[1]) as database:
        fitted(database, sys.argv[4])
