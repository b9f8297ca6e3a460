"""Arrays that differ in one row, which hurts: far outside the bounds, at a corner of them, with a label that is not
listed, over rows that are ordinary, all equal and of one label, or one alone.

Private tables that differ in one unit, which has many rows of what no column declares.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.accounting.budget import Budget
from dalenius.checks.training.forms import Learns
from dalenius.query.types import Bool, Category, Int, Real
from dalenius.session.databases import Database, create

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324
UNLISTED = 7
_GOLDEN = np.array([0.6180339887498949, 0.4142135623730951])


@dataclass(frozen=True)
class Arrays:
    """Rows as an owner of arrays has them: features, and what can be learnt from them."""

    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    numbers: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.features)

    def given(self, learns: Learns) -> tuple[Any, ...]:
        """What a fit is called with."""
        target = {"labels": (self.labels,), "numbers": (self.numbers,), "nothing": ()}[learns]
        return self.features.copy(), *target

    def and_one(self, features: Any, label: int, number: float) -> Arrays:
        """The same with one row more."""
        return Arrays(
            np.vstack([self.features, [features]]), np.append(self.labels, label), np.append(self.numbers, number)
        )


def ordinary(count: int = 24) -> Arrays:
    """Rows that fill the box evenly, half of them of each label."""
    features = np.arange(1, count + 1)[:, None] * _GOLDEN % 1
    features[::3] = np.rint(features[::3])
    return Arrays(features, np.arange(count) % 2, features[:, 0])


BASES = {
    "ordinary rows": ordinary(),
    "equal rows of one label": Arrays(np.full((5, 2), 0.5), np.zeros(5, dtype=np.int64), np.full(5, 0.5)),
    "one row": ordinary(1),
}
USUAL = ([0.5, 0.25], 0, 0.5)
HURTFUL = {
    "far outside": ([LARGEST, -LARGEST], 0, LARGEST),
    "at a corner": ([1.0, 1.0], 1, 0.0),
    "of no label": ([0.0, 1.0], UNLISTED, -LARGEST),
    "next to nothing": ([SMALLEST, -0.0], 1, SMALLEST),
}


@dataclass(frozen=True)
class NeighbouringArrays:
    """Two arrays that are neighbours."""

    name: str
    first: Arrays
    second: Arrays


def pairs(neighbours: str, *, few: bool = False) -> Iterator[NeighbouringArrays]:
    """All pairs of a relation, of which the second has the row that hurts; of few, each base and each row once."""
    for number, (base, rows) in enumerate(BASES.items()):
        for place, (kind, hurtful) in enumerate(HURTFUL.items()):
            if few and place % len(BASES) != number:
                continue
            first = rows if neighbours == "add_remove" else rows.and_one(*USUAL)
            yield NeighbouringArrays(f"{base} and one {kind}", first, rows.and_one(*hurtful))


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
class NeighbouringTables:
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
            "visits", rows, population="people", unit="person", max_rows=3, max_groups=1, columns=COLUMNS
        )  # fmt: skip
        yield db


@contextmanager
def neighbouring() -> Iterator[list[NeighbouringTables]]:
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
            NeighbouringTables(name, kind, *(opened.enter_context(database(table(*rows), kind)) for rows in both))
            for name, (kind, *both) in parts.items()
        ]
