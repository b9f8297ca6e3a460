"""Who owns a key that several units may state, in SQL: the rule of `engines.claims`, the same for all engines."""

from __future__ import annotations

from dalenius.engines.sql.dialect import Dialect
from dalenius.engines.sql.hashes import folded_unit, group_hash, mixed


def owned_keys(d: Dialect, stated: str, *, unit_size: str, key_size: str, most: int) -> str:
    """The pairs that own their key, of different pairs of a unit and a `claim`, both integers of these types and not
    NULL; other columns follow from the claim, and are kept."""
    numbers = f"{folded_unit(d, d.owner, unit_size)} AS unit_number, {folded_unit(d, 'claim', key_size)} AS key_number"
    numbered = f"SELECT *, {numbers} FROM ({stated}) c {d.fence}".rstrip()
    own = f"SELECT *, {mixed('unit_number')} + 1 AS own, {mixed('key_number')} AS other FROM ({numbered}) n {d.fence}"
    hashed = f"SELECT *, {group_hash('own', 'other')} AS hash FROM ({own.rstrip()}) m"
    placed = f"SELECT *, row_number() OVER (PARTITION BY {d.owner} ORDER BY hash, claim) AS place FROM ({hashed}) h"
    order = f"PARTITION BY claim ORDER BY hash, {d.owner}"
    ranked = f"SELECT *, row_number() OVER ({order}) AS first FROM ({placed}) p WHERE place <= {most}"
    return f"SELECT * FROM ({ranked}) r WHERE first = 1"


def shared_and_cut(d: Dialect, stated: str, most: int) -> str:
    """How many claims several units state, and how many of them are more than count of a unit."""
    several = f"SELECT count(*) AS n FROM (SELECT claim FROM ({stated}) a GROUP BY claim HAVING count(*) > 1) b"
    beyond = f"SELECT count(*) - {most} AS n FROM ({stated}) c GROUP BY {d.owner} HAVING count(*) > {most}"
    return f"SELECT s.n AS shared, e.n AS cut FROM ({several}) s CROSS JOIN (SELECT sum(n) AS n FROM ({beyond}) d) e"


def shared(d: Dialect, stated: str) -> str:
    """How many claims several units state, and how many units these are."""
    several = f"SELECT claim FROM ({stated}) a GROUP BY claim HAVING count(*) > 1"
    counts = f"count(DISTINCT claim) AS claims, count(DISTINCT {d.owner}) AS units"
    return f"SELECT {counts} FROM ({stated}) b WHERE claim IN ({several})"
