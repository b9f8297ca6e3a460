"""Questions in SQL, bound to the clinic's catalog, and what is looked at in what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dalenius.checks.escapes.listening import TABLES
from dalenius.query.binding.binder import bind
from dalenius.query.expressions import Expression
from dalenius.query.plan.relations import Filter, Group, Join, Project, Relation
from dalenius.query.questions import Question
from dalenius.query.sql.reader import read
from dalenius.query.tables import ContributionBounds, Table
from dalenius.query.types import Domain, Int, Real


def declared(table: Table, **columns: Domain | None) -> Table:
    """The table with these columns declared anew, or left out where None."""
    kept = tuple(column for column in table.columns if column[0] not in columns)
    return replace(table, columns=(*kept, *((name, domain) for name, domain in columns.items() if domain is not None)))


VISIT_IDS = Int(0, 10**9)
COSTS = Real(0, 5000, step="0.01", nullable=True)
CLINIC = {
    **TABLES,
    "visits": declared(TABLES["visits"], visit_id=VISIT_IDS, cost=COSTS),
    "labs": declared(TABLES["labs"], visit_id=VISIT_IDS),
}
"""The clinic, with path keys that can be joined on and a number that may be missing."""
WITHOUT_KEYS = {**CLINIC, "labs": declared(TABLES["labs"], visit_id=None)}


def ask(sql: str, *, most: ContributionBounds | None = None, tables: dict[str, Table] | None = None) -> Question:
    """The question that an SQL text asks of the clinic."""
    return bind(read(sql), CLINIC if tables is None else tables, most=most)


def below(question: Question) -> Relation:
    """The relation under the final projection."""
    assert isinstance(question.relation, Project)
    return question.relation.child


def nodes(relation: Relation) -> Iterator[Relation]:
    """A relation and everything in it."""
    yield relation
    for child in relation.children:
        yield from nodes(child)


def held(node: Relation) -> Iterator[Expression]:
    """The expressions that a node itself holds."""
    if isinstance(node, Filter):
        yield node.condition
    if isinstance(node, Project):
        yield from (expression for _, expression in node.columns)
    if isinstance(node, Join):
        yield from (side for pair in node.on for side in pair)
    if isinstance(node, Group):
        yield from (expression for _, expression in node.keys)
        yield from (total.argument for _, total in node.totals if total.argument is not None)


def internal_names(relation: Relation) -> set[str]:
    """Every column name in a plan."""
    named = {name for node in nodes(relation) for name in node.schema}
    return named | {name for node in nodes(relation) for expression in held(node) for name in expression.columns()}
