"""The generator of plans and neighbours keeps what it promises: it covers the language, and its steps are one unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import TypeVar

from costs import cases
from dalenius.checks.replay.neighbours import NeighbourStep, database, shared_key_steps, steps
from dalenius.engines.conformance.plans import WORLDS, Generated, generated, plans
from dalenius.engines.conformance.terms import ONE_IN, rarer
from dalenius.engines.conformance.worlds import Database, World, world
from dalenius.engines.reference.canonical import CodedRow, import_rows
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.query.expressions import Call, Expression
from dalenius.query.functions.evaluation import LENIENT, STRICT
from dalenius.query.plan.relations import Filter, Group, Join, Project, Relation
from dalenius.query.syntax import Apply, Item, Joined, Select, TableName

Part = TypeVar("Part")

STATISTICS = {
    "count", "present", "units", "distinct", "sum", "mean", "variance", "stddev", "covariance", "correlation",
    "quantile", "mode", "histogram", "robust_quantile", "trimmed_mean", "robust_scale", "stable_mode",
    "stable_quantile", "proposed_quantile",
}  # fmt: skip


@cache
def sample() -> tuple[Generated, ...]:
    return tuple(plan for where in range(WORLDS) for plan in plans(300, where=where))


def test_every_statistic_and_kind_of_key_is_generated() -> None:
    questions = [plan.question for plan in sample()]
    assert {statistic.kind for question in questions for statistic in question.statistics} == STATISTICS
    assert {question.public_keys is None for question in questions} == {True, False}
    assert any(question.top for question in questions)
    assert any(len(question.relation.populations) > 1 for question in questions)


def test_every_kind_of_join_and_every_part_of_an_answer_is_generated() -> None:
    queries = [plan.query for plan in sample() if isinstance(plan.query, Select)]
    joins = Counter(join.kind for query in queries for join in parts(query, Joined))
    assert min(joins[kind] for kind in ("inner", "left", "right", "cross")) >= 20
    shown = Counter((bool(query.order_by), query.limit is not None, query.having is not None) for query in queries)
    assert len(shown) == 8
    conditions = {
        having.function
        for query in queries
        for select in parts(query, Select)
        if isinstance(having := select.having, Apply)
    }
    assert conditions >= {"equal", "less", "greater", "between", "in", "not", "and", "or"}


def parts(part: object, kind: type[Part]) -> Iterator[Part]:
    """All parts of a question that are of a kind."""
    if isinstance(part, kind):
        yield part
    inside = part if isinstance(part, tuple) else vars(part).values() if is_dataclass(part) else ()
    for each in inside:
        yield from parts(each, kind)


def test_only_one_question_in_eight_has_a_rarer_form() -> None:
    query = Select((Item(Apply("count")),), TableName("visits"))
    changed = sum(rarer(query, seed) is not query for seed in range(4000))
    assert abs(changed - 4000 / ONE_IN) < 125  # six standard deviations


def test_every_function_is_generated() -> None:
    found = {name for plan in sample() for name in functions(plan.question.relation)}
    assert found == {*STRICT, *LENIENT}


def functions(relation: Relation) -> Iterator[str]:
    """The functions that a relation applies."""
    for expression in expressions(relation):
        yield from applied(expression)
    for child in relation.children:
        yield from functions(child)


def expressions(relation: Relation) -> Iterator[Expression]:
    """The expressions of one node."""
    if isinstance(relation, Filter):
        yield relation.condition
    if isinstance(relation, Join):
        yield from (side for pair in relation.on for side in pair)
    if isinstance(relation, Project):
        yield from (expression for _, expression in relation.columns)
    if isinstance(relation, Group):
        yield from (expression for _, expression in relation.keys)
        yield from (total.argument for _, total in relation.totals if total.argument is not None)


def applied(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Call):
        yield expression.function
        for argument in expression.arguments:
            yield from applied(argument)


def test_a_seed_gives_the_same_plan_again() -> None:
    for seed in range(20):
        first, second = generated(seed), generated(seed)
        assert (first and first.program) == (second and second.program)


def test_most_questions_compile() -> None:
    assert sum(generated(seed) is not None for seed in range(300)) > 200


@cases("where", range(WORLDS), fast=1)
def test_every_step_is_one_unit_of_its_population(where: int) -> None:
    here = world(where)
    for step in steps(here):
        if where == 0 or sum(step.heavy.values()) < 1000:  # those with many rows are slow, and made in the same way
            assert _is_one_step(here, step)


def _is_one_step(here: World, step: NeighbourStep) -> bool:
    """Whether one unit changes; where it states others' keys, those who own them before or afterwards may as well."""
    guard = here.tables["lines"].protection
    assert guard is not None
    if not here.shares_keys or step.population != guard.population:
        return step_between(here, step) == _steps_of(here, step)
    return sum(step_between(here, step)) <= guard.steps * guard.neighbours.add_remove_steps


def test_steps_by_shared_keys_change_what_several_own() -> None:
    here = world(1)
    found = {step.name: sum(step_between(here, step)) for step in shared_key_steps(here)}
    most = here.tables["orders"].claims[0][1]
    assert found == dict.fromkeys(["add, victim", "add, hub"], 1 + 2 * most)


def test_the_check_above_notices_a_step_of_two_units() -> None:
    for where, name in ((0, "light"), (1, "hub")):
        here = world(where)
        assert not _is_one_step(here, NeighbourStep("two", "people", "gone 1", name, {}))


def step_between(here: World, step: NeighbourStep) -> tuple[int, int]:
    """How many units have other rows before than after: those that had any, and those that have any."""
    before, after = (rows_by_unit(here, database(here, name)) for name in (step.before, step.after))
    changed = [unit for unit in {*before, *after} if before.get(unit) != after.get(unit)]
    assert all(population == step.population for population, _ in changed)
    return sum(unit in before for unit in changed), sum(unit in after for unit in changed)


def _steps_of(here: World, step: NeighbourStep) -> tuple[int, int]:
    relation = _neighbours(here, step.population)
    if isinstance(relation, Replace):
        return 1, 1
    assert isinstance(relation, AddRemove)
    return (1, 0) if step.name.startswith("remove") else (0, 1)


def _neighbours(here: World, population: str) -> Neighbours:
    protections = [table.protection for table in here.tables.values() if table.protection]
    return next(each.neighbours for each in protections if each.population == population)


def rows_by_unit(here: World, given: Database) -> dict[tuple[str, object], Counter]:
    """What each unit has in all tables of its population."""
    found: dict[tuple[str, object], Counter] = {}
    for name, table in here.tables.items():
        for row in import_rows(table, given, here.tables) if table.protection else ():
            unit = (table.protection.population, row.unit)  # type: ignore[union-attr]
            found.setdefault(unit, Counter())[_frozen(name, row)] += 1
    return found


def _frozen(name: str, row: CodedRow) -> tuple[object, ...]:
    return (name, *row.values.items())
