"""FROM and WHERE: tables, subqueries, joins and filters become one relation with its names.

Every join of two private sides equates their units, and a private side is never the one that an outer join fills up,
so what the relation holds of a unit depends on that unit and on public tables alone.

UNION ALL: columns by position, brought to a common kind and grid; units of different populations stay apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd, lcm
from typing import NoReturn

from dalenius.errors import QueryRefused, UnknownName
from dalenius.query.binding.limits import require_possible
from dalenius.query.binding.scopes import (
    Field,
    InternalNames,
    Meaning,
    PathKey,
    Scope,
    Setting,
    TheUnit,
    Visible,
    refuse_key,
    scanned,
)
from dalenius.query.binding.terms import condition, conjuncts, expression, filtered
from dalenius.query.expressions import Call, Column, Expression
from dalenius.query.functions.functions import call, literal
from dalenius.query.plan.relations import (
    JOIN_ROWS,
    MOST_ROWS_OF_UNIT,
    MOST_UNIT_JOINS,
    Join,
    Project,
    Relation,
    Union,
    UnitFilter,
)
from dalenius.query.rendering import join_text, query_text, text
from dalenius.query.syntax import Apply, Joined, Name, Select, Source, Subquery, TableName, Term, UnionAll, UnitsIn
from dalenius.query.types import Bool, Days, Domain, Moments, Number, Text


def rows(select: Select, setting: Setting) -> Scope:
    """The rows that a SELECT is about: FROM, then WHERE."""
    waiting = conjuncts(select.where)
    scope = bound(select.source, setting, waiting)
    units = [(place, term) for place, term in enumerate(map(_units_in, waiting)) if term is not None]
    places = {place for place, _ in units}
    others = [term for place, term in enumerate(waiting) if place not in places]
    for term in others:
        require_possible(term, condition(term, scope))
    scope = filtered(scope, others)
    for _, term in units:
        scope = replace(scope, relation=_unit_filter(term, scope, setting))
    return scope


def bound(source: Source, setting: Setting, waiting: list[Term]) -> Scope:
    """What stands in FROM. Conditions of WHERE that a comma join needs are taken out of `waiting`."""
    if isinstance(source, TableName):
        return _table(source, setting)
    if isinstance(source, Subquery):
        return setting.inner(source.query, setting).called(source.alias)
    return _joined(source, setting, waiting)


def _table(source: TableName, setting: Setting) -> Scope:
    name = source.name.lower()
    if name in setting.common:
        query, before = setting.common[name]
        return setting.inner(query, before).called(source.alias or source.name)
    if name not in setting.tables:
        known = [*setting.common, *(table.name for table in setting.tables.values())]
        raise UnknownName("table", source.name, known=known)
    return scanned(setting.tables[name], source.alias, setting)


# ---- units in a subquery


def _units_in(term: Term) -> UnitsIn | None:
    """The condition on the unit that a term is, negated or not."""
    if isinstance(term, UnitsIn):
        return term
    if isinstance(term, Apply) and term.function == "not" and isinstance(term.arguments[0], UnitsIn):
        within = term.arguments[0]
        return replace(within, negated=not within.negated)
    return None


def _unit_filter(term: UnitsIn, scope: Scope, setting: Setting) -> UnitFilter:
    if not isinstance(scope.find(term.unit), TheUnit):
        _refuse_within(term, rule="IN (SELECT ...) works on the unit alone")
    within = setting.inner(term.select, setting)
    if [visible.meaning for visible in within.names] != [TheUnit()]:
        _refuse_within(term, rule="the subquery must select the unit, and nothing else")
    if within.relation.populations != scope.relation.populations or len(scope.relation.populations) != 1:
        _refuse_within(term, rule="both must be about the units of one population")
    return UnitFilter(scope.relation, within.relation, term.negated)


def _refuse_within(term: UnitsIn, *, rule: str) -> NoReturn:
    raise QueryRefused(
        text(term),
        rule=rule,
        instead="Write unit IN (SELECT unit FROM ...) with one population's unit; JOIN a public table instead.",
    )


# ---- joins


@dataclass
class _Conditions:
    """What ON says: equal pairs (left, right), further conditions, and whether it links the units."""

    on: list[tuple[Expression, Expression]] = field(default_factory=list)
    further: list[Term] = field(default_factory=list)
    linked: bool = False
    equal: set[tuple[Visible, Visible]] = field(default_factory=set)


def _joined(joined: Joined, setting: Setting, waiting: list[Term]) -> Scope:
    # WHERE comes after an outer join, so nothing on the side that it fills up may take a condition from there.
    first = bound(joined.left, setting, [] if joined.kind == "right" else waiting)
    second = bound(joined.right, setting, [] if joined.kind == "left" else waiting)
    _require_other_names(joined, first, second)
    terms = _taken(waiting, first, second) if joined.kind == "cross" else conjuncts(joined.condition)
    mirrored = joined.kind == "right"
    left, right = (second, first) if mirrored else (first, second)
    _check_kind(joined, left, right)
    conditions = _read(terms, left, right)
    _check_units(joined, conditions, left, right)
    if joined.kind in ("left", "right"):
        return _outer(joined, conditions, left, right, names=(first, second))
    names = _names(first, second, conditions, lost=None)
    relation = Join(left.relation, right.relation, tuple(conditions.on))
    _check_rows(joined, relation)
    return filtered(Scope(relation, names), conditions.further)


def _outer(joined: Joined, conditions: _Conditions, left: Scope, right: Scope, *, names: tuple[Scope, Scope]) -> Scope:
    """A join that keeps the left side; further conditions may only choose among the rows of the right side."""
    both = _both(left, right)
    for term in conditions.further:
        if not _within(expression(term, both), right.relation) or not list(expression(term, both).columns()):
            raise QueryRefused(
                text(term),
                rule="ON of an outer join holds equalities between both sides and conditions on the side that is added",
                instead="Move the condition to WHERE, or use an inner JOIN.",
            )
    kept = filtered(right, conditions.further)
    relation = Join(left.relation, kept.relation, tuple(conditions.on), "left")
    _check_rows(joined, relation)
    return Scope(relation, _names(*names, conditions, lost=right))


def _names(first: Scope, second: Scope, conditions: _Conditions, *, lost: Scope | None) -> tuple[Visible, ...]:
    """The names of both sides as written; the unit of a side that may be missing has no name any more."""
    merged = {later for _, later in conditions.equal}
    found = []
    for scope in (first, second):
        for visible in scope.names:
            if scope is lost and isinstance(visible.meaning, TheUnit):
                continue
            found.append(replace(visible, merged=True) if visible in merged else visible)
    return tuple(found)


def _read(terms: Iterable[Term], left: Scope, right: Scope) -> _Conditions:
    both, conditions = _both(left, right), _Conditions()
    for term in terms:
        pair = _sides(term, left, right)
        if pair is not None and _links(term, *pair, left, right, conditions):
            continue
        equality = _equality(condition(term, both), left.relation, right.relation)
        if equality is None:
            conditions.further.append(term)
            continue
        conditions.on.append(equality)
        if pair is not None:
            _merge(*pair, left, right, conditions)
    return conditions


def _both(left: Scope, right: Scope) -> Scope:
    return Scope(Join(left.relation, right.relation, ()), (*left.names, *right.names))


def _sides(term: Term, left: Scope, right: Scope) -> tuple[Name, Name] | None:
    """The names of an equality between two names, one of each side."""
    if not (isinstance(term, Apply) and term.function == "equal" and len(term.arguments) == 2):
        return None
    one, other = term.arguments
    if not (isinstance(one, Name) and isinstance(other, Name)):
        return None
    if left.has(one) and right.has(other) and not (right.has(one) or left.has(other)):
        return one, other
    if left.has(other) and right.has(one) and not (right.has(other) or left.has(one)):
        return other, one
    return None


def _links(term: Term, one: Name, other: Name, left: Scope, right: Scope, conditions: _Conditions) -> bool:
    """Whether an equality is one of units, or of keys along a declared path; then it links the units."""
    first, second = left.find(one), right.find(other)
    if isinstance(first, TheUnit) and isinstance(second, TheUnit):
        conditions.linked = True
        return True
    if not (isinstance(first, PathKey) and isinstance(second, PathKey)):
        return False
    if not first.paths & second.paths:
        refuse_key(one, first)
    conditions.on.append((_key_column(one, first, left), _key_column(other, second, right)))
    conditions.on[-1] = _reconciled(term, *conditions.on[-1])
    conditions.linked = True
    return True


def _key_column(name: Name, key: PathKey, scope: Scope) -> Column:
    if key.column is None:
        raise QueryRefused(
            text(name),
            rule=f"the owner did not declare this key as a column of {key.table}, so it cannot be compared",
            instead="Join on the unit, or ask the owner to declare it.",
        )
    return Column(scope.relation.schema[key.column], key.column)


def _reconciled(term: Term, one: Expression, other: Expression) -> tuple[Expression, Expression]:
    """Both sides of an equality on a common grid."""
    try:
        equal = call("equal", one, other)
    except QueryRefused as refused:
        raise QueryRefused(text(term), rule=refused.rule, instead=refused.instead) from None
    if isinstance(equal, Call) and equal.function == "equal":
        return equal.arguments[0], equal.arguments[1]
    return one, other


def _equality(found: Expression, left: Relation, right: Relation) -> tuple[Expression, Expression] | None:
    """The pair (left, right) of an equality between both sides."""
    if not (isinstance(found, Call) and found.function == "equal"):
        return None
    one, other = found.arguments
    if not (list(one.columns()) and list(other.columns())):
        return None
    if _within(one, left) and _within(other, right):
        return one, other
    if _within(one, right) and _within(other, left):
        return other, one
    return None


def _within(found: Expression, relation: Relation) -> bool:
    return set(found.columns()) <= set(relation.schema)


def _merge(one: Name, other: Name, left: Scope, right: Scope, conditions: _Conditions) -> None:
    """Equal columns of one name need no table's name any more: the kept side's stands for both."""
    first = next(visible for visible in left.names if visible.answers(one))
    second = next(visible for visible in right.names if visible.answers(other))
    if first.name.lower() == second.name.lower():
        conditions.equal.add((first, second))


def _taken(waiting: list[Term], left: Scope, right: Scope) -> list[Term]:
    """The equalities in WHERE that make a comma join an inner join."""
    found = [term for term in waiting if _sides(term, left, right) is not None]
    waiting[:] = [term for term in waiting if term not in found]
    return found


# ---- what is refused


def _require_other_names(joined: Joined, first: Scope, second: Scope) -> None:
    tables = [{(visible.table or "").lower() for visible in scope.names} - {""} for scope in (first, second)]
    if tables[0] & tables[1]:
        raise QueryRefused(
            join_text(joined),
            rule=f"two tables are called {min(tables[0] & tables[1])}",
            instead="Give one of them another name: JOIN table other ON ...",
        )


def _check_kind(joined: Joined, left: Scope, right: Scope) -> None:
    private = right.relation.private and not left.relation.private
    if joined.kind == "full" or (joined.kind in ("left", "right") and private):
        raise QueryRefused(
            join_text(joined),
            rule="the join would keep rows of the public side that belong to nobody",
            instead="Use an inner JOIN, or keep the private side: private LEFT JOIN public.",
        )


def _check_units(joined: Joined, conditions: _Conditions, left: Scope, right: Scope) -> None:
    if not (left.relation.private and right.relation.private):
        if not conditions.on:
            raise QueryRefused(
                join_text(joined),
                rule="a join needs an equality between a column of each side",
                instead="Add ON left.column = right.column.",
            )
        return
    populations = {*left.relation.populations, *right.relation.populations}
    if len(populations) > 1:
        raise QueryRefused(
            join_text(joined),
            rule=f"it joins two different units, of {' and '.join(sorted(populations))}",
            instead="Join tables of one population, or ask about each by itself.",
        )
    if not conditions.linked:
        raise QueryRefused(
            join_text(joined), rule="private tables are joined over their unit", instead=_link(joined, left, right)
        )


def _check_rows(joined: Joined, relation: Join) -> None:
    """Refuse joins by which one unit could cause so much work that it decides when, or whether, there is an answer."""
    if relation.unit_joins > MOST_UNIT_JOINS:
        raise QueryRefused(
            join_text(joined),
            rule=f"it joins rows of more than {MOST_UNIT_JOINS + 1} private tables",
            instead="Aggregate each table per unit first (GROUP BY the unit); such tables are joined freely.",
        )
    found = relation.rows_of_large_unit
    if found is not None and found <= MOST_ROWS_OF_UNIT:
        return
    many = "an unknown number of" if found is None else f"{found:,}"
    raise QueryRefused(
        join_text(joined),
        rule=f"{JOIN_ROWS} rows of a unit could turn into {many} rows, and at most {MOST_ROWS_OF_UNIT:,} are allowed",
        instead="Join on a column that is unique in the public table, written without a computation; "
        "join public tables before private ones.",
    )


def _link(joined: Joined, left: Scope, right: Scope) -> str:
    """The condition that would pass."""
    units = [
        next(
            (f"{v.table}.{v.name}" if v.table else v.name for v in scope.names if isinstance(v.meaning, TheUnit)), None
        )
        for scope in (left, right)
    ]
    if None in units:
        return "Select the unit in the subquery and join on it; where each row is a unit, join with public tables only."
    return f"Add ON {units[0]} = {units[1]}."


_KINDS: tuple[type[Domain], ...] = (Number, Days, Moments, Bool, Text)


def unite(query: UnionAll, parts: Sequence[Scope], names: InternalNames) -> Scope:
    """The rows of all parts, with the names of the first; the unit has a name where every part selects it there."""
    _require_alike(query, parts)
    columns: list[tuple[str, list[Expression]]] = []
    visible: list[Visible] = []
    for place, first in enumerate(parts[0].names):
        meanings = [part.names[place].meaning for part in parts]
        visible.append(Visible(first.name, None, _meaning(query, first.name, meanings, parts, columns, names)))
    relations = [
        Project(part.relation, tuple((name, values[number]) for name, values in columns))
        for number, part in enumerate(parts)
    ]
    return Scope(Union(tuple(relations)), tuple(visible))


def _meaning(
    query: UnionAll,
    name: str,
    meanings: Sequence[Meaning],
    parts: Sequence[Scope],
    columns: list[tuple[str, list[Expression]]],
    names: InternalNames,
) -> Meaning:
    if all(isinstance(meaning, TheUnit) for meaning in meanings):
        return TheUnit()
    fields = [meaning for meaning in meanings if isinstance(meaning, Field)]
    if len(fields) < len(meanings):
        _refuse(query, rule=f"column {name} is the unit in one part and not in another")
    found: list[Expression] = [
        Column(part.relation.schema[each.column], each.column) for part, each in zip(parts, fields, strict=True)
    ]
    columns.append((names.derived(), reconcile(query, name, found)))
    return Field(columns[-1][0])


def reconcile(query: UnionAll, name: str, found: Sequence[Expression]) -> list[Expression]:
    """The columns of all parts in one kind, numbers as multiples of one step."""
    domains = [each.domain for each in found]
    if not any(all(isinstance(domain, kind) for domain in domains) for kind in _KINDS):
        listed = ", ".join(dict.fromkeys(str(domain) for domain in domains))
        _refuse(query, rule=f"column {name} has several kinds: {listed}")
    steps = [domain.step for domain in domains if isinstance(domain, Number)]
    if len(set(steps)) <= 1:
        return list(found)
    step = Fraction(gcd(*(step.numerator * _common(steps) // step.denominator for step in steps)), _common(steps))
    return [_on_grid(each, step) for each in found]


def _common(steps: Sequence[Fraction]) -> int:
    return lcm(*(step.denominator for step in steps))


def _on_grid(value: Expression, step: Fraction) -> Expression:
    assert isinstance(value.domain, Number)
    return value if value.domain.step == step else call("to_real", value, literal(step))


def _require_alike(query: UnionAll, parts: Sequence[Scope]) -> None:
    if len({len(part.names) for part in parts}) != 1:
        _refuse(query, rule="the parts have different numbers of named columns")
    if len({part.relation.private for part in parts}) != 1:
        _refuse(query, rule="rows of a public table belong to nobody and cannot be mixed with private ones")


def _refuse(query: UnionAll, *, rule: str) -> NoReturn:
    raise QueryRefused(
        query_text(query), rule=rule, instead="Let every part select the same columns, by CAST where kinds differ."
    )
