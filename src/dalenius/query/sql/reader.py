"""SQL text becomes syntax, node by node from a list. The text itself goes no further than this module.

Calls of functions and aggregates in SQL: plain, DISTINCT, FILTER and WITHIN GROUP.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dalenius.errors import NotUnderstood
from dalenius.query.sql import names as sql_names
from dalenius.query.sql.grammar import only, refusal, statement, written
from dalenius.query.sql.selects import query
from dalenius.query.sql.terms import interval, reads, term
from dalenius.query.syntax import Apply, Constant, QueryTree, Term


@reads(exp.Anonymous)
def _call(node: exp.Anonymous) -> Term:
    only(node, "this", "expressions")
    if not isinstance(node.this, str):
        raise refusal(node, rule="names of functions are not quoted", instead="Leave the quotes out.")
    word, arguments = node.this.lower(), node.expressions
    if word in ("date_add", "date_sub"):
        return _shifted(node, word, arguments)
    if word == "count" and len(arguments) == 1 and type(arguments[0]) is exp.Star:
        only(arguments[0])
        return Apply("count")
    if len(arguments) == 1 and type(arguments[0]) is exp.Distinct:
        return _distinct(node, word, arguments[0])
    return sql_names.call(node.this, [term(argument) for argument in arguments], clause=written(node))


def _shifted(node: exp.Anonymous, word: str, arguments: list[exp.Expr]) -> Term:
    if len(arguments) != 2 or type(arguments[1]) is not exp.Interval:
        raise refusal(node, rule="it takes a date and an interval", instead="Write d + INTERVAL 7 DAY.")
    days = interval(arguments[1])
    return Apply("add_days", (term(arguments[0]), Constant(-days if word == "date_sub" else days)))


def _distinct(node: exp.Anonymous, word: str, inner: exp.Distinct) -> Term:
    only(inner, "expressions")
    if word != "count":
        raise refusal(node, rule="only COUNT takes DISTINCT", instead="Aggregate SELECT DISTINCT ... in FROM instead.")
    if len(inner.expressions) != 1:
        raise refusal(
            node, rule="COUNT(DISTINCT ...) takes one column", instead="Join texts with ||, or group by one of them."
        )
    return Apply("count", (term(inner.expressions[0]),), distinct=True)


@reads(exp.Filter)
def _filter(node: exp.Filter) -> Term:
    """f(x) FILTER (WHERE c) is f(CASE WHEN c THEN x END)."""
    only(node, "this", "expression")
    only(node.expression, "this")
    inner, condition = term(node.this), term(node.expression.this)
    if not isinstance(inner, Apply) or inner.function not in {kind for kind, _, _ in sql_names.AGGREGATES.values()}:
        raise refusal(node, rule="FILTER goes with an aggregate", instead="Write COUNT(*) FILTER (WHERE condition).")
    first, *others = inner.arguments or (Constant(1),)
    return replace(inner, arguments=(_if_true(condition, first), *others))


def _if_true(condition: Term, value: Term) -> Term:
    return Apply("case", (condition, value, Constant(None)))


@reads(exp.WithinGroup)
def _within_group(node: exp.WithinGroup) -> Term:
    only(node, "this", "expression")
    inner, order = node.this, node.expression
    if type(inner) is not exp.Anonymous or type(order) is not exp.Order or len(order.expressions) != 1:
        raise refusal(node, rule="WITHIN GROUP has one ORDER BY", instead="Write QUANTILE(x, p) or MODE(x).")
    only(order, "expressions")
    only(inner, "this", "expressions")
    by = order.expressions[0]
    only(by, "this", "desc")
    word = inner.this.lower() if isinstance(inner.this, str) else ""
    if word in ("percentile_cont", "percentile_disc") and len(inner.expressions) == 1:
        p = term(inner.expressions[0])
        return sql_names.quantile(written(node), term(by.this), p, descending=bool(by.args.get("desc")))
    if word == "mode" and not inner.expressions:
        return Apply("mode", (term(by.this),))
    raise refusal(
        node, rule="WITHIN GROUP goes with PERCENTILE_CONT and MODE", instead="Write QUANTILE(x, p) or MODE(x)."
    )


def read(text: str) -> QueryTree:
    """The question that an SQL text asks.

    Guarantee: it gives a syntax tree of names and constants, or raises `QueryRefused`; it raises nothing else, reads
    no data and knows no tables. What is not on the lists of `terms`, `selects` and `names` is refused.
    """
    try:
        return query(statement(text))
    except RecursionError:
        raise NotUnderstood(text, rule="it is nested too deeply", instead="Use fewer brackets.") from None
