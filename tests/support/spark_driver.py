"""A driver on a cluster, in a process of its own: it asks about a small table, then about a large one with the same
groups, and at last takes the rows of the large one, and prints the peaks of its memory after each.

`python tests/support/spark_driver.py spark://127.0.0.1:7077 small.parquet large.parquet`
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dalenius.engines.spark.engine import SparkEngine
from dalenius.query.plan.passes import Total
from dalenius.query.tables import TableLocation
from dalenius.query.types import Int
from duckdb_tables import aggregate, private, scanned
from spark_servers import settings

TABLES = {name: private(name, {"k": Int(0, 99), "v": Int(0, 1000)}) for name in ("small", "large")}


def peaks(session: Any) -> dict[str, int]:
    """The most memory, in bytes, that this process and its Java machine ever had."""
    return {"python": _peak(os.getpid()), "java": _peak(session.sparkContext._gateway.proc.pid)}


def _peak(process: int) -> int:
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)) * 1024


def main(master: str, small: str, large: str) -> None:
    builder = SparkSession.builder.master(master).appName("dalenius driver")
    for name, value in {**settings("driver"), "spark.driver.memory": "512m"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    engine = SparkEngine(session)

    def asked(name: str, path: str, times: int) -> Callable[[], object]:
        table = TABLES[name]
        step = aggregate(scanned(table, k0="k", x0="v"), [Total("rows"), Total("sum", "x.0")], rows=3, groups=3)
        engine.register(table, TableLocation(master, path))
        return lambda: [engine.run(step) for _ in range(times)]

    work = {
        "small": asked("small", small, 4),  # often enough that everything is loaded and compiled
        "large": asked("large", large, 2),
        "rows": lambda: session.read.parquet(large).toArrow(),
    }
    found = {}
    for name, run in work.items():
        run()
        found[name] = peaks(session)
    print(json.dumps(found))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
