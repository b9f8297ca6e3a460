"""`check bounding`: its figures say what was tried, and its steps and plans hurt where bugs were not found before."""

from __future__ import annotations

from itertools import islice

import pytest

from dalenius.audit.checks import bounding
from dalenius.audit.checks.outcomes import Asked
from dalenius.audit.checks.planted import planted_bugs
from dalenius.audit.checks.sharing import Part, numbered
from dalenius.audit.replay.blocks import charged, divided, division
from dalenius.audit.replay.bounding import Kinds, from_end_to_end, hurtful, is_end_to_end, with_kind
from dalenius.audit.replay.joins import leaves_out
from dalenius.audit.replay.loading import duckdb_with
from dalenius.engines.conformance.plans import nodes, plans
from dalenius.engines.conformance.worlds import world
from dalenius.privacy.neighbours import Replace

REPLACED = 6
"""A world whose people are replaced."""


def test_every_figure_says_what_was_found_and_what_was_to_hold() -> None:
    outcome = bounding.check(Asked(count=3))
    assert outcome.passed, outcome.findings
    assert all(figure.tried and figure.found and figure.goal for figure in outcome.figures)


def test_one_value_of_each_unit_in_count_distinct_is_noticed_whatever_the_plans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([Part({"plans": 1, "pairs": 1})]))
    (bug,) = (bug for bug in planted_bugs() if bug.name == "one value of each unit in COUNT DISTINCT")
    with bug.plant():
        outcome = bounding.check(Asked(count=1))
    assert not outcome.passed
    assert "different values of icd" in outcome.findings[0]


def test_statistics_that_nobody_moves_far_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([Part({"plans": 1, "pairs": 1})]))
    monkeypatch.setattr(bounding, "_of_statistics", lambda: iter([Part({"statistics": 2, "far": 1})]))
    assert [figure.goal for figure in bounding.check(Asked(count=1)).figures if not figure.held] == ["all"]


def test_figures_of_what_was_not_tried_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([Part({"plans": 1, "pairs": 1, "2 joins": 1})]))
    said = [figure.what for figure in bounding.check(Asked(count=1)).figures]
    assert "of these over 2 joins" in said
    assert "of these over 3 joins" not in said
    assert not any("block" in what for what in said)


@pytest.mark.parametrize("missing", ["left out", "in a block"])
def test_too_few_plans_that_can_show_a_bug_are_not_enough(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    counts = {"plans": 80, "pairs": 80, "cut": 80, "left out": 20, "in a block": 20} | {missing: 1}
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([Part(counts)]))
    monkeypatch.setattr(bounding, "shared", lambda tried, asked, usual: tried(0, 80))
    outcome = bounding.check(Asked(count=80))
    assert [figure.goal for figure in outcome.figures if not figure.held] == ["at least 2"]


def test_plans_over_several_joins_that_are_broken_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Part({"plans": 1, "pairs": 1, "2 joins": 1, "2 joins, broken": 1, "l1": 1})
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([part]))
    broken = [figure.what for figure in bounding.check(Asked(count=1)).figures if not figure.held]
    assert broken == ["of these over 2 joins", "l1 beyond declared"]


# ---- steps and plans


def test_a_replaced_unit_goes_from_the_lowest_to_the_highest_numbers_and_keeps_its_keys() -> None:
    here, base = world(REPLACED), duckdb_with
    lower, upper = (with_kind(here, f"people {end}")["visits"][-1] for end in ("lower", "upper"))
    domains = dict(here.tables["visits"].columns)
    assert [domains["age"].code(row["age"]) for row in (lower, upper)] == [domains["age"].lower, domains["age"].upper]
    assert (lower["city"], lower["person"]) == (upper["city"], upper["person"])
    assert Kinds().beside(base)(REPLACED, "base") is base(REPLACED, "base")


def test_such_steps_are_there_where_units_are_replaced_and_nowhere_else() -> None:
    for where in (0, REPLACED):
        for plan in plans(20, where=where):
            assert not from_end_to_end(plan) or isinstance(plan.program.neighbours, Replace)
            assert all(is_end_to_end(step) for step in from_end_to_end(plan))
    assert sum(map(bool, map(from_end_to_end, plans(20, where=REPLACED)))) >= 4


def test_many_plans_of_joins_leave_bounding_out_and_meet_a_unit_whose_rows_are_all_alike() -> None:
    found = [plan for plan in islice(numbered(0, joined_too=True), 80) if leaves_out(plan)]
    assert len(found) >= 8
    assert sum("alike" in step.after for plan in found for step in hurtful(plan)) >= 4


def test_all_rows_of_a_unit_that_are_alike_are_equal_in_what_joins_read() -> None:
    here = world(0)
    for kind in ("alike", "same"):
        rows = with_kind(here, f"people {kind}")
        for table in ("visits", "orders", "lines"):
            assert all(row == rows[table][-1] for row in rows[table][-20:])
        assert rows["lines"][-1]["number"] == rows["orders"][-1]["number"]


def test_units_in_and_not_in_a_block_are_asked_about() -> None:
    cut = division(0)
    asked = [plan for seed in range(150) if (plan := divided(cut, seed)) and "UnitFilter" in nodes(plan)]
    assert len(asked) >= 15
    assert 0 < sum(charged(cut, plan) is not None for plan in asked) < len(asked)
