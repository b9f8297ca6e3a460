"""Releases through the one door: what they draw, how far they are from the truth, and whether bars hold."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from checks import ALARM, SeededEntropy
from costs import cases
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import BudgetExceeded, InvalidParameter
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import ZCDP, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours, Replace
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.synth.strategies.estimates import Estimate, width
from dalenius.synth.strategies.strategy import Price, Strategy, divided, whole_price
from dalenius.synth.strategies.trees import Haar, Hierarchical, Identity
from dalenius.tabular.domains import CellDomain
from dalenius.tabular.workloads import Ranges

TRUTH = np.random.default_rng(4).poisson(30, size=40)
GRID = CellDomain({"x": 40})
WORKLOAD = Ranges(GRID, [(0, 39), (0, 12), (13, 39), (5, 5), (17, 31)])
PURE, CONCENTRATED = PureDP(Fraction(1, 2)), ZCDP(Fraction(1, 50))
RUNS = 300


def sealed(relation: Neighbours | None = None, rows: int = 1) -> Exact[np.ndarray]:
    neighbours = relation or AddRemove()
    return Exact(TRUTH, sensitivity=Sensitivity(l1=neighbours.add_remove_steps * rows), neighbours=neighbours)


def allowance(price: Price, relation: Neighbours | None = None) -> Allowance:
    order = None if isinstance(price, PureDP) else Fraction(8)
    size = price.epsilon if isinstance(price, PureDP) else 8 * price.rho
    return Allowance(
        Charge.covering(divergence=size, delta=Fraction(0), order=order), neighbours=relation or AddRemove()
    )


def released(strategy: Strategy, price: Price, run: int, relation: Neighbours | None = None) -> Estimate:
    return strategy.release(sealed(relation), allowance(price, relation), SeededEntropy((strategy.title, run)))


def squares(strategy: Strategy, price: Price, relation: Neighbours) -> np.ndarray:
    """The mean squared error of each answer over the runs, as a multiple of the stated one."""
    truth = WORKLOAD.answers(TRUTH)
    estimates = [released(strategy, price, run, relation) for run in range(RUNS)]
    found = np.mean([(WORKLOAD.answers(one.histogram) - truth) ** 2 for one in estimates], axis=0)
    return found / strategy.expected_squares(WORKLOAD, price, relation)


def band(alarm: float) -> float:
    """How far a mean of squares strays, for noise whose squares have a variance of at most 5, that of Laplace noise."""
    return float(stats.norm.isf(alarm / (2 * WORKLOAD.count)) * np.sqrt(5 / RUNS))


@cases("relation", [AddRemove(), Replace()], fast=1)
@pytest.mark.parametrize("price", [PURE, CONCENTRATED], ids=str)
@pytest.mark.parametrize("strategy", [Identity(40), Hierarchical(40, 4), Haar(40)], ids=lambda one: one.title)
def test_the_error_is_the_one_stated_before_paying(strategy: Strategy, price: Price, relation: Neighbours) -> None:
    assert np.abs(squares(strategy, price, relation) - 1).max() < band(ALARM)


def test_the_check_above_notices_noise_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = Hierarchical(40, 4)
    stated = strategy.expected_squares(WORKLOAD, PURE, AddRemove())
    monkeypatch.setattr(Hierarchical, "added", (1, 1, 1))
    found = squares(strategy, PURE, AddRemove()) * strategy.expected_squares(WORKLOAD, PURE, AddRemove()) / stated
    assert np.abs(found - 1).max() > band(ALARM)


def test_a_release_draws_its_price_and_never_more() -> None:
    for price in (PURE, CONCENTRATED):
        budget_part = allowance(price)
        Haar(40).release(sealed(), budget_part, SeededEntropy(1), price=divided(price, Fraction(1, 4), budget_part)[0])
        left = Fraction(budget_part.left.divergence, allowance(price).left.divergence)
        assert left == pytest.approx(0.75)
        with pytest.raises(BudgetExceeded):
            Haar(40).release(sealed(), budget_part, SeededEntropy(1), price=price)
        Haar(40).release(sealed(), budget_part, SeededEntropy(1))  # all that is left
        assert budget_part.left.divergence <= 1
    with pytest.raises(InvalidParameter, match="something left"):
        whole_price(Allowance(Charge(divergence=0, order=None), neighbours=AddRemove()))


def test_a_histogram_that_moves_further_than_its_rows_is_refused() -> None:
    for relation in (AddRemove(), Replace()):
        budget_part = allowance(PURE, relation)
        with pytest.raises(InvalidParameter, match="rows"):
            Identity(40).release(sealed(relation, rows=2), budget_part, SeededEntropy(1))
        assert budget_part.left == allowance(PURE, relation).left
        Identity(40).release(sealed(relation, rows=2), budget_part, SeededEntropy(1), rows=2)


def test_answers_agree_with_each_other() -> None:
    total, left, right, *_ = released(Hierarchical(40, 4), PURE, 0).answers(WORKLOAD).values
    assert total == pytest.approx(left + right)


def misses(price: Price, confidence: str) -> tuple[int, int]:
    """How often an exact answer lies outside its bar, of how many."""
    truth = WORKLOAD.answers(TRUTH)
    outside = 0
    for run in range(RUNS):
        given = released(Hierarchical(40, 4), price, run).answers(WORKLOAD, confidence=confidence)
        outside += int(np.abs(given.values - truth)[3] > given.bars[3])
    return outside, RUNS


@pytest.mark.parametrize("price", [PURE, CONCENTRATED], ids=str)
def test_bars_hold_the_truth_as_often_as_they_say(price: Price) -> None:
    outside, runs = misses(price, "0.95")
    assert stats.binom.sf(outside - 1, runs, 0.05) > ALARM


def test_the_check_above_notices_bars_for_another_confidence() -> None:
    outside, runs = misses(PURE, "0.9")
    assert stats.binom.sf(outside - 1, runs, 0.01) < ALARM
    with pytest.raises(InvalidParameter, match=r"0\.9"):
        released(Identity(40), PURE, 0).answers(WORKLOAD, confidence="0.5")


@pytest.mark.parametrize("shares", [(1.0,), (0.5, 0.5), (0.8, 0.1, 0.1), (0.1,) * 10])
@pytest.mark.parametrize("confidence", ["0.9", "0.95", "0.99"])
def test_no_sum_of_laplace_noises_needs_a_wider_bar(shares: tuple[float, ...], confidence: str) -> None:
    bar = width(DiscreteLaplace(Fraction(100), AddRemove()), Fraction(confidence))
    assert inside(shares, bar) > float(confidence) - 1e-4


def test_the_check_above_notices_bars_of_a_gaussian() -> None:
    assert inside((1.0,), NormalDist().inv_cdf(0.975)) < 0.95 - 1e-4
    assert inside((1.0,), NormalDist().inv_cdf(0.995)) < 0.99 - 1e-4


def inside(shares: tuple[float, ...], bar: float) -> float:
    """How often a sum of Laplace noises with these shares of the variance 1 stays within the bar, by inverting its
    characteristic function."""
    steps = np.arange(0.001, 800, 0.002)
    law = np.prod([1 / (1 + share * steps**2 / 2) for share in shares], axis=0)
    return float(2 / np.pi * np.sum(law * np.sin(bar * steps) / steps) * 0.002)
