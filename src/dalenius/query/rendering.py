"""A question as SQL text, for error messages, for the names of columns and for a server; never for an engine.

The text reads well and reads back: `read(query_text(query)) == query` for every question that SQL can say. What it
cannot say (a constant of one third, a text with control characters) is written as well as may be, and whoever sends
the text elsewhere reads it back first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import singledispatch

from dalenius.query.functions.functions import FUNCTIONS
from dalenius.query.syntax import (
    Apply,
    Constant,
    Item,
    Joined,
    Name,
    Order,
    QueryTree,
    Select,
    Source,
    TableName,
    Term,
    UnionAll,
    UnitsIn,
)
from dalenius.query.types import decimal

_OR, _AND, _NOT, _TRUTH, _JOINED_TEXT, _SUM, _PRODUCT, _SINGLE = range(1, 9)
"""How tightly a term binds; an operand that binds less tightly than its operator asks for stands in brackets."""

_LEVELS: Mapping[str, int] = {
    "OR": _OR, "AND": _AND, **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "LIKE"), _TRUTH), "||": _JOINED_TEXT,
    **dict.fromkeys(("+", "-"), _SUM), **dict.fromkeys(("*", "/", "//", "%"), _PRODUCT),
}  # fmt: skip
"""What is written between its arguments."""
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN", "cross": "CROSS JOIN"}

RESERVED = frozenset(
    {
        "all", "alter", "and", "anti", "any", "as", "asof", "between", "case", "connect_by_root", "create",
        "cross", "cube", "current_date", "current_time", "current_timestamp", "current_user", "describe",
        "distinct", "drop", "else", "except", "false", "fetch", "for", "from", "full", "glob", "grant",
        "having", "if", "ilike", "inner", "insert", "intersect", "interval", "into", "join", "lateral", "left",
        "like", "limit", "lock", "natural", "not", "notnull", "null", "offset", "on", "or", "outer",
        "partitioned_by", "qualify", "recursive", "regexp", "returning", "revoke", "right", "rlike", "rollback",
        "rollup", "select", "semi", "straight_join", "symmetric", "tablesample", "then", "true", "uncache",
        "union", "using", "values", "when", "where", "window", "with", "xor",
    }
)  # fmt: skip
"""Words that are names only in quotes."""


def name_text(name: str) -> str:
    """A name as SQL reads it, in quotes where they are needed."""
    plain = name == "*" or (name.isidentifier() and name.lower() not in RESERVED)
    return name if plain else '"' + name.replace('"', '""') + '"'


@singledispatch
def text(term: Term) -> str:
    """A term as people would write it."""
    raise TypeError(type(term).__name__)


@text.register
def _(term: Name) -> str:
    return name_text(term.name) if term.table is None else f"{name_text(term.table)}.{name_text(term.name)}"


@text.register
def _(term: Constant) -> str:
    value = term.value
    if value is None or isinstance(value, bool):
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, dt.date):
        return f"{'TIMESTAMP' if isinstance(value, dt.datetime) else 'DATE'} '{value}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(decimal(value) if isinstance(value, Fraction) else value)


@text.register
def _(term: UnitsIn) -> str:
    return f"{text(term.unit)} {'NOT ' if term.negated else ''}IN ({query_text(term.select)})"


@text.register
def _(term: Apply) -> str:
    sign = _operator(term)
    if sign is not None:
        return _operation(sign, term.arguments)
    if term.function in _SPELLED and term.arguments:
        return _SPELLED[term.function](term.arguments)
    listed = ", ".join(text(argument) for argument in term.arguments)
    if term.function == "count" and not term.arguments:
        listed = "*"
    sql = _sql(term.function)
    called = term.function.upper() if sql in _LEVELS else sql
    return f"{called}({'DISTINCT ' if term.distinct else ''}{listed})"


def _sql(function: str) -> str:
    known = FUNCTIONS.get(function)
    return known.sql if known and known.sql else function.upper()


def _operator(term: Apply) -> str | None:
    sql = _sql(term.function)
    return sql if sql in _LEVELS and len(term.arguments) >= 2 else None


def _operation(sign: str, arguments: Sequence[Term]) -> str:
    """Operators nest to the left, so that only the right side needs brackets at an equal level; truths never nest."""
    level = _LEVELS[sign]
    first, *others = arguments
    parts = [_operand(first, level + 1 if level == _TRUTH else level)]
    return f" {sign} ".join(parts + [_operand(each, level + 1) for each in others])


def _operand(term: Term, level: int) -> str:
    return text(term) if _level(term) >= level else f"({text(term)})"


def _level(term: Term) -> int:
    if isinstance(term, UnitsIn):
        return _TRUTH
    if not isinstance(term, Apply):
        return _SINGLE
    sign = _operator(term)
    if sign is not None:
        return _LEVELS[sign]
    return {"not": _NOT, "is_null": _TRUTH, "in": _TRUTH, "between": _TRUTH}.get(term.function, _SINGLE)


def _not(terms: Sequence[Term]) -> str:
    inner = terms[0]
    if isinstance(inner, Apply) and inner.function == "is_null" and inner.arguments:
        return f"{_operand(inner.arguments[0], _JOINED_TEXT)} IS NOT NULL"
    return f"NOT {text(inner) if _level(inner) == _NOT else _operand(inner, _JOINED_TEXT)}"


def _negative(terms: Sequence[Term]) -> str:
    inner = text(terms[0])
    bare = _level(terms[0]) == _SINGLE and not inner.startswith("-")  # two signs in a row begin a comment
    return f"-{inner}" if bare else f"-({inner})"


def _in(terms: Sequence[Term]) -> str:
    return f"{_operand(terms[0], _JOINED_TEXT)} IN ({', '.join(text(each) for each in terms[1:])})"


def _between(terms: Sequence[Term]) -> str:
    first, *bounds = [_operand(each, _JOINED_TEXT) for each in terms]
    return f"{first} BETWEEN {' AND '.join(bounds)}"


def _case(terms: Sequence[Term]) -> str:
    parts = [text(each) for each in terms]
    pairs = zip(parts[:-1:2], parts[1::2], strict=False)
    arms = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"CASE {arms} ELSE {parts[-1]} END"


_SPELLED: Mapping[str, Callable[[Sequence[Term]], str]] = {
    "not": _not,
    "negate": _negative,
    "is_null": lambda terms: f"{_operand(terms[0], _JOINED_TEXT)} IS NULL",
    "in": _in,
    "between": _between,
    "case": _case,
}


def item_text(item: Item) -> str:
    """One output column."""
    return text(item.term) if item.alias is None else f"{text(item.term)} AS {name_text(item.alias)}"


def order_text(order: Order) -> str:
    """One entry of ORDER BY."""
    return text(order.term) + (" DESC" if order.descending else "")


def source_text(source: Source) -> str:
    """What stands in FROM."""
    if isinstance(source, Joined):
        return f"{source_text(source.left)} {join_text(source)}"
    inner = name_text(source.name) if isinstance(source, TableName) else f"({query_text(source.query)})"
    return inner if source.alias is None else f"{inner} {name_text(source.alias)}"


def join_text(joined: Joined) -> str:
    """The right side of a join and its condition."""
    condition = "" if joined.condition is None else f" ON {text(joined.condition)}"
    right = source_text(joined.right)
    return f"{_JOINS[joined.kind]} {f'({right})' if isinstance(joined.right, Joined) else right}{condition}"


def query_text(query: QueryTree) -> str:
    """A whole query, in one line."""
    if isinstance(query, UnionAll):
        return _common_text(query) + " UNION ALL ".join(_part_text(part) for part in query.parts)
    clauses = [_common_text(query) + _select_text(query), f"FROM {source_text(query.source)}"]
    clauses += [f"WHERE {text(query.where)}"] if query.where is not None else []
    clauses += [group_text(query.group_by)] if query.group_by else []
    clauses += [f"HAVING {text(query.having)}"] if query.having is not None else []
    clauses += ["ORDER BY " + ", ".join(order_text(order) for order in query.order_by)] if query.order_by else []
    clauses += [f"LIMIT {query.limit}"] if query.limit is not None else []
    return " ".join(clauses)


def _common_text(query: QueryTree) -> str:
    listed = ", ".join(f"{name_text(name)} AS ({query_text(inner)})" for name, inner in query.common)
    return f"WITH {listed} " if listed else ""


def _part_text(part: QueryTree) -> str:
    """A part of UNION ALL, in brackets where its end or its names would be taken for the whole's."""
    plain = isinstance(part, Select) and not part.order_by and part.limit is None and not part.common
    return query_text(part) if plain else f"({query_text(part)})"


def _select_text(select: Select) -> str:
    listed = ", ".join(item_text(item) for item in select.items)
    return f"SELECT {'DISTINCT ' if select.distinct else ''}{listed}"


def group_text(terms: Sequence[Term]) -> str:
    """The clause GROUP BY."""
    return "GROUP BY " + ", ".join(text(term) for term in terms)
