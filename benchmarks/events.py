"""A made-up table of events: few users do much, each has a home city, and few products sell much.

`python -m benchmarks.events events.parquet 10000000` writes it; rows are in random order, like a log of events.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CITIES, PRODUCTS = 1_000, 50_000
HOME = 0.6
"""How often a user buys in the own city."""


def city(number: int) -> str:
    """The name of a city."""
    return f"city {number:03d}"


def events(rows: int, *, seed: int = 1) -> pa.Table:
    """`rows` events of a tenth as many users: user, city, product, amount and day."""
    random = np.random.default_rng(seed)
    users = max(rows // 10, 1)
    user = _users(random, users, rows)
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
    activity = np.cumsum(random.lognormal(0.0, 1.0, users))
    others = np.searchsorted(activity, random.random(rows - users) * activity[-1])
    chosen = np.concatenate([np.arange(users), np.minimum(others, users - 1)])
    random.shuffle(chosen)
    return chosen * 7 + 1_000_003  # ids are not dense


def _skewed(random: np.random.Generator, values: int, rows: int) -> np.ndarray:
    """Numbers below `values`, the k-th with a frequency near 1 / k."""
    return np.minimum((values + 1) ** random.random(rows), values).astype(np.int64) - 1


def _mixed(user: np.ndarray) -> np.ndarray:
    return (user * 2_654_435_761 % 2**32) // 7


def write(path: Path, rows: int) -> None:
    """Write the table as Parquet."""
    pq.write_table(events(rows), path)


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
