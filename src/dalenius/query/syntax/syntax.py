"""A question as it was asked, before names and types are known: what SQL and frames have in common.

Both front ends write this small tree, and one binder (`binder`) turns it into a plan, so equal questions give equal
plans. Nothing here is trusted: the binder checks everything.
"""

from __future__ import annotations

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
    select: Query
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

    query: Query
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
    common: tuple[tuple[str, Query], ...] = ()
    """WITH name AS (query), in order."""


@dataclass(frozen=True)
class UnionAll:
    """UNION ALL of selects with as many columns each."""

    parts: tuple[Query, ...]
    common: tuple[tuple[str, Query], ...] = ()


Query: TypeAlias = Select | UnionAll
