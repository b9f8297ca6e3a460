"""SELECT, FROM, JOIN, WITH and UNION ALL as syntax, and the two forms of subquery that ask about the unit itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from sqlglot import exp

from dalenius.query.sql.grammar import only, refusal
from dalenius.query.sql.terms import READERS, identifier, name, number, operand, term
from dalenius.query.syntax import (
    Apply,
    Item,
    Joined,
    Name,
    Order,
    QueryTree,
    Select,
    Source,
    Subquery,
    TableName,
    Term,
    UnionAll,
    UnitsIn,
    called,
    conjunction,
    conjuncts,
    using,
)

MOST_JOINS = 31
"""Joins in one SELECT."""

Kind = Literal["inner", "left", "right", "full", "cross"]


def query(node: exp.Expr) -> QueryTree:
    """A SELECT, or a UNION ALL of several."""
    if type(node) is exp.Subquery:
        only(node, "this")
        return query(node.this)
    if type(node) is exp.Union:
        return _union(node)
    if type(node) is exp.Select:
        return _select(node)
    rule, instead = _REFUSED.get(type(node).__name__, ("only SELECT is understood", "Write SELECT ... FROM ..."))
    raise refusal(node, rule=rule, instead=instead)


_REFUSED = {
    "Intersect": ("INTERSECT is not understood", "Use a condition: unit IN (SELECT unit ...)."),
    "Except": ("EXCEPT is not understood", "Use a condition: unit NOT IN (SELECT unit ...)."),
    "Values": ("VALUES is not understood", "Ask the owner for a public table."),
    "Table": ("tables stand in FROM, without brackets", "Write SELECT ... FROM table."),
}


def _union(node: exp.Union) -> QueryTree:
    if node.args.get("distinct"):
        raise refusal(node, rule="UNION would remove equal rows of different people", instead="Write UNION ALL.")
    for part in ("order", "limit"):
        if node.args.get(part):
            rule = "ORDER BY and LIMIT belong to the outermost SELECT"
            raise refusal(node.args[part], rule=rule, instead="Write SELECT ... FROM (... UNION ALL ...) ORDER BY ...")
    only(node, "this", "expression", "distinct", "with_")
    parts = [part for side in (node.this, node.expression) for part in _parts(query(side), side)]
    return UnionAll(tuple(parts), _common(node))


def _parts(part: QueryTree, node: exp.Expr) -> tuple[QueryTree, ...]:
    flat = isinstance(part, UnionAll) and not part.common and type(node) is exp.Union
    return part.parts if isinstance(part, UnionAll) and flat else (part,)


def _select(node: exp.Select) -> Select:
    only(
        node, "with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit",
    )  # fmt: skip
    if not node.args.get("from_"):
        raise refusal(node, rule="there is no table to ask", instead="Add FROM table.")
    if not node.expressions:
        raise refusal(node, rule="nothing is selected", instead="Write SELECT COUNT(*) FROM ...")
    return Select(
        items=tuple(_item(each) for each in node.expressions),
        source=_source(node),
        where=_condition(node.args.get("where")),
        group_by=_group(node.args.get("group")),
        having=_condition(node.args.get("having")),
        order_by=_order(node.args.get("order")),
        limit=_limit(node.args.get("limit")),
        distinct=_distinct(node.args.get("distinct")),
        common=_common(node),
    )


def _item(node: exp.Expr) -> Item:
    if type(node) is exp.Alias:
        only(node, "this", "alias")
        return Item(term(node.this), identifier(node.args["alias"]))
    if type(node) is exp.Star:
        only(node)
        return Item(Name("*"))
    if type(node) is exp.Column and type(node.this) is exp.Star:
        only(node, "this", "table")
        only(node.this)
        return Item(Name("*", identifier(node.args["table"])))
    return Item(term(node))


def _condition(node: exp.Expr | None) -> Term | None:
    if node is None:
        return None
    only(node, "this")
    return term(node.this)


def _group(node: exp.Expr | None) -> tuple[Term, ...]:
    if node is None:
        return ()
    only(node, "expressions")
    if not node.expressions:
        raise refusal(node, rule="GROUP BY names nothing", instead="Write GROUP BY column, or leave it out.")
    return tuple(term(each) for each in node.expressions)


def _order(node: exp.Expr | None) -> tuple[Order, ...]:
    if node is None:
        return ()
    only(node, "expressions")
    return tuple(_ordered(each) for each in node.expressions)


def _ordered(node: exp.Expr) -> Order:
    only(node, "this", "desc")
    return Order(term(node.this), bool(node.args.get("desc")))


def _limit(node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    if type(node) is not exp.Limit or type(node.expression) is not exp.Literal or node.expression.args["is_string"]:
        raise refusal(node, rule="LIMIT takes a whole number", instead="Write LIMIT 10.")
    only(node, "expression")
    count = number(node.expression)
    if not isinstance(count, int) or count >= 2**31:
        raise refusal(node, rule="LIMIT takes a whole number below 2^31", instead="Write LIMIT 10.")
    return count


def _distinct(node: exp.Expr | None) -> bool:
    if node is None:
        return False
    only(node)
    return True


def _common(node: exp.Expr) -> tuple[tuple[str, QueryTree], ...]:
    clause = node.args.get("with_")
    if clause is None:
        return ()
    only(clause, "expressions")
    return tuple(_named(each) for each in clause.expressions)


def _named(node: exp.Expr) -> tuple[str, QueryTree]:
    only(node, "this", "alias")
    return _alias(node) or "", query(node.this)


def _alias(node: exp.Expr) -> str | None:
    alias = node.args.get("alias")
    if alias is None:
        return None
    only(alias, "this")
    return identifier(alias.this)


def _source(node: exp.Select) -> Source:
    clause = node.args["from_"]
    only(clause, "this")
    return _chained(_relation(clause.this), node.args.get("joins") or [], clause)


def _chained(source: Source, joins: list[exp.Join], clause: exp.Expr) -> Source:
    """A table and what is joined to it, one after the other."""
    crossed = False
    if len(joins) > MOST_JOINS:
        raise refusal(clause, rule=f"a question joins at most {MOST_JOINS} times", instead="Join fewer tables.")
    for join in joins:
        source, crossed = _joined(source, join, crossed)
    return source


def _right(node: exp.Expr) -> Source:
    """The right side of a join: a table, a question, or joins in brackets."""
    inner = node.this
    if type(node) is not exp.Subquery or type(inner) not in (exp.Table, exp.Subquery) or not inner.args.get("joins"):
        return _relation(node)
    only(node, "this")
    return _chained(_relation(inner, "joins"), inner.args["joins"], node)


def _relation(node: exp.Expr, *more: str) -> Source:
    if type(node) is exp.Table:
        if type(node.this) is not exp.Identifier:
            raise refusal(
                node, rule="files, functions and values are not tables", instead="Name a table of the catalog."
            )
        only(node, "this", "alias", *more)
        return TableName(identifier(node.this), _alias(node))
    if type(node) is exp.Subquery:
        only(node, "this", "alias", *more)
        return Subquery(query(node.this), _alias(node))
    rule, instead = _SOURCES.get(type(node).__name__, ("it is not a table", "Name a table of the catalog."))
    raise refusal(node, rule=rule, instead=instead)


_SOURCES = {
    "Values": ("VALUES is not understood", "Ask the owner for a public table."),
    "Lateral": ("LATERAL is not understood", "Use JOIN ... ON."),
    "Unnest": ("lists and structs are not understood", "Name a table of the catalog."),
    "Paren": ("joins are written without brackets", "Write a JOIN b ON ... JOIN c ON ..."),
    "Literal": ("files, functions and values are not tables", "Name a table of the catalog."),
}

_KINDS: dict[tuple[str, str], Kind] = {
    ("", ""): "inner", ("", "INNER"): "inner", ("", "CROSS"): "cross", ("LEFT", ""): "left", ("LEFT", "OUTER"): "left",
    ("RIGHT", ""): "right", ("RIGHT", "OUTER"): "right", ("FULL", ""): "full", ("FULL", "OUTER"): "full",
}  # fmt: skip


def _joined(left: Source, node: exp.Join, crossed: bool) -> tuple[Joined, bool]:
    if node.args.get("method"):
        raise refusal(
            node, rule=f"{node.args['method']} joins are not understood", instead="Use JOIN ... ON with equalities."
        )
    only(node, "this", "side", "kind", "on", "using")
    kind = _KINDS.get((str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()))
    if kind is None:
        raise refusal(
            node, rule="this kind of join is not understood", instead="Use JOIN, LEFT JOIN, or unit IN (SELECT ...)."
        )
    if crossed and kind in ("right", "full"):  # a comma binds less than JOIN, which matters only here
        raise refusal(node, rule="commas and outer joins do not mix", instead="Write JOIN ... ON for every table.")
    right = _right(node.this)
    condition = _on(node, left, right, kind)
    if condition is None:
        return Joined(left, right, "cross", None), True
    return Joined(left, right, kind, condition), crossed


def _on(node: exp.Join, left: Source, right: Source, kind: Kind) -> Term | None:
    on, columns = node.args.get("on"), node.args.get("using")
    if kind == "cross" and (on or columns):
        raise refusal(node, rule="CROSS JOIN has no condition", instead="Write JOIN ... ON.")
    if columns:
        return _using(node, [identifier(each) for each in columns], left, right)
    if on is None and kind not in ("inner", "cross"):
        raise refusal(node, rule="an outer join needs a condition", instead="Add ON left.column = right.column.")
    return term(on) if on else None


def _using(node: exp.Join, columns: list[str], left: Source, right: Source) -> Term:
    equalities = using(columns, left, right)
    if equalities is None:
        rule = "it is not clear whose columns are meant"
        raise refusal(node, rule=rule, instead="Write ON left.column = right.column.")
    return equalities


def _in(node: exp.In) -> Term:
    """x IN (a, b, ...), or unit IN (SELECT unit ...)."""
    if node.args.get("query") is not None:
        only(node, "this", "query")
        if type(node.this) is not exp.Column:
            raise refusal(
                node, rule="only the unit can be looked up in a question", instead="Write unit IN (SELECT unit ...)."
            )
        return UnitsIn(name(node.this), query(node.args["query"]))
    only(node, "this", "expressions")
    if not node.expressions:
        raise refusal(node, rule="there is nothing to compare with", instead="Write x IN ('a', 'b').")
    return Apply("in", (operand(node, node.this), *(term(each) for each in node.expressions)))


def _exists(node: exp.Exists) -> Term:
    """EXISTS (SELECT ... FROM inner WHERE inner.unit = outer.unit AND ...) is outer.unit IN (SELECT inner.unit ...)."""
    only(node, "this")
    if type(node.this) is not exp.Select:
        raise refusal(node, rule="EXISTS takes one SELECT", instead=_EXISTS)
    select = _select_for_exists(node.this)
    inside = {each.lower() for each in _names(select.source)}
    links = [link for part in conjuncts(select.where) if (link := _link(part, inside))]
    if len(links) != 1:
        raise refusal(node, rule="EXISTS must be tied to the outer row by the unit, once", instead=_EXISTS)
    equality, inner, outer = links[0]
    rest = [part for part in conjuncts(select.where) if part is not equality]
    where = conjunction(rest) if rest else None
    return UnitsIn(outer, Select((Item(inner),), select.source, where, common=select.common))


_EXISTS = "Write EXISTS (SELECT 1 FROM t WHERE t.unit = outer_table.unit AND ...), or unit IN (SELECT unit ...)."


def _select_for_exists(node: exp.Select) -> Select:
    only(node, "with_", "expressions", "from_", "joins", "where")
    if not node.args.get("from_"):
        raise refusal(node, rule="there is no table to ask", instead=_EXISTS)
    for each in node.expressions:
        if type(each) not in (exp.Star, exp.Literal, exp.Column, exp.Null, exp.Boolean):
            raise refusal(each, rule="EXISTS asks for rows, not for values", instead="Write SELECT 1 there.")
        _item(each)
    return Select((Item(Name("*")),), _source(node), _condition(node.args.get("where")), common=_common(node))


def _names(source: Source) -> Iterator[str]:
    if isinstance(source, Joined):
        yield from _names(source.left)
        yield from _names(source.right)
    elif found := called(source):
        yield found


def _link(part: Term, inside: set[str]) -> tuple[Term, Name, Name] | None:
    """An equality between a column of the inner tables and one of the outer; both must say whose they are."""
    if not isinstance(part, Apply) or part.function != "equal":
        return None
    first, second = part.arguments
    if not isinstance(first, Name) or not isinstance(second, Name) or not first.table or not second.table:
        return None
    if (first.table.lower() in inside) == (second.table.lower() in inside):
        return None
    return (part, first, second) if first.table.lower() in inside else (part, second, first)


READERS[exp.In] = _in
READERS[exp.Exists] = _exists
