"""Every engine gives, cell by cell, what the reference engine gives, whatever the order of the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

import pytest

from costs import cases
from dalenius.engines.conformance import checking
from dalenius.engines.conformance.checking import check, quick_check
from dalenius.engines.conformance.plans import Generated, nodes, plans
from dalenius.engines.conformance.worlds import Database, small_database, world
from dalenius.engines.duckdb.dialect import DUCKDB, DuckDBDialect
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.reference.engine import ReferenceEngine
from dalenius.engines.sql import keeping, passes, relations
from dalenius.engines.sql.dialect import SQLRelation
from dalenius.errors import QueryRefused
from dalenius.query.binding import sources
from dalenius.query.plan.relations import Join
from loaded import duckdb_of, quick_results, results
from opened_engines import ENGINES, engine

WORLDS = 10
EACH = 50


def differing(
    count: int, where: int, worlds: int = WORLDS, only: Callable[[Generated], bool] = lambda plan: True
) -> Iterator[int]:
    """The seeds of plans for which DuckDB and the reference differ on a small database of a world."""
    here = world(where)
    database = small_database(here, "agree")
    engine, reference = duckdb_of(here, permuted(database)), ReferenceEngine(here.tables.values(), database)
    for plan in plans(count, where=where, worlds=worlds):
        if only(plan) and not agree(engine, reference, plan):
            yield plan.seed
    engine.close()


def agree(engine: DuckDBEngine, reference: ReferenceEngine, plan: Generated) -> bool:
    """Whether all passes of a plan give the same; refused before anything is read counts as agreeing."""
    try:
        run = results if plan.seed % 5 == 0 else quick_results
        found = run(engine, plan.program.passes)
    except QueryRefused:
        return True
    return found == results(reference, plan.program.passes)


def permuted(database: Database) -> Database:
    """The same rows in another order."""
    return {name: Random(name).sample(rows, len(rows)) for name, rows in database.items()}


@cases("where", range(WORLDS), fast=1)
def test_duckdb_gives_what_the_reference_gives(where: int) -> None:
    assert list(differing(EACH, where)) == []


def test_the_check_notices_an_engine_that_rounds_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = lambda d, total, count, most: (  # noqa: E731
        f"CASE WHEN {count} > {most} THEN floor({total} * {most} / {count}) ELSE {total} END"
    )
    monkeypatch.setattr(passes, "scaled", wrong)
    monkeypatch.setattr(relations, "scaled", wrong)
    assert any(True for where in range(3) for _ in differing(40, where))


def test_the_check_notices_an_engine_that_keeps_other_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "group_hash", lambda unit, key: f"({unit} + {key}) % 1000")
    assert any(True for where in range(3) for _ in differing(40, where))


# ---- all engines


@cases("name", ENGINES, fast=1)
def test_the_check_notices_an_engine_that_keeps_other_groups_than_defined(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "group_hash", lambda unit, key: f"({unit} + {key}) % 1000")
    monkeypatch.setattr(checking, "MOST", 1)
    assert not check(engine(name), expressions=0, plans=20).passed


BOUNDS: dict[str, tuple[str, Callable[..., str]]] = {
    "other groups": ("group_hash", lambda unit, key: f"({unit} + {key}) % 1000"),
    "uncut counts": ("at_most", lambda count, most: count),
    "unscaled sums": ("scaled", lambda d, total, count, most: total),
    "all values": ("_spaced", lambda d, most: "n"),
}


@pytest.mark.parametrize("wrong", BOUNDS)
@cases("name", ["duckdb", "postgres"], fast=1)
def test_an_engine_that_bounds_otherwise_is_refused_with_the_form_of_the_plan_and_no_value(
    name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, *BOUNDS[wrong])
    reason = quick_check(engine(name))
    assert reason is not None
    assert re.fullmatch(r"a pass \(\w+ over [\w, ]+\) gives other totals than defined", reason)


# ---- rows that joins keep


def joins_units(plan: Generated) -> bool:
    return "private join" in nodes(plan)


@pytest.fixture
def small_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins of private tables keep three rows of each unit, so that most units have more."""
    monkeypatch.setattr(sources, "Join", partial(Join, most=3))


@pytest.mark.usefixtures("small_joins")
@cases("where", [0, 1], fast=1)
def test_duckdb_keeps_the_rows_in_joins_that_the_reference_keeps(where: int) -> None:
    assert list(differing(150, where, only=joins_units)) == []


def uncut(join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str]:
    return "", left.sql, right.sql


def by_place(join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str]:
    return "", *(
        f"SELECT * FROM ({each.sql}) QUALIFY row_number() OVER (PARTITION BY unit) <= 3" for each in (left, right)
    )


def each_side(join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str]:
    """So many rows of each side, and the product of them."""
    sides = ((join.left, left), (join.right, right))
    placed = [keeping._placed(DUCKDB, rows, side, join, ["unit"]) for side, rows in sides]
    return "", *(f"SELECT * FROM ({each}) WHERE place <= {join.most}" for each in placed)


@pytest.mark.usefixtures("small_joins")
@pytest.mark.parametrize("wrong", [uncut, by_place, each_side])
def test_the_check_notices_an_engine_that_keeps_other_rows_in_joins(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Join, SQLRelation, SQLRelation], tuple[str, str, str]]
) -> None:
    monkeypatch.setattr(DuckDBDialect, "first_pairs", lambda d, join, left, right: wrong(join, left, right))
    assert any(True for where in (0, 1) for _ in differing(150, where, only=joins_units))
