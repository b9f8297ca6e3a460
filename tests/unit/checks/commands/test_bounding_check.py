"""`check bounding`: its figures say what was tried, and its steps and plans hurt where bugs were not found before."""

from __future__ import annotations

from itertools import islice

from dalenius.checks.replay.blocks import charged, divided, division
from dalenius.checks.replay.bounding import Kinds, from_end_to_end, hurtful, is_end_to_end, with_kind
from dalenius.checks.replay.joins import leaves_out
from dalenius.checks.replay.loading import duckdb_with
from dalenius.checks.sharing import numbered
from dalenius.engines.conformance.plans import nodes, plans
from dalenius.engines.conformance.worlds import world
from dalenius.privacy.neighbours import Replace

REPLACED = 6
"""A world whose people are replaced."""


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
