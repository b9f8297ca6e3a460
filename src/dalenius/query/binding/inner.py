"""Inner queries: subqueries in FROM, WITH queries and the parts of UNION ALL.

They keep the unit: rows are chosen and computed one by one, or aggregated per unit. What would mix units (DISTINCT,
GROUP BY or an aggregate without the unit, ORDER BY, LIMIT) is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from dalenius.errors import QueryRefused
from dalenius.query.binding.limits import require_sum, rows_limit
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
)
from dalenius.query.binding.sources import rows, unite
from dalenius.query.binding.terms import (
    aggregate,
    aliases,
    applied,
    constant,
    expression,
    is_aggregate,
    positioned,
    refuse_units_in,
    require_truth,
    restricted,
    without_aliases,
)
from dalenius.query.expressions import Column, Expression
from dalenius.query.functions.functions import call
from dalenius.query.plan.relations import Distinct, Group, Project, Relation, UnitTotal
from dalenius.query.rendering import group_text, item_text, order_text, query_text, text
from dalenius.query.syntax import Apply, Constant, Item, Name, QueryTree, Select, Term, UnionAll
from dalenius.query.types import Domain, Number, Ranged

Value: TypeAlias = Meaning | Expression
"""What an output column is: something that is there already, or computed."""


def inner(query: QueryTree, setting: Setting) -> Scope:
    """The rows of an inner query, with the names of its output columns."""
    setting = setting.including(query.common)
    if isinstance(query, UnionAll):
        return unite(query, [inner(part, setting) for part in query.parts], setting.names)
    _refuse_order(query)
    scope = rows(query, setting)
    items = starless(query.items, scope)
    if query.group_by or query.having is not None or any(aggregate(item.term) for item in items):
        scope, values = _PerUnit(query, items, scope, setting).bound()
    else:
        values = [_value(item.term, scope) for item in items]
    if query.distinct:
        _require_unit(query, values, scope)
    names = [output_name(item) for item in items]
    chosen = _chosen(scope.relation, names, values, setting.names, always=query.distinct)
    return Scope(Distinct(chosen.relation), chosen.names) if query.distinct else chosen


def starless(items: Sequence[Item], scope: Scope) -> list[Item]:
    """The output columns, with * written out."""
    found: list[Item] = []
    for item in items:
        if isinstance(item.term, Name) and item.term.name == "*":
            starred = scope.starred(item.term.table)
            found += [Item(Name(visible.name, visible.table), visible.name) for visible in starred]
        else:
            found.append(item)
    return found


def output_name(item: Item) -> str:
    """How people call an output column."""
    return item.alias or (item.term.name if isinstance(item.term, Name) else text(item.term))


def _value(term: Term, scope: Scope) -> Value:
    if not isinstance(term, Name):
        return expression(term, scope)
    meaning = scope.find(term)
    if isinstance(meaning, PathKey):
        refuse_key(term, meaning)
    return meaning


def _chosen(
    relation: Relation, names: Sequence[str], values: Sequence[Value], numbered: InternalNames, *, always: bool
) -> Scope:
    """The output columns as names of the relation; where one is computed, of a projection of it."""
    columns: dict[Expression, str] = {}
    meanings: list[Meaning] = []
    for value in values:
        if isinstance(value, TheUnit | PathKey):
            meanings.append(value)
            continue
        wanted = Column(relation.schema[value.column], value.column) if isinstance(value, Field) else value
        if wanted not in columns:
            columns[wanted] = wanted.name if isinstance(wanted, Column) else numbered.derived()
        meanings.append(Field(columns[wanted]))
    if always or any(not isinstance(wanted, Column) for wanted in columns):
        relation = Project(relation, tuple((name, wanted) for wanted, name in columns.items()))
    pairs = zip(names, meanings, strict=True)
    return Scope(relation, tuple(Visible(name, None, meaning) for name, meaning in pairs))


# ---- aggregates per unit


@dataclass
class _PerUnit:
    """An inner GROUP BY with the unit: keys, totals, and output columns over them."""

    select: Select
    items: Sequence[Item]
    scope: Scope
    setting: Setting
    keys: dict[Expression, str] = field(default_factory=dict)
    totals: dict[UnitTotal, str] = field(default_factory=dict)

    def bound(self) -> tuple[Scope, list[Value]]:
        """The grouped rows (after HAVING), and the output columns."""
        if not self.scope.relation.private:
            _refuse_public(self.select)
        self._bind_keys()
        values = [self._value(item.term) for item in self.items]
        having = self._having()
        relation: Relation = Group(
            self.scope.relation,
            tuple((name, key) for key, name in self.keys.items()),
            tuple((name, total) for total, name in self.totals.items()),
        )
        if having is not None:
            relation = restricted(relation, [having])
        return Scope(relation, ()), [Field(each.name) if isinstance(each, Column) else each for each in values]

    def _bind_keys(self) -> None:
        by_unit = False
        named = aliases(self.items)
        for written in self.select.group_by:
            term = without_aliases(positioned(written, self.items, "GROUP BY"), named, self.scope)
            if self.scope.is_unit(term):
                by_unit = True
                continue
            key = expression(term, self.scope)
            if key not in self.keys:
                self.keys[key] = self.setting.names.derived()
        if not by_unit:
            _refuse_without_unit(self.select, self.scope)

    def _having(self) -> Expression | None:
        if self.select.having is None:
            return None
        term = without_aliases(self.select.having, aliases(self.items), self.scope)
        found = self._computed(term)
        require_truth(term, found)
        return found

    def _value(self, term: Term) -> Value:
        return TheUnit() if self.scope.is_unit(term) else self._computed(term)

    def _computed(self, term: Term) -> Expression:
        """An expression over keys and totals."""
        if isinstance(term, Apply) and is_aggregate(term):
            return self._aggregate(term)
        if isinstance(term, Constant):
            return constant(term)
        if not isinstance(term, Name | Apply):
            refuse_units_in(term)
        if not aggregate(term):
            key = expression(term, self.scope)
            if key in self.keys:
                return Column(key.domain, self.keys[key])
        if isinstance(term, Apply):
            return applied(term, [self._computed(argument) for argument in term.arguments])
        raise QueryRefused(
            text(term),
            rule="an output column of a grouped query must be in GROUP BY or inside an aggregate",
            instead=f"Add {text(term)} to GROUP BY, or write MIN({text(term)}) or MAX({text(term)}).",
        )

    def _aggregate(self, term: Apply) -> Expression:
        if term.function == "count" and not term.arguments and not term.distinct:
            return self._total(term, "count", None)
        if len(term.arguments) != 1 or (term.distinct and term.function != "count") or term.function not in _PER_UNIT:
            raise QueryRefused(
                text(term),
                rule="per unit there are COUNT, COUNT(DISTINCT x), SUM, AVG, MIN and MAX of one term",
                instead="Use one of these.",
            )
        if self.scope.is_unit(term.arguments[0]):
            refuse_unit_per_unit(term)
        argument = expression(term.arguments[0], self.scope)
        if term.function == "avg":
            total = self._total(term, "sum", argument)
            return call("divide", total, self._total(term, "count", argument))
        return self._total(term, "distinct" if term.distinct else term.function, argument)

    def _total(self, term: Apply, kind: str, argument: Expression | None) -> Column:
        limit = rows_limit(self.scope.relation, self.setting.most, clause=text(term))
        if kind == "count" and argument is not None and not argument.domain.nullable:
            argument = None
        domain = _total_domain(term, kind, argument, limit)
        total = UnitTotal(kind, argument, limit, domain)  # type: ignore[arg-type]
        if total not in self.totals:
            self.totals[total] = self.setting.names.derived()
        return Column(domain, self.totals[total])


_PER_UNIT = frozenset({"count", "sum", "avg", "min", "max"})


def _total_domain(term: Apply, kind: str, argument: Expression | None, limit: int) -> Domain:
    """The public range of what one unit gives; see `plan.UnitTotal`."""
    if argument is None or kind in ("count", "distinct"):
        return Number(False, 0 if argument is not None and argument.domain.nullable else 1, limit)
    domain = argument.domain
    if kind == "sum" and isinstance(domain, Number):
        require_sum(domain, limit, power=1, clause=text(term))
        return Number(domain.nullable, min(0, limit * domain.lower), max(0, limit * domain.upper), domain.step)
    if kind in ("min", "max") and isinstance(domain, Ranged):
        return domain
    kinds = "numbers" if kind == "sum" else "numbers, dates or moments"
    raise QueryRefused(
        text(term), rule=f"it takes {kinds}, not {domain}", instead="Use CASE WHEN ... THEN 1 ELSE 0 END, or COUNT."
    )


# ---- what is refused


def refuse_unit_per_unit(term: Apply) -> NoReturn:
    """Of the unit itself there is nothing to compute within a unit."""
    raise QueryRefused(
        text(term),
        rule="within one unit there is one unit",
        instead="Count rows with COUNT(*), or count units in the outer query.",
    )


def _refuse_order(query: Select) -> None:
    if query.order_by or query.limit is not None:
        clause = f"LIMIT {query.limit}" if not query.order_by else f"ORDER BY {order_text(query.order_by[0])}"
        raise QueryRefused(
            clause,
            rule="an inner query has no order and no limit: which rows come first depends on everybody's rows",
            instead="Order and limit the outermost query, or choose rows with WHERE.",
        )


def _refuse_public(query: Select) -> NoReturn:
    raise QueryRefused(
        query_text(query),
        rule="public tables are not aggregated inside a question",
        instead="Join the public table as it is, or ask the owner for a table of the totals.",
    )


def _refuse_without_unit(query: Select, scope: Scope) -> NoReturn:
    unit = scope.unit_name
    grouped = group_text(query.group_by) if query.group_by else query_text(query)
    more = f"{group_text(query.group_by)}, {unit}" if query.group_by else f"GROUP BY {unit}"
    raise QueryRefused(
        grouped,
        rule="an inner query over private data is aggregated per unit, so GROUP BY must contain the unit",
        instead=f"Write {more}." if unit else "Select the unit below it, or aggregate in the outermost query only.",
    )


def _require_unit(query: Select, values: Sequence[Value], scope: Scope) -> None:
    if not scope.relation.private:
        _refuse_public(query)
    if TheUnit() not in values:
        raise QueryRefused(
            "SELECT DISTINCT " + ", ".join(item_text(item) for item in query.items),
            rule="DISTINCT in an inner query works per unit, so the unit must be selected too",
            instead=f"Write SELECT DISTINCT {scope.unit_name or 'unit'}, ...",
        )
