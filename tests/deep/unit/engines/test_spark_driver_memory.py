"""Who asks Spark needs no more memory for ten times the rows, since only totals of groups come to the driver.

The executors are processes of their own here. The peaks of a process only grow, so that the large table comes second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spark_servers
from spark_servers import cluster

DRIVER = Path(spark_servers.__file__).with_name("spark_driver.py")
SIZES = {"small": 200_000, "large": 2_000_000}
ALLOWED = 1.1

Peaks = dict[str, dict[str, int]]


def _written(path: Path, rows: int) -> Path:
    random = np.random.default_rng(1)
    table = pa.table(
        {name: random.integers(0, most, rows) for name, most in (("id", rows // 10), ("k", 100), ("v", 1001))}
    )
    pq.write_table(table, path, row_group_size=50_000)
    return path


@pytest.fixture(scope="module")
def peaks(tmp_path_factory: pytest.TempPathFactory) -> Peaks:
    folder = tmp_path_factory.mktemp("driver")
    paths = [str(_written(folder / f"{name}.parquet", rows)) for name, rows in SIZES.items()]
    with cluster() as master:
        done = subprocess.run(
            [sys.executable, str(DRIVER), master, *paths],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, timeout=900,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip
    found: Peaks = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _in_all(peak: dict[str, int]) -> int:
    return peak["python"] + peak["java"]


def test_the_driver_needs_no_more_memory_for_ten_times_the_rows(peaks: Peaks) -> None:
    assert peaks["large"]["python"] <= ALLOWED * peaks["small"]["python"]
    assert _in_all(peaks["large"]) <= ALLOWED * _in_all(peaks["small"])


def test_the_test_above_notices_rows_that_come_to_the_driver(peaks: Peaks) -> None:
    assert peaks["rows"]["python"] > ALLOWED * peaks["small"]["python"]
    assert _in_all(peaks["rows"]) > ALLOWED * _in_all(peaks["small"])
