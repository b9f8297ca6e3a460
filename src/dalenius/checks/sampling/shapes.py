"""Questions of many shapes over tables made to be audited: half of the groups hold a table, half its neighbour.

Every person has rows in one group only, or in one block of a few groups, so blocks are independent samples of the
answer: even ones show what is answered of a small table, odd ones what is answered of a neighbour of it. Which
neighbour depends on the relation: a table with one more person, or one in which a person's rows were replaced by
others. Groups are public, or keys that must be found: then a key that is not shown is a sample, too.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from dalenius.accounting.budget import Budget
from dalenius.query.binding.binder import MOST_CHOSEN
from dalenius.query.tables import ContributionBounds
from dalenius.query.types import Bool, Category, Date, Domain, Int, Real, Text
from dalenius.session.databases import Database

Person: TypeAlias = tuple[dict[str, Any], ...]
"""The rows of one person."""

World: TypeAlias = Literal["add", "replace", "order", "bell", "part"]
"""Which population is asked: one with a pure budget; one whose people are replaced; two with a delta that is spent at
once, a small one, which buys single numbers and keys by addition, and a larger one, which buys tests, counts of keys
and, for many numbers, Gaussian noise; and one of whose budget with a delta a part is spent, at its Rényi order too."""

BUDGETS: dict[World, Budget] = {
    "add": Budget(epsilon=5_000),
    "replace": Budget(epsilon=5_000),
    "order": Budget(epsilon=1, delta="1e-3"),
    "bell": Budget(epsilon=2, delta="1e-2"),
    "part": Budget(epsilon=4, delta="1e-2"),
}
PURE: tuple[World, World] = ("add", "replace")
GROUPS, FEW_GROUPS = 20_000, 1_000
FIRST_DAY, LAST_DAY = dt.date(2020, 1, 1), dt.date(2020, 12, 31)
EPSILON, PART = "1", "25%"

ORDINARY: Person = ({"x": 40, "y": 0.5, "day": dt.date(2020, 3, 1), "kind": "b", "ok": True},)
LOW: Person = ({"x": 0, "y": -5.0, "day": FIRST_DAY, "kind": "a", "ok": False},) * 3
HIGH: Person = ({"x": 100, "y": 5.0, "day": LAST_DAY, "kind": "c", "ok": True},) * 3
CONTENTS: dict[str, tuple[tuple[Person, ...], tuple[Person, ...]]] = {
    "alone": ((), (HIGH,)),
    "crowd": ((ORDINARY, LOW), (ORDINARY, LOW, HIGH)),
    "changed": ((ORDINARY, LOW), (ORDINARY, HIGH)),
    "moved": ((HIGH, LOW), (HIGH, HIGH)),
    "some": ((ORDINARY,) * 3, (ORDINARY,) * 4),
    "dense": ((ORDINARY,) * 5, (ORDINARY,) * 6),
    "turned": ((*(ORDINARY,) * 5, LOW), (*(ORDINARY,) * 5, HIGH)),
}
REPLACED = ("changed", "moved", "turned")
"""Contents whose neighbour has as many people."""

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
SEVERAL = (
    "COUNT(*) AS s, SUM(v.x) AS t, SUM(v.y) AS u, SUM(v.x + v.y) AS w, SUM(ABS(v.y)) AS z",
    "SUM(v.x) AS s, SUM(v.y) AS t, SUM(v.x * 2 - 50) AS u, SUM(v.x + v.y) AS w, COUNT(*) AS z",
    "SUM(v.x) AS s, SUM(v.y) AS t, COUNT(*) AS u, SUM(ABS(v.y)) AS w, SUM(MONTH(v.day)) AS y, SUM(v.x + v.y) AS z",
)
"""Each of so many numbers has a part of the price, at which Gaussian noise is clearly the smaller one."""
TWO = "COUNT(*) AS s, SUM(v.x) AS t"

CHOICES = ("MEDIAN(v.x) AS s", "QUANTILE(v.y, 0.9) AS s", "MIN(v.x) AS s", "MAX(v.day) AS s", "MODE(v.kind) AS s")
SMOOTH = (
    ("ROBUST_MEDIAN(v.x) AS s", "ROBUST_QUANTILE(v.y, 0.9) AS s"),
    ("ROBUST_TRIMMED_MEAN(v.x, 0.1) AS s", "ROBUST_TRIMMED_MEAN(v.y, 0.25) AS s"),
)
"""Statistics with noise that fits the values: those of one line are answered by one mechanism."""

TESTED = (
    ("STABLE_MODE(v.kind) AS s", "STABLE_MODE(v.x) AS s"),
    ("STABLE_MEDIAN(v.x) AS s", "STABLE_QUANTILE(v.y, 0.9) AS s"),
    ("PROPOSED_MEDIAN(v.x, 2) AS s", "PROPOSED_QUANTILE(v.y, 0.9, 1) AS s"),
    ("ROBUST_SCALE(v.x) AS s", "ROBUST_SCALE(v.y) AS s"),
)
"""Statistics that are answered where they are stable, which needs a delta."""

FILTERS = ("", "v.x >= 40", "v.kind = 'c' OR v.ok", "v.day >= DATE '2020-03-01'", "v.y < 0 OR v.x > 90")
BOUNDS = (ContributionBounds(rows=1, groups=1), ContributionBounds(rows=3, groups=1))
JOINS = ("", "JOIN {notes} AS n ON v.id = n.id", "JOIN areas AS a ON v.kind = a.kind")
ENDS = ("", "HAVING COUNT(*) > 1")
LARGEST = f"ORDER BY COUNT(*) DESC LIMIT {MOST_CHOSEN}"
PARTS = 8
"""Such a question lists few keys, so it is asked of several tables."""

_ONE, _TEN, _MANY, _MOST = (ContributionBounds(rows=1, groups=10**power) for power in range(4))
_COUNTED = "COUNT(DISTINCT v.id) AS s"
KEYED: tuple[tuple[World, tuple[str, ...], ContributionBounds], ...] = (
    ("order", ("SUM(v.x) AS s", ""), _ONE),
    ("bell", ("SUM(v.x) AS s", "COUNT(*) AS s, SUM(v.x) AS t", "AVG(v.y) AS s"), _MANY),
    ("bell", (_COUNTED, _COUNTED + ", SUM(v.x) AS t"), _ONE),
    ("bell", (_COUNTED + ", SUM(v.x) AS t", _COUNTED + ", SUM(v.x) AS t, SUM(v.y) AS u"), _MOST),
)
"""What is asked of keys that are found, and where, or of keys alone: which mechanism finds them depends on whether
their numbers of people are shown, and on how many keys a person may have: addition is better for one, and divergence by
far for many; and where there are very many, keys are found apart from their numbers."""

_ROBUST = [statistic for alike in (*SMOOTH, *TESTED) for statistic in alike]
_SLOW = (*CHOICES, *_ROBUST)


@dataclass(frozen=True)
class QuestionShape:
    """One question, which table it is asked of, and how much of one person enters the answer.

    A sample is what is answered of a block of `span` groups, in all of which its people have rows. Where keys are
    `found`, they are texts that are not public.
    """

    world: World
    content: str
    statistic: str = ""
    where: str = ""
    join: str = ""
    end: str = ""
    most: ContributionBounds = BOUNDS[0]
    span: int = 1
    found: bool = False
    part: int = 0

    @property
    def slow(self) -> bool:
        """Whether each group is a choice of its own, so that fewer groups are asked for."""
        return self.statistic in _SLOW or self.ranked

    @property
    def ranked(self) -> bool:
        """Whether the keys with the largest counts are answered, in that order.

        Public ones are samples in pairs: which of the two comes first does not depend on other keys, and it is seen,
        since all keys but one are listed, and the last one has no partner. People have rows in the second one of a
        pair: if there was no noise, equal counts would leave the first one ahead. Keys that are found do compete with
        each other; but where each has one person, any of them comes before the end of the list with a probability
        below delta, and as many as it takes to raise an alarm with a high power of it.
        """
        return self.end == LARGEST

    @property
    def parts(self) -> list[QuestionShape]:
        """The question for each of the tables that it is asked of."""
        return [replace(self, part=part) for part in range(PARTS)] if self.ranked else [self]

    @property
    def apart(self) -> bool:
        """Whether it has a population to itself: what a share buys depends on what was spent before."""
        return self.world not in PURE

    @property
    def kind(self) -> tuple[object, ...]:
        """What it shares with shapes that differ from it in people, filter or rows alone."""
        return (self.statistic, self.join, self.end, self.apart, self.span, self.found, self.most.groups)

    @property
    def table(self) -> str:
        name = "_".join((self.world, self.content, "few" if self.slow else "many"))
        if self.apart:
            return name + "_" + _digest(self)[:12]
        name = f"{name}_{self.span}" if self.span > 1 else name
        return f"{name}_ranked_{self.part}" if self.ranked else name

    @property
    def population(self) -> str:
        """Whose budget pays."""
        return self.table if self.apart else self.world

    @property
    def neighbours(self) -> str:
        return "replace" if self.content in REPLACED else "add_remove"

    @property
    def epsilon(self) -> str | None:
        return None if self.apart else EPSILON

    @property
    def share(self) -> str | None:
        return (PART if self.world == "part" else "100%") if self.apart else None

    @property
    def sql(self) -> str:
        shown = "v.g AS g, " + self.statistic if self.statistic else "v.g AS g"
        join = self.join.replace("{notes}", "notes_" + self.table)
        where = "WHERE " + self.where if self.where else ""
        parts = ("SELECT", shown, "FROM", self.table, "AS v", join, where, "GROUP BY v.g", self.end)
        return " ".join(part for part in parts if part)

    def groups(self, many: int, few: int) -> int:
        """How many groups its table has: as many even as odd blocks; where groups are ranked, one more than are listed,
        or as many with people as are listed."""
        if self.ranked:
            return 2 * MOST_CHOSEN if self.found else MOST_CHOSEN + 1
        size = few if self.slow else many
        return size - size % (2 * self.span)

    def key(self, group: int) -> int | str:
        """A group as the table names it."""
        return f"k{group}" if self.found else group

    def group(self, key: int | str) -> int:
        return int(str(key).removeprefix("k"))

    def __str__(self) -> str:
        groups = f" in each of {self.most.groups} groups" if self.most.groups > 1 else ""
        return f"{self.sql} ({self.most.rows} rows a person{groups})"


def shapes(count: int, seed: int = 0) -> list[QuestionShape]:
    """`count` different shapes: first one of every family, then every statistic; `seed` says which of the many."""
    families = _families()
    first = [_leader(family, seed) for family in families]
    others = [shape for family in families for shape in family if shape not in first]
    return [*first, *_mixed(others, seed)][:count]


def _leader(family: list[QuestionShape], seed: int) -> QuestionShape:
    """One of those with the people and filter that show most, which are the first."""
    plain = [shape for shape in family if (shape.content, shape.where) == (family[0].content, family[0].where)]
    return min(plain, key=lambda shape: _digest(seed, shape))


def _families() -> list[list[QuestionShape]]:
    """Shapes that the same mechanism answers, or that reach it in the same way. Every mechanism has a family."""
    return [
        _of(STATISTICS[:6], PURE),
        _of(SEVERAL, ["bell", "part"], ("alone", "crowd", "changed")),
        *(_of(alike, [*PURE, "bell"], ("alone", "changed", "dense", "turned")) for alike in SMOOTH),
        *(_of(alike, ["bell"], ("alone", "dense", "changed", "turned")) for alike in TESTED[:3]),
        # One person has as little of a range as nobody.
        *(_of(alike, ["bell"], ("crowd", "dense", "changed", "turned")) for alike in TESTED[3:]),
        *(_found(*keyed) for keyed in KEYED),
        [QuestionShape("bell", "alone", end=LARGEST, found=True)],
        [QuestionShape("add", "alone", end=LARGEST, span=2)],
        _of(STATISTICS[6:], PURE),
        list(_joined()),
        _of(STATISTICS[:4], ["order"], ("alone",)),
        list(_wide()),
        _of(CHOICES[:4], [*PURE, "part"]),
        _of(CHOICES[4:], [*PURE, "part"]),
        _of(STATISTICS[:4], ["part"], ("alone",)),
        _found("bell", [_COUNTED], _TEN),
    ]


def _of(
    statistics: Sequence[str], worlds: Sequence[World], contents: Sequence[str] = tuple(CONTENTS)
) -> list[QuestionShape]:
    """Questions for public groups, with every filter where the budget is not spent at once."""
    return [
        QuestionShape(world, content, statistic, where, most=most)
        for content, where, world, statistic, most in product(contents, FILTERS, worlds, statistics, BOUNDS)
        if content in _contents(world, statistic) and (world in PURE or where in FILTERS[:2])
    ]


def _found(world: World, statistics: Sequence[str], most: ContributionBounds) -> list[QuestionShape]:
    return [
        QuestionShape(world, content, statistic, where, most=most, found=True)
        for content, where, statistic in product(("alone", "some"), FILTERS[:2], statistics)
    ]


def _joined() -> Iterator[QuestionShape]:
    for world, statistic, join, end in product(PURE, STATISTICS[:6], JOINS, ENDS):
        if join or end:
            yield QuestionShape(world, _contents(world)[0], statistic, join=join, end=end)


def _wide() -> Iterator[QuestionShape]:
    """People in two groups each, or in three, of which two may count.

    Which two depends on the person, so three are asked for only where a block has one person and its neighbour nobody.
    """
    worlds: tuple[tuple[World, int], ...] = (("add", 2), ("add", 3), ("replace", 2), ("bell", 2), ("bell", 3))
    for (world, span), statistic in product(worlds, ("COUNT(*) AS s", "SUM(v.x) AS s", TWO)):
        yield QuestionShape(world, _contents(world)[0], statistic, most=ContributionBounds(rows=1, groups=2), span=span)


def _mixed(found: list[QuestionShape], seed: int) -> list[QuestionShape]:
    """In an order that has all statistics, joins and worlds near its beginning."""
    ordered = sorted(found, key=lambda shape: _digest(seed, shape))
    seen: dict[tuple[object, ...], int] = {}
    turns: list[tuple[int, int, QuestionShape]] = []
    for shape in ordered:
        seen[shape.kind] = turn = seen.get(shape.kind, 0) + 1
        turns.append((turn, len(turns), shape))
    return [shape for _, _, shape in sorted(turns, key=lambda turn: turn[:2])]


def _digest(*parts: object) -> str:
    """Which shapes come first follows from this, so classes have fixed words here: their names may change."""
    words = repr(parts).replace(QuestionShape.__name__, "Shape").replace(ContributionBounds.__name__, "Most")
    return hashlib.sha256(words.encode()).hexdigest()


def _contents(world: World, statistic: str = "") -> tuple[str, ...]:
    """Who may be in a world: small tables, and for robust statistics larger ones."""
    larger = statistic in _ROBUST
    added, replaced = ("alone", "crowd", *["dense"] * larger), ("changed", "moved", *["turned"] * larger)
    if world in ("bell", "part"):
        return (*added, *replaced)
    return replaced if world == "replace" else added


def build(database: Database, asked: list[QuestionShape], *, groups: int = GROUPS, few: int = FEW_GROUPS) -> None:
    """Declare the populations and import the tables that the shapes ask."""
    tables = [part for shape in asked for part in shape.parts]
    for name, shape in {shape.population: shape for shape in tables}.items():
        database.add_population(name, budget=BUDGETS[shape.world], neighbours=shape.neighbours, least_share="1e-15")
    if any(shape.join == JOINS[2] for shape in asked):
        areas = pa.table({"kind": ["a", "b", "c"], "size": [1, 2, 3]})
        columns: dict[str, Domain] = {"kind": Category("a", "b", "c"), "size": Int(0, 9)}
        database.add_table("areas", areas, columns=columns, public=True)
    for shape in {shape.table: shape for shape in tables}.values():
        _import(database, shape, shape.groups(groups, few))
    for shape in {shape.table: shape for shape in asked if shape.join == JOINS[1]}.values():
        _import_notes(database, shape, shape.groups(groups, few))


def _import(database: Database, shape: QuestionShape, groups: int) -> None:
    rows = [row for group in range(groups) for row in _rows(shape, group)]
    columns: dict[str, Domain] = {
        "g": Text() if shape.found else Int(0, groups - 1),
        "x": Int(0, 100),
        "y": Real(-5, 5, step="0.5"),
        "day": Date(FIRST_DAY.isoformat(), LAST_DAY.isoformat()),
        "kind": Category("a", "b", "c"),
        "ok": Bool(),
    }
    table = pa.Table.from_pylist(rows)
    database.add_table(
        shape.table,
        table,
        population=shape.population,
        unit="id",
        max_rows=BOUNDS[0].rows,
        max_groups=BOUNDS[0].groups,
        columns=columns,
    )


def _import_notes(database: Database, shape: QuestionShape, groups: int) -> None:
    people = dict.fromkeys(row["id"] for group in range(groups) for row in _rows(shape, group))
    table = pa.table({"id": list(people), "z": [1] * len(people)})
    name = "notes_" + shape.table
    database.add_table(
        name,
        table,
        population=shape.population,
        unit="id",
        max_rows=BOUNDS[0].rows,
        max_groups=BOUNDS[0].groups,
        columns={"z": Int(0, 1)},
    )


def _rows(shape: QuestionShape, group: int) -> Iterator[dict[str, Any]]:
    """The rows of a group: of the table if its block has an even number, of the neighbour if it is odd."""
    block, place = divmod(group, shape.span)
    if shape.ranked and place < shape.span - 1:  # a key without a partner is the first of its pair
        return
    for number, person in enumerate(CONTENTS[shape.content][block % 2]):
        for row in person:
            yield {"id": block * 10 + number, "g": shape.key(group), **row}
