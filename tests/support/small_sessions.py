"""Small sessions for tests: few cells, one payment, and how often the ledger let a round begin."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import dalenius as dl
from clinics import clinic, visits
from dalenius.ledger.ledger import TURN
from dalenius.session.databases import Database
from dalenius.synth.online.counts import Online, OnlineCounts

TERMS: dict[str, Any] = {"columns": ["age", "city"], "bins": {"age": "20"}, "updates": 4, "questions": 200}
HARD = "age >= 20 AND age < 60"
RICH = dl.Budget(epsilon=20, delta="1e-9")


def session_of(db: Any, **terms: Any) -> OnlineCounts:
    """A session over ages and cities for half of the budget."""
    paying = {name: terms.pop(name) for name in ("epsilon", "share", "key", "fresh") if name in terms}
    return Online(**(TERMS | terms)).open(db.table("visits"), **({"share": "50%"} | paying))


def rich(path: Any = None, data: pa.Table | None = None, neighbours: str = "add_remove") -> Database:
    """A clinic whose noise is small."""
    return clinic(RICH, data=visits() if data is None else data, path=path, neighbours=neighbours)


def turns(db: Database, session: OnlineCounts) -> int:
    """How many rounds of a session were begun, as the ledger says."""
    return len([each for each in db._curator.ledger.records(TURN) if each["receipt"] == session.receipt])


def mislead(session: OnlineCounts) -> None:
    """Make the hypothesis wrong, as if nothing had been learned, so that the next question is hard."""
    running = session._running()
    people = running.plan.rule.people
    running._hypothesis[:] = 1e-6
    running._hypothesis[-1] = people - 1e-6 * (len(running._hypothesis) - 1)
