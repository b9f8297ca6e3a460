"""Promises that every bound plan keeps, checked on random questions, and on broken plans that must be noticed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from binding import ask, below, held, nodes
from dalenius.engines.conformance.plans import random_most, random_query
from dalenius.engines.conformance.terms import rarer
from dalenius.engines.conformance.worlds import Draws, world
from dalenius.errors import QueryRefused
from dalenius.query.binding.binder import bind
from dalenius.query.expressions import Call, Column, Expression
from dalenius.query.plan.figures import hull
from dalenius.query.plan.relations import Distinct, Filter, Group, Join, Project, Relation, Scan, Union, UnitFilter
from dalenius.query.questions import Question
from dalenius.query.types import Choice, Domain, Identifier

SEEDS = 400


def questions(count: int) -> Iterator[Question]:
    for seed in range(count):
        draws, here = Draws(f"bound {seed}"), world(seed % 4)
        query, most = rarer(random_query(here, draws), seed), random_most(draws)
        try:
            yield bind(query, here.tables, most=most)
        except QueryRefused:
            continue


def read_columns(expression: Expression) -> Iterator[Column]:
    if isinstance(expression, Column):
        yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from read_columns(argument)


def holds(wide: Domain, narrow: Domain) -> bool:
    """Whether every value of the second domain is in the first."""
    both = hull([wide, narrow])
    if isinstance(both, Choice) and isinstance(wide, Choice):
        return set(both.values) == set(wide.values) and wide.nullable >= narrow.nullable
    return both == wide.or_null(wide.nullable)


def faults(relation: Relation) -> list[str]:
    """What is wrong with a plan: columns typed too narrowly, units lost or mixed, names that are not ours."""
    found = []
    for node in nodes(relation):
        found += [f"{name} has no dot" for name in node.schema if "." not in name]
        found += [f"{name} is a unit" for name, domain in node.schema.items() if isinstance(domain, Identifier)]
        found += list(_untyped(node)) + list(_mixed(node))
    return found


def _untyped(node: Relation) -> Iterator[str]:
    schema = {name: domain for child in node.children for name, domain in child.schema.items()}
    for column in (column for expression in held(node) for column in read_columns(expression)):
        if column.name not in schema:
            yield f"{column.name} is not there"
        elif not holds(column.domain, schema[column.name]):
            yield f"{column.name} is typed too narrowly"


def _mixed(node: Relation) -> Iterator[str]:
    if isinstance(node, Join) and node.left.private and node.right.private and len(node.populations) != 1:
        yield "a join of two units"
    if isinstance(node, Join) and node.kind == "left" and node.right.private and not node.left.private:
        yield "a join that keeps the public side"
    if isinstance(node, UnitFilter) and node.child.populations != node.within.populations:
        yield "units of another population"
    if isinstance(node, Distinct | Group) and not node.private:
        yield "a group without a unit"
    if isinstance(node, Union) and len({part.private for part in node.parts}) > 1:
        yield "rows of nobody"


def test_every_bound_plan_is_well_formed() -> None:
    found = [(question, faults(question.relation)) for question in questions(SEEDS)]
    assert len(found) > SEEDS * 3 // 4
    assert [fault for _, some in found for fault in some] == []


def test_every_question_reads_a_private_table_and_has_limits() -> None:
    for question in questions(SEEDS // 4):
        assert question.relation.private
        assert isinstance(question.relation, Project)
        columns = {name for statistic in question.statistics for name in statistic.columns}
        assert set(question.relation.schema) == {*question.keys, *columns}
        if question.relation.rows_of_unit is not None:
            assert question.most.rows <= question.relation.rows_of_unit


def test_equal_questions_give_equal_plans() -> None:
    assert list(questions(40)) == list(questions(40))


NARROW = ask("SELECT COUNT(*) FROM visits WHERE age < 50")
PUBLIC = ask("SELECT COUNT(*) FROM visits v JOIN cities c ON v.city = c.city")


def stale() -> Relation:
    """A condition that was typed by what another one narrows."""
    relation = below(NARROW)
    assert isinstance(relation, Filter)
    assert isinstance(relation.condition, Call)
    column = Column(relation.schema["visits.age"], "visits.age")
    return replace(
        relation, condition=replace(relation.condition, arguments=(column, *relation.condition.arguments[1:]))
    )


def outer() -> Relation:
    """An outer join that keeps the public side."""
    relation = below(PUBLIC)
    assert isinstance(relation, Join)
    return Join(relation.right, relation.left, tuple((right, left) for left, right in relation.on), "left")


def lost() -> Relation:
    """Groups of a public table."""
    relation = below(PUBLIC)
    assert isinstance(relation, Join)
    return Group(relation.right, (), ())


def absent() -> Relation:
    """A column that the relation below does not have."""
    relation = below(NARROW)
    assert isinstance(relation, Filter)
    assert isinstance(relation.child, Scan)
    return replace(relation, child=replace(relation.child, label="other"))


@pytest.mark.parametrize("broken", [stale, outer, lost, absent])
def test_the_check_above_notices_broken_plans(broken: object) -> None:
    assert callable(broken)
    assert faults(broken())
