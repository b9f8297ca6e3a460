"""Scalar terms of a question become typed expressions; conditions become filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from dalenius.errors import InvalidParameter, QueryRefused, UnknownName
from dalenius.query.binding.scopes import Scope
from dalenius.query.expressions import Call, Expression
from dalenius.query.functions.functions import FUNCTIONS, call, literal, narrow
from dalenius.query.plan.relations import Filter, Join, Relation
from dalenius.query.rendering import text
from dalenius.query.syntax import Apply, Constant, Item, Name, Term, UnitsIn
from dalenius.query.types import Bool, Text

AGGREGATES = frozenset(
    {
        "count", "sum", "avg", "variance", "stddev", "covar", "corr", "min", "max", "median", "quantile", "mode",
        "histogram", "robust_median", "robust_quantile", "robust_trimmed_mean", "robust_scale", "stable_mode",
        "stable_median", "stable_quantile", "proposed_median", "proposed_quantile",
    }
)  # fmt: skip
"""Functions of many rows; all others are functions of one row."""


def expression(term: Term, scope: Scope) -> Expression:
    """The expression of a scalar term over the columns of a scope."""
    if isinstance(term, Name):
        return scope.column(term)
    if isinstance(term, Constant):
        return constant(term)
    if isinstance(term, UnitsIn):
        refuse_units_in(term)
    refuse_aggregate(term)
    return applied(term, [expression(argument, scope) for argument in term.arguments])


def constant(term: Constant) -> Expression:
    """The literal of a constant."""
    try:
        return literal(term.value)
    except InvalidParameter as invalid:
        raise QueryRefused(
            text(term), rule=f"the constant is not {invalid.allowed}", instead="Write it in another way."
        ) from None


def applied(term: Apply, arguments: Sequence[Expression]) -> Expression:
    """The call of a scalar function; what is wrong with it is said of the clause as it was written."""
    if term.function not in FUNCTIONS:
        raise UnknownName("function", term.function, known=[*FUNCTIONS, *sorted(AGGREGATES)])
    if term.distinct:
        raise QueryRefused(text(term), rule="DISTINCT belongs to COUNT", instead="Leave DISTINCT out.")
    try:
        return call(term.function, *arguments)
    except QueryRefused as refused:
        _require_text(term, arguments)
        raise QueryRefused(text(term), rule=refused.rule, instead=refused.instead) from None
    except InvalidParameter as invalid:
        raise QueryRefused(text(term), rule=str(invalid), instead="Change the arguments.") from None


def _require_text(term: Apply, arguments: Sequence[Expression]) -> None:
    """Say which argument of CONCAT, read as COALESCE(argument, '') one after the other, or of || is no text."""
    filled = term.function == "coalesce" and term.arguments[1:] == (Constant(""),)
    if not filled and term.function != "concat":
        return
    for part, found in zip(term.arguments, arguments, strict=True):
        if not isinstance(found.domain, Text):
            raise QueryRefused(
                text(part),
                rule=f"it must be a text to be joined with texts, but it is {found.domain}",
                instead=f"Write CAST({text(part)} AS TEXT).",
            ) from None


def is_aggregate(term: Term) -> bool:
    """Whether the term itself is an aggregate."""
    return isinstance(term, Apply) and term.function in AGGREGATES


def aggregate(term: Term) -> bool:
    """Whether there is an aggregate in the term."""
    return is_aggregate(term) or (isinstance(term, Apply) and any(aggregate(each) for each in term.arguments))


def refuse_aggregate(term: Apply) -> None:
    """Aggregates stand in SELECT, HAVING and ORDER BY, and not inside each other."""
    if is_aggregate(term):
        raise QueryRefused(
            text(term),
            rule="an aggregate cannot stand in WHERE, ON, GROUP BY or inside another aggregate",
            instead="Use HAVING for a condition on groups; aggregate per unit in a subquery first.",
        )


def refuse_units_in(term: UnitsIn) -> NoReturn:
    """Whether a unit has rows elsewhere can only filter."""
    raise QueryRefused(
        text(term),
        rule="a subquery on the unit must be a condition of WHERE of its own, joined to others by AND",
        instead="Write WHERE ... AND unit IN (SELECT unit ...), or split an OR into two questions.",
    )


def conjuncts(term: Term | None) -> list[Term]:
    """The conditions that AND joins, in order."""
    if term is None:
        return []
    if isinstance(term, Apply) and term.function == "and":
        return [part for argument in term.arguments for part in conjuncts(argument)]
    return [term]


def condition(term: Term, scope: Scope) -> Expression:
    """A term that is true or false."""
    found = expression(term, scope)
    require_truth(term, found)
    return found


def require_truth(term: Term, found: Expression) -> None:
    """Conditions are true, false or NULL."""
    if not isinstance(found.domain, Bool):
        raise QueryRefused(
            text(term), rule=f"a condition must be true or false, not {found.domain}", instead="Compare it: ... = ..."
        )


def filtered(scope: Scope, terms: Sequence[Term]) -> Scope:
    """The rows for which all terms are true. A filter just below takes part in one conjunction, in order.

    All conditions of a conjunction are typed by the columns below it, never by what one of them narrows: an engine may
    evaluate them in any order. Those that read one side of a join are evaluated below it.
    """
    if not terms:
        return scope
    relation = scope.relation
    below = relation.child if isinstance(relation, Filter) else relation
    conditions = list(_parts(relation.condition)) if isinstance(relation, Filter) else []
    conditions += [condition(term, replace(scope, relation=below)) for term in terms]
    return replace(scope, relation=_placed(below, conditions))


def _placed(relation: Relation, conditions: Sequence[Expression]) -> Relation:
    """The rows for which all conditions are true, each of which stands below as many joins as it can.

    An inner join makes the same pairs of the rows that are left. A left join does so of its left side alone: a row of
    the right side that is missing already would leave a row without a match, which WHERE drops and this would keep.
    Where a join leaves rows of a unit out, it does so among those that are left: of fewer, and none that WHERE drops.
    """
    if not isinstance(relation, Join):
        return restricted(relation, conditions)
    left = [each for each in conditions if _reads(each, relation.left)]
    right = [each for each in conditions if relation.kind == "inner" and _reads(each, relation.right)]
    rest = [each for each in conditions if each not in left and each not in right]
    joined = replace(
        relation,
        left=_placed(relation.left, left) if left else relation.left,
        right=_placed(relation.right, right) if right else relation.right,
    )
    return restricted(joined, rest) if rest else joined


def _reads(found: Expression, side: Relation) -> bool:
    """Whether an expression reads columns of this side, and no others."""
    columns = set(found.columns())
    return bool(columns) and columns <= set(side.schema)


def restricted(relation: Relation, conditions: Sequence[Expression]) -> Filter:
    """The rows for which all conditions, typed by the relation's columns, are true."""
    joined = conditions[0]
    for part in conditions[1:]:
        joined = call("and", joined, part)
    return Filter(relation, joined, tuple(narrow(joined, relation.schema)))


def _parts(joined: Expression) -> Iterator[Expression]:
    if isinstance(joined, Call) and joined.function == "and":
        for part in joined.arguments:
            yield from _parts(part)
    else:
        yield joined


def aliases(items: Sequence[Item]) -> Mapping[str, Term]:
    """The output names of a SELECT, and what they stand for; of two equal names, the first."""
    return {item.alias.lower(): item.term for item in reversed(items) if item.alias is not None}


def without_aliases(term: Term, named: Mapping[str, Term], scope: Scope) -> Term:
    """The term with output names replaced by what they stand for; a column of the source wins."""
    if isinstance(term, Name) and term.table is None and not scope.has(term):
        return named.get(term.name.lower(), term)
    if isinstance(term, Apply):
        return replace(term, arguments=tuple(without_aliases(each, named, scope) for each in term.arguments))
    return term


def positioned(term: Term, items: Sequence[Item], clause: str) -> Term:
    """The output column that a bare whole number in GROUP BY or ORDER BY stands for; other terms as they are."""
    if not (isinstance(term, Constant) and isinstance(term.value, int) and not isinstance(term.value, bool)):
        return term
    if not 1 <= term.value <= len(items):
        raise QueryRefused(
            f"{clause} {term.value}",
            rule=f"there are {len(items)} output columns",
            instead="Name a column, or give its position from 1.",
        )
    return items[term.value - 1].term
