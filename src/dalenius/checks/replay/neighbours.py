"""Databases of a world that differ in one unit, which hurts as much as it can.

`steps` gives pairs of databases: a unit with 10,000 rows comes, or one that is alone in all its groups, an ordinary one
goes, one is replaced by another, or comes where there was nobody. Where people may share keys, a victim comes, whose
keys many others state, with the rows behind them; and a hub that states the keys of 300 others, whose rows stay.
Everything follows from the world's seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from typing import Any

from dalenius.engines.conformance.plans import Generated
from dalenius.engines.conformance.worlds import (
    TWIN,
    Database,
    Draws,
    RawRow,
    World,
    has_unit_column,
    nasty,
    order_number,
    person,
    small_database,
    unique_number,
)
from dalenius.engines.reference.canonical import unit_code
from dalenius.privacy.neighbours import Replace
from dalenius.query.plan.relations import Join, Relation, Scan
from dalenius.query.tables import Table, UnitColumn
from dalenius.query.types import Bool, Choice, Days, Domain, Moments, Number, Text

HEAVY = 10_000
"""The rows of a hurtful unit."""


@dataclass(frozen=True)
class NeighbourStep:
    """Two databases that differ in one unit of `population`; `heavy` says in how many rows of each table."""

    name: str
    population: str
    before: str
    after: str
    heavy: dict[str, int]


@lru_cache(maxsize=64)
def steps(here: World) -> tuple[NeighbourStep, ...]:
    """The steps between databases of a world."""
    return tuple(_steps(here))


@lru_cache(maxsize=32)
def database(here: World, name: str) -> Database:
    """One of the databases that `steps` names."""
    return _database(here, name)


def steps_for(plan: Generated, *, most_rows: int = 200_000) -> list[NeighbourStep]:
    """The steps of the plan's populations that its joins do not blow up beyond `most_rows` rows, or the lightest."""
    relation = plan.question.relation
    found = [step for step in steps(plan.world) if step.population in relation.populations]
    weights = {step.name: weight(relation, step.heavy) for step in found}
    return [step for step in found if weights[step.name] <= max(most_rows, min(weights.values()))]


def weight(relation: Relation, heavy: dict[str, int]) -> int:
    """About how many rows of a hurtful unit a relation reads or makes at most."""
    if isinstance(relation, Scan):
        return heavy.get(relation.table.name, 0) + 40 if relation.table.protection else 12
    weights = [weight(child, heavy) for child in relation.children]
    if isinstance(relation, Join) and relation.of_units:
        weights = [min(weight, 3 * relation.most) for weight in weights]  # choosing them takes time too
    return weights[0] * weights[1] if isinstance(relation, Join) else sum(weights)


def extreme(domain: Domain, draws: Draws, way: str) -> Any:
    """A raw value that moves sums and keys as far as possible: `lower`, `upper`, `null` or `mixed`."""
    if way == "mixed":
        way = draws.choice(["lower", "upper", "null", "any", "any"])
    if way == "any":
        return nasty(domain, draws)
    if way == "null" and domain.nullable:
        return None
    if isinstance(domain, Number):
        far = domain.lower - 10**9 if way == "lower" else domain.upper + 10**9
        return float(far * domain.step) if domain.step != 1 else far
    if isinstance(domain, Days | Moments):
        return domain.decode(domain.lower if way == "lower" else domain.upper)
    if isinstance(domain, Bool):
        return way == "upper"
    if isinstance(domain, Choice):
        return domain.values[0 if way == "lower" else -1]
    return f"key {draws.below(1000)}" if way == "upper" else "a"


def newcomer(world: World, which: int = 0) -> Any:
    """The id of a unit that no small database has; as text it looks like another one."""
    return ("1\u200b", "１")[which] if world.texts_as_ids else (2**62, -(2**62))[which]


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
    draws = Draws(f"unit {world.seed} {population} {way} {unit!r}")
    grown = dict(database)
    for name, count in rows.items():
        table = world.tables[name]
        templates = [_hurtful(table, way, draws) for _ in range(min(count, 400))]
        added = [_placed(world, table, templates[place % len(templates)], unit, place) for place in range(count)]
        grown[name] = database[name] + added
    return grown


def _hurtful(table: Table, way: str, draws: Draws) -> RawRow:
    return {name: extreme(domain, draws, way) for name, domain in table.columns}


def _placed(world: World, table: Table, template: RawRow, unit: Any, place: int) -> RawRow:
    row = dict(template)
    if place % 3 == 0 and row.get("icd") is not None:
        row["icd"] = f"key {place}"
    if has_unit_column(table):
        row["person"] = unit
    if table.name == "orders":  # the first ones share their key with others, where they may
        shared = place < 8 and world.shares_keys
        row["number"] = order_number(world, place) if shared else _own_number(world, unit, place)
    if table.name == "lines":
        row["number"] = _own_number(world, unit, 8 + place % 40)
    return row


def _own_number(world: World, unit: Any, place: int) -> Any:
    """A key of a unit: all newcomers have the same ones, of which no database has two; of others each has its own."""
    known = unit is None or unit in (newcomer(world), newcomer(world, 1))
    if world.texts_as_ids:
        return f"own {place}" if known else f"own {unit} {place}"
    return 1000 + place + (0 if known else 100_000 * (1 + unit % 1000))


def _database(world: World, name: str) -> Database:
    if name == "base":
        return small_database(world, "base", least=60, most=120)
    if name == "empty":
        return {table: rows if world.tables[table].protection is None else [] for table, rows in _base(world).items()}
    if name == "single":
        return _single(world)
    if name.startswith("single "):
        return _spread(world, int(name[-1]))
    base = _base(world)
    if name == "gone row":
        return {**base, "events": base["events"][1:]}
    if name.startswith("gone"):
        return without(world, base, "people", person(world, int(name[-1])))
    if name == "nobody":
        return with_unit(world, base, "people", None, _LOADS["visits"], "mixed") | {
            "staff": base["staff"] + [{**row, "person": None} for row in database(world, "staff")["staff"]]
        }
    if name.startswith("alone"):
        return _alone(world, name.removeprefix("alone "))
    if name in ("crowd", "victim", "hub"):
        return {"crowd": _crowd, "victim": _victim, "hub": _hub}[name](world)
    load, other = name.removesuffix(" other"), name.endswith(" other")
    rows = _LOADS[load]
    way = ("upper", "lower", "null")[(world.seed // 2 + len(load)) % 3] if other else "mixed"
    unit = person(world, TWIN) if (load, other) == ("staff", False) else newcomer(world, other)
    return with_unit(world, base, _population(world, load), unit, rows, way)


def _base(world: World) -> Database:
    return database(world, "base")


def _single(world: World) -> Database:
    """Every unit has one row in each table, and texts that nobody else has."""
    draws, base = Draws(f"single {world.seed}"), _base(world)
    found = dict(base)
    for name, table in world.tables.items():
        if has_unit_column(table) or name == "events":
            rows = [_hurtful(table, "mixed", draws) for _ in range(_SINGLES)]
            found[name] = [
                _own_texts(table, row, f"{name} {place}") | _owner(world, table, place)
                for place, row in enumerate(rows)
            ]
    return {**found, "lines": base["lines"]}


def _owner(world: World, table: Table, place: int) -> RawRow:
    if not has_unit_column(table):
        return {}
    number = {} if world.shares_keys or table.name != "orders" else {"number": unique_number(world, place)}
    return {"person": person(world, place), **number}


def _own_texts(table: Table, row: RawRow, name: str) -> RawRow:
    found = [column for column, domain in table.columns if type(domain) is Text and column != "number"]
    return {**row, **dict.fromkeys(found, f"own {name}")}


def _spread(world: World, which: int) -> Database:
    """A newcomer comes to single units, with one row in each of many groups that it is alone in."""
    draws, found = Draws(f"spread {world.seed} {which}"), dict(database(world, "single"))
    unit = newcomer(world, which)
    for name in ("visits", "orders"):
        table = world.tables[name]
        rows = [_placed(world, table, _hurtful(table, "any", draws), unit, 8 + place) for place in range(_SPREAD)]
        found[name] = found[name] + [_own_texts(table, row, f"new {place}") for place, row in enumerate(rows)]
    return found


def _alone(world: World, name: str) -> Database:
    """What a database has more than the base: a newcomer's rows, others' rows that match it, and what is public."""
    base, grown = database(world, "base"), database(world, name)
    alone = {
        table: rows if world.tables[table].protection is None else rows[len(base[table]) :]
        for table, rows in grown.items()
    }
    mine = _numbers(alone)
    return {**alone, "lines": [row for row in grown["lines"] if unit_code(row["number"]) in mine]}


# ---- shared keys


def _crowd(world: World) -> Database:
    """People with one order and two lines each, and as many accounts that state a key of the victim. No line is behind
    that."""
    draws, base = Draws(f"crowd {world.seed}"), _base(world)
    orders, lines = (_lent_rows(world, name, draws) for name in ("orders", "lines"))
    victims = _victims(world)
    mine = [(_member(world, place), _key(world, place)) for place in range(CROWD)]
    theirs = [(_member(world, CROWD + place), victims[place % len(victims)]) for place in range(CROWD)]
    ordered = [{**next(orders), "person": unit, "number": key} for unit, key in mine + theirs]
    behind = [{**next(lines), "number": _key(world, place % CROWD)} for place in range(2 * CROWD)]
    return {**base, "orders": base["orders"] + ordered, "lines": base["lines"] + behind}


def _victim(world: World) -> Database:
    """The crowd, and one whose keys the accounts state, with the lines that are behind them."""
    draws, crowd = Draws(f"victim {world.seed}"), database(world, "crowd")
    orders, lines = (_lent_rows(world, name, draws) for name in ("orders", "lines"))
    ordered = [{**next(orders), "person": newcomer(world), "number": key} for key in _victims(world)]
    keys = [key for key in _victims(world) for _ in range(_BEHIND)]
    own = [_own_texts(world.tables["lines"], next(lines), f"victim {place}") for place in range(len(keys))]
    behind = [{**row, "number": key} for row, key in zip(own, keys, strict=True)]
    return {**crowd, "orders": crowd["orders"] + ordered, "lines": crowd["lines"] + behind}


def _hub(world: World) -> Database:
    """The crowd, and one who states the keys of all of them."""
    draws, crowd = Draws(f"hub {world.seed}"), database(world, "crowd")
    orders = _lent_rows(world, "orders", draws)
    ordered = [{**next(orders), "person": newcomer(world, 1), "number": _key(world, place)} for place in range(CROWD)]
    return {**crowd, "orders": crowd["orders"] + ordered}


def _lent_rows(world: World, name: str, draws: Draws) -> Iterator[RawRow]:
    """Rows that move sums far, over and over."""
    table = world.tables[name]
    return cycle([_hurtful(table, "upper", draws) for _ in range(20)])


def _victims(world: World) -> list[Any]:
    """The victim's keys: as many as count of a unit."""
    most = world.tables["orders"].claims_of("number") or 1
    return [_key(world, CROWD + place) for place in range(most)]


def _member(world: World, place: int) -> Any:
    return f"member {place}" if world.texts_as_ids else 5000 + place


def _key(world: World, place: int) -> Any:
    return f"key {place}" if world.texts_as_ids else 500_000 + place


def _population(world: World, load: str) -> str:
    protection = world.tables[next(iter(_LOADS[load]))].protection
    assert protection is not None
    return protection.population


_SINGLES, _SPREAD = 12, 300
CROWD, _BEHIND = 300, 20
"""How many others state a key of the victim or have a key that the hub states, and how many lines are behind each."""
_LOADS: dict[str, dict[str, int]] = {
    "visits": {"visits": HEAVY, "orders": 48, "lines": 60},
    "orders": {"visits": 30, "orders": HEAVY, "lines": 40},
    "lines": {"visits": 20, "orders": 48, "lines": HEAVY},
    "light": {"visits": 50, "orders": 48, "lines": 60},
    "staff": {"staff": HEAVY},
    "events": {"events": 1},
}


def _steps(world: World) -> Iterator[NeighbourStep]:
    for load, rows in _LOADS.items():
        population = _population(world, load)
        relation = next(
            table.protection.neighbours
            for table in world.tables.values()
            if table.protection and table.protection.population == population
        )
        if isinstance(relation, Replace):
            yield NeighbourStep(f"replace, {load}", population, load, f"{load} other", rows)
        else:
            after = (load, f"{load} other")[(world.seed + len(load)) % 2]
            yield NeighbourStep(f"add, {after}", population, "base", after, rows)
            yield from _removals(load)
        yield from _odd(world, load, isinstance(relation, Replace))
    if world.shares_keys:
        yield from shared_key_steps(world)


def shared_key_steps(world: World) -> list[NeighbourStep]:
    """A victim whose keys everybody states comes with the lines behind them, and a hub that states everybody's keys;
    or the one is replaced by the other."""
    guard = world.tables["lines"].protection
    assert guard is not None
    rows, most = {"orders": CROWD, "lines": CROWD}, guard.claims[0].most
    if isinstance(guard.neighbours, Replace):
        return [NeighbourStep("replace, victim by hub", "people", "victim", "hub", rows)]
    return [
        NeighbourStep("add, victim", "people", "crowd", "victim", {"orders": most, "lines": most * _BEHIND}),
        NeighbourStep("add, hub", "people", "crowd", "hub", rows),
    ]


def _odd(world: World, load: str, replaced: bool) -> Iterator[NeighbourStep]:
    """Into nothing, and one row in each of many groups."""
    if load != "light":
        return
    other = "light other"
    before, heavy = ("alone light" if replaced else "empty"), _LOADS["light"]
    yield NeighbourStep("into nothing", "people", before, f"alone {other}", heavy)
    before = "single 1" if replaced else "single"
    yield NeighbourStep("one row per group", "people", before, "single 0", {"visits": _SPREAD, "orders": _SPREAD})


def _removals(load: str) -> Iterator[NeighbourStep]:
    if load == "light":
        yield NeighbourStep("remove, unit", "people", "base", "gone 1", {})
    if load == "events":
        yield NeighbourStep("remove, row", "events", "base", "gone row", {})
