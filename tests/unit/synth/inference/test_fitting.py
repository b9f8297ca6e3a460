"""The fitted model is the least squares' one, within the gap that it states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.session.answers.contents import NoisyMarginal
from dalenius.synth.inference.beliefs import Array, summed
from dalenius.synth.inference.calibration import Calibration
from dalenius.synth.inference.fitting import Fitted, agreed, fit, total_of
from dalenius.tabular.domains import CellDomain, Columns
from small_models import GRID, LOOPS, joint_of, least_squares, measured_of, squares_of

TOTAL = 500.0


def truth(seed: int) -> Array:
    random = np.random.default_rng(seed)
    return joint_of(GRID, {GRID.columns: random.normal(0, 2, GRID.shape())})


def problems() -> list[tuple[list[Columns], int]]:
    return [(groups, seed) for groups in LOOPS for seed in range(4)]


def true_gap(found: Fitted, measured: list[NoisyMarginal]) -> float:
    """How far a fit's squares really are above the least."""
    joint = found.beliefs.marginal(GRID.columns)
    return squares_of(joint, measured, found.total) - least_squares(measured, found.total)[0]


@pytest.mark.parametrize(("groups", "seed"), problems())
def test_squares_are_within_the_stated_gap_of_the_least(groups: list[Columns], seed: int) -> None:
    """The certificate is never below the truth, is as small as asked, and the squares are what is said of them."""
    measured = measured_of(truth(seed), groups, seed)
    for gap in (5.0, 0.05):
        found = fit(GRID, measured, total=TOTAL, gap=gap, steps=20_000)
        assert found.squares == pytest.approx(squares_of(found.beliefs.marginal(GRID.columns), measured, TOTAL))
        assert -1e-6 <= true_gap(found, measured) <= found.gap + 1e-6
        assert found.gap <= gap


@pytest.mark.parametrize(("groups", "seed"), problems()[:8])
def test_an_unfinished_fit_states_a_gap_that_holds(groups: list[Columns], seed: int) -> None:
    measured = measured_of(truth(seed), groups, seed)
    for steps in (1, 3, 10, 30):
        found = fit(GRID, measured, total=TOTAL, gap=0.01, steps=steps)
        assert true_gap(found, measured) <= found.gap + 1e-6


def test_the_tests_above_notice_a_certificate_that_looks_at_too_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def average(self: Calibration, potentials: Array) -> float:
        return float(self.marginals(np.zeros(self.size)) @ potentials)

    monkeypatch.setattr(Calibration, "greatest", average)
    measured = measured_of(truth(0), LOOPS[0], 0)
    found = fit(GRID, measured, total=TOTAL, gap=0.05, steps=20_000)
    assert true_gap(found, measured) > found.gap + 0.1


def test_marginals_are_those_of_the_least_squares_where_these_are_unique() -> None:
    """Measured marginals are the same for all distributions with the least squares."""
    measured = measured_of(truth(7), LOOPS[0], 7)
    found = fit(GRID, measured, total=TOTAL, gap=1e-4, steps=50_000)
    joint = least_squares(measured, TOTAL)[1]
    for part in measured:
        assert np.abs(found.counts(part.columns) - TOTAL * summed(joint, GRID.columns, part.columns)).max() < 0.5


@pytest.mark.parametrize("groups", LOOPS[:4])
def test_a_warm_start_ends_where_a_cold_one_does(groups: list[Columns]) -> None:
    measured = measured_of(truth(5), groups, 5)
    first = fit(GRID, measured[:-1], total=TOTAL, gap=0.1, steps=20_000) if len(measured) > 1 else None
    cold = fit(GRID, measured, total=TOTAL, gap=0.1, steps=20_000)
    warm = fit(GRID, measured, total=TOTAL, gap=0.1, steps=20_000, start=first)
    again = fit(GRID, measured, total=TOTAL, gap=0.1, steps=20_000, start=cold)
    assert abs(warm.squares - cold.squares) <= 0.1
    assert abs(again.squares - cold.squares) <= 0.1
    assert again.steps < cold.steps


def test_a_start_that_is_wrong_costs_steps_but_not_the_result() -> None:
    measured = measured_of(truth(6), LOOPS[0], 6)
    cold = fit(GRID, measured, total=TOTAL, gap=0.1, steps=20_000)
    wrong = replace(cold, dual={group: -3 * array for group, array in cold.dual.items()})
    found = fit(GRID, measured, total=TOTAL, gap=0.1, steps=20_000, start=wrong)
    assert found.gap <= 0.1
    assert abs(found.squares - cold.squares) <= 0.1


def zero_pattern(clique: Columns) -> Array:
    """No 0 or 1 of "a" together with a 2 or 3 of "b"; the combination is asked where a clique has both."""
    allowed = np.ones(GRID.shape(clique))
    if {"a", "b"} <= set(clique):
        pattern = np.ones(GRID.shape(("a", "b")))
        pattern[:2, 2:] = 0
        allowed = allowed * pattern.reshape([GRID.sizes[name] if name in "ab" else 1 for name in clique])
    return allowed


@pytest.mark.parametrize("groups", [LOOPS[0], LOOPS[3], [("c", "d"), ("a", "c"), ("b", "c")]])
def test_declared_zeros_stay_zero_and_the_fit_is_the_best_of_those_that_keep_them(groups: list[Columns]) -> None:
    measured = measured_of(truth(8), groups, 8)
    found = fit(GRID, measured, total=TOTAL, possible=zero_pattern, together=[("a", "b")], gap=0.05, steps=20_000)
    assert (found.counts(("a", "b"))[:2, 2:] == 0).all()
    allowed = np.broadcast_to(zero_pattern(("a", "b")).reshape(3, 4, 1, 1), GRID.shape())
    least = least_squares(measured, TOTAL, possible=allowed)[0]
    assert found.squares - found.gap - 1e-6 <= least <= found.squares + 1e-6


def test_the_test_above_notices_zeros_that_are_not_said() -> None:
    found = fit(GRID, measured_of(truth(8), LOOPS[0], 8), total=TOTAL, gap=0.05, steps=20_000)
    assert (found.counts(("a", "b"))[:2, 2:] > 0).any()


def test_a_group_measured_twice_counts_like_both_measurements() -> None:
    measured = measured_of(truth(9), [("a", "b"), ("a", "b"), ("b", "c")], 9)
    found = fit(GRID, measured, total=TOTAL, gap=0.05, steps=20_000)
    assert found.squares == pytest.approx(squares_of(found.beliefs.marginal(GRID.columns), measured, TOTAL))
    assert -1e-6 <= true_gap(found, measured) <= found.gap + 1e-6


def test_the_total_is_estimated_with_the_weight_of_each_sum() -> None:
    grid = CellDomain({"a": 2, "b": 4})
    measured = [NoisyMarginal(("a",), np.array([60.0, 50.0]), 1.0), NoisyMarginal(("b",), np.full(4, 25.0), 2.0)]
    assert total_of(measured) == pytest.approx((110 / 2 + 100 / 16) / (1 / 2 + 1 / 16))
    assert fit(grid, measured).total == pytest.approx(total_of(measured))
    assert fit(grid, measured).counts("a").sum() == pytest.approx(total_of(measured))


@pytest.mark.parametrize("groups", LOOPS)
def test_consistent_counts_are_the_weighted_projection(groups: list[Columns]) -> None:
    """Against a generic least-squares solver over all cells."""
    measured = measured_of(truth(10), groups, 10)
    weights = {part.columns: part.deviation**-2 for part in measured}
    found = agreed({part.columns: part.counts for part in measured}, weights)
    cells = np.eye(GRID.cells).reshape(GRID.cells, *GRID.shape())
    lines = {}
    for group in weights:
        dropped = tuple(1 + i for i, name in enumerate(GRID.columns) if name not in group)
        lines[group] = (cells.sum(axis=dropped) if dropped else cells).reshape(GRID.cells, -1).T
    matrix = np.vstack([weights[group] ** 0.5 * block for group, block in lines.items()])
    wanted = np.concatenate([weights[part.columns] ** 0.5 * part.counts.ravel() for part in measured])
    solution = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    for group, block in lines.items():
        assert np.allclose(found[group].ravel(), block @ solution, atol=1e-6)


def test_the_test_above_notices_weights_that_are_forgotten() -> None:
    measured = measured_of(truth(10), LOOPS[0], 10)
    counts = {part.columns: part.counts for part in measured}
    weighted = agreed(counts, {part.columns: part.deviation**-2 for part in measured})
    equal = agreed(counts, dict.fromkeys(counts, 1.0))
    assert max(np.abs(weighted[group] - equal[group]).max() for group in counts) > 0.1


@pytest.mark.parametrize(
    "bad",
    [
        NoisyMarginal(("a",), np.zeros(2), 1.0),
        NoisyMarginal(("a",), np.zeros(3), 0.0),
        NoisyMarginal(("a",), np.array([1.0, np.nan, 0.0]), 1.0),
        NoisyMarginal(("b", "a"), np.zeros((4, 3)), 1.0),
        NoisyMarginal(("z",), np.zeros(3), 1.0),
    ],
)
def test_measurements_that_fit_no_grid_are_refused(bad: NoisyMarginal) -> None:
    with pytest.raises(InvalidParameter):
        fit(GRID, [bad])


def test_a_fit_of_nothing_to_nothing_is_refused() -> None:
    one = NoisyMarginal(("a",), np.ones(3), 1.0)
    with pytest.raises(InvalidParameter, match="measured"):
        fit(GRID, [])
    with pytest.raises(InvalidParameter, match="gap"):
        fit(GRID, [one], gap=0.0)
    with pytest.raises(InvalidParameter, match="total"):
        fit(GRID, [one], total=0.0)


def test_counts_that_are_all_below_zero_still_give_a_distribution() -> None:
    found = fit(GRID, [NoisyMarginal(("a", "b"), np.full((3, 4), -5.0), 1.0), NoisyMarginal(("c",), np.zeros(2), 1.0)])
    assert found.total == 1.0
    assert found.beliefs.marginal(GRID.columns).sum() == pytest.approx(1.0)
