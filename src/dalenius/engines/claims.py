"""Who owns a key that several units may state, in plain Python: what every engine's SQL means (see `query.tables`).

A unit keeps its `most` smallest keys by (public hash of the unit and the key, the key); of the units that keep a key
the one with the smallest pair (hash, unit) owns it. Keys and units are compared by their identities, as `hashing`
states them.

Guarantee: what a unit keeps depends on its own keys alone, and who owns a key on those that keep it. So a unit that
comes or goes changes the owners of at most `most` keys, and each of these has one owner before and one afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn, TypeAlias

from dalenius.engines.hashing import group_hash, identity
from dalenius.errors import DataMismatch
from dalenius.query.tables import Table, UnitColumn, path_claims

Id: TypeAlias = int | bool | str


def key_owners(stated: Iterable[tuple[Id, Id]], most: int) -> dict[Id, Id]:
    """The unit that owns each key, of pairs (unit, key)."""
    keys: dict[Id, set[Id]] = {}
    for unit, key in stated:
        keys.setdefault(unit, set()).add(key)
    found: dict[Id, list[Id]] = {}
    for unit, mine in keys.items():
        for key in sorted(mine, key=lambda key: (group_hash(unit, (key,)), identity(key)))[:most]:
            found.setdefault(key, []).append(unit)
    return {
        key: min(units, key=lambda unit: (group_hash(unit, (key,)), identity(unit))) for key, units in found.items()
    }


def unique_keys(table: Table) -> list[str]:
    """The keys of a table that must be unique; the column that names the unit is so by itself."""
    unit = table.protection.unit if table.protection else None
    return [key for key in table.keys if table.claims_of(key) is None and unit != UnitColumn(key)]


def require_known_claims(table: Table, tables: Mapping[str, Table]) -> None:
    """Refuse a table whose plans would count other claims than those of the tables that its path leads through."""
    guard = table.protection
    if guard is not None and guard.claims != path_claims(guard.unit, lambda name: tables[name]):
        raise DataMismatch(
            table.name, problem="the keys on the path of its unit are declared otherwise by now",
            instead="Declare it again, after the tables that its path leads through.",
        )  # fmt: skip


def refuse_shared(table: str, key: str, keys: int | None = None, units: int | None = None) -> NoReturn:
    """Refuse a table in which units state the same key, which is declared unique: so many keys, by so many units."""
    number = "" if keys is None else f" ({keys:,} of them, by {units:,} units)"
    problem = f"some values of the key {key!r}, which is declared unique, are stated by more than one unit{number}"
    raise DataMismatch(table, problem=problem, instead=remedies(key))


def refuse_wandering(table: str, key: str, via: str, keys: int) -> NoReturn:
    """Refuse a table behind bounded claims in which a key that is declared unique stands in rows of several claims."""
    problem = f"some values of the key {key!r}, which is declared unique, stand beside more than one {via!r} ({keys:,} "
    raise DataMismatch(
        table, problem=f"{problem}of them), each of which may belong to another unit", instead=remedies(key)
    )


def remedies(key: str, cleaned: str = "Clean the source, so that each belongs to one unit; or say") -> str:
    """What an owner can do where nobody makes sure that a key is unique."""
    return (
        f"{cleaned} how many different ones of a unit count, as in keys={{{key!r}: 5}}: each then belongs to one of "
        "the units that state it, and answers along the path get noise for the others too."
    )


def remarks(key: str, most: int, shared: int, cut: int) -> list[str]:
    """What the owner should know of a key with bounded claims; it says what was found in rows."""
    found = []
    if shared:
        found.append(f"more than one unit states {shared:,} values of the key {key!r}; each belongs to one of them")
    if cut:
        found.append(f"units state {cut:,} values of the key {key!r} beyond the {most:,} of each that count")
    return found
