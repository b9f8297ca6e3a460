"""A few rows answer all questions nearly as well as the whole table."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, factorial, log, prod

import numpy as np
import pytest

from dalenius.errors import TheoremDoesNotApply
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Ranges
from dalenius.textbook.release.nets import Net
from dalenius.textbook.release.small_databases import (
    least_sample_size,
    most_distinct_queries,
    sample_size,
    sampling_failure,
    vc_sample_size,
)

ALPHA = Fraction(1, 3)
MATRIX = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]])


def worst_distance(size: int) -> float:
    """The distance of the database of 12 rows over three cells that is worst answered by all databases of a size."""
    answers = Net.of_size(3, 12, alpha=0).databases @ MATRIX.T / 12
    small = Net.of_size(3, size, alpha=0).databases @ MATRIX.T / size
    return float(np.abs(answers[:, None, :] - small[None, :, :]).max(axis=2).min(axis=1).max())


@pytest.mark.textbook("S9.1")
def test_every_database_has_a_small_one_near_it() -> None:
    assert worst_distance(least_sample_size(queries=len(MATRIX), alpha=ALPHA)) <= ALPHA


@pytest.mark.textbook("S9.1")
def test_the_test_above_notices_a_size_that_is_too_small() -> None:
    assert worst_distance(1) > ALPHA


@pytest.mark.textbook("S9.1")
@pytest.mark.parametrize("queries", [3, 10, 10**6])
def test_the_textbooks_size_is_rounded_up_and_never_below_the_least(queries: int) -> None:
    size = sample_size(queries=queries, alpha=ALPHA)
    assert size - 1 < log(queries) * 9 <= size
    least = least_sample_size(queries=queries, alpha=ALPHA)
    assert least <= size
    assert 2 * queries * exp(-2 * least / 9) < 1 <= 2 * queries * exp(-2 * (least - 1) / 9)


@pytest.mark.textbook("S9.1")
@pytest.mark.parametrize("queries", [1, 2])
def test_the_textbooks_size_is_refused_where_its_proof_fails(queries: int) -> None:
    with pytest.raises(TheoremDoesNotApply, match="more than two questions"):
        sample_size(queries=queries, alpha=ALPHA)


def exact_failure(size: int, alpha: Fraction) -> float:
    """The exact chance that random rows of the uniform database answer some question with an error above alpha."""
    samples = Net.of_size(3, size, alpha=0).databases
    off = np.abs(samples @ MATRIX.T / size - MATRIX.mean(axis=1)).max(axis=1)
    chances = [factorial(size) / prod(map(factorial, row)) / 3**size for row in samples.tolist()]
    return float(np.dot(off > float(alpha) + 1e-12, chances))


@pytest.mark.textbook("S9.1")
@pytest.mark.parametrize("size", [4, 12, 30])
def test_the_failure_bound_holds(size: int) -> None:
    assert exact_failure(size, ALPHA / 2) <= sampling_failure(queries=len(MATRIX), size=size, alpha=ALPHA / 2)


@pytest.mark.textbook("S9.1")
def test_the_test_above_notices_a_bound_for_one_side_of_one_question_at_twice_the_rows() -> None:
    assert exact_failure(12, ALPHA / 2) > sampling_failure(queries=1, size=48, alpha=ALPHA / 2)


@pytest.mark.textbook("S9.3")
def test_intervals_are_as_many_as_their_dimension_allows() -> None:
    grid = CellDomain({"x": 40})
    intervals = [(first, last) for first in range(40) for last in range(first, 40)]
    different = {tuple(row) for row in Ranges(grid, intervals).matrix.tolist()} | {(0,) * 40}
    assert len(different) == most_distinct_queries(dimension=2, cells=40)


@pytest.mark.textbook("S9.3")
def test_the_size_by_dimension_does_not_grow_with_the_cells_for_ever() -> None:
    sizes = [vc_sample_size(dimension=2, cells=10**power, alpha=Fraction(1, 10)) for power in (2, 6, 1000, 2000)]
    assert all(first <= second for first, second in pairwise(sizes))
    assert sizes[-1] == sizes[-2]
    assert sizes[0] == least_sample_size(queries=most_distinct_queries(dimension=2, cells=100), alpha=Fraction(1, 10))


@pytest.mark.textbook("S9.3")
def test_the_size_that_is_free_of_cells_is_the_least_for_its_inequality() -> None:
    size = vc_sample_size(dimension=2, cells=10**2000, alpha=Fraction(1, 10))

    def bound(rows: int) -> float:
        return 4 * (exp(1) * rows) ** 2 * exp(-rows / 800)

    assert bound(size) < 1 <= bound(size - 1)
