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
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

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
