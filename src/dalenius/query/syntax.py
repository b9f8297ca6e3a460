"""A question as it was asked, before names and types are known: what SQL and frames have in common.

Both front ends write this small tree, and one binder (`binder`) turns it into a plan, so equal questions give equal
plans. Nothing here is trusted: the binder checks everything.

Conditions that both front ends write out: conjunctions, and the equalities that USING (columns) stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class Name:
    """A column, written `name` or `table.name`."""

    name: str
    table: str | None = None


@dataclass(frozen=True)
class Constant:
    """A value in the question: None, bool, int, Decimal or Fraction, str, date or datetime."""

    value: Any


@dataclass(frozen=True)
class Apply:
    """A function or operator, by its name in `functions` (scalars) or `aggregates` (COUNT, SUM, ...).

    `distinct` belongs to COUNT(DISTINCT x). COUNT(*) is `Apply("count", ())`.
    CASE is `Apply("case", (condition, value, condition, value, ..., otherwise))`, IN is `Apply("in", (x, a, b, ...))`.
    """

    function: str
    arguments: tuple[Term, ...] = ()
    distinct: bool = False


@dataclass(frozen=True)
class UnitsIn:
    """`unit IN (SELECT unit ...)` or EXISTS keyed by the unit: whether the row's unit has a row in `select`."""

    unit: Name
    select: QueryTree
    negated: bool = False


Term: TypeAlias = Name | Constant | Apply | UnitsIn


@dataclass(frozen=True)
class Item:
    """One output column: a term, and the name given to it, if any."""

    term: Term
    alias: str | None = None


@dataclass(frozen=True)
class TableName:
    """A table of the catalog, or a WITH name."""

    name: str
    alias: str | None = None


@dataclass(frozen=True)
class Subquery:
    """A question in FROM."""

    query: QueryTree
    alias: str | None = None


@dataclass(frozen=True)
class Joined:
    """`left JOIN right ON condition`; USING is written out as equalities by the front end."""

    left: Source
    right: Source
    kind: Literal["inner", "left", "right", "full", "cross"]
    condition: Term | None


Source: TypeAlias = TableName | Subquery | Joined


@dataclass(frozen=True)
class Order:
    """One entry of ORDER BY."""

    term: Term
    descending: bool = False


@dataclass(frozen=True)
class Select:
    """One SELECT. `clauses` maps a part ("where", "group by", ...) to its text, for error messages."""

    items: tuple[Item, ...]
    source: Source
    where: Term | None = None
    group_by: tuple[Term, ...] = ()
    having: Term | None = None
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    distinct: bool = False
    common: tuple[tuple[str, QueryTree], ...] = ()
    """WITH name AS (query), in order."""


@dataclass(frozen=True)
class UnionAll:
    """UNION ALL of selects with as many columns each."""

    parts: tuple[QueryTree, ...]
    common: tuple[tuple[str, QueryTree], ...] = ()


QueryTree: TypeAlias = Select | UnionAll


def conjuncts(condition: Term | None) -> Iterator[Term]:
    """The parts of a condition that are joined by AND."""
    if isinstance(condition, Apply) and condition.function == "and":
        for part in condition.arguments:
            yield from conjuncts(part)
    elif condition is not None:
        yield condition


def conjunction(parts: Sequence[Term]) -> Term:
    """All parts, joined by AND."""
    whole = parts[0]
    for part in parts[1:]:
        whole = Apply("and", (whole, part))
    return whole


def using(columns: Sequence[str], left: Source, right: Source) -> Term | None:
    """The equality of columns of the same name; None where it is not clear whose columns are meant."""
    there = called(right)
    pairs = [(_owner(left, column), column) for column in columns]
    if there is None or any(here is None for here, _ in pairs):
        return None
    return conjunction([Apply("equal", (Name(column, here), Name(column, there))) for here, column in pairs])


def called(source: Source) -> str | None:
    """The name by which a table or subquery is called."""
    if isinstance(source, Joined):
        return None
    return source.alias or (source.name if isinstance(source, TableName) else None)


def _owner(left: Source, column: str) -> str | None:
    """The left table that has the column: the only one, or that where an earlier join merged it."""
    if not isinstance(left, Joined):
        return called(left)
    merged = (_merged(part, column) for part in conjuncts(left.condition))
    found = next((table for table in merged if table is not None), None)
    return found or (_owner(left.left, column) if isinstance(left.left, Joined) else None)


def _merged(part: Term, column: str) -> str | None:
    """The first table of an equality `table.column = other.column`."""
    if not isinstance(part, Apply) or part.function != "equal":
        return None
    names = [each for each in part.arguments if isinstance(each, Name) and each.name.lower() == column.lower()]
    return names[0].table if len(names) == 2 else None
