"""The public hash of (unit, key), as `hashing` states it, in SQL.

Who owns a key that several units may state, in SQL: the rule of `engines.claims`, the same for all engines.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.engines.hashing import FOLD, NULL_NUMBER, STEP, P
from dalenius.engines.sql.dialect import Dialect
from dalenius.query.types import Bool, Domain, Ranged, Text


def folded(d: Dialect, value: str, domain: Domain) -> str:
    """An integer as a number below P; the domain, where it is known, leaves out what does nothing."""
    if isinstance(domain, Bool):
        return d.cast(f"CASE WHEN {value} THEN 1 WHEN NOT {value} THEN 0 END", d.narrow)
    if isinstance(domain, Text):
        return folded_identity(d, d.identity(d.as_text(value)))
    if isinstance(domain, Ranged) and domain.lower >= 0 and domain.upper < P:
        return d.fitted(value, d.narrow)
    if isinstance(domain, Ranged) and domain.lower > -P and domain.upper < P:
        return f"({d.fitted(value, d.narrow)} + {P}) % {P}"
    size = d.type_of(domain)
    return folded_unit(d, d.cast(value, size), size)


def folded_unit(d: Dialect, unit: str, size: str) -> str:
    """The same for the id of a unit, in the integer type that holds it."""
    return d.fitted(f"(({_folds(d, unit, size)}) % {P} + {P}) % {P}", d.narrow)


def folded_identity(d: Dialect, identity: str) -> str:
    """The same for the identity of a text, which is not negative."""
    return d.fitted(f"({_folds(d, identity, d.wide)}) % {P}", d.narrow)


def _folds(d: Dialect, whole: str, size: str) -> str:
    return f"{d.remainder(whole, str(P), size)} + {FOLD} * ({d.quotient(whole, str(P), size)} % {P})"


def mixed(folded: str) -> str:
    """The fifth power modulo P, which moves neighbouring numbers apart."""
    square = f"({folded}) * ({folded}) % {P}"
    return f"({square}) * ({square}) % {P} * ({folded}) % {P}"


def key_number(parts: Sequence[str]) -> str:
    """One number for the mixed numbers of a key's parts, which may be NULL."""
    total = f"coalesce({parts[0]}, {NULL_NUMBER})"
    for part in parts[1:]:
        total = f"(({total}) * {STEP} + coalesce({part}, {NULL_NUMBER})) % {P}"
    return total


def group_hash(unit: str, key: str) -> str:
    """The hash, from U and the number of the key."""
    return f"{unit} * (({key} + {unit}) % {P}) % {P}"


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
