"""Random questions over several joins in worlds of the generator: of units, along key paths, and with public tables."""

from __future__ import annotations

from typing import Literal

from dalenius.engines.conformance.draws import Draws
from dalenius.engines.conformance.forms import rarer
from dalenius.engines.conformance.plans import Generated, Questions, generated, random_most
from dalenius.engines.conformance.terms import Scope
from dalenius.engines.conformance.worlds import World, world
from dalenius.errors import QueryRefused
from dalenius.query.binding.binder import bind
from dalenius.query.plan.relations import Join, Relation
from dalenius.query.pricing.measurements import lower
from dalenius.query.syntax.syntax import Apply, Joined, Source

MOST_JOINS = 4
_TOP = 2  # the depth at which the outer question asks for its source


def joined(number: int, *, worlds: int) -> Generated | None:
    """The plan of a number: with 1 to 4 joins, or in every fifth case any plan; None where it is refused."""
    if is_any(number, worlds=worlds):
        return generated(number, worlds=worlds)
    size = number // worlds % (MOST_JOINS + 1)
    draws, here = Draws(f"joins {number}"), world(number % worlds)
    query, most = rarer(_Questions(here, draws, size).outer(), number), random_most(draws)
    try:
        question = bind(query, here.tables, most=most)
        return Generated(number, here, query, question, lower(question))
    except QueryRefused:
        return None


def is_any(number: int, *, worlds: int) -> bool:
    """Whether a number stands for any plan, and not for one made of joins."""
    return number // worlds % (MOST_JOINS + 1) == 0


def count_joins(relation: Relation) -> int:
    """How many joins a relation is made of."""
    return isinstance(relation, Join) + sum(map(count_joins, relation.children))


class _Questions(Questions):
    """Questions whose outer source has a certain number of joins."""

    def __init__(self, here: World, draws: Draws, joins: int) -> None:
        super().__init__(here, draws)
        self.joins = joins

    def source(self, depth: int) -> tuple[Source, Scope]:
        return self._joined(self.joins) if depth == _TOP else super().source(depth)

    def _joined(self, size: int) -> tuple[Source, Scope]:
        if size > 1:
            left, scope = self._joined(size - 1)
            linked = scope.unit is not None and self.draws.chance(30)
            return self._with_units(left, scope) if linked else self._with_public(left, scope)
        return self.draws.choice([self.unit_join, self.unit_join, self.path_join, self.public_join])(0)

    def _with_units(self, left: Source, scope: Scope) -> tuple[Source, Scope]:
        right, other = self.scan(self.draws.choice(["visits", "orders"]))
        assert scope.unit is not None
        assert other.unit is not None
        return self._linked(left, scope, right, other, Apply("equal", (scope.unit, other.unit)))

    def _with_public(self, left: Source, scope: Scope) -> tuple[Source, Scope]:
        right, other = self.scan("places")
        pairs = [
            Apply("equal", (mine.name, theirs.name))
            for mine in scope.columns
            for theirs in other.columns
            if mine.name.name == theirs.name.name and mine.kind == theirs.kind
        ]
        return self._linked(left, scope, right, other, self.draws.choice(pairs)) if pairs else (left, scope)

    def _linked(
        self, left: Source, scope: Scope, right: Source, other: Scope, condition: Apply
    ) -> tuple[Source, Scope]:
        kind: Literal["inner", "left"] = self.draws.choice(["inner", "inner", "left"])
        return Joined(left, right, kind, condition), Scope((*scope.columns, *other.columns), scope.unit, scope.tables)
