"""SQL text becomes syntax, node by node from a list. The text itself goes no further than this module."""

from __future__ import annotations

from dalenius.errors import NotUnderstood
from dalenius.query.sql import calls  # noqa: F401 - its readers join the list
from dalenius.query.sql.grammar import statement
from dalenius.query.sql.selects import query
from dalenius.query.syntax.syntax import Query


def read(text: str) -> Query:
    """The question that an SQL text asks.

    Guarantee: it gives a syntax tree of names and constants, or raises `QueryRefused`; it raises nothing else, reads
    no data and knows no tables. What is not on the lists of `terms`, `selects` and `names` is refused.
    """
    try:
        return query(statement(text))
    except RecursionError:
        raise NotUnderstood(text, rule="it is nested too deeply", instead="Use fewer brackets.") from None
