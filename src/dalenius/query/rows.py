"""Rows of a private relation, bound once, for whatever is made of rows instead of statistics: models, synthetic tables,
online sessions, functions on blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.query.binding.binder import require_private
from dalenius.query.binding.inner import inner
from dalenius.query.binding.limits import require_little_work, rows_limit
from dalenius.query.binding.scopes import InternalNames, Scope, Setting
from dalenius.query.binding.sources import rows
from dalenius.query.binding.terms import expression
from dalenius.query.expressions import Column
from dalenius.query.plan.passes import Aggregate, Pass, Total
from dalenius.query.plan.relations import Bound, LimitPerUnit, Project, Relation
from dalenius.query.rendering import query_text
from dalenius.query.syntax import Item, Name, Select, Term
from dalenius.query.tables import ContributionBounds, Table
from dalenius.query.types import Domain, Identifier


@dataclass(frozen=True)
class RowSource:
    """Columns of the rows of one population. All of it is public.

    Of one unit at most `most.rows` rows count; others are left out by a public hash.
    """

    relation: Relation
    columns: tuple[str, ...]
    """The columns in the order in which they were asked for, each under a name of its own."""
    most: ContributionBounds

    @property
    def domains(self) -> tuple[Domain, ...]:
        """What each column may hold."""
        return tuple(self.relation.schema[name] for name in self.columns)

    @property
    def kept(self) -> Relation:
        """The rows that count of each unit, with these columns alone."""
        columns = tuple((name, Column(self.relation.schema[name], name)) for name in self.columns)
        return LimitPerUnit(Project(self.relation, columns), self.most.rows)

    @property
    def counting(self) -> Pass:
        """The pass that counts the rows in every cell that is not empty."""
        return Aggregate(Bound(self.kept, self.columns, self.most.rows, None), (Total("rows"),))


@dataclass(frozen=True)
class BoundRows:
    """The rows of FROM and WHERE with their names. Columns are chosen of them without binding anything again."""

    scope: Scope
    most: ContributionBounds | None
    clause: str

    @property
    def table(self) -> Table:
        """The first table that is read."""
        return self.scope.relation.tables[0]

    @property
    def declared(self) -> tuple[str, ...]:
        """The columns of the first table whose values are declared."""
        columns = [(name, domain) for name, domain in self.table.columns if not isinstance(domain, Identifier)]
        return tuple(name for name, domain in columns if domain.size is not None)

    def domain(self, name: Name) -> Domain:
        """What a column may hold; the unit and keys of paths are refused."""
        return self.scope.column(name).domain

    def source(self, terms: Sequence[Term]) -> RowSource:
        """The rows with these terms as their columns."""
        columns = tuple((f"x.{place}", expression(term, self.scope)) for place, term in enumerate(terms))
        relation = Project(self.scope.relation, columns)
        require_little_work(relation, len(columns), clause=self.clause)
        limit = rows_limit(relation, self.most, clause=self.clause)
        return RowSource(relation, tuple(name for name, _ in columns), ContributionBounds(rows=limit, groups=1))


def bind_rows(select: Select, tables: Mapping[str, Table], *, most: ContributionBounds | None = None) -> BoundRows:
    """The rows that a SELECT without columns is about; `QueryRefused` where they are not those of one population.

    `most` overrides what one unit may contribute. Nothing is read or spent.
    """
    named = {name.lower(): table for name, table in tables.items()}
    try:
        clause = query_text(select if select.items else Select((Item(Name("*")),), select.source, select.where))
        scope = rows(select, Setting(named, InternalNames(), most, inner))
    except RecursionError:
        raise QueryRefused("the rows", rule="it is nested too deeply", instead="Write it with fewer levels.") from None
    require_private(scope, clause=clause)
    if len(scope.relation.populations) != 1:
        raise InvalidParameter("populations", scope.relation.populations, allowed="one, whose rows these are")
    return BoundRows(scope, most, clause)
