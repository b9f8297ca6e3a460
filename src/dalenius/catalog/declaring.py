"""Whose row it is: a column, a path through other tables, or each row itself, as the owner declares it.

What a declaration must say: columns, keys, names in the source and neighbours, checked one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from dalenius.engines.engine import Reading
from dalenius.errors import InvalidParameter
from dalenius.ledger.names import column_name, unused
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.query.tables import EachRow, ForeignKey, Protection, Table, TableLocation, Unit, UnitColumn
from dalenius.query.types import Domain, Identifier

PATH = re.compile(r"\s*(\w+)\s*(?:->|→)\s*(\w+)\s*\.\s*(\w+)\s*")

Find: TypeAlias = Callable[[str], Table]
"""The table of a name, or a refusal."""


def declared_unit(unit: str | Unit | None, find: Find) -> Unit:
    """The unit that was written: 'patient_id', 'order_id -> orders.customer_id', or a unit itself."""
    if isinstance(unit, UnitColumn | ForeignKey):
        column_name(unit.column)
    if isinstance(unit, UnitColumn | ForeignKey | EachRow):
        return unit
    if not isinstance(unit, str):
        raise InvalidParameter(
            "unit",
            unit,
            allowed="a column such as 'patient_id', a path such as 'order_id -> orders.customer_id', or EachRow()",
        )
    if unit == str(EachRow()):
        return EachRow()
    path = PATH.fullmatch(unit)
    return _path(*map(column_name, path.groups()), find=find) if path else UnitColumn(column_name(unit))


def _path(column: str, name: str, owner: str, *, find: Find) -> ForeignKey:
    """'order_id -> orders.customer_id': rows belong to the customers of the orders with the same order_id.

    'order_id -> orders.id' names the key that order_id refers to, where that is not called order_id.
    """
    table = find(name)
    reached = table.protection.unit if table.protection else None
    if owner in table.keys and reached != UnitColumn(owner):
        return ForeignKey(column, name, owner)
    if not (isinstance(reached, UnitColumn) and reached.column == owner):
        raise InvalidParameter(
            "unit",
            f"{column} -> {name}.{owner}",
            allowed=f"a path to the unit of {name}, which is {reached or 'none: it is public'}",
            hint=f"Write ForeignKey({column!r}, {name!r}, key=...) where {name} is itself reached by a path.",
        )
    return ForeignKey(column, name, column)


def require_path(population: str, unit: ForeignKey, find: Find) -> None:
    """A path leads through a private table of the same population, by a column that it lists among its keys: keys are
    stored as they are, while a declared column is clamped, which would make strangers' keys equal."""
    table = find(unit.table)
    if table.protection is None or table.protection.population != population:
        raise InvalidParameter("unit", str(unit), allowed=f"a path through a table of {population}")
    if isinstance(table.protection.unit, EachRow):
        raise InvalidParameter("unit", str(unit), allowed="a path to a table whose unit has a name")
    if unit.key not in table.keys:
        raise InvalidParameter(
            "key", unit.key, allowed=f"a key of {table.name}", hint=f"Add {table.name} with keys=[{unit.key!r}]."
        )


def require_one_unit(population: str, unit: Unit, tables: Iterable[Table]) -> None:
    """Rows as units and people as units do not mix, and rows of two tables are not the same units."""
    guards = [table.protection for table in tables if table.protection and table.protection.population == population]
    if any(isinstance(guard.unit, EachRow) for guard in guards) or (guards and isinstance(unit, EachRow)):
        raise InvalidParameter(
            "unit",
            str(unit),
            allowed=f"the unit of the other tables of {population}, and that not each row",
            hint="A population whose units are rows has one table; name a column to protect people across tables.",
        )


def parent(table: Table) -> str | None:
    """The table that a path leads through, if there is one."""
    unit = table.protection.unit if table.protection else None
    return unit.table if isinstance(unit, ForeignKey) else None


Keys: TypeAlias = Iterable[str] | Mapping[str, int | str]
"""Columns that other tables find their units by: a list where all are unique, else how many of a unit count of each."""
UNIQUE = "unique"
MOST_CLAIMS = 1_000_000
_RELATIONS: Mapping[str, Neighbours] = {"add_remove": AddRemove(), "replace": Replace()}


def declared_columns(columns: Mapping[str, Domain], protection: Protection | None) -> tuple[tuple[str, Domain], ...]:
    """The columns of a table by their names, without the one that names its unit."""
    declared: dict[str, Domain] = {}
    if not isinstance(columns, Mapping):
        raise InvalidParameter(
            "columns", columns, allowed="a dict from names to types, such as {'age': Int(0, 120), 'city': Text()}"
        )
    for name, domain in columns.items():
        unused("column", column_name(name), declared)
        if not isinstance(domain, Domain) or isinstance(domain, Identifier):
            raise InvalidParameter(
                f"column {name}", domain, allowed="a type such as Int(0, 120), Category('a', 'b') or Text()"
            )
        declared[name] = domain.or_null(domain.nullable)
    unit = protection.unit if protection else None
    if isinstance(unit, UnitColumn) and unit.column.lower() in {name.lower() for name in declared}:
        raise InvalidParameter("columns", unit.column, allowed="without the unit, which is not asked about")
    if not declared and unit is None:
        raise InvalidParameter("columns", columns, allowed="one column or more")
    return tuple(declared.items())


def declared_keys(keys: Keys, protection: Protection | None) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """Columns that the paths of other tables lead through; and those that several units may state, with how many of a
    unit count: {"order_id": 5}, or {"order_id": 5, "number": "unique"} where some are unique."""
    given = keys if isinstance(keys, Mapping) else dict.fromkeys([keys] if isinstance(keys, str) else keys, UNIQUE)
    listed = {column_name(key): most for key, most in given.items()}
    if listed and protection is None:
        raise InvalidParameter("keys", tuple(listed), allowed="left out: a public table has no units to lead to")
    return tuple(listed), tuple((key, _claims(key, most)) for key, most in listed.items() if most != UNIQUE)


def _claims(key: str, most: object) -> int:
    """How many values of a key count of one unit."""
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST_CLAIMS:
        raise InvalidParameter(
            f"keys.{key}", most, allowed=f"'unique', or how many of one unit count, from 1 to {MOST_CLAIMS:,}",
            hint="The noise of answers along the path grows with it.",
        )  # fmt: skip
    return most


def written_keys(table: Table) -> list[str] | dict[str, int | str]:
    """The keys of a table as they are declared."""
    if not table.claims:
        return list(table.keys)
    return {key: table.claims_of(key) or UNIQUE for key in table.keys}


def renamed(rename: Mapping[str, str], table: Table) -> tuple[tuple[str, str], ...]:
    """Pairs (declared name, name in the source); no column of the source is read under two names."""
    if not isinstance(rename, Mapping) or not all(isinstance(other, str) for other in rename.values()):
        raise InvalidParameter(
            "rename",
            rename,
            allowed="a dict from declared names to names in the source, such as {'hours': 'hours-week'}",
        )
    unknown = [name for name in rename if name not in table.sources]
    if unknown:
        raise InvalidParameter("rename", unknown[0], allowed="for a declared column, the unit or a key")
    read = [rename.get(name, name) for name in table.sources]
    twice = [other for other in read if read.count(other) > 1]
    if twice:
        raise InvalidParameter("rename", twice[0], allowed="another column of the source for each name")
    return tuple(rename.items())


def null_words(nulls: Iterable[str]) -> tuple[str, ...]:
    """Words that stand for no value."""
    words = (nulls,) if isinstance(nulls, str) else tuple(nulls)
    if not all(isinstance(word, str) and word.isprintable() for word in words):
        raise InvalidParameter("nulls", nulls, allowed="texts that stand for no value, such as ['NA', '?']")
    return words


def declared_place(place: tuple[str, str] | None, reading: Reading) -> TableLocation | None:
    """Where the rows of a table stay, with the names that its columns have there."""
    if place is None:
        return None
    if reading.nulls:
        raise InvalidParameter(
            "nulls", list(reading.nulls), allowed="left out where rows stay in a database, which has a NULL of its own"
        )
    return TableLocation(*place, rename=reading.rename)


def require_unstated(population: str | None, unit: object, most: object) -> None:
    """Refuse a public table that says whom it protects."""
    if any(stated is not None for stated in (population, unit, most)):
        raise InvalidParameter("public", True, allowed="left out where a population, unit or max_rows is given")


def relation_name(neighbours: Neighbours) -> str:
    """The name by which a relation is declared."""
    return next(name for name, relation in _RELATIONS.items() if relation == neighbours)


def relation(neighbours: object) -> Neighbours:
    """The neighbour relation of this name."""
    relation = _RELATIONS.get(neighbours) if isinstance(neighbours, str) else neighbours
    if not isinstance(relation, Neighbours) or relation not in _RELATIONS.values():
        raise InvalidParameter("neighbours", neighbours, allowed="'add_remove' or 'replace'")
    return relation
