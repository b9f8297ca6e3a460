"""What is measured for a question, and that the stated sensitivities bound every change of small databases."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from binding import CLINIC, ask, declared
from dalenius.measuring.measurements import (
    Counts,
    FoundKeys,
    Mode,
    Numbers,
    Quantiles,
    SplitSums,
    TopKeys,
    bounded_change,
    listed_change,
    lower,
)
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.query.plan.passes import Aggregate, DistinctValues, Values
from dalenius.query.plan.relations import Clamp
from dalenius.query.tables import ContributionBounds
from dalenius.query.types import Int

ADD, REPLACE = AddRemove(), Replace()
KEYS = 4


def gifts(groups: int, low: int, high: int) -> list[tuple[int, ...]]:
    """Everything that one unit can give to the keys."""
    found = []
    for places in combinations(range(KEYS), groups):
        for values in product((low, 0, high), repeat=groups):
            vector = [0] * KEYS
            for place, value in zip(places, values, strict=True):
                vector[place] = value
            found.append(tuple(vector))
    return sorted(set(found))


def changes(neighbours: Neighbours, units: list[tuple[int, ...]]) -> list[list[int]]:
    """What one neighbour step can change: a unit more or less, or one instead of another."""
    nothing = (0,) * len(units[0])
    pairs = product(units, [nothing]) if isinstance(neighbours, AddRemove) else product(units, units)
    return [[a - b for a, b in zip(*pair, strict=True)] for pair in pairs]


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize(("low", "high"), [(0, 3), (-2, 0), (-2, 3), (2, 5), (-5, -4), (-3, 3)])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_bounded_change_is_the_largest_there_is(neighbours: Neighbours, low: int, high: int, groups: int) -> None:
    stated = bounded_change(neighbours, groups=groups, lower=low, upper=high)
    found = changes(neighbours, gifts(groups, min(low, 0), max(high, 0)))
    assert max(max(map(abs, change)) for change in found) == stated.linf
    assert max(sum(map(abs, change)) for change in found) <= stated.l1
    assert max(sum(part * part for part in change) for change in found) <= stated.l2_squared
    if isinstance(neighbours, AddRemove):
        assert max(sum(map(abs, change)) for change in found) == stated.l1
        assert max(sum(part * part for part in change) for change in found) == stated.l2_squared
    if stated.monotone:
        assert all(min(change) >= 0 or max(change) <= 0 for change in found)


def test_the_check_above_notices_a_forgotten_group() -> None:
    stated = bounded_change(ADD, groups=1, lower=0, upper=3)
    assert stated.l1 is not None
    assert max(sum(map(abs, change)) for change in changes(ADD, gifts(2, 0, 3))) > stated.l1


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_counts_of_listed_values_change_by_no_more_than_stated(neighbours: Neighbours) -> None:
    rows, groups = 2, 1
    stated = listed_change(neighbours, groups=groups, rows=rows)
    one_key = [counts for counts in product(range(rows + 1), repeat=3) if sum(counts) <= rows]
    found = changes(neighbours, one_key)
    assert max(sum(map(abs, change)) for change in found) == stated.l1
    assert max(sum(part * part for part in change) for change in found) == stated.l2_squared
    assert max(max(map(abs, change)) for change in found) == stated.linf


def test_a_count_and_a_mean_share_their_count() -> None:
    program = lower(ask("SELECT city, COUNT(*), AVG(age) FROM visits GROUP BY city"))
    assert [type(part) for part in program.measurements] == [Numbers, Numbers]
    assert program.recipes[0].inputs == (0,)
    assert program.recipes[1].inputs == (0, 1)
    assert len(program.passes) == 1


def test_a_mean_of_a_column_that_may_be_null_counts_its_own_rows() -> None:
    program = lower(ask("SELECT COUNT(*), AVG(cost), STDDEV(cost) FROM visits"))
    assert len(program.measurements) == 4
    assert program.recipes[1].inputs == (1, 2)


def test_a_mean_sums_what_lies_beyond_the_midpoint() -> None:
    program = lower(ask("SELECT AVG(age), COUNT(*) FROM visits"))
    count, total = program.measurements
    assert count.sensitivity.linf == 20
    assert total.sensitivity.linf == 20 * 60


@pytest.mark.parametrize(("kind", "whole"), [("AVG", 120), ("VARIANCE", 120**2), ("STDDEV", 120**2)])
def test_a_mean_or_variance_that_counts_its_rows_alone_is_measured_at_once(kind: str, whole: int) -> None:
    program = lower(ask(f"SELECT {kind}(age), COUNT(cost), SUM(age) FROM visits"))
    split = program.measurements[0]
    assert isinstance(split, SplitSums)
    assert program.recipes[0].inputs == (0,)
    assert split.whole == whole
    assert (split.sensitivity.l1, split.sensitivity.l2_squared) == (20 * whole, (20 * whole) ** 2)
    assert split.sensitivity.linf == 20 * whole
    assert split.sensitivity.monotone


@pytest.mark.parametrize("other", [
    "COUNT(*)", "COUNT(age)", "STDDEV(age)", "AVG(age + 1)", "CORR(age, age + 1)", "COVAR_SAMP(age, age + 1)",
])  # fmt: skip
def test_whose_count_another_statistic_needs_shares_it_instead(other: str) -> None:
    program = lower(ask(f"SELECT AVG(age), {other} FROM visits"))
    assert all(isinstance(part, Numbers) for part in program.measurements)


@pytest.mark.parametrize("other", ["COUNT(cost)", "AVG(cost)", "CORR(age, cost)", "SUM(age)", "MEDIAN(age)"])
def test_what_counts_other_rows_or_none_is_in_nobodys_way(other: str) -> None:
    program = lower(ask(f"SELECT AVG(age), {other} FROM visits"))
    assert isinstance(program.measurements[0], SplitSums)


def test_a_column_without_width_or_with_too_large_squares_is_measured_apart() -> None:
    ranges = {"age": Int(7, 7), "cost": Int(-(2**43), 2**43)}
    tables = {**CLINIC, "visits": declared(CLINIC["visits"], **ranges)}
    for term, kind in {"AVG(age)": Numbers, "VARIANCE(cost)": Numbers, "AVG(cost)": SplitSums}.items():
        assert isinstance(lower(ask(f"SELECT {term} FROM visits", tables=tables)).measurements[0], kind)


def test_every_summed_column_is_clamped_just_below_the_bound() -> None:
    program = lower(
        ask("SELECT city, SUM(cost * 2), VARIANCE(age), AVG(cost), CORR(age, cost) FROM visits GROUP BY city")
    )
    (step,) = program.passes
    assert isinstance(step, Aggregate)
    assert isinstance(step.child.child, Clamp)
    clamped = {name for name, _, _ in step.child.child.bounds}
    assert {total.column for total in step.totals if total.kind == "sum"} <= clamped


def test_variance_and_standard_deviation_share_all_their_sums() -> None:
    program = lower(ask("SELECT VARIANCE(age), STDDEV(age), AVG(age) FROM visits"))
    assert len(program.measurements) == 3
    assert program.recipes[0] == program.recipes[1]


def test_correlation_needs_six_sums_and_counts_complete_rows() -> None:
    program = lower(ask("SELECT CORR(age, cost) FROM visits"))
    assert program.recipes[0].inputs == (0, 1, 2, 3, 4, 5)
    assert program.measurements[0].title == "rows with age and cost"


def test_quantiles_of_one_column_are_measured_together() -> None:
    program = lower(ask("SELECT QUANTILE(cost, 0.9), MEDIAN(cost), MIN(age) FROM visits"))
    first, second = program.measurements
    assert isinstance(first, Quantiles)
    assert isinstance(second, Quantiles)
    assert len(first.targets) == 2
    assert [recipe.part for recipe in program.recipes] == [1, 0, 0]
    assert all(isinstance(step, Values) for step in program.passes)


def test_modes_histograms_and_distinct_values_have_passes_of_their_own() -> None:
    program = lower(ask("SELECT MODE(city), HISTOGRAM(city), COUNT(DISTINCT icd) FROM visits"))
    assert [type(part) for part in program.measurements] == [Mode, Counts, Numbers]
    assert [type(step) for step in program.passes] == [Values, DistinctValues]
    assert program.measurements[2].sensitivity.l1 == 5


def test_unknown_keys_are_found_by_their_units_before_anything_is_counted() -> None:
    program = lower(ask("SELECT icd, COUNT(*) FROM visits GROUP BY icd"))
    found, counts = program.measurements
    assert isinstance(found, FoundKeys)
    assert not found.shown
    assert found.sensitivity.linf == 1
    assert found.sensitivity.l1 == 5
    assert counts.sensitivity.linf == 20
    assert program.selection == 0


def test_units_per_unknown_key_come_out_of_the_choice_itself() -> None:
    program = lower(ask("SELECT icd, COUNT(DISTINCT patient_id) FROM visits GROUP BY icd"))
    (found,) = program.measurements
    assert isinstance(found, FoundKeys)
    assert found.shown
    assert program.recipes[0].inputs == (0,)


def test_a_choice_of_the_largest_groups_needs_only_the_bound_for_each_key() -> None:
    program = lower(ask("SELECT icd FROM visits GROUP BY icd ORDER BY COUNT(*) DESC LIMIT 3"))
    (top,) = program.measurements
    assert isinstance(top, TopKeys)
    assert top.sensitivity.linf == 20
    assert top.sensitivity.l1 is None
    assert program.passes[0].child.groups is None


@pytest.mark.parametrize(("k", "passes", "touched"), [(3, 1, 3), (8, 2, 5)])
def test_counts_of_the_largest_groups_are_bounded_by_the_fewer_of_k_and_groups(
    k: int, passes: int, touched: int
) -> None:
    program = lower(ask(f"SELECT icd, COUNT(*) FROM visits GROUP BY icd ORDER BY COUNT(*) DESC LIMIT {k}"))
    assert len(program.passes) == passes
    assert program.measurements[1].groups == touched
    assert program.measurements[1].sensitivity.l1 == 20 * touched


def test_the_bounds_of_a_question_can_be_given_with_it() -> None:
    program = lower(ask("SELECT icd, COUNT(*) FROM visits GROUP BY icd", most=ContributionBounds(rows=2, groups=3)))
    assert program.measurements[1].sensitivity.l1 == 6
