"""Local sensitivity is no calibration; smooth sensitivity equals its definition over all databases."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.privacy.reals import ball, lower, precise, upper
from dalenius.textbook.privacy.databases import all_databases, l1_distance, rows_of
from dalenius.textbook.privacy.smooth import (
    is_smooth_bound,
    local_sensitivity,
    median,
    median_local_sensitivity,
    median_profile,
    median_smooth_sensitivity,
    smooth_sensitivity,
)

GRID = (0, 2, 3, 7, 10)
DECAY = Fraction(1, 2)


def middle(database: Counter[int]) -> Fraction:
    return median(rows_of(database))


def local(database: Counter[int]) -> Fraction:
    return local_in_grid(tuple(sorted(database.elements())))


@cache
def local_in_grid(values: tuple[int, ...]) -> Fraction:
    return local_sensitivity(middle, Counter(values), universe=GRID, neighbours=Replace())


def smooth(database: Counter[int]) -> Fraction:
    return median_smooth_sensitivity(rows_of(database), least=0, most=10, decay=DECAY)


@pytest.mark.textbook("S3.5")
def test_the_median_of_an_even_number_is_the_smaller_middle_value() -> None:
    assert median([5, 1, 3]) == 3
    assert median([4, 1, 3, 2]) == 2


@pytest.mark.textbook("S3.5")
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_the_local_sensitivity_of_the_median_is_the_larger_gap(count: int) -> None:
    for values in combinations_with_replacement(GRID, count):
        assert median_local_sensitivity(values, least=0, most=10) == local(Counter(values))


@pytest.mark.textbook("S3.5")
def test_the_larger_gap_of_five_values() -> None:
    assert median_local_sensitivity([1, 4, 6, 7, 9], least=0, most=10) == 2
    assert median_local_sensitivity([1, 4, 6, 9, 9], least=0, most=10) == 3


@pytest.mark.textbook("S3.5")
def test_neighbours_can_have_local_sensitivities_zero_and_a_million() -> None:
    """The text's example: n + 1 rows of which 1 + n/2 are 0, beside n rows of which n/2 are 0; both medians are 0."""
    universe, half = (0, 10**6), 4
    x, y = Counter({0: half + 1, 10**6: half}), Counter({0: half, 10**6: half})
    assert AddRemove().related(x, y)
    assert middle(x) == middle(y) == 0
    assert local_sensitivity(middle, x, universe=universe, neighbours=AddRemove()) == 0
    assert local_sensitivity(middle, y, universe=universe, neighbours=AddRemove()) == 10**6


@pytest.mark.textbook("S3.5")
def test_a_vector_moves_in_the_l1_norm() -> None:
    def ends(database: Counter[int]) -> tuple[int, int]:
        return min(database), max(database)

    assert local_sensitivity(ends, Counter({3: 1}), universe=GRID, neighbours=Replace()) == 14
    assert local_sensitivity(ends, Counter([3, 7]), universe=GRID, neighbours=Replace()) == 7


@pytest.mark.textbook("S3.5")
def test_noise_of_local_size_gives_the_database_away() -> None:
    """The broken release: with local sensitivity 0 the answer is exact, with 10 it is 0 almost never."""
    tight, loose = Counter({0: 4, 10: 1}), Counter({0: 3, 10: 2})
    assert Replace().related(tight, loose)
    assert (local(tight), local(loose)) == (0, 10)
    epsilon = 1
    scale = float(local(loose)) / epsilon
    ratio = math.exp(-1 / scale)
    exact_answer = {"tight": 1.0, "loose": (1 - ratio) / (1 + ratio)}  # P[answer = 0] with integer noise
    assert exact_answer["tight"] / exact_answer["loose"] > math.exp(epsilon) * 5


@pytest.mark.textbook("S3.6")
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_fast_profile_is_the_worst_over_all_databases_within_reach(count: int) -> None:
    databases = list(all_databases(GRID, [count]))
    locals_ = [local(other) for other in databases]
    for x in databases:
        steps = [l1_distance(x, other) // 2 for other in databases]
        expected = [max(ls for ls, step in zip(locals_, steps, strict=True) if step <= k) for k in range(count + 1)]
        assert list(median_profile(rows_of(x), least=0, most=10)) == expected
        by_definition = max(ls * DECAY**step for ls, step in zip(locals_, steps, strict=True))
        assert smooth(x) == by_definition


@pytest.mark.textbook("S3.6")
def test_smooth_sensitivity_is_a_smooth_bound_and_the_least_one() -> None:
    parameters = {"decay": DECAY, "universe": GRID, "size": 3, "neighbours": Replace()}
    assert is_smooth_bound(smooth, middle, **parameters)
    assert is_smooth_bound(lambda _: 10, middle, **parameters)
    assert not is_smooth_bound(local, middle, **parameters)
    assert not is_smooth_bound(lambda x: smooth(x) * Fraction(99, 100), middle, **parameters)


@pytest.mark.textbook("S3.6")
def test_the_maximum_must_range_over_all_databases() -> None:
    """Restricted to x and its neighbours, the maximum misses what is two steps away, and is not smooth."""

    def near_only(x: Counter[int]) -> Fraction:
        around = Replace().around(x, GRID)
        return max([local(x), *(DECAY * local(Counter(y)) for y in around)])

    parameters = {"decay": DECAY, "universe": GRID, "size": 5, "neighbours": Replace()}
    assert is_smooth_bound(smooth, middle, **parameters)
    assert not is_smooth_bound(near_only, middle, **parameters)


@pytest.mark.textbook("S3.6")
def test_equality_is_allowed_so_a_constant_has_the_smooth_bound_zero() -> None:
    """The slide asks for strict inequalities, which would refuse the least bound there is."""
    assert is_smooth_bound(lambda _: 0, lambda _: 5, decay=DECAY, universe=(0, 1), size=2, neighbours=Replace())


@pytest.mark.textbook("S3.6")
@given(st.lists(st.integers(0, 100), min_size=1, max_size=12), st.fractions("0.1", 2, max_denominator=10))
def test_a_given_beta_is_smooth_exactly_and_barely_larger(values: list[int], beta: Fraction) -> None:
    profile = median_profile(values, least=0, most=100)
    found = smooth_sensitivity(profile, beta=beta)
    with precise():
        terms = [ball(value) * (-ball(beta * k)).exp() for k, value in enumerate(profile)]
        assert found >= max(lower(term) for term in terms)
        assert found <= max(upper(term) for term in terms) * (1 + Fraction(1, 2**50))


def test_a_tiny_beta_gives_the_whole_range() -> None:
    assert smooth_sensitivity([0, 0, 10], beta=Fraction(1, 10**40)) == 10


def test_parameters_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="State one of the two"):
        smooth_sensitivity([1])
    with pytest.raises(InvalidParameter):
        smooth_sensitivity([1], beta=0)
    with pytest.raises(InvalidParameter):
        median_profile([11], least=0, most=10)
    with pytest.raises(InvalidParameter):
        median([])


@pytest.mark.textbook("S3.6")
def test_bounds_are_checked_across_sizes_too() -> None:
    """Under add/remove the neighbours have other sizes, and are tried all the same."""
    parameters = {"decay": "0.5", "universe": (0, 1), "size": 2, "neighbours": AddRemove()}
    assert not is_smooth_bound(lambda _: 0, lambda x: x[1], **parameters)
    assert is_smooth_bound(lambda _: 1, lambda x: x[1], **parameters)
    with pytest.raises(InvalidParameter, match="profile"):
        smooth_sensitivity([], beta=1)
