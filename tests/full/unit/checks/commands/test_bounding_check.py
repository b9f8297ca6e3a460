"""The dear tests of `unit/checks/commands/test_bounding_check.py`."""

from __future__ import annotations

import pytest

from dalenius.checks.commands import bounding
from dalenius.checks.commands.planted import planted_bugs
from dalenius.checks.outcomes import CheckRequest
from dalenius.checks.sharing import PartOutcome


def test_every_figure_says_what_was_found_and_what_was_to_hold() -> None:
    outcome = bounding.check(CheckRequest(count=3))
    assert outcome.passed, outcome.findings
    assert all(figure.tried and figure.found and figure.goal for figure in outcome.figures)


def test_one_value_of_each_unit_in_count_distinct_is_noticed_whatever_the_plans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([PartOutcome({"plans": 1, "pairs": 1})]))
    (bug,) = (bug for bug in planted_bugs() if bug.name == "one value of each unit in COUNT DISTINCT")
    with bug.plant():
        outcome = bounding.check(CheckRequest(count=1))
    assert not outcome.passed
    assert "different values of icd" in outcome.findings[0]


def test_figures_of_what_was_not_tried_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bounding, "tried", lambda first, most: iter([PartOutcome({"plans": 1, "pairs": 1, "2 joins": 1})])
    )
    said = [figure.what for figure in bounding.check(CheckRequest(count=1)).figures]
    assert "of these over 2 joins" in said
    assert "of these over 3 joins" not in said
    assert not any("block" in what for what in said)


@pytest.mark.parametrize("missing", ["left out", "in a block"])
def test_too_few_plans_that_can_show_a_bug_are_not_enough(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    counts = {"plans": 80, "pairs": 80, "cut": 80, "left out": 20, "in a block": 20} | {missing: 1}
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([PartOutcome(counts)]))
    monkeypatch.setattr(bounding, "shared", lambda tried, asked, usual: tried(0, 80))
    outcome = bounding.check(CheckRequest(count=80))
    assert [figure.goal for figure in outcome.figures if not figure.held] == ["at least 2"]


def test_plans_over_several_joins_that_are_broken_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    part = PartOutcome({"plans": 1, "pairs": 1, "2 joins": 1, "2 joins, broken": 1, "l1": 1})
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([part]))
    broken = [figure.what for figure in bounding.check(CheckRequest(count=1)).figures if not figure.held]
    assert broken == ["of these over 2 joins", "l1 beyond declared"]


def test_statistics_that_nobody_moves_far_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounding, "tried", lambda first, most: iter([PartOutcome({"plans": 1, "pairs": 1})]))
    monkeypatch.setattr(bounding, "_of_statistics", lambda: iter([PartOutcome({"statistics": 2, "far": 1})]))
    assert [figure.goal for figure in bounding.check(CheckRequest(count=1)).figures if not figure.held] == ["all"]
