"""What a declaration must say: columns, keys, names in the source and neighbours, checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dalenius.curator.names import column_name, unused
from dalenius.engines.engine import Reading
from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.query.tables import Place, Protection, Table, UnitColumn
from dalenius.query.types import Domain, Identifier

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


def declared_place(place: tuple[str, str] | None, reading: Reading) -> Place | None:
    """Where the rows of a table stay, with the names that its columns have there."""
    if place is None:
        return None
    if reading.nulls:
        raise InvalidParameter(
            "nulls", list(reading.nulls), allowed="left out where rows stay in a database, which has a NULL of its own"
        )
    return Place(*place, rename=reading.rename)


def require_unstated(population: str | None, unit: object, most: object) -> None:
    """Refuse a public table that says whom it protects."""
    if any(stated is not None for stated in (population, unit, most)):
        raise InvalidParameter("public", True, allowed="left out where a population, unit or most is given")


def relation_name(neighbours: Neighbours) -> str:
    """The name by which a relation is declared."""
    return next(name for name, relation in _RELATIONS.items() if relation == neighbours)


def relation(neighbours: object) -> Neighbours:
    """The neighbour relation of this name."""
    relation = _RELATIONS.get(neighbours) if isinstance(neighbours, str) else neighbours
    if not isinstance(relation, Neighbours) or relation not in _RELATIONS.values():
        raise InvalidParameter("neighbours", neighbours, allowed="'add_remove' or 'replace'")
    return relation
