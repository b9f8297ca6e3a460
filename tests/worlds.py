"""Random catalogs, small databases with nasty values, and hurtful neighbours of them.

A world is a catalog (tables with every type of column, a unit along a key path, a public table, three populations, one
of them with a unit for each row) and databases over it. `World.steps` gives pairs of databases that differ in one
unit: one with 10,000 rows comes, an ordinary one goes, or one is replaced by another. Everything follows from a seed.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from dalenius.engines.reference.canonical import unit_code
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.query.tables import EachRow, Most, Protection, Table, Unit, UnitColumn, Via
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

RawRow: TypeAlias = dict[str, Any]
Database: TypeAlias = dict[str, list[RawRow]]
"""The raw rows of each table."""

CITIES = ("Oslo", "Bergen", "Tromsø", "Bodø", "", "oslo", "🏥", "O'Slo", 'Å "b"')
TEXTS = ("a", "A", "a ", "ab", "é", "e\u0301", "", "🧑‍⚕️", "null", "NULL", "0", "-0", "%", "_", "a'b", 'a"b', "\\", "zz")
TEXTS += ("2024-02-29", "12.5", "-7", "true", "1970-01-01 00:00:01")
PEOPLE = ("1", "01", "1.0", " 1", "one", "One", "é", "e\u0301", "null", "🙂", "2", "3", "4", "5", "6")
TWIN = 3
"""The person whose id a hurtful member of the staff has too: they are two units all the same."""
PLACES = 9
"""The rows of the public table."""
HEAVY = 10_000
"""The rows of a hurtful unit."""


@dataclass(frozen=True)
class Step:
    """Two databases that differ in one unit of `population`; `heavy` says in how many rows of each table."""

    name: str
    population: str
    before: str
    after: str
    heavy: dict[str, int]


@dataclass(frozen=True, eq=False)
class World:
    """A catalog and its databases, made from a seed."""

    seed: int
    tables: dict[str, Table]
    texts_as_ids: bool

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return tuple(_steps(self))

    @lru_cache(maxsize=64)  # noqa: B019  # worlds live as long as the test process
    def database(self, name: str) -> Database:
        """One of the databases that `steps` names."""
        return _database(self, name)

    def arrow(self, rows: Database, table: str) -> pa.Table:
        """The raw rows of a table, as an owner's file would hold them."""
        return arrow(self.tables[table], rows[table], texts_as_ids=self.texts_as_ids)

    def __hash__(self) -> int:
        return hash(self.seed)


# ---- catalogs


@lru_cache(maxsize=64)
def world(seed: int) -> World:
    """The world of a seed."""
    random = Random(f"world {seed}")
    texts = random.random() < 0.5
    nullable = [random.random() < 0.7 for _ in range(40)]
    take = iter(nullable)
    city = Category(*random.sample(CITIES, random.randint(2, 6)), nullable=next(take))
    day = _days(random, nullable=next(take))
    shared: dict[str, Domain] = {
        "age": Int(random.choice([0, -5, 1]), random.choice([1, 17, 120]), nullable=next(take)),
        "score": Int(-random.choice([1, 7, 10**6]), random.choice([0, 3, 2**40]), nullable=next(take)),
        "cost": Real(random.choice([0, "-0.5", 10]), random.choice([50, "99.99"]), step="0.01", nullable=next(take)),
        "rate": Real("-1", random.choice(["1", "2.75"]), step=random.choice(["0.125", "1/3", "0.5"]), nullable=True),
        "city": city,
        "icd": Text(nullable=next(take)),
        "smoker": Bool(nullable=next(take)),
        "day": day,
        "at": Timestamp("2023-12-31 22:00", "2024-03-02 01:30", nullable=next(take)),
    }
    number = Text() if texts else Int(0, 10**9, nullable=True)
    people, staff, events = (_neighbours(random) for _ in range(3))
    tables = [
        _table("visits", "people", UnitColumn("person"), people, shared, random),
        _table("orders", "people", UnitColumn("person"), people, {
            "number": number, "price": Real(-5, 500, step="0.25", nullable=next(take)), "city": city, "day": day,
            "note": Text(), "paid": Bool(nullable=next(take)), "n": Int(0, 9, nullable=next(take)),
        }, random),
        _table("lines", "people", Via("number", "orders", "number"), people, {
            "number": number, "item": Text(nullable=next(take)), "amount": Int(-3, 30, nullable=next(take)),
            "gift": Bool(nullable=next(take)), "city": city,
        }, random),
        _table("staff", "staff", UnitColumn("person"), staff, {
            name: shared[name] for name in ("age", "cost", "city", "icd", "day")
        } | {"grade": Int(1, 5, nullable=False)}, random),
        _table("events", "events", EachRow(), events, {
            "kind": Category("in", "out", "Ünknown"), "value": Int(-100, 100, nullable=next(take)), "icd": Text(),
            "day": day, "age": shared["age"],
        }, random),
        Table("places", (
            ("city", city), ("region", Category("north", "south", nullable=next(take))),
            ("size", Int(0, 10**6, nullable=next(take))), ("age", shared["age"]), ("icd", Text()),
        ), size=PLACES, rows=PLACES),
    ]  # fmt: skip
    return World(seed, {table.name: table for table in tables}, texts)


def _table(
    name: str, population: str, unit: Unit, neighbours: Neighbours, columns: dict[str, Domain], random: Random
) -> Table:
    most = Most(rows=random.choice([1, 2, 3, 20]), groups=random.choice([1, 2, 5]))
    stated = not isinstance(unit, EachRow) or random.random() < 0.7
    protection = Protection(population, unit, neighbours, most if stated else None)
    keys = ("number",) if name == "orders" else ()
    return Table(name, tuple(columns.items()), protection, keys=keys)


def _neighbours(random: Random) -> Neighbours:
    return AddRemove() if random.random() < 0.75 else Replace()


def _days(random: Random, *, nullable: bool) -> Domain:
    start = dt.date(random.choice([1969, 2023, 2024]), 12, 28)
    return Date(start, start + dt.timedelta(days=random.choice([0, 9, 70, 400])), nullable=nullable)


# ---- raw values


def nasty(domain: Domain, random: Random) -> Any:
    """A raw value that an import must cope with."""
    if domain.nullable and random.random() < 0.12:
        return None
    return _NASTY[_kind(domain)](domain, random)


def extreme(domain: Domain, random: Random, way: str) -> Any:
    """A raw value that moves sums and keys as far as possible: `lower`, `upper`, `null` or `mixed`."""
    if way == "mixed":
        way = random.choice(["lower", "upper", "null", "any", "any"])
    if way == "any":
        return nasty(domain, random)
    if way == "null" and domain.nullable:
        return None
    if isinstance(domain, Number):
        far = domain.lower - 10**9 if way == "lower" else domain.upper + 10**9
        return float(far * domain.step) if domain.step != 1 else far
    if isinstance(domain, Days | Moments):
        return domain.shown(domain.lower if way == "lower" else domain.upper)
    if isinstance(domain, Bool):
        return way == "upper"
    if isinstance(domain, Choice):
        return domain.values[0 if way == "lower" else -1]
    return f"key {random.randrange(1000)}" if way == "upper" else "a"


def _number(domain: Domain, random: Random) -> Any:
    assert isinstance(domain, Number)
    popular = random.choice([domain.lower, domain.upper, domain.clamped(1), domain.clamped(2)])
    inside = float(random.choice([popular, random.randint(domain.lower, domain.upper)]) * domain.step)
    if domain.step == 1:
        return random.choice([int(inside)] * 4 + [domain.lower - 1, domain.upper + 1, 2**62, -(2**62), 0])
    odd = [math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, *([math.nan] if domain.nullable else [])]
    return random.choice([inside] * 8 + [inside + float(domain.step) * 0.25, *odd])


def _date(domain: Domain, random: Random) -> Any:
    assert isinstance(domain, Days)
    inside = EPOCH + dt.timedelta(days=random.randint(domain.lower, domain.upper))
    return random.choice([inside] * 5 + [dt.date(1, 1, 1), dt.date(9999, 12, 31), EPOCH])


def _moment(domain: Domain, random: Random) -> Any:
    assert isinstance(domain, Moments)
    inside = domain.shown(random.randint(domain.lower, domain.upper))
    return random.choice([inside] * 5 + [dt.datetime(1970, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)])


def _choice(domain: Domain, random: Random) -> Any:
    assert isinstance(domain, Choice)
    unlisted = ["nowhere", "OSLO", "Oslo "] if domain.nullable else []
    return random.choice([*domain.values * 2, *unlisted])


_NASTY: dict[str, Callable[[Domain, Random], Any]] = {
    "number": _number,
    "date": _date,
    "moment": _moment,
    "bool": lambda domain, random: random.random() < 0.5,
    "choice": _choice,
    "text": lambda domain, random: random.choice(TEXTS),
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
    random = Random(f"database {world.seed} {seed}")
    found = {
        name: _with_duplicates([_row(world, table, random) for _ in range(random.randint(least, most))], random)
        for name, table in world.tables.items()
    }
    return {**found, "places": found["places"][-PLACES:]}


def _with_duplicates(rows: list[RawRow], random: Random) -> list[RawRow]:
    return rows + [dict(random.choice(rows)) for _ in range(len(rows) // 5)]


def _row(world: World, table: Table, random: Random) -> RawRow:
    row = {name: nasty(domain, random) for name, domain in table.columns}
    if "number" in row:
        row["number"] = order_number(world, random.randrange(8)) if random.random() < 0.95 else None
    if table.name == "places":
        row["city"] = random.choice(dict(table.columns)["city"].codes())
    if _has_unit_column(table):
        index = random.randrange(9)
        index += table.name == "staff" and index == TWIN  # the staff have room for a person's twin
        row["person"] = person(world, index) if random.random() < 0.92 else None
    return row


def _has_unit_column(table: Table) -> bool:
    return table.protection is not None and isinstance(table.protection.unit, UnitColumn)


def person(world: World, index: int) -> Any:
    """An ordinary unit's id."""
    return PEOPLE[index % len(PEOPLE)] if world.texts_as_ids else index * (-1) ** index


def newcomer(world: World, which: int = 0) -> Any:
    """The id of a unit that no small database has; as text it looks like another one."""
    return ("1\u200b", "１")[which] if world.texts_as_ids else (2**62, -(2**62))[which]


def order_number(world: World, index: int) -> Any:
    """A key of the path from lines to orders."""
    return TEXTS[index % len(TEXTS)] if world.texts_as_ids else index


def without(world: World, database: Database, population: str, unit: Any) -> Database:
    """The database after a unit has gone: its rows, and along a key path the rows that match only it."""
    code, kept = unit_code(unit), dict(database)
    for name, table in world.tables.items():
        protection = table.protection
        if protection and protection.population == population and isinstance(protection.unit, UnitColumn):
            kept[name] = [row for row in database[name] if unit_code(row["person"]) != code]
    if population == "people":
        mine, others = _numbers(database), _numbers(kept)
        gone = mine - others
        kept["lines"] = [row for row in database["lines"] if unit_code(row["number"]) not in gone]
    return kept


def _numbers(database: Database) -> set[Any]:
    owned = [row for row in database["orders"] if unit_code(row["person"]) is not None]
    return {unit_code(row["number"]) for row in owned} - {None}


def with_unit(world: World, database: Database, population: str, unit: Any, rows: dict[str, int], way: str) -> Database:
    """The database after a hurtful unit has come, with so many rows in each table of its population."""
    random = Random(f"unit {world.seed} {population} {way} {unit!r}")
    grown = dict(database)
    for name, count in rows.items():
        table = world.tables[name]
        templates = [_hurtful(table, way, random) for _ in range(min(count, 400))]
        added = [_placed(world, table, templates[place % len(templates)], unit, place) for place in range(count)]
        grown[name] = database[name] + added
    return grown


def _hurtful(table: Table, way: str, random: Random) -> RawRow:
    return {name: extreme(domain, random, way) for name, domain in table.columns}


def _placed(world: World, table: Table, template: RawRow, unit: Any, place: int) -> RawRow:
    row = dict(template)
    if place % 3 == 0 and row.get("icd") is not None:
        row["icd"] = f"key {place}"
    if _has_unit_column(table):
        row["person"] = unit
    if table.name == "orders":  # the first ones share their key with others, and so match their lines too
        row["number"] = order_number(world, place) if place < 8 else _own_number(world, place)
    if table.name == "lines":
        row["number"] = _own_number(world, 8 + place % 40)
    return row


def _own_number(world: World, place: int) -> Any:
    return f"own {place}" if world.texts_as_ids else 1000 + place


def _database(world: World, name: str) -> Database:
    if name == "base":
        return small_database(world, "base", least=60, most=120)
    base = world.database("base")
    if name == "gone row":
        return {**base, "events": base["events"][1:]}
    if name.startswith("gone"):
        return without(world, base, "people", person(world, int(name[-1])))
    if name == "nobody":
        return with_unit(world, base, "people", None, _LOADS["visits"], "mixed") | {
            "staff": base["staff"] + [{**row, "person": None} for row in world.database("staff")["staff"]]
        }
    if name.startswith("alone"):
        return _alone(world, name.removeprefix("alone "))
    load, other = name.removesuffix(" other"), name.endswith(" other")
    rows = _LOADS[load]
    way = ("upper", "lower", "null")[(world.seed // 2 + len(load)) % 3] if other else "mixed"
    unit = person(world, TWIN) if (load, other) == ("staff", False) else newcomer(world, other)
    return with_unit(world, base, _population(world, load), unit, rows, way)


def _alone(world: World, name: str) -> Database:
    """What a database has more than the base: a newcomer's rows, others' rows that match it, and what is public."""
    base, grown = world.database("base"), world.database(name)
    alone = {
        table: rows if world.tables[table].protection is None else rows[len(base[table]) :]
        for table, rows in grown.items()
    }
    mine = _numbers(alone)
    return {**alone, "lines": [row for row in grown["lines"] if unit_code(row["number"]) in mine]}


def _population(world: World, load: str) -> str:
    protection = world.tables[next(iter(_LOADS[load]))].protection
    assert protection is not None
    return protection.population


_LOADS: dict[str, dict[str, int]] = {
    "visits": {"visits": HEAVY, "orders": 48, "lines": 60},
    "orders": {"visits": 30, "orders": HEAVY, "lines": 40},
    "lines": {"visits": 20, "orders": 48, "lines": HEAVY},
    "light": {"visits": 50, "orders": 48, "lines": 60},
    "staff": {"staff": HEAVY},
    "events": {"events": 1},
}


def _steps(world: World) -> Iterator[Step]:
    for load, rows in _LOADS.items():
        population = _population(world, load)
        relation = next(
            table.protection.neighbours
            for table in world.tables.values()
            if table.protection and table.protection.population == population
        )
        if isinstance(relation, Replace):
            yield Step(f"replace, {load}", population, load, f"{load} other", rows)
        else:
            after = (load, f"{load} other")[(world.seed + len(load)) % 2]
            yield Step(f"add, {after}", population, "base", after, rows)
            yield from _removals(load)


def _removals(load: str) -> Iterator[Step]:
    if load == "light":
        yield Step("remove, unit", "people", "base", "gone 1", {})
    if load == "events":
        yield Step("remove, row", "events", "base", "gone row", {})


# ---- as files


def arrow(table: Table, rows: list[RawRow], *, texts_as_ids: bool) -> pa.Table:
    """Raw rows as an Arrow table, with the types that a file would have."""
    types = {name: _arrow_type(domain) for name, domain in table.columns}
    if _has_unit_column(table):
        types = {"person": pa.string() if texts_as_ids else pa.int64(), **types}
    schema = pa.schema(list(types.items()))
    return pa.Table.from_pylist([{name: row.get(name) for name in types} for row in rows], schema=schema)


def _arrow_type(domain: Domain) -> pa.DataType:
    if isinstance(domain, Number):
        return pa.int64() if domain.step == 1 else pa.float64()
    names = {"date": pa.date32(), "moment": pa.timestamp("us"), "bool": pa.bool_()}
    return names.get(_kind(domain), pa.string())
