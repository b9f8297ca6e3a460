"""How many of the unknown product keys Dalenius releases for the whole of a budget.

`python -m benchmarks.released_keys events.parquet` runs in a process of its own and prints JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import dalenius
from benchmarks.queries import EVENTS, GROUPS, ROWS

QUESTIONS = {
    "users": "SELECT product, COUNT(DISTINCT user_id) AS users FROM events GROUP BY product",
    "keys": "SELECT DISTINCT product FROM events",
}


@dataclass(frozen=True)
class Released:
    """Seconds from SQL to the answer, the number of keys in it, and the peak memory in bytes, with the import."""

    seconds: float
    keys: int
    memory: int


def measured(table: Path) -> dict[str, Released]:
    """The figures of each question, from a process of their own."""
    command = [sys.executable, "-m", "benchmarks.released_keys", str(table)]
    found = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return {name: Released(**figures) for name, figures in json.loads(found).items()}


def numbers(found: Mapping[int, Mapping[str, Released]]) -> dict[int, dict[str, int]]:
    """The numbers of keys alone, by rows of the table and by question."""
    return {rows: {name: it.keys for name, it in questions.items()} for rows, questions in found.items()}


def _asked(table: str) -> dict[str, Released]:
    database = dalenius.create()
    most = dalenius.ContributionBounds(rows=ROWS, groups=GROUPS)
    found = {}
    for name, question in QUESTIONS.items():  # each of a budget of its own, all of which it spends
        database.add_population(name, budget=dalenius.Budget(1, "1e-6"))
        database.add_table(
            f"events_{name}",
            table,
            columns=dict(EVENTS.columns),
            population=name,
            unit="user_id",
            max_rows=most.rows,
            max_groups=most.groups,
        )
        start = time.perf_counter()
        answer = database.sql(question.replace("FROM events", f"FROM events_{name}")).run(share=1)
        seconds = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found[name] = Released(seconds, len(answer.to_arrow()), memory)
    return found


if __name__ == "__main__":
    print(json.dumps({name: asdict(figures) for name, figures in _asked(sys.argv[1]).items()}))
