"""Conditions that no row can meet, by the catalog alone: most often a value that is spelled in another way.

An answer about no rows is nothing but noise, and would be paid for like any other; it is refused instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from dalenius.errors import QueryRefused
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.functions.narrowing import scaled_column
from dalenius.query.syntax.rendering import text
from dalenius.query.syntax.syntax import Apply, Constant, Term
from dalenius.query.types import Choice, Code, Domain, Number


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
