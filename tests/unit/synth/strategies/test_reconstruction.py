"""Strategies: their sensitivities, their fast reconstruction and the error that they state, against plain matrices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.privacy.neighbours import AddRemove, Replace
from dalenius.synth.strategies.optimised import Explicit
from dalenius.synth.strategies.strategy import Strategy
from dalenius.synth.strategies.trees import Haar, Hierarchical, Identity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import MatrixWorkload, Ranges

SIZES = (1, 2, 3, 5, 8, 13, 27, 30, 64)


def strategies(cells: int) -> Iterator[Strategy]:
    yield Identity(cells)
    yield Haar(cells)
    for branching in (2, 3, 8):
        yield (tree := Hierarchical(cells, branching))
        yield Hierarchical(cells, branching, weights=[*(level % 3 for level in range(len(tree.weights) - 1)), 2])
    yield Explicit(matrix_of(Hierarchical(cells, 4)))


def matrix_of(strategy: Strategy) -> np.ndarray:
    return np.stack([strategy.counts(column) for column in np.eye(strategy.cells, dtype=np.int64)], axis=1)


CASES = [pytest.param(one, id=f"{one.title}-{size}") for size in SIZES for one in strategies(size)]


@pytest.mark.parametrize("strategy", CASES)
def test_the_fast_passes_are_the_least_squares_solution(strategy: Strategy) -> None:
    matrix, rng = matrix_of(strategy), np.random.default_rng(1)
    noisy, weights = rng.normal(size=(2, len(matrix))), rng.normal(size=(3, strategy.cells))
    dense = np.linalg.lstsq(matrix, noisy.T, rcond=None)[0].T
    assert np.allclose(strategy.reconstructed(noisy), dense)
    assert np.allclose(strategy.solved(weights), np.linalg.solve(matrix.T @ matrix, weights.T).T)


def test_the_check_above_notices_a_pass_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Hierarchical(27, 3)
    monkeypatch.setattr(Hierarchical, "_least_squares", lambda self, levels: levels[-1] / self.weights[-1])
    noisy = np.random.default_rng(1).normal(size=len(matrix_of(tree)))
    assert not np.allclose(tree.reconstructed(noisy), np.linalg.lstsq(matrix_of(tree), noisy, rcond=None)[0])


@pytest.mark.parametrize("strategy", CASES)
@pytest.mark.parametrize("relation", [AddRemove(), Replace()])
def test_no_unit_moves_the_counts_further_than_stated(strategy: Strategy, relation: AddRemove | Replace) -> None:
    columns = matrix_of(strategy).T
    apart = [*columns, *(one - other for one, other in product(columns, columns) if isinstance(relation, Replace))]
    stated = strategy.sensitivity(relation, rows=3)
    for norm, found in (
        (stated.l1, max(np.abs(change).sum() for change in apart) * 3),
        (stated.l2_squared, max((change**2).sum() for change in apart) * 9),
        (stated.linf, max(np.abs(change).max() for change in apart) * 3),
    ):
        assert norm is not None
        assert found <= norm
        if strategy.cells in (2, 8, 27, 64):
            assert isinstance(strategy, Haar | Hierarchical | Identity | Explicit)
            assert norm <= found * 1.5


def test_sensitivities_of_full_trees_are_tight() -> None:
    for strategy in (Hierarchical(27, 3), Hierarchical(64, 8), Haar(64), Identity(9)):
        written = Explicit(matrix_of(strategy))
        assert (strategy.added, strategy.replaced) == (written.added, written.replaced)


@pytest.mark.parametrize("strategy", list(strategies(30)), ids=lambda one: one.title)
def test_stated_variances_are_those_of_the_reconstruction(strategy: Strategy) -> None:
    grid = CellDomain({"x": 30})
    inverse = np.linalg.pinv(matrix_of(strategy))
    every = Ranges.all(grid)  # more questions than cells, so by prefix sums
    few = Ranges(grid, [(0, 3), (5, 29), (7, 7)])
    fractions = MatrixWorkload(grid, np.arange(60).reshape(2, 30), denominator=60)
    for workload in (every, few, fractions):
        weights = workload.matrix / workload.denominator
        assert np.allclose(strategy.variances(workload), ((weights @ inverse) ** 2).sum(axis=1))


@pytest.mark.parametrize(
    ("cells", "strategy", "workload", "error"),
    [
        (64, Hierarchical(64, 2), "prefix", 2.52),
        (256, Hierarchical(256, 2), "prefix", 3.10),
        (256, Haar(256), "prefix", 3.09),
        (256, Identity(256), "prefix", 11.34),
        (1024, Hierarchical(1024, 2), "prefix", 3.69),
        (1024, Haar(1024), "prefix", 3.67),
        (1024, Hierarchical(1024, 2), "all", 4.65),
        (1024, Haar(1024), "all", 4.32),
        (1024, Identity(1024), "all", 18.49),
    ],
)
def test_errors_are_those_that_others_have_published(
    cells: int, strategy: Strategy, workload: str, error: float
) -> None:
    """Root mean square in standard deviations of one count's Gaussian noise, by HDMM's tables."""
    grid = CellDomain({"x": cells})
    asked = Ranges.all(grid) if workload == "all" else Ranges.prefixes(grid)
    assert np.sqrt(strategy.added[1] * strategy.variances(asked).mean()) == pytest.approx(error, abs=0.006)


def test_a_large_tree_is_reconstructed_without_any_matrix() -> None:
    tree, truth = Hierarchical(4096, 8), np.arange(4096)
    assert np.allclose(tree.reconstructed(tree.counts(truth).astype(float)), truth)


def test_counts_beyond_64_bits_do_not_wrap() -> None:
    huge = np.full(8, 2**62, dtype=np.int64)
    assert Hierarchical(8, 2).exact_counts(huge)[0] == 8 * 2**62
    assert Hierarchical(8, 2).counts(huge)[0] != 8 * 2**62  # what would have happened


def test_what_is_no_strategy_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="independent columns"):
        Explicit([[1, 1], [2, 2]]).solved(np.ones(2))
    with pytest.raises(InvalidParameter, match="integers"):
        Explicit([[0.5, 1.0]])
    with pytest.raises(InvalidParameter, match="last above 0"):
        Hierarchical(8, 2, weights=[1, 1, 1, 0])
    with pytest.raises(InvalidParameter, match="over 8 cells"):
        Identity(8).variances(Ranges.prefixes(CellDomain({"x": 9})))
