"""A condition that reads one side of a join is evaluated below it, and that changes no answer but for rows that a join
leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from binding import ask, below, nodes
from costs import cases
from dalenius.engines.conformance.plans import Generated, generated
from dalenius.engines.conformance.worlds import small_database, world
from dalenius.measuring.explain import written
from dalenius.query.binding import sources, terms
from dalenius.query.expressions import Expression
from dalenius.query.plan.relations import Filter, Join, Relation, Scan
from loaded import duckdb_of, quick_results

LINKED = "v.patient_id = w.patient_id"


def joined(sql: str) -> tuple[Join, list[str]]:
    """The join of a question, and the conditions above it."""
    node, above = below(ask(f"SELECT COUNT(*) FROM {sql}")), []
    while not isinstance(node, Join):
        above += conditions(node)
        node = node.children[0]
    return node, above


def conditions(node: Relation) -> list[str]:
    return [written(node.condition)] if isinstance(node, Filter) else []


@pytest.mark.parametrize(
    "sql",
    [
        f"visits v JOIN visits w ON {LINKED} WHERE v.age > 60 AND w.icd LIKE 'a%' AND v.age > w.age",
        f"visits v JOIN visits w ON {LINKED} AND v.age > 60 AND v.age > w.age WHERE w.icd LIKE 'a%'",
        f"visits v, visits w WHERE {LINKED} AND v.age > w.age AND v.age > 60 AND w.icd LIKE 'a%'",
    ],
)
def test_conditions_on_one_side_of_an_inner_join_stand_below_it(sql: str) -> None:
    join, above = joined(sql)
    assert isinstance(join.left, Filter)
    assert isinstance(join.right, Filter)
    assert len(above) == 1
    assert "age" in above[0]


def test_of_a_left_join_those_of_where_on_the_left_side_and_those_of_on_on_the_right_side() -> None:
    join, above = joined(f"visits v LEFT JOIN visits w ON {LINKED} AND w.urgent WHERE v.age > 60 AND w.icd LIKE 'a%'")
    assert [len(conditions(side)) for side in (join.left, join.right)] == [1, 1]
    assert len(above) == 1
    assert "like" in above[0].lower()
    mirrored, above = joined(f"visits v RIGHT JOIN visits w ON {LINKED} WHERE w.age > 60 AND v.icd LIKE 'a%'")
    assert isinstance(mirrored.left, Filter)
    assert isinstance(mirrored.right, Scan)
    assert len(above) == 1


def test_conditions_reach_the_table_below_several_joins_and_constants_stay() -> None:
    cities = "JOIN cities c ON v.city = c.city"
    join, above = joined(f"visits v JOIN visits w ON {LINKED} {cities} WHERE v.age > 60 AND c.region = 'east' AND TRUE")
    found = [node for node in nodes(join) if isinstance(node, Filter)]
    assert all(isinstance(node.child, Scan) for node in found)
    assert len(found) == 2
    assert len(above) <= 1


def test_what_a_condition_narrows_is_known_above_the_join() -> None:
    question = ask(
        f"SELECT v.age, COUNT(*) FROM visits v JOIN visits w ON {LINKED} WHERE v.age IN (3, 4) GROUP BY v.age"
    )
    assert question.public_keys == 2


# ---- answers stay


def above(relation: Relation, found: Sequence[Expression]) -> Relation:
    """All conditions above the join."""
    return terms.restricted(relation, found)


def pairs(count: int, where: int, other: Any) -> Iterator[tuple[Generated, Generated]]:
    """Plans with a condition above or below a join that leaves nothing out, and the same with conditions elsewhere."""
    seed, whole = where, patch.object(sources, "Join", partial(Join, most=10**6))
    while count:
        with whole:
            first = generated(seed, worlds=10)
        with whole, patch.object(terms, "_placed", other):
            second = generated(seed, worlds=10)
        seed += 10
        if first and second and first.question != second.question:
            count -= 1
            yield first, second


def differing(count: int, where: int, other: Any) -> int:
    here = world(where)
    engine = duckdb_of(here, small_database(here, "agree"))
    try:
        return sum(
            quick_results(engine, one.program.passes) != quick_results(engine, two.program.passes)
            for one, two in pairs(count, where, other)
        )
    finally:
        engine.close()


@cases("where", range(3), fast=1)
def test_no_answer_changes_where_nothing_is_left_out(where: int) -> None:
    assert differing(20, where, above) == 0
