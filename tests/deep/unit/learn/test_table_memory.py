"""A fit on a table of many rows takes no more memory in Python than one of few: rows stay in the engine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb

import dalenius as dl

COLUMNS = "abcdef"
FIT = """
import json, resource, sys, time, tracemalloc
import pyarrow as pa
import dalenius as dl
from dalenius.learn import KMeans, LinearRegression

with dl.open(sys.argv[1]) as db:
    found = {}
    for name, model, target, columns in (
        ("regression", LinearRegression(), "y", list("abcdef")),
        ("clusters", KMeans(5), None, list("abc")),
    ):
        tracemalloc.start()
        began = time.monotonic()
        model.fit(db.table("people"), target, columns=columns)
        found[name] = {"peak": tracemalloc.get_traced_memory()[1], "seconds": time.monotonic() - began}
        tracemalloc.stop()
    found["arrow"] = pa.default_memory_pool().max_memory()
    found["process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(found))
"""


def filled(folder: Path, rows: int) -> Path:
    """A database of so many rows, two of each person; columns have hundreds of thousands of values each."""
    data, place = folder / f"{rows}.parquet", folder / str(rows)
    values = ", ".join(f"hash(i * 10 + {n}) % 500000 / 100 AS {name}" for n, name in enumerate(COLUMNS))
    wanted = f"SELECT i // 2 AS id, {values}, hash(i * 10) % 500000 / 100 AS y FROM range({rows}) t(i)"
    duckdb.execute(f"COPY ({wanted}) TO '{data}' (FORMAT parquet)")
    with dl.create(place) as db:
        db.add_population("people", budget=dl.Budget(epsilon=20, delta="1e-9"))
        columns: dict[str, Any] = {name: dl.Real(0, 5000, step="0.01") for name in (*COLUMNS, "y")}
        db.add_table(
            "people",
            data,
            population="people",
            unit="id",
            max_rows=2,
            max_groups=1,
            columns=columns,
        )
    return place


def measured(folder: Path, rows: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(filled(folder, rows))], capture_output=True, check=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_ten_million_rows_take_no_more_memory_in_python_than_one_million(tmp_path: Path) -> None:
    few, many = (measured(tmp_path, rows) for rows in (10**6, 10**7))
    for name in ("regression", "clusters"):
        assert many[name]["peak"] <= 1.1 * few[name]["peak"], (few, many)
    assert many["arrow"] <= 1.1 * few["arrow"] + 2**20, (few, many)
