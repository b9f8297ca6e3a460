"""Every sum that an estimator takes inside an engine is, to the last integer, that of the same rows in memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from costs import cases
from dalenius.engines.reference.engine import ReferenceEngine
from dalenius.learn import engine_rows
from dalenius.learn.clusters import plans as rounds
from dalenius.learn.clusters.boxes import Box, Lattice
from dalenius.learn.clusters.kmeans import KMeans
from dalenius.learn.clusters.plans import NEAREST, ClusterRound, Members, Occupied
from dalenius.learn.encoding import Scale
from dalenius.learn.engine_rows import Columns, RowCount, Sum
from dalenius.learn.moments.bayes import ClassCounts, ClassSums, GaussianNB
from dalenius.learn.moments.regression import LinearRegression, Unexplained
from dalenius.learn.moments.sums import Crossed, Products, Squares, Sums, Targets
from dalenius.learn.rows import SealedRows
from dalenius.learn.tables import Training
from dalenius.learn.terms import among, column, extended
from dalenius.privacy.exact import unseal
from dalenius.query.functions.arguments import integer
from dalenius.query.functions.functions import call
from dalenius.query.tables import ContributionBounds
from opened_engines import engine

NAMES = ("fine", "coarse", "moment", "city", "ill")
COLUMNS = {
    "fine": dl.Real(-3, 5, step="0.01", nullable=True),
    "coarse": dl.Int(0, 7),
    "moment": dl.Timestamp("2024-01-01", "2025-03-01", nullable=True),
    "city": dl.Category("Oslo", "Bergen", "O'Hara"),
    "ill": dl.Bool(nullable=True),
    "paid": dl.Real(-2, 900, step="0.1", nullable=True),
    "kind": dl.Category("a", "b"),
}
CHANCE = np.random.default_rng(8)
WIDTH = 3 + 4 + 3


def people(count: int = 60) -> pa.Table:
    """Rows of people with one to nine rows each, of which four count; many hold what no column declares."""
    units = [unit for unit in range(count) for _ in range(1 + unit % 9)]
    chance = np.random.default_rng(3)

    def some(*values: Any) -> list[Any]:
        return [values[place] for place in chance.integers(0, len(values), len(units))]

    moments = [None, dt.datetime(1999, 1, 1), *(dt.datetime(2024, month, 3, 7, 8, 9) for month in range(1, 13))]
    return pa.table(
        {
            "id": pa.array(units, pa.int64()),
            "fine": pa.array(some(None, 1e300, -1e300, 0.004, 0.1, 4.99, 2.5, -2.995, 1.23), pa.float64()),
            "coarse": pa.array(some(-5, 10**12, *range(8)), pa.int64()),
            "moment": pa.array(some(*moments), pa.timestamp("us")),
            "city": pa.array(some(None, "Rome", "", "Oslo", "Bergen", "O'Hara", "oslo"), pa.string()),
            "ill": pa.array(some(None, True, False), pa.bool_()),
            "paid": pa.array(some(None, -1e9, 1e9, 0.05, 17.3, 420.0, 899.9), pa.float64()),
            "kind": pa.array(some(None, "a", "b", "c"), pa.string()),
        }
    )


class World:
    """A table of people, and fits that are planned on it."""

    def __init__(self) -> None:
        self.db = dl.create()
        self.db.add_population("people", budget=dl.Budget(epsilon=1, delta="1e-9"))
        most = ContributionBounds(rows=4, groups=1)
        self.db.add_table(
            "people",
            people(),
            population="people",
            unit="id",
            max_rows=most.rows,
            max_groups=most.groups,
            columns=COLUMNS,
        )
        self.trainings = {
            "numbers": self._planned(LinearRegression(), "paid"),
            "labels": self._planned(GaussianNB(), "kind"),
            "clusters": self._planned(KMeans(5), None),
        }
        (self.table,) = self.trainings["numbers"].question.relation.tables
        self.reference = ReferenceEngine([self.table], {self.table.name: people().to_pylist()})

    def _planned(self, model: Any, target: str | None) -> Training:
        training: Training = model._planned(self.db.table("people"), target, columns=NAMES, bins={"fine": 30})[1]
        return training

    @lru_cache(maxsize=3)  # noqa: B019 - there is one world
    def rows(self, name: str) -> SealedRows:
        """The rows in memory, as the reference engine counts them."""
        training = self.trainings[name]
        return training.rows(self.reference.run(training.question.counting))


@lru_cache(maxsize=1)
def world() -> World:
    return World()


@lru_cache(maxsize=3)
def filled(name: str) -> Any:
    """An engine of this name with the people in it."""
    if name == "reference":
        return world().reference
    made = engine(name)
    made.register(world().table, people())
    return made


@pytest.fixture(scope="module", autouse=True)
def _filled_anew() -> Iterator[None]:
    """Others empty the engines, and a process may come back here after their tests."""
    yield
    filled.cache_clear()


BOX = Box.of(Scale.declared((-1, 1), WIDTH))
CENTRES = BOX.inside(CHANCE.uniform(-1.2, 1.2, (5, WIDTH)) * 4096)
CENTRES[3] = CENTRES[1]  # equally near, so the first of them counts
LATTICE = Lattice(BOX, (5, 4, 1, 2, 2, 1, 2, 2, 1, 2))
SUMS: dict[str, tuple[str, Sum]] = {
    "count": ("numbers", RowCount()),
    "sums": ("numbers", Sums()),
    "squares": ("numbers", Squares()),
    "products": ("numbers", Products()),
    "crossed": ("numbers", Crossed()),
    "targets": ("numbers", Targets()),
    **{
        f"unexplained by {size:g}": ("numbers", Unexplained.of(CHANCE.normal(size=WIDTH + 1) * size))
        for size in (0.1, 1, 30, 1e9)
    },
    "classes": ("labels", ClassCounts(2)),
    **{f"classes to the {power}": ("labels", ClassSums(2, power)) for power in (0, 1, 2)},
    **{
        f"ways of {radius} {pure}": ("clusters", ClusterRound(BOX, CENTRES, radius, pure))
        for radius, pure in ((50_000, False), (900_000, False), (90_000, True), (2**23, True))
    },
    "one cluster": ("clusters", ClusterRound(BOX, CENTRES[:1], 10_000, False)),
    **{
        f"{count} clusters at one point {place}": (
            "clusters",
            ClusterRound(BOX, np.full((count, WIDTH), place), 9_000, pure),
        )
        for count, place, pure in ((5, 0, False), (5, 4096, True), (2, -4096, False))
    },
    "members of one point": ("clusters", Members(BOX, np.zeros((4, WIDTH), dtype=np.int64))),
    "members": ("clusters", Members(BOX, CENTRES)),
    "points": ("clusters", Occupied(LATTICE)),
}


def in_memory(name: str, part: Sum) -> list[int]:
    found = unseal(world().rows(name).summed(part, l2_squared=1, l1=1))
    return np.asarray(found).tolist()


def in_engine(name: str, part: Sum, where: str) -> list[int]:
    rows = world().trainings[name].engine_rows(lambda step: filled(where).run(step, seconds=600))
    return np.asarray(unseal(rows.summed(part, l2_squared=1, l1=1))).tolist()


@cases("where", ["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.deep)], fast=1)
@pytest.mark.parametrize("name", SUMS)
def test_a_sum_is_the_same_in_an_engine_and_in_memory(name: str, where: str) -> None:
    training, part = SUMS[name]
    assert in_engine(training, part, where) == in_memory(training, part)


def without_filter(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine_rows, "Filter", lambda child, condition: child)


def rounding_to_zero(patch: pytest.MonkeyPatch) -> None:
    right = engine_rows.ClampedLine.of
    patch.setattr(engine_rows.ClampedLine, "of", lambda axis: replace(right(axis), start=right(axis).start - 2**31))


def the_last_of_several(patch: pytest.MonkeyPatch) -> None:
    right = rounds.with_nearest

    def last(box: Box, centres: Any, columns: Columns) -> Any:
        near = right(box, centres[::-1], columns)
        turned = call("subtract", integer(len(centres) - 1), column(near, NEAREST))
        others = [name for name in near.schema if name != NEAREST]
        return extended(near, {NEAREST: among(turned, len(centres))}, kept=others)

    patch.setattr(rounds, "with_nearest", last)


BUGS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "rows without a target": (without_filter, "sums"),
    "another rounding": (rounding_to_zero, "sums"),
    "the last of several centres": (the_last_of_several, "ways of 900000 False"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_the_test_above_notices(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, name = BUGS[bug]
    training, part = SUMS[name]
    right = in_memory(training, part)
    plant(monkeypatch)
    monkeypatch.setitem(world().trainings, training, replace(world().trainings[training]))
    assert in_engine(training, part, "duckdb") != right
