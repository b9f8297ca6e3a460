"""The public hash of (unit, key), as `hashing` states it, in SQL."""

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
