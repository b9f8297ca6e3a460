"""Random questions over several joins in worlds of the generator: of units, along key paths, and with public tables.

Above a join of units the plan knows how many rows a unit has at most, and leaves out what bounding would not change.
That number is far above most limits, so in some questions such joins keep few rows, and the limits are large.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Literal

from dalenius.engines.conformance.plans import Generated, RandomQuestions, generated, nodes, random_most
from dalenius.engines.conformance.terms import RandomScope, rarer
from dalenius.engines.conformance.worlds import Draws, World, world
from dalenius.errors import QueryRefused
from dalenius.measuring.measurements import lower
from dalenius.query.binding.binder import bind
from dalenius.query.binding.limits import groups_limit, rows_limit
from dalenius.query.plan.passes import Pass, Values
from dalenius.query.plan.relations import Join, Relation
from dalenius.query.questions import Question
from dalenius.query.syntax import Apply, Joined, Source
from dalenius.query.tables import ContributionBounds

MOST_JOINS = 4
_TOP = 2  # the depth at which the outer question asks for its source
_FEW = (2, 3, 5)
_LARGE = (
    ContributionBounds(rows=7, groups=7),
    ContributionBounds(rows=100, groups=40),
    ContributionBounds(rows=1000, groups=1000),
)


def joined(number: int, *, worlds: int) -> Generated | None:
    """The plan of a number: with 1 to 4 joins, or in every fifth case any plan; None where it is refused."""
    if is_any(number, worlds=worlds):
        return generated(number, worlds=worlds)
    size = number // worlds % (MOST_JOINS + 1)
    draws, here = Draws(f"joins {number}"), world(number % worlds)
    query, most = rarer(_JoinQuestions(here, draws, size).outer(), number), random_most(draws)
    kept = Draws(f"kept {number}")
    few = kept.choice(_FEW) if kept.chance(50) else None
    try:
        question = bind(query, here.tables, most=kept.choice(_LARGE) if few else most)
        question = _keeping(question, few) if few else question
        return Generated(number, here, query, question, lower(question))
    except QueryRefused:
        return None


def is_any(number: int, *, worlds: int) -> bool:
    """Whether a number stands for any plan, and not for one made of joins."""
    return number // worlds % (MOST_JOINS + 1) == 0


def count_joins(relation: Relation) -> int:
    """How many joins a relation is made of."""
    return isinstance(relation, Join) + sum(map(count_joins, relation.children))


def leaves_out(plan: Generated) -> bool:
    """Whether a step of the bounding is left out because joins of units keep so few rows."""
    return "private join" in nodes(plan) and any(map(_spared, plan.program.passes))


def _spared(step: Pass) -> bool:
    bound, known = step.child, step.child.child.rows_of_unit
    if known is None:
        return False
    return (isinstance(step, Values) and known <= bound.rows) or (bound.groups is not None and known <= bound.groups)


def _keeping(question: Question, most: int) -> Question:
    """The question with joins of units that keep so many rows of each, and limits that follow from that."""
    relation, stated = _with_joins(question.relation, most), question.most
    rows = rows_limit(relation, stated, clause="")
    return replace(
        question,
        relation=relation,
        most=ContributionBounds(rows=rows, groups=groups_limit(relation, stated, keys=None, clause="")),
    )


def _with_joins(part: Any, most: int) -> Any:
    """A relation, or a part of one, with joins that keep so many rows."""
    if isinstance(part, tuple):
        return tuple(_with_joins(each, most) for each in part)
    if not isinstance(part, Relation):
        return part
    made = replace(part, **{each.name: _with_joins(getattr(part, each.name), most) for each in fields(part)})
    return replace(made, most=most) if isinstance(made, Join) else made


class _JoinQuestions(RandomQuestions):
    """Questions whose outer source has a certain number of joins."""

    def __init__(self, here: World, draws: Draws, joins: int) -> None:
        super().__init__(here, draws)
        self.joins = joins

    def source(self, depth: int) -> tuple[Source, RandomScope]:
        return self._joined(self.joins) if depth == _TOP else super().source(depth)

    def _joined(self, size: int) -> tuple[Source, RandomScope]:
        if size > 1:
            left, scope = self._joined(size - 1)
            linked = scope.unit is not None and self.draws.chance(30)
            return self._with_units(left, scope) if linked else self._with_public(left, scope)
        return self.draws.choice([self.unit_join, self.unit_join, self.path_join, self.public_join])(0)

    def _with_units(self, left: Source, scope: RandomScope) -> tuple[Source, RandomScope]:
        right, other = self.scan(self.draws.choice(["visits", "orders"]))
        assert scope.unit is not None
        assert other.unit is not None
        return self._linked(left, scope, right, other, Apply("equal", (scope.unit, other.unit)))

    def _with_public(self, left: Source, scope: RandomScope) -> tuple[Source, RandomScope]:
        right, other = self.scan("places")
        pairs = [
            Apply("equal", (mine.name, theirs.name))
            for mine in scope.columns
            for theirs in other.columns
            if mine.name.name == theirs.name.name and mine.kind == theirs.kind
        ]
        return self._linked(left, scope, right, other, self.draws.choice(pairs)) if pairs else (left, scope)

    def _linked(
        self, left: Source, scope: RandomScope, right: Source, other: RandomScope, condition: Apply
    ) -> tuple[Source, RandomScope]:
        kind: Literal["inner", "left"] = self.draws.choice(["inner", "inner", "left"])
        return Joined(left, right, kind, condition), RandomScope(
            (*scope.columns, *other.columns), scope.unit, scope.tables
        )
