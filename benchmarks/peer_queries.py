"""Asks another library one question about the table of events.

`python peer_queries.py LIBRARY QUESTION events.parquet` runs in that library's own virtual environment, without
Dalenius, and prints JSON: version, seconds of the query without the load, number of keys shown, peak memory in bytes.
Every question costs epsilon = 1 and delta = 10^-6 in all, and takes at most 3 groups of a user and 10 rows in each,
amounts clamped to [0, 500], or the nearest that the library offers (see NOTES in query_peers.py).
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

EPSILON, DELTA = 1.0, 1e-6
GROUPS, ROWS, TOP = 3, 10, 500
THREADS = 2
CITIES = [f"city {number:03d}" for number in range(1_000)]
KEY = {"count": "city", "sum": "city"} | dict.fromkeys(("users", "users, tuned", "keys", "keys, tuned"), "product")

Answer = Callable[[], Sequence[Any]]
"""A query that is ready to run on loaded data; it gives the rows of its answer."""


def opendp(question: str, path: str) -> Answer:
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    dp, pl = import_module("opendp.prelude"), import_module("polars")
    dp.enable_features("contrib", "honest-but-curious")
    key, rows = KEY[question], 1 if question == "users" else ROWS
    if question not in ("count", "sum", "users"):
        raise NotImplementedError("it finds keys only together with a count")
    # Its own choice of groups by hash fails in Polars ("multiple fields with name"); it takes the first in order
    # instead, so the order is made to say nothing.
    order = [] if key == "city" else [pl.col(key).hash().cast(pl.String)]
    cents = (pl.col("amount") * 100).round().cast(pl.Int64)  # a sum of floats costs extra for their rounding
    data = pl.read_parquet(path, columns=["user_id", key, "amount"]).with_columns(cents, *order)
    context = dp.Context.compositor(
        data=data.lazy(),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=len(data))],
    )
    bounded = context.query().truncate_per_group(rows, by=[key]).truncate_num_groups(GROUPS, by=[key], keep="first")
    total = pl.col("amount").dp.sum((0, TOP * 100)) if question == "sum" else dp.len()
    query = bounded.group_by(key).agg(total)
    if key == "city":
        query = query.with_keys(pl.LazyFrame({key: CITIES}))
    return lambda: query.release().collect().rows()


def pipelinedp(question: str, path: str) -> Answer:
    dp, parquet = import_module("pipeline_dp"), import_module("pyarrow.parquet")
    key = KEY[question]
    table = parquet.read_table(path, columns=["user_id", key, "amount"])
    data = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    del table
    parts = [lambda row, place=place: row[place] for place in range(3)]
    names = ("privacy_id_extractor", "partition_extractor", "value_extractor")
    extractors = dp.DataExtractors(**dict(zip(names, parts, strict=True)))

    def run() -> list[Any]:
        budget = dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
        engine = dp.DPEngine(budget, dp.LocalBackend())
        if question.startswith("keys"):
            strategies = dp.PartitionSelectionStrategy
            tuned = strategies.GAUSSIAN_THRESHOLDING if question == "keys, tuned" else strategies.TRUNCATED_GEOMETRIC
            chosen = dp.SelectPartitionsParams(GROUPS, partition_selection_strategy=tuned)
            found = engine.select_partitions(data, chosen, extractors)
        else:
            public = CITIES if key == "city" else None
            found = engine.aggregate(data, _pipelinedp_parameters(dp, question), extractors, public)
        budget.compute_budgets()
        return list(found)

    return run


def _pipelinedp_parameters(dp: Any, question: str) -> Any:
    count, users = dp.Metrics.COUNT, dp.Metrics.PRIVACY_ID_COUNT
    metrics = {"count": count, "sum": dp.Metrics.SUM, "users": users, "users, tuned": users}
    bounds = {"min_value": 0, "max_value": TOP} if question == "sum" else {}
    tuned = {"noise_kind": dp.NoiseKind.GAUSSIAN, "post_aggregation_thresholding": True}
    return dp.AggregateParams(
        metrics=[metrics[question]],
        max_partitions_contributed=GROUPS,
        max_contributions_per_partition=ROWS if KEY[question] == "city" else 1,
        **bounds,
        **(tuned if question == "users, tuned" else {}),
    )


def tumult(question: str, path: str) -> Answer:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    tmlt, spark_sql = import_module("tmlt.analytics"), import_module("pyspark.sql")
    builder = spark_sql.SparkSession.builder.master(f"local[{THREADS}]").config("spark.driver.memory", "4g")
    spark = builder.config("spark.sql.shuffle.partitions", "8").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    key = KEY[question]
    if question.endswith("tuned"):
        raise NotImplementedError("nothing to tune")
    data = spark.read.parquet(path).select("user_id", key, "amount").cache()
    data.count()  # fills the cache
    budget = tmlt.ApproxDPBudget(EPSILON, DELTA)
    change = tmlt.AddRowsWithID("user_id")
    session = tmlt.Session.from_dataframe(budget, "events", data, protected_change=change)
    if key == "city":
        known = tmlt.KeySet.from_dict({key: CITIES})
        grouped = _tumult_bounded(tmlt, key, ROWS).groupby(known)
        query = grouped.count() if question == "count" else grouped.sum("amount", low=0, high=TOP)
        return lambda: session.evaluate(query, budget).collect()
    bounded = tmlt.QueryBuilder("events").enforce(tmlt.MaxRowsPerID(GROUPS))
    found = bounded.get_groups([key])
    if question == "keys":
        return lambda: session.evaluate(found, budget).collect()

    def both() -> list[Any]:
        half = tmlt.ApproxDPBudget(EPSILON / 2, DELTA)
        keys = tmlt.KeySet.from_dataframe(session.evaluate(found, half))
        users = _tumult_bounded(tmlt, key, 1).groupby(keys).count_distinct(["user_id"])
        return list(session.evaluate(users, tmlt.ApproxDPBudget(EPSILON / 2, 0)).collect())

    return both


def _tumult_bounded(tmlt: Any, key: str, rows: int) -> Any:
    groups = tmlt.QueryBuilder("events").enforce(tmlt.MaxGroupsPerID(key, GROUPS))
    return groups.enforce(tmlt.MaxRowsPerGroupPerID(key, rows))


def smartnoise(question: str, path: str) -> Answer:
    snsql, parquet = import_module("snsql"), import_module("pyarrow.parquet")
    key = KEY[question]
    if question not in ("count", "sum", "users"):
        raise NotImplementedError("it finds keys only together with a count")
    table = parquet.read_table(path, columns=["user_id", key, "amount"])
    connection = sqlite3.connect(":memory:")
    connection.execute(f'CREATE TABLE events (user_id INTEGER, "{key}" TEXT, amount REAL)')
    columns = (column.to_pylist() for column in table.columns)
    connection.executemany("INSERT INTO events VALUES (?, ?, ?)", zip(*columns, strict=True))
    del table
    known = key == "city"
    events = {
        "max_ids": GROUPS * ROWS if known else GROUPS,
        "sample_max_ids": True,
        "censor_dims": not known,
        "user_id": {"type": "int", "private_id": True},
        key: {"type": "string"},
        "amount": {"type": "float", "lower": 0, "upper": TOP},
    }
    privacy = snsql.Privacy(epsilon=EPSILON, delta=DELTA)
    reader = snsql.from_connection(
        connection, privacy=privacy, metadata={"": {"main": {"events": events}}}, engine="sqlite"
    )
    total = {"count": "COUNT(*)", "sum": "SUM(amount)", "users": "COUNT(DISTINCT user_id)"}[question]
    return lambda: reader.execute(f"SELECT {key}, {total} AS total FROM main.events GROUP BY {key}")[1:]


LIBRARIES: dict[str, tuple[str, Callable[[str, str], Answer]]] = {
    "OpenDP": ("opendp", opendp),
    "PipelineDP": ("pipeline-dp", pipelinedp),
    "Tumult": ("tmlt.analytics", tumult),
    "SmartNoise": ("smartnoise-sql", smartnoise),
}


def peak_memory() -> int:
    """The most memory of this process or of one that it started (Spark's Java machine), in bytes."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(own, *map(_peak, _children())) * 1024


def _children() -> list[str]:
    """The processes started by this one that still run, where the system lists them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return ["self", *file.read().split()]
    except OSError:
        return ["self"]


def _peak(process: str) -> int:
    """The peak memory of a process in kilobytes; getrusage knows children only once they ended."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            return max((int(line.split()[1]) for line in file if line.startswith("VmHWM")), default=0)
    except OSError:
        return 0


def measured(library: str, question: str, path: str) -> dict[str, object]:
    package, load = LIBRARIES[library]
    answer = load(question, path)
    start = time.perf_counter()
    keys = len(answer())
    seconds = time.perf_counter() - start
    return {"version": version(package), "seconds": seconds, "keys": keys, "memory": peak_memory()}


if __name__ == "__main__":
    found = measured(*sys.argv[1:4])
    sys.stdout.flush()
    print(json.dumps(found))
