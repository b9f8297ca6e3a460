"""The optimum of the matrix mechanism: its certificate, its integers and the figures that others have found."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.synth.strategies import optimised as optimising
from dalenius.synth.strategies.optimised import Optimised, gram_of, optimised, singular_bound
from dalenius.synth.strategies.trees import Haar, Hierarchical, Identity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload, Ranges, Workload, points


def prefixes(cells: int) -> Ranges:
    return Ranges.prefixes(CellDomain({"x": cells}))


@lru_cache
def found(cells: int) -> Optimised:
    return optimised(prefixes(cells))


def error(strategy: Hierarchical | Haar | Identity, workload: Workload) -> float:
    return float(np.sqrt(strategy.added[1] * strategy.variances(workload).mean()))


@pytest.mark.parametrize(("cells", "best", "bound"), [(64, 2.10, 2.04), (256, 2.52, 2.47)])
def test_prefixes_meet_the_known_optimum(cells: int, best: float, bound: float) -> None:
    it = found(cells)
    assert it.error == pytest.approx(best, abs=0.01)
    assert it.singular_bound == pytest.approx(bound, abs=0.005) == singular_bound(prefixes(cells))
    assert it.singular_bound <= it.bound <= it.error <= 1.003 * it.bound
    assert it.error < error(Haar(cells), prefixes(cells)) < error(Identity(cells), prefixes(cells))


def test_the_error_is_that_of_the_integers_with_their_own_sensitivity() -> None:
    strategy, workload = found(64).strategy, prefixes(64)
    matrix = strategy.matrix
    assert matrix.dtype == np.int64
    assert strategy.added[1] == max(int(column @ column) for column in matrix.T)
    answers = workload.matrix @ np.linalg.pinv(matrix)
    assert found(64).error == pytest.approx(np.sqrt(strategy.added[1] * (answers**2).sum() / workload.count))


def test_the_check_of_the_optimum_notices_too_few_steps() -> None:
    early = optimised(prefixes(64), steps=1)
    assert early.steps == 1
    assert early.gap > 0.005


def test_a_coarse_grid_costs_error_and_says_so() -> None:
    assert optimised(prefixes(64), scale=4).error > 1.01 * found(64).error


def test_the_bound_holds_for_strategies_that_are_no_optimum() -> None:
    workload = Ranges.all(CellDomain({"x": 48}))
    bound = optimised(workload).bound
    for strategy in (Haar(48), Identity(48), Hierarchical(48, 2), Hierarchical(48, 4), Hierarchical(48, 16)):
        assert error(strategy, workload) > bound


def test_the_check_above_notices_a_bound_that_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    root = optimising._root
    monkeypatch.setattr(optimising, "_root", lambda matrix: 2 * root(matrix))
    workload = Ranges.all(CellDomain({"x": 48}))
    assert error(Haar(48), workload) < singular_bound(workload)


def test_any_workload_is_taken_also_where_questions_tell_little_apart() -> None:
    grid = CellDomain({"x": 4, "y": 3})
    few = MatrixWorkload(grid, np.eye(12, dtype=np.int64)[:3])
    assert optimised(points(grid)).error == pytest.approx(1, abs=1e-3)
    assert optimised(few).error == pytest.approx(np.sqrt(1), abs=5e-3)
    fractions = MatrixWorkload(grid, np.arange(24).reshape(2, 12), denominator=24)
    assert optimised(fractions).gap < 0.01


def test_gram_matrices_of_ranges_are_those_of_their_weights() -> None:
    ranges = Ranges(CellDomain({"x": 9}), [(0, 8), (2, 5), (2, 2), (7, 8)])
    assert np.array_equal(gram_of(ranges), ranges.matrix.T @ ranges.matrix)
    plain = MatrixWorkload(ranges.grid, ranges.matrix)
    assert np.array_equal(gram_of(ranges), gram_of(plain))


def test_a_domain_that_is_too_large_is_refused_with_what_would_do() -> None:
    with pytest.raises(InvalidParameter, match=r"4096.*2048.*Haar"):
        optimised(prefixes(4096))
