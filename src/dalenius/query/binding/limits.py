"""How much of one unit enters an answer: what the owner or the question says, lowered to what the plan allows."""

from __future__ import annotations

from dalenius.errors import QueryRefused
from dalenius.query.plan.figures import least_known
from dalenius.query.plan.relations import JOIN_ROWS, MOST_ROWS_OF_UNIT, Relation, calls, default_most, nodes
from dalenius.query.tables import Most
from dalenius.query.types import WIDEST, Number

MOST_WORK_OF_UNIT = 100_000
"""How many columns may be read for a large unit, where joins and unions turn its rows into more than it had."""


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


def require_little_work(relation: Relation, statistics: int, *, clause: str) -> None:
    """Refuse questions in which one unit could cause so much work that it decides when, or whether, there is an answer:
    too many rows, or too much to compute for each of them."""
    rows = relation.rows_of_large_unit
    if rows is None or rows > MOST_ROWS_OF_UNIT:
        raise QueryRefused(
            clause,
            rule=f"{JOIN_ROWS} rows of a unit could turn into more than {MOST_ROWS_OF_UNIT:,}",
            instead="Join on columns that are unique in the public table, aggregate per unit before joining, or ask "
            "about the parts of a union one by one.",
        )
    work = sum(map(_work, nodes(relation))) + _spread(relation) * statistics
    if work > MOST_WORK_OF_UNIT:
        raise QueryRefused(
            clause,
            rule=f"{JOIN_ROWS} rows of a unit could turn into so many by joins or unions that {work:,} columns are "
            f"read for them, and at most {MOST_WORK_OF_UNIT:,} are allowed",
            instead="Compute in a subquery what reads one side of a join, ask for fewer statistics at a time, or join "
            "on columns that are unique in the public table.",
        )


def _work(node: Relation) -> int:
    """How many columns a node reads of a large unit, where that has more rows than in a table."""
    return sum(_spread(below) * term.weight for below, term in calls(node))


def _spread(relation: Relation) -> int:
    """How many rows a large unit has, if they are more than in a table; public rows are nobody's."""
    rows = (relation.rows_of_large_unit or 0) if relation.private else 0
    return rows if rows > JOIN_ROWS else 0
