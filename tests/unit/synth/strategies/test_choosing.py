"""Choosing and smoothing: by public facts alone, and better than the plain estimate where data are sparse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from checks import SeededEntropy
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, PureDP
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.synth.strategies import smoothing
from dalenius.synth.strategies.choosing import StrategyPlan, plan_cells, ranked, release_best
from dalenius.synth.strategies.estimates import Estimate
from dalenius.synth.strategies.smoothing import smooth
from dalenius.synth.strategies.strategy import Strategy
from dalenius.synth.strategies.trees import Hierarchical, Identity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Ranges, points

CELLS = 300
GRID = CellDomain({"x": CELLS})
SPARSE = np.where(np.arange(CELLS) % 100 == 7, 500, 0)
SMOOTH = np.full(CELLS, 200)
ROUGH = 10000 * (np.arange(CELLS) * 7919 % 31)
RANGES = Ranges(GRID, np.sort(np.random.default_rng(2).integers(0, CELLS, (200, 2)), axis=1))
PRICE = PureDP(Fraction(1, 10))


def allowance() -> Allowance:
    return Allowance(Charge(divergence=10**14, order=None), neighbours=AddRemove())


def sealed(truth: np.ndarray) -> Exact[np.ndarray]:
    return Exact(truth, sensitivity=Sensitivity(l1=1), neighbours=AddRemove())


def released(truth: np.ndarray, run: int, strategy: Strategy | None = None) -> Estimate:
    tree = strategy or Hierarchical(CELLS, 8)
    return tree.release(sealed(truth), allowance(), SeededEntropy(run), price=PRICE)


def error(truth: np.ndarray, histogram: np.ndarray) -> float:
    return float(((RANGES.answers(histogram) - RANGES.answers(truth)) ** 2).mean())


def gain(truth: np.ndarray) -> float:
    """The mean squared error after smoothing, as a multiple of that before."""
    estimates = [released(truth, run) for run in range(25)]
    before = sum(error(truth, one.histogram) for one in estimates)
    return sum(error(truth, smooth(one).histogram) for one in estimates) / before


def test_smoothing_helps_where_data_are_sparse_or_even_and_hurts_nowhere_much() -> None:
    assert gain(SPARSE) < 0.5
    assert gain(SMOOTH) < 0.6
    assert 0.95 < gain(ROUGH) < 1.05


def test_the_check_above_notices_smoothing_by_a_wrong_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    even = smoothing._even
    monkeypatch.setattr(smoothing, "_even", lambda tree, sums, variance: even(tree, sums, 10**9 * variance))
    assert gain(ROUGH) > 2


def test_smoothed_counts_are_not_negative_and_keep_the_total() -> None:
    for truth in (SPARSE, SMOOTH, ROUGH):
        plain = released(truth, 1)
        found = smooth(plain)
        assert found.histogram.min() >= 0
        assert found.histogram.sum() == pytest.approx(max(0, plain.histogram.sum()))
        assert found.smoothed
        assert plain.histogram.min() < 0 or truth is not SPARSE


def test_bars_hold_for_smoothed_answers_as_measured() -> None:
    outside = total = 0
    for truth in (SPARSE, SMOOTH, ROUGH):
        for run in range(10):
            answers = smooth(released(truth, run)).answers(RANGES)
            outside += int((np.abs(answers.values - RANGES.answers(truth)) > answers.bars).sum())
            total += RANGES.count
    assert outside < 0.05 * total


def test_only_trees_are_smoothed() -> None:
    with pytest.raises(InvalidParameter, match="hierarchical"):
        smooth(released(SPARSE, 1, Identity(CELLS)))


def test_the_best_strategy_is_first_and_fits_the_workload() -> None:
    wide, narrow = ranked(RANGES, PRICE, AddRemove()), ranked(points(GRID), PRICE, AddRemove())
    assert [one.error for one in wide] == sorted(one.error for one in wide)
    assert isinstance(wide[0].strategy, Hierarchical)
    assert isinstance(narrow[0].strategy, Identity)
    small = Ranges.prefixes(CellDomain({"x": 32}))
    assert ranked(small, ZCDP(Fraction(1, 2)), AddRemove())[0].strategy.title == "optimised matrix"


def test_the_choice_depends_on_the_declared_number_of_people_alone() -> None:
    for people, light in ((10, 1), (10**9, 2)):
        chosen = {
            release_best(sealed(truth), RANGES, allowance(), SeededEntropy(1), people=people).strategy.weights[-1]
            for truth in (SPARSE, ROUGH)
        }
        assert chosen == {light}


def test_a_number_that_is_not_declared_is_measured_with_noise_and_paid_for() -> None:
    plan = plan_cells(RANGES, PRICE, AddRemove())
    assert plan.few == pytest.approx(CELLS / 0.1, rel=1e-3)
    near = np.full(CELLS, 10)  # as many people as the border between the two
    chosen = {plan.release(sealed(near), allowance(), SeededEntropy(run)).strategy.weights[-1] for run in range(12)}
    assert chosen == {1, 2}
    budget_part = allowance()
    plan.release(sealed(near), budget_part, SeededEntropy(1))
    assert budget_part.left.divergence == 0


def test_the_check_above_notices_a_look_at_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    near = np.full(CELLS, 10)
    monkeypatch.setattr(StrategyPlan, "_noisy_people", lambda self, *rest: int(near.sum()))
    plan, budget_part = plan_cells(RANGES, PRICE, AddRemove()), allowance()
    chosen = {plan.release(sealed(near), allowance(), SeededEntropy(run)).strategy.weights[-1] for run in range(12)}
    plan.release(sealed(near), budget_part, SeededEntropy(1))
    assert len(chosen) == 1
    assert budget_part.left.divergence > 0


def test_a_single_cell_and_a_single_question_work() -> None:
    grid = CellDomain({"x": 1})
    exact = Exact(np.array([40]), sensitivity=Sensitivity(l1=1), neighbours=AddRemove())
    found = release_best(exact, Ranges.all(grid), allowance(), SeededEntropy(1))
    assert found.histogram.shape == (1,)
