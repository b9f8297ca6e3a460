"""The three questions about events at growing sizes, on DuckDB and on Spark in local mode, beside SQL without privacy.

`python -m benchmarks.scale 1000000 10000000` measures and prints. Every part runs in a process of its own, on 2 cores
and below 8 GB: the caps that the engines are given leave room for what they do not count. DuckDB imports the table
first; Spark reads the Parquet file where it lies, and looks at it once. Without privacy means: the plain aggregates
that somebody would write who bounds nobody, in DuckDB on the plain table and in Spark on the file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import Any, Literal

import duckdb

from benchmarks.events import write_in_parts
from benchmarks.queries import EVENTS, OURS
from dalenius.engines.duckdb.connection import QueryLimits
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.spark.engine import SparkEngine
from dalenius.query.tables import TableLocation

SIZES = (10**6, 10**7, 10**8)
CORES = 2
CAP = 8 * 10**9
"""What a process and its children may take."""
DUCKDB_MEMORY, SPARK_HEAP = "6500MB", "6g"
MASTER = f"local[{CORES}]"
PLAIN = {
    "count per city": "SELECT city, count(*) AS n FROM events GROUP BY city",
    "bounded sum per city": "SELECT city, sum(amount) AS s FROM events GROUP BY city",
    "distinct users per product": "SELECT product, count(DISTINCT user_id) AS n FROM events GROUP BY product",
}
System = Literal["DuckDB", "Spark"]
SYSTEMS: tuple[System, ...] = ("DuckDB", "Spark")


REGISTER = "register"


@dataclass(frozen=True)
class Part:
    """What one process did: seconds on the clock and of the processor by what it did, the best of some rounds; and its
    peak memory in bytes, with that of its Java machine."""

    seconds: Mapping[str, float]
    work: Mapping[str, float]
    memory: int
    java: int = 0


@dataclass(frozen=True)
class Scaled:
    """One engine at one size: how the table is taken in, our questions, and those without privacy."""

    system: System
    rows: int
    taken: Part
    ours: Part
    plain: Part

    def per_million(self, question: str) -> float:
        return self.ours.seconds[question] / self.rows * 1e6

    def work_per_million(self, question: str) -> float:
        return self.ours.work[question] / self.rows * 1e6

    def ratio(self, question: str) -> float:
        return self.ours.seconds[question] / self.plain.seconds[question]

    @property
    def memory(self) -> int:
        return max(part.memory + part.java for part in (self.taken, self.ours))


@dataclass(frozen=True)
class Growth:
    """From one size to the next: the time per row beside that of the smaller, and the slope b of seconds = a * rows^b;
    both also for seconds of the processor."""

    small: int
    large: int
    per_row: float
    work_per_row: float

    @property
    def slope(self) -> float:
        return 1 + log10(self.per_row) / log10(self.large / self.small)


def growth(runs: Sequence[Scaled], question: str) -> list[Growth]:
    """How one question grows from size to size."""
    return [
        Growth(
            small.rows, large.rows, large.per_million(question) / small.per_million(question),
            large.work_per_million(question) / small.work_per_million(question),
        )
        for small, large in pairwise(runs)
    ]  # fmt: skip


def measured(sizes: Iterable[int] = SIZES, systems: Iterable[System] = SYSTEMS) -> dict[System, list[Scaled]]:
    """Make each table, measure, and delete it before the next."""
    runs: dict[System, list[Scaled]] = {system: [] for system in systems}
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
            _part("make", folder, rows)
            for system, found in runs.items():
                taken = _part("DuckDB register", folder, rows) if system == "DuckDB" else None
                ours, plain = (_part(f"{system} {what}", folder, rows) for what in ("ours", "plain"))
                found.append(Scaled(system, rows, taken or ours, ours, plain))
    return runs


def _part(what: str, folder: str, rows: int) -> Part:
    command = [sys.executable, "-m", "benchmarks.scale", what, folder, str(rows)]
    environment = {**os.environ, "SPARK_LOCAL_DIRS": folder, "TMPDIR": folder}
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    return Part(**json.loads(done.stdout.strip().splitlines()[-1]))


# ---- in a process of its own


Times = dict[str, tuple[float, float]]
"""Seconds on the clock, and of the processor."""


def _made(folder: Path, rows: int) -> str:
    return _told({"make": _timed(lambda: write_in_parts(_source(folder), rows))})


def _register_duckdb(folder: Path, rows: int) -> str:
    engine = _duckdb(folder, held=False)
    taken = _timed(lambda: engine.register(EVENTS, _source(folder)))
    engine.close()
    return _told({REGISTER: taken})


def _ours_duckdb(folder: Path, rows: int) -> str:
    engine = _duckdb(folder, held=True)
    taken = _best(OURS, engine.run, rows)
    engine.close()
    return _told(taken)


def _plain_duckdb(folder: Path, rows: int) -> str:
    path = folder / "plain.duckdb"
    config: dict[str, Any] = {"threads": CORES, "memory_limit": DUCKDB_MEMORY, "preserve_insertion_order": False}
    with duckdb.connect(str(path), config=config) as plain:
        copied = f"CREATE TABLE events AS SELECT * FROM read_parquet('{_source(folder)}')"
        taken = {REGISTER: _timed(lambda: plain.execute(copied))}
        taken |= _best(PLAIN, lambda sql: plain.sql(sql).to_arrow_table(), rows)
    path.unlink()
    return _told(taken)


def _duckdb(folder: Path, *, held: bool) -> DuckDBEngine:
    limits = QueryLimits(threads=CORES, memory=DUCKDB_MEMORY)
    return DuckDBEngine(folder, tables=[EVENTS] if held else [], limits=limits, log=_logged)


def _ours_spark(folder: Path, rows: int) -> str:
    session = _spark(folder)
    engine = SparkEngine(session, log=_logged)
    place = TableLocation(MASTER, str(_source(folder)))
    taken = {REGISTER: _timed(lambda: engine.register(EVENTS, place), session)}
    return _told(taken | _best(OURS, engine.run, rows, session), session)


def _plain_spark(folder: Path, rows: int) -> str:
    session = _spark(folder)
    session.read.parquet(str(_source(folder))).createOrReplaceTempView("events")
    return _told(_best(PLAIN, lambda sql: session.sql(sql).toArrow(), rows, session), session)


def _spark(folder: Path) -> Any:
    builder = import_module("pyspark.sql").SparkSession.builder.master(MASTER).appName("dalenius-bench")
    settings = {"spark.driver.memory": SPARK_HEAP, "spark.local.dir": str(folder), "spark.ui.enabled": "false",
                "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}  # fmt: skip
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _best(questions: Mapping[str, Any], ask: Callable[[Any], object], rows: int, session: Any = None) -> Times:
    """The better of two rounds; the largest table is asked once."""
    rounds = 2 if rows < max(SIZES) else 1
    return {
        name: min(_timed(lambda it=it: ask(it), session) for _ in range(rounds))  # type: ignore[misc]
        for name, it in questions.items()
    }


def _timed(work: Callable[[], object], session: Any = None) -> tuple[float, float]:
    start, busy = time.perf_counter(), _busy(session)
    work()
    return time.perf_counter() - start, _busy(session) - busy


def _busy(session: Any) -> float:
    """Seconds of the processor of this process, and of its Java machine."""
    if session is None:
        return time.process_time()
    stat = Path(f"/proc/{_java(session)}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return time.process_time() + (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def _told(times: Times, session: Any = None) -> str:
    seconds, work = ({name: pair[part] for name, pair in times.items()} for part in (0, 1))
    java = _peak(_java(session)) if session is not None else 0
    return json.dumps({"seconds": seconds, "work": work, "memory": _peak(os.getpid()), "java": java})


def _java(session: Any) -> int:
    return int(session.sparkContext._gateway.proc.pid)


def _peak(process: int) -> int:
    """The most memory that a process had, as Linux counts it."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def _source(folder: Path) -> Path:
    return folder / "events.parquet"


def _logged(error: BaseException) -> None:
    print(error, file=sys.stderr)


_PARTS: dict[str, Callable[[Path, int], str]] = {
    "make": _made, "DuckDB register": _register_duckdb, "DuckDB ours": _ours_duckdb, "DuckDB plain": _plain_duckdb,
    "Spark ours": _ours_spark, "Spark plain": _plain_spark,
}  # fmt: skip


def main(arguments: list[str]) -> None:
    """Runs at the given sizes, or a part of one for `measured`."""
    if arguments and not arguments[0].isdigit():
        print(_PARTS[arguments[0]](Path(arguments[1]), int(arguments[2])))
        return
    for system, runs in measured(map(int, arguments) if arguments else SIZES).items():
        for run in runs:
            print(system, f"{run.rows:,}", run)


if __name__ == "__main__":
    main(sys.argv[1:])
