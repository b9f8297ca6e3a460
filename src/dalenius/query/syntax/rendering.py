"""A question's clauses as short SQL-like text, for error messages and column names; never for an engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch

from dalenius.query.syntax.syntax import (
    Apply,
    Constant,
    Item,
    Joined,
    Name,
    Order,
    Query,
    Select,
    Source,
    Subquery,
    TableName,
    Term,
    UnionAll,
    UnitsIn,
)
from dalenius.query.types import decimal

_OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "modulo": "%",
    "equal": "=", "not_equal": "<>", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "and": "AND", "or": "OR", "like": "LIKE",
}  # fmt: skip
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN", "cross": "CROSS JOIN"}


@singledispatch
def text(term: Term) -> str:
    """A term as people would write it."""
    raise TypeError(type(term).__name__)


@text.register
def _(term: Name) -> str:
    return term.name if term.table is None else f"{term.table}.{term.name}"


@text.register
def _(term: Constant) -> str:
    value = term.value
    if value is None or isinstance(value, bool):
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, str | dt.date):
        return "'" + str(value).replace("'", "''") + "'"
    return str(decimal(value) if isinstance(value, Fraction) else value)


@text.register
def _(term: UnitsIn) -> str:
    return f"{text(term.unit)} {'NOT ' if term.negated else ''}IN ({query_text(term.select)})"


@text.register
def _(term: Apply) -> str:
    if term.function in _OPERATORS and len(term.arguments) >= 2:
        return f" {_OPERATORS[term.function]} ".join(_operand(argument) for argument in term.arguments)
    if term.function in _SPELLED and term.arguments:
        return _SPELLED[term.function]([_operand(argument) for argument in term.arguments])
    listed = ", ".join(text(argument) for argument in term.arguments)
    if term.function == "count" and not term.arguments:
        listed = "*"
    return f"{term.function.upper()}({'DISTINCT ' if term.distinct else ''}{listed})"


def _operand(term: Term) -> str:
    loose = isinstance(term, Apply) and term.function in _OPERATORS
    return f"({text(term)})" if loose else text(term)


def _case(parts: Sequence[str]) -> str:
    pairs = zip(parts[:-1:2], parts[1::2], strict=False)
    arms = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"CASE {arms} ELSE {parts[-1]} END"


_SPELLED = {
    "not": lambda parts: f"NOT {parts[0]}",
    "negate": lambda parts: f"-{parts[0]}",
    "is_null": lambda parts: f"{parts[0]} IS NULL",
    "in": lambda parts: f"{parts[0]} IN ({', '.join(parts[1:])})",
    "between": lambda parts: f"{parts[0]} BETWEEN {' AND '.join(parts[1:])}",
    "case": _case,
}


def item_text(item: Item) -> str:
    """One output column."""
    return text(item.term) if item.alias is None else f"{text(item.term)} AS {item.alias}"


def order_text(order: Order) -> str:
    """One entry of ORDER BY."""
    return text(order.term) + (" DESC" if order.descending else "")


def source_text(source: Source) -> str:
    """What stands in FROM."""
    if isinstance(source, TableName):
        return source.name if source.alias is None else f"{source.name} {source.alias}"
    if isinstance(source, Subquery):
        return f"({query_text(source.query)})" + (f" {source.alias}" if source.alias else "")
    return f"{source_text(source.left)} {join_text(source)}"


def join_text(joined: Joined) -> str:
    """The right side of a join and its condition."""
    condition = "" if joined.condition is None else f" ON {text(joined.condition)}"
    return f"{_JOINS[joined.kind]} {source_text(joined.right)}{condition}"


def query_text(query: Query) -> str:
    """A whole query, in one line."""
    if isinstance(query, UnionAll):
        return " UNION ALL ".join(query_text(part) for part in query.parts)
    clauses = [_select_text(query), f"FROM {source_text(query.source)}"]
    clauses += [f"WHERE {text(query.where)}"] if query.where is not None else []
    clauses += [group_text(query.group_by)] if query.group_by else []
    clauses += [f"HAVING {text(query.having)}"] if query.having is not None else []
    clauses += ["ORDER BY " + ", ".join(order_text(order) for order in query.order_by)] if query.order_by else []
    clauses += [f"LIMIT {query.limit}"] if query.limit is not None else []
    return " ".join(clauses)


def _select_text(select: Select) -> str:
    listed = ", ".join(item_text(item) for item in select.items)
    return f"SELECT {'DISTINCT ' if select.distinct else ''}{listed}"


def group_text(terms: Sequence[Term]) -> str:
    """The clause GROUP BY."""
    return "GROUP BY " + ", ".join(text(term) for term in terms)
