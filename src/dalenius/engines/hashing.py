"""Which groups of a unit count: a public hash of (unit, key), in arithmetic that every engine has.

Everything below is integer arithmetic modulo P = 2^31 - 1 with products below 2^62, so DuckDB, PostgreSQL, Spark and
Python give equal numbers; `//` and `%` round towards zero in all formulas, as SQL does.

    identity(x)   an integer is itself, a truth value 0 or 1, a text the first 30 hexadecimal digits of the SHA-256 of
                  its UTF-8 bytes, as an integer
    number(x)     f^5 mod P, where f = (i % P + 7919 * (i // P % P)) mod P in [0, P), i = identity(x); NULL is 1
    key           K = 0, then K = (K * 16807 + number(x)) mod P for each part x of the key
    hash          U * ((K + U) mod P) mod P, where U = number(unit) + 1

For each unit the hash is linear in K, with a slope and an offset that depend on the unit: keys that are numbers or
texts without order are kept about equally often. A unit keeps its `groups` smallest pairs (hash, key); equal hashes
are told apart by the key itself, part by part: integers by size, false before true, texts by their bytes, NULL last.

The rows that a join keeps of a unit are chosen likewise, with all columns of a row as its key.

Guarantee: what a unit keeps is a function of this unit and its own keys. No secret is needed for that, and nothing
depends on positions, other units or an engine's random numbers.

Who owns a key that several units may state, in plain Python: what every engine's SQL means (see `query.tables`).

A unit keeps its `most` smallest keys by (public hash of the unit and the key, the key); of the units that keep a key
the one with the smallest pair (hash, unit) owns it. Keys and units are compared by their identities, as `hashing`
states them.

Guarantee: what a unit keeps depends on its own keys alone, and who owns a key on those that keep it. So a unit that
comes or goes changes the owners of at most `most` keys, and each of these has one owner before and one afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, TypeAlias

from dalenius.errors import DataMismatch
from dalenius.query.tables import Table, UnitColumn, path_claims
from dalenius.query.types import Code

P = 2**31 - 1
DIGITS = 30
"""Hexadecimal digits of a text's identity: 120 bits, so that nobody finds two texts with the same one."""
FOLD, STEP, NULL_NUMBER = 7919, 16807, 1


def identity(code: int | bool | str) -> int:
    """The integer that stands for a code in the hash, and for a text among unit ids."""
    return int(hashlib.sha256(code.encode()).hexdigest()[:DIGITS], 16) if isinstance(code, str) else int(code)


def number(code: Code) -> int:
    """The code as a number below P, well mixed."""
    if code is None:
        return NULL_NUMBER
    whole = identity(code)
    folded = (_remainder(whole, P) + FOLD * _remainder(_quotient(whole, P), P)) % P
    return pow(folded, 5, P)


def group_hash(unit: int | bool | str, key: Sequence[Code]) -> int:
    """The public hash of a unit and a key."""
    mixed = 0
    for part in key:
        mixed = (mixed * STEP + number(part)) % P
    own = number(unit) + 1
    return own * ((mixed + own) % P) % P


def kept(unit: int | bool | str, keys: Iterable[tuple[Code, ...]], groups: int | None) -> list[tuple[Code, ...]]:
    """The keys of a unit that count: the `groups` smallest by (hash, key), or all of them where `groups` is None."""
    ordered = sorted(set(keys), key=lambda key: row_order(unit, key))
    return ordered[:groups]


def first_rows(unit: int | bool | str, rows: Iterable[tuple[Code, ...]], most: int) -> list[tuple[Code, ...]]:
    """The rows of a unit that a join keeps: the `most` smallest by (hash, row), equal rows each by itself."""
    return sorted(rows, key=lambda row: row_order(unit, row))[:most]


def row_order(unit: int | bool | str, row: Sequence[Code]) -> tuple[int, list[tuple[bool, int, bytes]]]:
    """What the rows of a unit, or its keys, are ordered by: the public hash, then the row itself."""
    return group_hash(unit, row), [_order(part) for part in row]


def _order(code: Code) -> tuple[bool, int, bytes]:
    text = code.encode() if isinstance(code, str) else b""
    return code is None, int(code) if isinstance(code, int) else 0, text


def _quotient(value: int, divisor: int) -> int:
    size = abs(value) // divisor
    return size if value >= 0 else -size


def _remainder(value: int, divisor: int) -> int:
    return value - _quotient(value, divisor) * divisor


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
            table.name, problem="the keys on the path of its unit have been declared differently since",
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
