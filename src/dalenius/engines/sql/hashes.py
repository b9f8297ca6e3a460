"""The public hash of (unit, key), as `hashing` states it, spelled for DuckDB."""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.engines.duckdb.names import width
from dalenius.engines.hashing import DIGITS, FOLD, NULL_NUMBER, STEP, P
from dalenius.query.types import Bool, Domain, Ranged, Text


def identity(text: str) -> str:
    """The 120-bit integer that stands for a text."""
    return f"('0x' || substr(sha256({text}), 1, {DIGITS}))::HUGEINT"


def folded(value: str, domain: Domain | None = None) -> str:
    """An integer as a number below P; the domain, where it is known, leaves out what does nothing."""
    if isinstance(domain, Bool):
        return f"({value})::BIGINT"
    if isinstance(domain, Text):
        return f"(({identity(value)} % {P} + {FOLD} * ({identity(value)} // {P} % {P})) % {P})::BIGINT"
    if isinstance(domain, Ranged) and domain.lower >= 0 and domain.upper < P:
        return f"({value})::BIGINT"
    if isinstance(domain, Ranged) and domain.lower > -P and domain.upper < P:
        return f"(({value})::BIGINT + {P}) % {P}"
    whole = f"({value})::{width(domain)}" if isinstance(domain, Ranged) else value
    return f"((({whole} % {P} + {FOLD} * ({whole} // {P} % {P})) % {P} + {P}) % {P})::BIGINT"


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
