"""A made-up table of events: few users do much, each has a home city, and few products sell much.

`python -m benchmarks.events events.parquet 10000000` writes it; rows are in random order, like a log of events.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CITIES, PRODUCTS = 1_000, 50_000
HOME = 0.6
"""How often a user buys in the own city."""
PART = 10**6
"""The rows that are made at a time where all of them would take too much memory."""


def city(number: int) -> str:
    """The name of a city."""
    return f"city {number:03d}"


def events(rows: int, *, seed: int = 1) -> pa.Table:
    """`rows` events of a tenth as many users: user, city, product, amount and day."""
    random = np.random.default_rng(seed)
    return _of(random, _users(random, max(rows // 10, 1), rows))


def parts(rows: int, *, seed: int = 1) -> Iterator[pa.Table]:
    """The same kind of table in parts, where a user who does little may be missing."""
    random = np.random.default_rng(seed)
    activity = _activity(random, max(rows // 10, 1))
    for start in range(0, rows, PART):
        yield _of(random, _ids(_drawn(random, activity, min(PART, rows - start))))


def _of(random: np.random.Generator, user: np.ndarray) -> pa.Table:
    """An event for each of these users."""
    rows = len(user)
    at_home = random.random(rows) < HOME
    towns = np.where(at_home, _mixed(user) % CITIES, _skewed(random, CITIES, rows))
    names = pa.array([city(number) for number in range(CITIES)])
    goods = pa.array([f"product {number:05d}" for number in range(PRODUCTS)])
    return pa.table(
        {
            "user_id": pa.array(user),
            "city": names.take(pa.array(towns)),
            "product": goods.take(pa.array(_skewed(random, PRODUCTS, rows))),
            "amount": pa.array(np.round(random.lognormal(3.0, 1.2, rows), 2)),
            "day": pa.array(random.integers(19_723, 20_818, rows).astype("datetime64[D]")),
        }
    )


def _users(random: np.random.Generator, users: int, rows: int) -> np.ndarray:
    """Every user at least once; the other rows go to users by a lognormal activity."""
    others = _drawn(random, _activity(random, users), rows - users)
    chosen = np.concatenate([np.arange(users), others])
    random.shuffle(chosen)
    return _ids(chosen)


def _activity(random: np.random.Generator, users: int) -> np.ndarray:
    return np.cumsum(random.lognormal(0.0, 1.0, users))


def _drawn(random: np.random.Generator, activity: np.ndarray, rows: int) -> np.ndarray:
    drawn = np.searchsorted(activity, random.random(rows) * activity[-1])
    return np.minimum(drawn, len(activity) - 1)


def _ids(user: np.ndarray) -> np.ndarray:
    return user * 7 + 1_000_003  # ids are not dense


def _skewed(random: np.random.Generator, values: int, rows: int) -> np.ndarray:
    """Numbers below `values`, the k-th with a frequency near 1 / k."""
    return np.minimum((values + 1) ** random.random(rows), values).astype(np.int64) - 1


def _mixed(user: np.ndarray) -> np.ndarray:
    return (user * 2_654_435_761 % 2**32) // 7


def write(path: Path, rows: int) -> None:
    """Write the table as Parquet."""
    pq.write_table(events(rows), path)


def write_in_parts(path: Path, rows: int) -> None:
    """Write the table in parts, in one file."""
    writer = None
    for part in parts(rows):
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part, row_group_size=PART // 8)  # Spark shares out groups of rows
    if writer:
        writer.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
