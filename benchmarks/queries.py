"""Bounded counts and sums on the table of events, beside the best SQL that somebody would write by hand for DuckDB.

`python -m benchmarks.queries 10000000` measures in this process. By hand means: the plain table as it was imported,
the same bounding (at most 3 groups of a user, 10 rows in each), DuckDB's own hash, no noise; of several spellings the
quickest counts. Ours is the engine's whole pass, from the plan to sealed cells. Both run on 2 threads, in turn.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from benchmarks.events import CITIES, city, write
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.expressions import Column
from dalenius.query.plan.passes import Aggregate, Pass, Total
from dalenius.query.plan.relations import Bound, Clamp, Project, Scan
from dalenius.query.tables import ContributionBounds, Protection, Table, UnitColumn
from dalenius.query.types import Category, Date, Real, Text

EVENT_ROWS = 10**7
ROWS, GROUPS, THREADS = 10, 3, 2
TOP = 50_000
"""Amounts are clamped to 500.00, in steps of 0.01."""
EVENTS = Table(
    "events",
    (
        ("city", Category(*map(city, range(CITIES)))),
        ("product", Text()),
        ("amount", Real(0, 500, step="0.01")),
        ("day", Date("2024-01-01", "2026-12-31")),
    ),
    Protection("users", UnitColumn("user_id"), AddRemove(), ContributionBounds(rows=ROWS, groups=GROUPS)),
)

_PER_CITY = "SELECT user_id, city, count(*) AS n FROM events GROUP BY user_id, city"
_SUM_PER_CITY = f"""SELECT user_id, city, count(amount) AS n, sum(CASE WHEN amount < 0 THEN 0 WHEN amount > 500
    THEN {TOP} ELSE CAST(round(amount * 100) AS BIGINT) END) AS s FROM events GROUP BY user_id, city"""
_PER_PRODUCT = "SELECT DISTINCT user_id, product FROM events"
_KEEP = "QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY hash(user_id, {key})) <= 3"


def _windows(inner: str, key: str, total: str) -> str:
    return f"SELECT {key}, {total} FROM (SELECT * FROM ({inner}) {_KEEP.format(key=key)}) GROUP BY {key}"


def _lists(inner: str, key: str, fields: str, total: str) -> str:
    kept = f"SELECT unnest(min({{'h': hash(user_id, {key}), {fields}}}, 3)) AS x FROM ({inner}) GROUP BY user_id"
    return f"SELECT x.{key}, {total} FROM ({kept}) GROUP BY x.{key}"


_SCALED = "sum(CASE WHEN {0}n > 10 THEN {0}s * 10 // {0}n ELSE {0}s END)"
BY_HAND = {
    "count per city": [
        _windows(_PER_CITY, "city", "sum(least(n, 10))"),
        _lists(_PER_CITY, "city", "'city': city, 'n': n", "sum(least(x.n, 10))"),
    ],
    "bounded sum per city": [
        _windows(_SUM_PER_CITY, "city", _SCALED.format("")),
        _lists(_SUM_PER_CITY, "city", "'city': city, 'n': n, 's': s", _SCALED.format("x.")),
    ],
    "distinct users per product": [
        _windows(_PER_PRODUCT, "product", "count(*)"),
        _lists(_PER_PRODUCT, "product", "'product': product", "count(*)"),
    ],
}


def _step(key: str, total: Total) -> Pass:
    scan = Scan(EVENTS, "events")
    names = ((f"events.{key}", "k.0"), ("events.amount", "x.0"))
    columns = tuple((new, Column(scan.schema[old], old)) for old, new in names if new == "k.0" or total.column)
    child = Project(scan, columns)
    clamped = Clamp(child, (("x.0", 0, TOP),)) if total.column else child
    return Aggregate(Bound(clamped, ("k.0",), ROWS, GROUPS), (total,))


OURS = {
    "count per city": _step("city", Total("rows")),
    "bounded sum per city": _step("city", Total("sum", "x.0")),
    "distinct users per product": _step("product", Total("units")),
}


@dataclass(frozen=True)
class QuerySpeed:
    """Seconds of one question, by hand and ours: the best of some runs, taken in turn.

    `work` are seconds of the processor, over all threads: on a busy machine these still tell.
    """

    question: str
    by_hand: float
    ours: float
    work_by_hand: float
    work_ours: float

    @property
    def ratio(self) -> float:
        return self.ours / self.by_hand

    @property
    def work_ratio(self) -> float:
        return self.work_ours / self.work_by_hand


@dataclass(frozen=True)
class QueryRun:
    """All questions on a table of so many rows; the import's seconds, and the peak memory of our part in bytes."""

    rows: int
    imported: float
    memory: int
    speeds: tuple[QuerySpeed, ...]


def measured(rows: int, *, rounds: int = 3) -> QueryRun:
    """Make the table and measure, in processes of their own."""
    with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
        _part("make", folder, rows, rounds)
        imported = float(_part("import", folder, rows, rounds))
        memory = int(_part("memory", folder, rows, rounds))
        found = json.loads(_part("times", folder, rows, rounds))
    return QueryRun(rows, imported, memory, tuple(QuerySpeed(**each) for each in found))


def _part(what: str, folder: str, rows: int, rounds: int) -> str:
    command = [sys.executable, "-m", "benchmarks.queries", what, folder, str(rows), str(rounds)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def _make(folder: Path, rows: int) -> None:
    write(folder / "events.parquet", rows)
    with duckdb.connect(str(folder / "plain.duckdb"), config={"threads": THREADS}) as plain:
        plain.execute(f"CREATE TABLE events AS SELECT * FROM read_parquet('{folder / 'events.parquet'}')")


def _import(folder: Path) -> float:
    engine = DuckDBEngine(folder, limits=QueryLimits(threads=THREADS, memory="2GB"))
    seconds, _ = _seconds(lambda: engine.register(EVENTS, folder / "events.parquet"))
    engine.close()
    return seconds


def _engine(folder: Path) -> DuckDBEngine:
    return DuckDBEngine(folder, tables=[EVENTS], limits=QueryLimits(threads=THREADS, memory="2GB"))


def _memory(folder: Path) -> int:
    engine = _engine(folder)
    for step in OURS.values():
        engine.run(step)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _times(folder: Path, rounds: int) -> list[QuerySpeed]:
    engine = _engine(folder)
    with duckdb.connect(str(folder / "plain.duckdb"), read_only=True, config={"threads": THREADS}) as plain:
        plain.execute("SET preserve_insertion_order = false")
        return [_speed(question, engine, plain, rounds) for question in OURS]


def _speed(question: str, engine: DuckDBEngine, plain: duckdb.DuckDBPyConnection, rounds: int) -> QuerySpeed:
    by_hand, ours = [], []
    for _ in range(rounds):
        ours.append(_seconds(lambda: engine.run(OURS[question])))
        by_hand += [_seconds(lambda sql=sql: plain.sql(sql).to_arrow_table()) for sql in BY_HAND[question]]  # type: ignore[misc]
    best = [min(pair[part] for pair in found) for part in (0, 1) for found in (by_hand, ours)]
    return QuerySpeed(question, *best)


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """On the clock, and of the processor."""
    start, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - busy


def main(arguments: list[str]) -> None:
    """A whole run, or a part of one for `measured`."""
    if len(arguments) == 1:
        run = measured(int(arguments[0]))
        print(f"import {run.imported:.1f} s, memory of the questions {run.memory / 1e6:.0f} MB")
        for each in run.speeds:
            clock = f"{each.by_hand:7.3f} s {each.ours:7.3f} s {each.ratio:5.2f} x"
            work = f"{each.work_by_hand:7.3f} s {each.work_ours:7.3f} s {each.work_ratio:5.2f} x"
            print(f"{each.question:30} {clock}, work {work}")
        return
    what, folder, rows, rounds = arguments[0], Path(arguments[1]), int(arguments[2]), int(arguments[3])
    if what == "make":
        _make(folder, rows)
    elif what == "times":
        print(json.dumps([asdict(each) for each in _times(folder, rounds)]))
    else:
        print(_import(folder) if what == "import" else _memory(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
