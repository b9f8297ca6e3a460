"""How far one step can move a statistic after k others: equal to the largest over all databases, by trying all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from costs import cases
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.robust.profiles import Ordered, Reach, Windows, distance_beyond, grid, rank
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace

Rows = tuple[int, ...]
HALF = Fraction(1, 2)
P = [Fraction(0), Fraction(1, 4), HALF, Fraction(2, 3), Fraction(9, 10), Fraction(1)]


def ordered(rows: Rows, top: int) -> Ordered:
    return Ordered.of(rows, lower=0, upper=top)


def quantile(p: Fraction) -> Callable[[Rows], int]:
    return lambda rows: sorted(rows)[rank(p, len(rows))] if rows else 0


def of_size(size: int, top: int) -> Iterator[Rows]:
    return combinations_with_replacement(range(top + 1), size)


def steps(relation: Neighbours, first: Rows, second: Rows) -> int:
    gone = sum((Counter(first) - Counter(second)).values())
    come = sum((Counter(second) - Counter(first)).values())
    return gone + come if isinstance(relation, AddRemove) else gone


def around(relation: Neighbours, rows: Rows, top: int) -> list[Rows]:
    found = relation.around(Counter(rows), tuple(range(top + 1)))
    return [tuple(sorted(other.elements())) for other in found]


def moves(relation: Neighbours, statistic: Callable[[Rows], int], databases: list[Rows], top: int) -> dict[Rows, int]:
    """The local sensitivity of each database."""
    return {
        rows: max((abs(statistic(other) - statistic(rows)) for other in around(relation, rows, top)), default=0)
        for rows in databases
    }


def tried(local: dict[Rows, int], relation: Neighbours, rows: Rows, k: int) -> int:
    """The largest local sensitivity within k steps."""
    return max(move for other, move in local.items() if steps(relation, rows, other) <= k)


@pytest.mark.textbook("S3.5", "S3.6", "S11.1")
@pytest.mark.parametrize(("size", "top"), [(1, 4), (2, 4), (3, 4), (4, 3), (5, 3), (6, 2)])
@cases("p", P, ids=str, fast=1)
def test_the_profile_of_a_quantile_is_the_largest_local_sensitivity_within_k_replacements(
    size: int, top: int, p: Fraction
) -> None:
    relation, databases = Replace("row"), list(of_size(size, top))
    local = moves(relation, quantile(p), databases, top)
    for rows in databases:
        profile = Windows(ordered(rows, top), rank(p, size))
        assert [profile(k) for k in range(size + 2)] == [tried(local, relation, rows, k) for k in range(size + 2)]


@pytest.mark.textbook("S3.6", "S11.1")
@pytest.mark.parametrize(("size", "start", "kept"), [(3, 1, 1), (4, 1, 2), (5, 1, 3), (5, 0, 5), (6, 1, 4), (6, 2, 2)])
def test_the_profile_of_a_trimmed_sum_is_the_largest_local_sensitivity_within_k_replacements(
    size: int, start: int, kept: int
) -> None:
    relation, top = Replace("row"), 3 if size < 6 else 2
    databases = list(of_size(size, top))
    local = moves(relation, lambda rows: sum(sorted(rows)[start : start + kept]), databases, top)
    for rows in databases:
        profile = Windows(ordered(rows, top), start, kept)
        assert [profile(k) for k in range(size + 1)] == [tried(local, relation, rows, k) for k in range(size + 1)]


def test_the_equality_above_notices_a_window_that_is_one_too_short() -> None:
    relation, top = Replace("row"), 4
    databases = list(of_size(3, top))
    local = moves(relation, quantile(HALF), databases, top)
    short = [Windows(ordered(rows, top), 1)(0) for rows in databases]
    assert short != [tried(local, relation, rows, 1) for rows in databases]


@cache
def added_or_removed(p: Fraction, most: int, top: int) -> dict[Rows, int]:
    databases = [rows for size in range(most + 1) for rows in of_size(size, top)]
    return moves(AddRemove("row"), quantile(p), databases, top)


@pytest.mark.textbook("S3.6", "S11.1")
@cases("size", [0, 1, 2, 3, 4, 5], fast=3)
def test_the_profile_of_the_median_is_exact_where_values_are_added_or_removed(size: int) -> None:
    relation, top, far = AddRemove("row"), 3, 8 - size
    local = added_or_removed(HALF, 8, top)
    for rows in of_size(size, top):
        profile = Reach(ordered(rows, top), HALF)
        assert [profile(k) for k in range(far)] == [tried(local, relation, rows, k) for k in range(far)]


@cases("p", P, ids=str, fast=1)
def test_the_profile_of_other_quantiles_bounds_the_local_sensitivity_and_grows_to_neighbours(p: Fraction) -> None:
    relation, top = AddRemove("row"), 3
    local = added_or_removed(p, 7, top)
    for rows in (rows for size in range(5) for rows in of_size(size, top)):
        profile = Reach(ordered(rows, top), p)
        assert all(profile(k) >= tried(local, relation, rows, k) for k in range(3))
        for other in around(relation, rows, top):
            assert all(profile(k) <= Reach(ordered(other, top), p)(k + 1) for k in range(6))


@pytest.mark.parametrize("p", [HALF, Fraction(1, 4)], ids=str)
def test_the_profile_of_units_with_two_rows_bounds_what_a_unit_can_do(p: Fraction) -> None:
    relation, top, statistic = AddRemove("row"), 3, quantile(p)
    for rows in (rows for size in range(4) for rows in of_size(size, top)):
        twice = {far for near in around(relation, rows, top) for far in [near, *around(relation, near, top)]}
        profile = Reach(ordered(rows, top), p, rows=2)
        assert profile(0) >= max(abs(statistic(other) - statistic(rows)) for other in twice)
        assert all(profile(k) <= Reach(ordered(far, top), p, rows=2)(k + 1) for far in twice for k in range(3))


@cases("p", P, ids=str, fast=2)
def test_the_profile_of_other_quantiles_is_mostly_exact(p: Fraction) -> None:
    local = added_or_removed(p, 7, 3)
    cases = [(rows, k) for size in range(5) for rows in of_size(size, 3) for k in range(3)]
    equal = [Reach(ordered(rows, 3), p)(k) == tried(local, AddRemove("row"), rows, k) for rows, k in cases]
    assert sum(equal) > 0.75 * len(cases)


def test_the_equality_above_notices_a_reach_that_is_one_step_too_short() -> None:
    local = added_or_removed(HALF, 8, 3)
    short = [Reach(ordered(rows, 3), HALF)(0) for rows in of_size(4, 3)]
    assert short != [tried(local, AddRemove("row"), rows, 1) for rows in of_size(4, 3)]


@pytest.mark.parametrize("bound", range(5))
def test_the_distance_to_a_larger_local_sensitivity_is_the_least_number_of_steps(bound: int) -> None:
    relation, top = Replace("row"), 4
    databases = list(of_size(4, top))
    local = moves(relation, quantile(HALF), databases, top)
    for rows in databases:
        far = [steps(relation, rows, other) for other, move in local.items() if move > bound]
        assert distance_beyond(Windows(ordered(rows, top), 1), bound, most=9) == min(far, default=9)


def test_values_may_come_with_counts_and_are_moved_into_the_grid() -> None:
    plain = Ordered.of([9, -4, 2, 2, 2], lower=0, upper=5)
    counted = Ordered.of(ValueCounts(np.array([2, 9, -4]), np.array([3, 1, 1])), lower=0, upper=5)
    assert plain.values.tolist() == counted.values.tolist() == [0, 2, 2, 2, 5]
    assert plain.between(-2, 6).tolist() == [0, 0, 0, 2, 2, 2, 5, 5, 5]
    assert plain.between(6, 7).tolist() == [5, 5]
    assert plain.between(-4, -3).tolist() == [0, 0]


def test_wide_grids_do_not_wrap() -> None:
    wide = Ordered.of([0, 1 << 80], lower=-(1 << 90), upper=1 << 90)
    assert Windows(wide, 0)(2) == 1 << 91
    assert Windows(wide, 0)(0) == 1 << 90


@pytest.mark.parametrize("ends", [(1, 0), (0.5, 1), (None, 1), (True, 2)])
def test_ends_that_are_no_grid_are_refused(ends: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidParameter, match="upper"):
        grid(*ends)
