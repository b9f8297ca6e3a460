"""How much of one unit enters an answer: what the owner or the question says, lowered to what the plan allows.

Conditions that no row can meet, by the catalog alone: most often a value that is spelled in another way.

An answer about no rows is nothing but noise, and would be paid for like any other; it is refused instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from dalenius.errors import QueryRefused
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.narrowing import scaled_column
from dalenius.query.plan.figures import least_known
from dalenius.query.plan.relations import JOIN_ROWS, MOST_ROWS_OF_UNIT, Relation, calls, default_most, nodes
from dalenius.query.rendering import text
from dalenius.query.syntax import Apply, Constant, Term
from dalenius.query.tables import ContributionBounds
from dalenius.query.types import WIDEST, Choice, Code, Domain, Number

MOST_WORK_OF_UNIT = 100_000
"""How many columns may be read for a large unit, where joins and unions turn its rows into more than it had."""


def rows_limit(relation: Relation, most: ContributionBounds | None, *, clause: str) -> int:
    """How many rows of one unit count in one group."""
    stated = most or default_most(relation)
    rows = least_known(stated.rows if stated else None, relation.rows_of_unit)
    if rows is None:
        raise QueryRefused(
            clause,
            rule="it is not known how many rows one unit may have here",
            instead="Pass max_rows=... with the question.",
        )
    return rows


def groups_limit(relation: Relation, most: ContributionBounds | None, *, keys: int | None, clause: str) -> int:
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


def require_possible(term: Term, found: Expression) -> None:
    """Refuse a condition `column = constant` or `column IN (constants)` that no value of the column's domain meets."""
    if not (isinstance(term, Apply) and isinstance(found, Call) and found.function in ("equal", "in")):
        return
    compared, *constants = found.arguments
    if found.function == "equal" and isinstance(compared, Literal):
        compared, constants = constants[0], [compared]
    literals = [each for each in constants if isinstance(each, Literal)]
    column = _column(compared)
    if column is None or len(literals) < len(constants):
        return
    values = [each.value for each in literals if each.value is not None]
    if not values:
        raise QueryRefused(text(term), rule="nothing equals NULL", instead="Write IS NULL or IS NOT NULL.")
    if not any(_holds(compared.domain, value) for value in values):
        _refuse(term, column.domain, values)


def _column(compared: Expression) -> Column | None:
    """The column that is compared, by itself or on a finer grid."""
    name, factor = scaled_column(compared)
    parts = compared.arguments if isinstance(compared, Call) else (compared,)
    return parts[0] if name and factor > 0 and isinstance(parts[0], Column) else None


def _holds(domain: Domain, value: Code) -> bool:
    """Whether a value is within the list or the range of a domain; of other kinds nothing is said."""
    if isinstance(domain, Choice):
        return value in domain.values
    if isinstance(domain, Number) and isinstance(value, int):
        return domain.lower <= value <= domain.upper
    return True


def _refuse(term: Apply, domain: Domain, values: Sequence[Code]) -> NoReturn:
    name = next(text(each) for each in term.arguments if not isinstance(each, Constant))
    raise QueryRefused(
        text(term),
        rule=f"no declared value of {name} equals {'any of these' if len(values) > 1 else 'this'}, so no row is left",
        instead=_nearest(domain, values),
    )


def _nearest(domain: Domain, values: Sequence[Code]) -> str:
    listed = domain.values if isinstance(domain, Choice) else ()
    folded = {value.casefold(): value for value in reversed(listed)}
    near = [get_close_matches(str(value).casefold(), folded, n=1) for value in values]
    found = [folded[each] for matches in near for each in matches]
    return f"Did you mean '{found[0]}'?" if found else f"Declared: {domain}."
