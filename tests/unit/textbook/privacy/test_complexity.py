"""Dimensions of query classes by brute force, and how many queries independent noise can answer."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import pytest

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.textbook.privacy.complexity import (
    fat_shattering_dimension,
    fat_shatters,
    laplace_error,
    most_queries,
    shatters,
    vc_bound,
    vc_dimension,
)
from dalenius.textbook.privacy.queries import LinearQueries, LinearQuery, intervals, marginals, monotone_conjunctions

PARAMETERS = {"epsilon": "0.5", "delta": "1e-9", "beta": "0.05"}


def all_subsets(points: int) -> LinearQueries:
    rows = range(points)
    return LinearQueries(
        tuple(
            LinearQuery(str(bits), dict(zip(rows, map(Fraction, bits), strict=True)))
            for bits in product((0, 1), repeat=points)
        )
    )


@pytest.mark.textbook("S7.8")
@pytest.mark.parametrize("points", [2, 3, 6])
def test_intervals_have_vc_dimension_two(points: int) -> None:
    workload = intervals(range(points))
    assert vc_dimension(workload) == 2
    assert shatters(workload, [0, points - 1])
    assert points < 3 or not shatters(workload, [0, 1, 2])


@pytest.mark.textbook("S7.8")
@pytest.mark.parametrize("features", [1, 2, 3])
def test_monotone_conjunctions_have_as_many_dimensions_as_features(features: int) -> None:
    assert vc_dimension(monotone_conjunctions(features)) == features


@pytest.mark.textbook("S7.8")
@pytest.mark.parametrize(
    "workload", [intervals(range(5)), monotone_conjunctions(3), marginals(4, ways=2), all_subsets(3)]
)
def test_the_vc_dimension_is_at_most_the_binary_logarithm(workload: LinearQueries) -> None:
    assert vc_dimension(workload) <= vc_bound(len(workload)) == math.floor(math.log2(len(workload)))


@pytest.mark.textbook("S7.8")
def test_the_natural_logarithm_would_be_too_small() -> None:
    workload = all_subsets(3)
    assert vc_dimension(workload) == vc_bound(len(workload)) == 3 > math.log(len(workload))


@pytest.mark.textbook("S7.8")
@pytest.mark.parametrize("workload", [intervals(range(4)), monotone_conjunctions(2)])
def test_fat_shattering_of_counting_queries_is_shattering(workload: LinearQueries) -> None:
    assert fat_shattering_dimension(workload, margin="0.5") == vc_dimension(workload)
    assert fat_shattering_dimension(workload, margin="0.51") == 0


@pytest.mark.textbook("S7.8")
def test_fat_shattering_falls_with_the_margin_and_needs_common_levels() -> None:
    scaled = LinearQueries(
        tuple(
            LinearQuery(f"{a}{b}", {"x": Fraction(a, 10), "y": Fraction(1, 2) + Fraction(b, 5)})
            for a, b in product((1, 2), repeat=2)
        )
    )
    assert fat_shattering_dimension(scaled, margin="0.05") == 2  # levels 0.15 and 0.8
    assert fat_shattering_dimension(scaled, margin="0.06") == 1  # x spreads by 0.1 only
    assert fat_shattering_dimension(scaled, margin="0.11") == 0
    crossing = LinearQueries((LinearQuery("p", {"x": 0, "y": 1}), LinearQuery("q", {"x": 1, "y": 0})))
    assert not fat_shatters(crossing, ["x", "y"], margin="0.1")
    with pytest.raises(InvalidParameter, match="Use fat_shatters"):
        shatters(scaled, ["x"])


@pytest.mark.textbook("S6.10")
def test_the_error_of_independent_noise_has_the_stated_form() -> None:
    scale = math.sqrt(8 * 100 * math.log(1e9)) / 0.5
    assert float(laplace_error(queries=100, **PARAMETERS)) == pytest.approx(scale * math.log(100 / 0.05), rel=1e-12)


@pytest.mark.textbook("S6.10")
@pytest.mark.parametrize("error", [1000, 10**6])
def test_the_most_queries_fit_and_one_more_does_not(error: int) -> None:
    count = most_queries(error=error, **PARAMETERS)
    assert laplace_error(queries=count, **PARAMETERS) <= error < laplace_error(queries=count + 1, **PARAMETERS)


@pytest.mark.textbook("S6.10")
def test_about_n_squared_queries_at_a_part_of_n_and_about_n_below_the_sampling_error() -> None:
    """Ten times the rows allow 100 times the queries at error n/100, 10 times at error sqrt(n), up to logarithms."""
    sizes = [10**12, 10**13, 10**14]
    coarse = [most_queries(error=Fraction(n, 100), **PARAMETERS) for n in sizes]
    fine = [most_queries(error=math.isqrt(n), **PARAMETERS) for n in sizes]
    assert all(70 < b / a < 100 for a, b in pairwise(coarse))
    assert all(7 < b / a < 10 for a, b in pairwise(fine))


@pytest.mark.textbook("S6.10")
@pytest.mark.parametrize(("error", "queries"), [(Fraction(1), 2), (Fraction(1, 2), 1)])
def test_the_limits_are_approached_from_below_at_errors_of_smaller_order(error: Fraction, queries: int) -> None:
    """At an error of n^a / ln n, which is o(n^a), the number of queries is n^(2a) divided by powers of ln n only: its
    exponent rises towards 2 a, and stays below it."""
    exponents = []
    for digits in (20, 40, 80, 160):
        allowed = Fraction(10 ** int(digits * error), 2 * digits)
        count = most_queries(error=allowed, **PARAMETERS)
        exponents.append(math.log10(count) / digits)
    assert exponents == sorted(exponents)
    assert exponents[0] < exponents[-1] < queries
    assert exponents[-1] > queries - 0.1


@pytest.mark.textbook("S6.10")
def test_no_query_fits_a_tiny_error_and_the_theorem_keeps_to_small_epsilon() -> None:
    assert most_queries(error="0.001", **PARAMETERS) == 0
    with pytest.raises(TheoremDoesNotApply, match="epsilon below 1"):
        laplace_error(queries=1, epsilon=1, delta="1e-9", beta="0.05")
