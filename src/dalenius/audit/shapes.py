"""Questions of many shapes over tables made to be audited: half of the public groups hold a table, half its neighbour.

Every person has rows in one group only, so groups are independent samples of the answer: even groups show what is
answered of a small table, odd groups what is answered of a neighbour of it. Which neighbour depends on the relation: a
table with one more person, or one in which a person's rows were replaced by others.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from dalenius.accounting.budget import Budget
from dalenius.curator.databases import Database
from dalenius.query.tables import Most
from dalenius.query.types import Bool, Category, Date, Domain, Int, Real

Person: TypeAlias = tuple[dict[str, Any], ...]
"""The rows of one person."""

World: TypeAlias = Literal["add", "replace", "bell"]
"""Which population is asked: one with a pure budget, one whose people are replaced, one with a delta."""

WORLDS: tuple[World, ...] = ("add", "replace", "bell")
GROUPS, FEW_GROUPS = 20_000, 1_000
FIRST_DAY, LAST_DAY = dt.date(2020, 1, 1), dt.date(2020, 12, 31)
EPSILON, DELTA = "1", "1e-3"

ORDINARY: Person = ({"x": 40, "y": 0.5, "day": dt.date(2020, 3, 1), "kind": "b", "ok": True},)
LOW: Person = ({"x": 0, "y": -5.0, "day": FIRST_DAY, "kind": "a", "ok": False},) * 3
HIGH: Person = ({"x": 100, "y": 5.0, "day": LAST_DAY, "kind": "c", "ok": True},) * 3
CONTENTS: dict[str, tuple[tuple[Person, ...], tuple[Person, ...]]] = {
    "alone": ((), (HIGH,)),
    "crowd": ((ORDINARY, LOW), (ORDINARY, LOW, HIGH)),
    "changed": ((ORDINARY, LOW), (ORDINARY, HIGH)),
    "moved": ((HIGH, LOW), (HIGH, HIGH)),
}

STATISTICS = (
    "COUNT(*) AS s",
    "COUNT(v.x) AS s",
    "COUNT(DISTINCT v.id) AS s",
    "SUM(v.x) AS s",
    "SUM(v.y) AS s",
    "SUM(v.x * 2 - 50) AS s",
    "SUM(v.x + v.y) AS s",
    "SUM(CASE WHEN v.kind = 'c' THEN v.x ELSE 0 END) AS s",
    "SUM(MONTH(v.day)) AS s",
    "SUM(ABS(v.y)) AS s",
    "AVG(v.x) AS s",
    "AVG(v.y) AS s",
    "VARIANCE(v.x) AS s",
    "STDDEV(v.y) AS s",
    "COVAR(v.x, v.y) AS s",
    "CORR(v.x, v.y) AS s",
    "COUNT(*) AS s, SUM(v.x) AS t",
    "SUM(v.x) / COUNT(*) AS s",
    "COUNT(*) AS s, COUNT(DISTINCT v.id) AS t",
    "SUM(CLAMP(v.x, 10, 60)) AS s",
)
CHOICES = ("MEDIAN(v.x) AS s", "QUANTILE(v.y, 0.9) AS s", "MIN(v.x) AS s", "MAX(v.day) AS s", "MODE(v.kind) AS s")
FILTERS = ("", "v.x >= 40", "v.kind = 'c' OR v.ok", "v.day >= DATE '2020-03-01'", "v.y < 0 OR v.x > 90")
BOUNDS = (Most(rows=1, groups=1), Most(rows=3, groups=1))
JOINS = ("", "JOIN {notes} AS n ON v.id = n.id", "JOIN areas AS a ON v.kind = a.kind")
ENDS = ("", "HAVING COUNT(*) > 1")


@dataclass(frozen=True)
class Shape:
    """One question, which table it is asked of, and how much of one person enters the answer."""

    world: World
    content: str
    statistic: str
    where: str = ""
    join: str = ""
    end: str = ""
    most: Most = BOUNDS[0]

    @property
    def slow(self) -> bool:
        """Whether each group is a choice of its own, so that fewer groups are asked for."""
        return self.statistic in CHOICES

    @property
    def table(self) -> str:
        name = "_".join((self.world, self.content, "few" if self.slow else "many"))
        return name + "_" + _digest(self.statistic, self.where, self.most.rows)[:12] if self.world == "bell" else name

    @property
    def population(self) -> str:
        """Whose budget pays. A budget with a delta is spent at once: its Rényi order is the best for all of it."""
        return self.table if self.world == "bell" else self.world

    @property
    def epsilon(self) -> str | None:
        return None if self.world == "bell" else EPSILON

    @property
    def share(self) -> str | None:
        return "100%" if self.world == "bell" else None

    @property
    def sql(self) -> str:
        join = self.join.replace("{notes}", "notes_" + self.table)
        where = "WHERE " + self.where if self.where else ""
        parts = ("SELECT v.g AS g,", self.statistic, "FROM", self.table, "AS v", join, where, "GROUP BY v.g", self.end)
        return " ".join(part for part in parts if part)

    def __str__(self) -> str:
        return f"{self.sql} ({self.most.rows} rows a person)"


def shapes(count: int, seed: int = 0) -> list[Shape]:
    """`count` different shapes, every statistic among the first ones; `seed` says which of the many others."""
    return _mixed(list(_all()), seed)[:count]


def _all() -> Iterator[Shape]:
    for world, statistic, where, most in product(WORLDS[:2], (*STATISTICS, *CHOICES), FILTERS, BOUNDS):
        for content in _contents(world):
            yield Shape(world, content, statistic, where, most=most)
    for statistic, where, most in product(STATISTICS[:4], FILTERS[:2], BOUNDS):
        yield Shape("bell", "alone", statistic, where, most=most)
    for world, statistic, join, end in product(WORLDS[:2], STATISTICS[:6], JOINS, ENDS):
        if join or end:
            yield Shape(world, _contents(world)[0], statistic, join=join, end=end)


def _mixed(found: list[Shape], seed: int) -> list[Shape]:
    """In an order that has all statistics, joins and worlds near its beginning."""
    ordered = sorted(found, key=lambda shape: _digest(seed, shape))
    seen: dict[tuple[str, ...], int] = {}
    turns: list[tuple[int, int, Shape]] = []
    for shape in ordered:
        kind = (shape.statistic, shape.join, shape.end, "bell" if shape.world == "bell" else "")
        seen[kind] = turn = seen.get(kind, 0) + 1
        turns.append((turn, len(turns), shape))
    return [shape for _, _, shape in sorted(turns, key=lambda turn: turn[:2])]


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _contents(world: World) -> tuple[str, ...]:
    return ("changed", "moved") if world == "replace" else ("alone", "crowd")


def build(database: Database, asked: list[Shape], *, groups: int = GROUPS, few: int = FEW_GROUPS) -> None:
    """Declare the populations and import the tables that the shapes ask."""
    for name, world in {shape.population: shape.world for shape in asked}.items():
        budget = Budget(epsilon=EPSILON, delta=DELTA) if world == "bell" else Budget(epsilon=5_000)
        neighbours = "replace" if world == "replace" else "add_remove"
        database.add_population(name, budget=budget, neighbours=neighbours)
    if any(shape.join == JOINS[2] for shape in asked):
        areas = pa.table({"kind": ["a", "b", "c"], "size": [1, 2, 3]})
        columns: dict[str, Domain] = {"kind": Category("a", "b", "c"), "size": Int(0, 9)}
        database.add_table("areas", areas, columns=columns, public=True)
    for name, shape in {shape.table: shape for shape in asked}.items():
        _import(database, name, shape, few if shape.slow else groups)
    for shape in {shape.table: shape for shape in asked if shape.join == JOINS[1]}.values():
        _import_notes(database, shape, few if shape.slow else groups)


def _import(database: Database, name: str, shape: Shape, groups: int) -> None:
    rows = [row for group in range(groups) for row in _rows(shape.content, group)]
    columns: dict[str, Domain] = {
        "g": Int(0, groups - 1),
        "x": Int(0, 100),
        "y": Real(-5, 5, step="0.5"),
        "day": Date(FIRST_DAY.isoformat(), LAST_DAY.isoformat()),
        "kind": Category("a", "b", "c"),
        "ok": Bool(),
    }
    table = pa.Table.from_pylist(rows)
    database.add_table(name, table, population=shape.population, unit="id", most=BOUNDS[0], columns=columns)


def _import_notes(database: Database, shape: Shape, groups: int) -> None:
    people = dict.fromkeys(row["id"] for group in range(groups) for row in _rows(shape.content, group))
    table = pa.table({"id": list(people), "z": [1] * len(people)})
    name = "notes_" + shape.table
    database.add_table(name, table, population=shape.population, unit="id", most=BOUNDS[0], columns={"z": Int(0, 1)})


def _rows(content: str, group: int) -> Iterator[dict[str, Any]]:
    """The rows of a group: of the table if its number is even, of the neighbour if it is odd."""
    for number, person in enumerate(CONTENTS[content][group % 2]):
        for row in person:
            yield {"id": group * 10 + number, "g": group, **row}
