"""A question inside one block stays as it is, whoever comes or goes outside of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pytest

from costs import cases
from dalenius.checks.replay.blocks import COLUMNS, Division, charged, divided, division, leaks, outcome
from dalenius.engines.conformance.plans import Generated, nodes
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.query import blocks
from dalenius.query.blocks import BlockFacts, Blocks, PartitionedUnits, held
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.plan.relations import Group, Join, Project, Relation, Scan, Union, UnitFilter
from dalenius.query.types import Code
from loaded import duckdb_of

QUESTIONS, WORLDS = 90, range(len(COLUMNS))


@lru_cache(maxsize=20_000)
def plan_of(where: int, seed: int) -> Generated | None:
    """The plan of a question, with and without a bug in which block it is charged to."""
    return divided(division(where), seed)


@lru_cache(maxsize=200)
def engine_with(cut: Division, name: str, code: Code) -> DuckDBEngine:
    """The engine with a database of a division, and rows of nobody in it; it stays open until the process ends."""
    return duckdb_of(cut.world, cut.database(name, code))


def inside(count: int, where: int) -> dict[int, Code]:
    """Those of so many questions that are charged to one block, with that block."""
    plans = {seed: plan_of(where, seed) for seed in range(count)}
    found = {seed: charged(division(where), plan) for seed, plan in plans.items() if plan}
    return {seed: code for seed, code in found.items() if code is not None}


def leaking(where: int, claims: Mapping[int, Code]) -> Iterator[tuple[int, Code, str]]:
    """The questions that are charged to a block, and change when units outside it come or go."""
    for seed, code in claims.items():
        plan = plan_of(where, seed)
        assert plan is not None
        yield from ((seed, code, said) for said in leaks(division(where), plan, code, engine_with))


@cases("where", WORLDS, fast=(2,))
def test_what_is_inside_a_block_does_not_change_when_units_outside_it_come_and_go(where: int) -> None:
    assert list(leaking(where, inside(QUESTIONS, where))) == []


def test_many_questions_of_every_form_are_found_to_be_inside_a_block() -> None:
    """The law above is about something: there are such questions, with all kinds of nodes."""
    plans = [plan_of(where, seed) for where in WORLDS for seed in inside(QUESTIONS, where)]
    found = Counter(name for plan in plans if plan for name in {"all", *nodes(plan)})
    assert found["all"] >= 50
    assert min(found[name] for name in ("private join", "UnitFilter", "Group", "Distinct", "Union")) >= 2


def test_many_of_them_change_when_a_unit_of_the_block_comes() -> None:
    """The law above would notice a change; some questions have conditions that newcomers do not meet."""
    cut = division(0)
    changed = [
        outcome(plan, engine_with(cut, "base", None)) != outcome(plan, engine_with(cut, "within", code))
        for seed, code in inside(QUESTIONS, 0).items()
        if (plan := plan_of(0, seed))
    ]
    assert sum(changed) > 0.4 * len(changed)


# ---- planted bugs

PLANTED, PLANTED_IN = 500, (0, 2, 7)
"""Blocks go there by a category, a truth value, and a number whose codes are not what is written."""


@pytest.fixture(autouse=True)
def right_claims() -> None:
    """What the analysis says without a bug, before one is planted."""
    for where in PLANTED_IN:
        claims(where)


@lru_cache(maxsize=32)
def claims(where: int) -> dict[int, Any]:
    return inside(PLANTED, where)


def caught() -> bool:
    """Whether any question that a bug puts into a block, and the right analysis does not, is seen to leak."""
    wrong = {each: dict(inside(PLANTED, each).items() - claims(each).items()) for each in PLANTED_IN}
    return any(True for each in PLANTED_IN for _ in leaking(each, wrong[each]))


@contextmanager
def planted(node: type[Relation], wrong: Callable[[Any, PartitionedUnits], BlockFacts]) -> Iterator[None]:
    """Another case for a node, for a while."""
    right = held.dispatch(node)
    held.register(node, wrong)  # type: ignore[call-overload]
    try:
        yield
    finally:
        held.register(node, right)  # type: ignore[call-overload]


def test_a_left_join_taken_for_an_inner_one_is_noticed() -> None:
    def both_sides(node: Join, partition: PartitionedUnits) -> BlockFacts:
        left, right = held(node.left, partition), held(node.right, partition)
        known = blocks.both(left.blocks, right.blocks) if node.of_units else left.blocks
        return BlockFacts(known, left.columns | right.columns)

    with planted(Join, both_sides):
        assert caught()


def test_units_that_are_not_in_a_subquery_taken_for_those_that_are_is_noticed() -> None:
    def regardless(node: UnitFilter, partition: PartitionedUnits) -> BlockFacts:
        below = held(node.child, partition)
        return BlockFacts(blocks.both(below.blocks, held(node.within, partition).blocks), below.columns)

    with planted(UnitFilter, regardless):
        assert caught()


def test_or_taken_for_and_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "either", blocks.both)
    assert caught()


def test_one_part_of_a_union_taken_for_all_is_noticed() -> None:
    with planted(Union, lambda node, partition: held(node.parts[0], partition)):
        assert caught()


def test_a_column_of_the_same_name_in_another_table_is_noticed() -> None:
    def by_name(node: Scan, partition: PartitionedUnits) -> BlockFacts:
        protection = node.table.protection
        if protection is None or protection.population != partition.population:
            return BlockFacts(frozenset())
        return BlockFacts(None, frozenset({f"{node.label}.{partition.column}"}))

    with planted(Scan, by_name):
        assert caught()


def test_a_computed_column_taken_for_the_one_it_reads_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def reading(columns: tuple[tuple[str, Expression], ...], below: BlockFacts) -> frozenset[str]:
        return frozenset(name for name, term in columns if set(term.columns()) & below.columns)

    monkeypatch.setattr(blocks, "_passed", reading)
    assert caught()


def test_values_compared_as_texts_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_texts(
        term: Expression, values: tuple[Expression, ...], columns: frozenset[str], partition: PartitionedUnits
    ) -> Blocks:
        texts = {str(value.domain.decode(value.value)) for value in values if isinstance(value, Literal)}
        found = frozenset(code for code in partition.values if str(code) in texts)
        known = isinstance(term, Column) and term.name in columns
        return found if known and found else None

    monkeypatch.setattr(blocks, "_equal", as_texts)
    assert caught()


def test_not_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = blocks.implied

    def careless(condition: Expression, columns: frozenset[str], partition: PartitionedUnits) -> Blocks:
        negated = isinstance(condition, Call) and condition.function == "not"
        return right(condition.arguments[0] if negated else condition, columns, partition)  # type: ignore[attr-defined]

    monkeypatch.setattr(blocks, "implied", careless)
    assert caught()


def test_one_value_of_several_taken_for_all_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = blocks._of
    monkeypatch.setattr(blocks, "_of", lambda codes, partition: right(codes[:1], partition))
    assert caught()


def test_values_that_are_not_listed_left_out_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(codes: list[Any], partition: PartitionedUnits) -> Blocks:
        return frozenset(codes) & partition.values or None

    monkeypatch.setattr(blocks, "_of", listed)
    assert caught()


def test_the_key_of_a_group_and_a_column_that_is_passed_on_are_followed() -> None:
    """Not a matter of privacy: the analysis is of use only if it finds what people write."""
    with (
        planted(Group, lambda node, partition: BlockFacts(held(node.child, partition).blocks)),
        planted(Project, lambda node, partition: BlockFacts(held(node.child, partition).blocks)),
    ):
        fewer = sum(len(inside(PLANTED, where)) for where in PLANTED_IN)
    assert fewer < sum(len(claims(where)) for where in PLANTED_IN)
