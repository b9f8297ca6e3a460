"""Private tables that differ in one unit, which has many rows of what no column declares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dalenius.accounting.budget import Budget
from dalenius.curator.databases import Database, create
from dalenius.query.tables import Most
from dalenius.query.types import Bool, Category, Int, Real

CITIES = ("Oslo", "Bergen", "Tromsø")
COLUMNS = {
    "age": Int(0, 120),
    "city": Category(*CITIES),
    "cost": Real(0, 5000, step="0.01", nullable=True),
    "smoker": Bool(nullable=True),
}
_TYPES = {"person": pa.int64(), "age": pa.int64(), "city": pa.string(), "cost": pa.float64(), "smoker": pa.bool_()}
_COSTS = (float("inf"), float("-inf"), float("nan"), 1e300, -1.0, 0.004)
BUDGETS = {"add_remove": Budget(10, "1e-9"), "replace": Budget(1000)}
"""By neighbours: one population whose ledger counts Rényi divergence, and one whose ledger counts epsilon."""
EPSILON = "1/2"


@dataclass(frozen=True)
class Tables:
    """Two databases that are neighbours."""

    name: str
    neighbours: str
    before: Database
    after: Database


def people(count: int, each: int = 2) -> dict[str, list[Any]]:
    """`each` rows of every person, who follow from their numbers."""
    who = [person for person in range(count) for _ in range(each)]
    return {
        "person": who,
        "age": [7 * person % 100 for person in who],
        "city": [CITIES[person % 3] for person in who],
        "cost": [float(31 * person % 5000) for person in who],
        "smoker": [None if person % 5 == 4 else person % 2 == 1 for person in who],
    }


def poison(rows: int) -> dict[str, list[Any]]:
    """Rows of one person, of which most hold what no column declares."""
    return {
        "person": [-1] * rows,
        "age": [10**15 if row % 2 else -(10**15) for row in range(rows)],
        "city": ["Oslo" if row % 3 else "Rome" for row in range(rows)],
        "cost": [_COSTS[row % len(_COSTS)] for row in range(rows)],
        "smoker": [(True, False, None)[row % 3] for row in range(rows)],
    }


def table(*parts: dict[str, list[Any]]) -> pa.Table:
    """Rows one after the other."""
    joined = {name: [value for part in parts for value in part[name]] for name in _TYPES}
    return pa.table({name: pa.array(joined[name], kind) for name, kind in _TYPES.items()})


@contextmanager
def database(rows: pa.Table, neighbours: str) -> Iterator[Database]:
    """A database of these rows that lies in memory, with an ample budget."""
    with create() as db:
        db.add_population("people", budget=BUDGETS[neighbours], neighbours=neighbours, least_share="1e-15")
        db.add_table(
            "visits", rows, population="people", unit="person", most=Most(rows=3, groups=1), columns=COLUMNS
        )  # fmt: skip
        yield db


@contextmanager
def neighbouring() -> Iterator[list[Tables]]:
    """Databases without and with the person that hurts, over other people and over nobody; or with one that does not,
    who is replaced by it."""
    usual = {name: values[:1] for name, values in people(1).items()} | {"person": [-1]}
    parts = {
        "people and one more": ("add_remove", [people(30)], [people(30), poison(200)]),
        "nobody and one": ("add_remove", [people(0)], [poison(200)]),
        "one of several people": ("replace", [people(30), usual], [people(30), poison(200)]),
    }
    with ExitStack() as opened:
        yield [
            Tables(name, kind, *(opened.enter_context(database(table(*rows), kind)) for rows in both))
            for name, (kind, *both) in parts.items()
        ]
