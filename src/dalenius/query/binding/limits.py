"""How much of one unit enters an answer: what the owner or the question says, lowered to what the plan allows."""

from __future__ import annotations

from dalenius.errors import QueryRefused
from dalenius.query.plan.figures import least_known
from dalenius.query.plan.relations import Relation, default_most
from dalenius.query.tables import Most
from dalenius.query.types import WIDEST, Number


def rows_limit(relation: Relation, most: Most | None, *, clause: str) -> int:
    """How many rows of one unit count in one group."""
    stated = most or default_most(relation)
    rows = least_known(stated.rows if stated else None, relation.rows_of_unit)
    if rows is None:
        raise QueryRefused(
            clause,
            rule="it is not known how many rows one unit may have here",
            instead="Pass most=Most(rows=..., groups=...) with the question.",
        )
    return rows


def groups_limit(relation: Relation, most: Most | None, *, keys: int | None, clause: str) -> int:
    """In how many groups of `keys` public ones (None: unknown ones) one unit counts."""
    stated = most or default_most(relation)
    groups = least_known(stated.groups if stated else None, relation.rows_of_unit, keys)
    if groups is None:
        rows_limit(relation, most, clause=clause)
    return groups or 1


def require_sum(domain: Number, rows: int, *, power: int, clause: str) -> None:
    """Refuse sums of `rows` values (or of their squares) that would not fit into 128 bits."""
    largest = max(abs(domain.lower), abs(domain.upper), domain.upper - domain.lower if power > 1 else 0)
    if rows * largest**power >= WIDEST:
        raise QueryRefused(
            clause,
            rule=f"a sum over {rows} rows of {domain} does not fit into 126 bits",
            instead="Narrow the column first, as with CLAMP(x, lower, upper) or ROUND(x, digits).",
        )
