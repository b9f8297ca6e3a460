"""Random catalogs and small databases with nasty values.

A world is a catalog: tables with every type of column, a unit along a key path, a public table, three populations, one
of them with a unit for each row. In worlds with an even seed the keys of the path are unique; in the others several
people may state one, and a few of each count. Everything follows from a seed.

Choices that follow from a seed, for made-up tables and questions. They hide nothing, so noise never uses them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

import pyarrow as pa

from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.query.tables import (
    ContributionBounds,
    EachRow,
    ForeignKey,
    Protection,
    Table,
    Unit,
    UnitColumn,
    path_claims,
)
from dalenius.query.types import (
    EPOCH,
    Bool,
    Category,
    Choice,
    Date,
    Days,
    Domain,
    Int,
    Moments,
    Number,
    Real,
    Text,
    Timestamp,
)

Item = TypeVar("Item")
_BYTES, _WORD = 1024, 8


class Draws:
    """A stream of choices that everybody can repeat: SHAKE-256 of the seed and a counter."""

    def __init__(self, seed: object) -> None:
        self._seed, self._blocks = str(seed).encode(), 0
        self._words: list[int] = []

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        word = self._word()
        for _ in range(count.bit_length() // 32):
            word = word << 8 * _WORD | self._word()
        return word % count

    def between(self, lower: int, upper: int) -> int:
        """A number from `lower` to `upper`, both included."""
        return lower + self.below(upper - lower + 1)

    def chance(self, percent: int) -> bool:
        """True so often."""
        return self.below(100) < percent

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """So many of the items, in any order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """All items, in any order."""
        return self.sample(items, len(items))

    def _word(self) -> int:
        if not self._words:
            self._blocks += 1
            block = hashlib.shake_256(b"%d\0%b" % (self._blocks, self._seed)).digest(_BYTES)
            self._words = [int.from_bytes(block[at : at + _WORD], "little") for at in range(0, _BYTES, _WORD)]
        return self._words.pop()


RawRow: TypeAlias = dict[str, Any]
Database: TypeAlias = dict[str, list[RawRow]]
"""The raw rows of each table."""

CITIES = ("Oslo", "Bergen", "Tromsø", "Bodø", "", "oslo", "🏥", "O'Slo", 'Å "b"')
TEXTS = (
    "a", "A", "a ", "ab", "é", "e\u0301", "", "🧑‍⚕️", "null", "NULL", "0", "-0", "%", "_", "a'b", 'a"b', "\\", "zz",
    "2024-02-29", "12.5", "-7", "true", "1970-01-01 00:00:01",
)  # fmt: skip
PEOPLE = ("1", "01", "1.0", " 1", "one", "One", "é", "e\u0301", "null", "🙂", "2", "3", "4", "5", "6")
TWIN = 3
"""A person whose id no member of the staff has."""
LINE = ForeignKey("number", "orders", "number")
"""Whose line it is."""
ORDER = ("places", "visits", "orders", "lines", "staff", "events")
"""The tables, each after those that it needs."""
PLACES = 9
"""The rows of the public table."""


@dataclass(frozen=True, eq=False)
class World:
    """A catalog, made from a seed."""

    seed: int
    tables: dict[str, Table]
    texts_as_ids: bool

    @property
    def shares_keys(self) -> bool:
        """Whether several people may state a key of the path."""
        return bool(self.tables["orders"].claims)

    def arrow(self, rows: Database, table: str) -> pa.Table:
        """The raw rows of a table, as an owner's file would hold them."""
        return arrow(self.tables[table], rows[table], texts_as_ids=self.texts_as_ids)

    def __hash__(self) -> int:
        return hash(self.seed)


# ---- catalogs


@lru_cache(maxsize=64)
def world(seed: int) -> World:
    """The world of a seed."""
    draws = Draws(f"world {seed}")
    texts = draws.chance(50)
    nullable = [draws.chance(70) for _ in range(40)]
    take = iter(nullable)
    city = Category(*draws.sample(CITIES, draws.between(2, 6)), nullable=next(take))
    day = _days(draws, nullable=next(take))
    shared: dict[str, Domain] = {
        "age": Int(draws.choice([0, -5, 1]), draws.choice([1, 17, 120]), nullable=next(take)),
        "score": Int(-draws.choice([1, 7, 10**6]), draws.choice([0, 3, 2**40]), nullable=next(take)),
        "cost": Real(
            draws.choice(["0", "-0.5", "10"]), draws.choice(["50", "99.99"]), step="0.01", nullable=next(take)
        ),
        "rate": Real("-1", draws.choice(["1", "2.75"]), step=draws.choice(["0.125", "1/3", "0.5"]), nullable=True),
        "city": city,
        "icd": Text(nullable=next(take)),
        "smoker": Bool(nullable=next(take)),
        "day": day,
        "at": Timestamp("2023-12-31 22:00", "2024-03-02 01:30", nullable=next(take)),
    }
    number = Text() if texts else Int(0, 10**9, nullable=True)
    people, staff, events = (_neighbours(draws) for _ in range(3))
    tables = [
        _table("visits", "people", UnitColumn("person"), people, shared, draws),
        _table("orders", "people", UnitColumn("person"), people, {
            "number": number, "price": Real(-5, 500, step="0.25", nullable=next(take)), "city": city, "day": day,
            "note": Text(), "paid": Bool(nullable=next(take)), "n": Int(0, 9, nullable=next(take)),
        }, draws),
        _table("lines", "people", LINE, people, {
            "number": number, "item": Text(nullable=next(take)), "amount": Int(-3, 30, nullable=next(take)),
            "gift": Bool(nullable=next(take)), "city": city,
        }, draws),
        _table("staff", "staff", UnitColumn("person"), staff, {
            name: shared[name] for name in ("age", "cost", "city", "icd", "day")
        } | {"grade": Int(1, 5, nullable=False)}, draws),
        _table("events", "events", EachRow(), events, {
            "kind": Category("in", "out", "Ünknown"), "value": Int(-100, 100, nullable=next(take)), "icd": Text(),
            "day": day, "age": shared["age"],
        }, draws),
        Table("places", (
            ("city", city), ("region", Category("north", "south", nullable=next(take))),
            ("size", Int(0, 10**6, nullable=next(take))), ("age", shared["age"]), ("icd", Text()),
        ), size=PLACES, rows=PLACES),
    ]  # fmt: skip
    return World(seed, _with_claims({table.name: table for table in tables}, seed), texts)


def _with_claims(tables: dict[str, Table], seed: int) -> dict[str, Table]:
    """The tables of a world, where several people may state a key if its seed is odd."""
    if seed % 2 == 0:
        return tables
    most = Draws(f"claims {seed}").choice([2, 3, 5])
    found = {**tables, "orders": replace(tables["orders"], claims=((LINE.key, most),))}
    guard = tables["lines"].protection
    assert guard is not None
    lines = replace(tables["lines"], protection=replace(guard, claims=path_claims(LINE, found.__getitem__)))
    return {**found, "lines": lines}


def _table(
    name: str, population: str, unit: Unit, neighbours: Neighbours, columns: dict[str, Domain], draws: Draws
) -> Table:
    most = ContributionBounds(rows=draws.choice([1, 2, 3, 20]), groups=draws.choice([1, 2, 5]))
    stated = not isinstance(unit, EachRow) or draws.chance(70)
    protection = Protection(population, unit, neighbours, most if stated else None)
    keys = ("number",) if name == "orders" else ()
    return Table(name, tuple(columns.items()), protection, keys=keys)


def _neighbours(draws: Draws) -> Neighbours:
    return AddRemove() if draws.chance(75) else Replace()


def _days(draws: Draws, *, nullable: bool) -> Domain:
    start = dt.date(draws.choice([1969, 2023, 2024]), 12, 28)
    return Date(start, start + dt.timedelta(days=draws.choice([0, 9, 70, 400])), nullable=nullable)


# ---- raw values


def nasty(domain: Domain, draws: Draws) -> Any:
    """A raw value that an import must cope with."""
    if domain.nullable and draws.chance(12):
        return None
    return _NASTY[_kind(domain)](domain, draws)


def _number(domain: Domain, draws: Draws) -> Any:
    assert isinstance(domain, Number)
    popular = draws.choice([domain.lower, domain.upper, domain.clamped(1), domain.clamped(2)])
    inside = float(draws.choice([popular, draws.between(domain.lower, domain.upper)]) * domain.step)
    if domain.step == 1:
        return draws.choice([int(inside)] * 4 + [domain.lower - 1, domain.upper + 1, 2**62, -(2**62), 0])
    odd = [math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, *([math.nan] if domain.nullable else [])]
    return draws.choice([inside] * 8 + [inside + float(domain.step) * 0.25, *odd])


def _date(domain: Domain, draws: Draws) -> Any:
    assert isinstance(domain, Days)
    inside = EPOCH + dt.timedelta(days=draws.between(domain.lower, domain.upper))
    return draws.choice([inside] * 5 + [dt.date(1, 1, 1), dt.date(9999, 12, 31), EPOCH])


def _moment(domain: Domain, draws: Draws) -> Any:
    assert isinstance(domain, Moments)
    inside = domain.decode(draws.between(domain.lower, domain.upper))
    return draws.choice([inside] * 5 + [dt.datetime(1970, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)])


def _choice(domain: Domain, draws: Draws) -> Any:
    assert isinstance(domain, Choice)
    unlisted = ["nowhere", "OSLO", "Oslo "] if domain.nullable else []
    return draws.choice([*domain.values * 2, *unlisted])


_NASTY: dict[str, Callable[[Domain, Draws], Any]] = {
    "number": _number,
    "date": _date,
    "moment": _moment,
    "bool": lambda domain, draws: draws.chance(50),
    "choice": _choice,
    "text": lambda domain, draws: draws.choice(TEXTS),
}


def _kind(domain: Domain) -> Literal["number", "date", "moment", "bool", "choice", "text"]:
    if isinstance(domain, Number):
        return "number"
    if isinstance(domain, Days):
        return "date"
    if isinstance(domain, Moments):
        return "moment"
    if isinstance(domain, Bool):
        return "bool"
    return "choice" if isinstance(domain, Choice) else "text"


# ---- databases


def small_database(world: World, seed: object, *, least: int = 0, most: int = 60) -> Database:
    """A few dozen rows: duplicates, NULL units, units with equal ids in two populations, shared and dangling keys."""
    draws = Draws(f"database {world.seed} {seed}")
    found = {
        name: _with_duplicates([_row(world, table, draws) for _ in range(draws.between(least, most))], draws)
        for name, table in world.tables.items()
    }
    return {**found, "places": found["places"][-PLACES:]}


def owned(rows: Database) -> Database:
    """A database without the rows of nobody, which no engine takes."""
    return {name: [row for row in each if row.get("person", "") is not None] for name, each in rows.items()}


def _with_duplicates(rows: list[RawRow], draws: Draws) -> list[RawRow]:
    return rows + [dict(draws.choice(rows)) for _ in range(len(rows) // 5)]


def _row(world: World, table: Table, draws: Draws) -> RawRow:
    row = {name: nasty(domain, draws) for name, domain in table.columns}
    if "number" in row:
        row["number"] = order_number(world, draws.below(8)) if draws.chance(95) else None
    if table.name == "places":
        row["city"] = draws.choice(dict(table.columns)["city"].codes())
    if has_unit_column(table):
        index = draws.below(9)
        index += table.name == "staff" and index == TWIN
        row["person"] = person(world, index) if draws.chance(92) else None
        if table.name == "orders" and not world.shares_keys:
            row["number"] = unique_number(world, index) if row["number"] is not None else None
    return row


def unique_number(world: World, index: int) -> Any:
    """The only key of a person, which nobody else has; of the first ones none."""
    if world.texts_as_ids and index == PEOPLE.index("e\u0301"):  # the same person as the one before
        index -= 1
    return order_number(world, index - 2) if index >= 2 else None


def has_unit_column(table: Table) -> bool:
    """Whether a column names whose rows they are."""
    return table.protection is not None and isinstance(table.protection.unit, UnitColumn)


def person(world: World, index: int) -> Any:
    """An ordinary unit's id."""
    return PEOPLE[index % len(PEOPLE)] if world.texts_as_ids else index * (-1) ** index


def order_number(world: World, index: int) -> Any:
    """A key of the path from lines to orders."""
    return TEXTS[index % len(TEXTS)] if world.texts_as_ids else index


def apart(here: World) -> dict[str, Table]:
    """The tables of a world with populations of its own: an engine may keep for ever how it tells units apart."""
    return {
        name: replace(table, protection=replace(protection, population=f"{protection.population} {here.seed}"))
        if (protection := table.protection)
        else table
        for name, table in here.tables.items()
    }


# ---- as files


def arrow(table: Table, rows: list[RawRow], *, texts_as_ids: bool) -> pa.Table:
    """Raw rows as an Arrow table, with the types that a file would have."""
    types = {name: _arrow_type(domain) for name, domain in table.columns}
    if has_unit_column(table):
        types = {"person": pa.string() if texts_as_ids else pa.int64(), **types}
    schema = pa.schema(list(types.items()))
    return pa.Table.from_pylist([{name: row.get(name) for name in types} for row in rows], schema=schema)


def _arrow_type(domain: Domain) -> pa.DataType:
    if isinstance(domain, Number):
        return pa.int64() if domain.step == 1 else pa.float64()
    names = {"date": pa.date32(), "moment": pa.timestamp("us"), "bool": pa.bool_()}
    return names.get(_kind(domain), pa.string())
