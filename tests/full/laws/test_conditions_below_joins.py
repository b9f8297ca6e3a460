"""The dear tests of `laws/test_conditions_below_joins.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalenius.query.binding import terms
from dalenius.query.expressions import Expression
from dalenius.query.plan.relations import Filter, Join, Relation
from tests.laws.test_conditions_below_joins import differing

right_place = terms._placed


def below_left_joins(relation: Relation, found: Sequence[Expression]) -> Relation:
    """Conditions on the side that a left join fills up, below it."""
    if not isinstance(relation, Join):
        return right_place(relation, found)
    placed = right_place(replace(relation, kind="inner"), found)
    join = placed.child if isinstance(placed, Filter) else placed
    again = replace(join, kind=relation.kind)
    return replace(placed, child=again) if isinstance(placed, Filter) else again


def test_conditions_that_are_taken_below_a_left_join_on_the_wrong_side_are_noticed() -> None:
    assert any(differing(5, where, below_left_joins) for where in range(3))
