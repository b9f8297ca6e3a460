"""Adaptive analysis overfits with exact answers and not with private ones; and what regression minimises."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.neighbours import Replace
from dalenius.privacy.reals import upper
from dalenius.textbook.learning.adaptive import AdaptiveAnalysis, expected_gap
from dalenius.textbook.learning.regression import Distance, squared_errors, squared_sum_of_errors

ANALYSIS = AdaptiveAnalysis(rows=400, features=200, fresh=4000)


@pytest.mark.textbook("S14.10")
def test_exact_answers_overfit_and_private_ones_do_not() -> None:
    found = ANALYSIS.run(epsilon=1, delta="1e-6")
    assert found.exact.gap > 0.15 > found.bound
    assert found.exact.told == found.exact.on_rows
    assert found.exact.fresh[-1] == pytest.approx(0.5, abs=0.05)  # six deviations of a coin
    assert ANALYSIS.run(epsilon=1).chosen == found.chosen


@pytest.mark.textbook("S14.10")
def test_the_gap_of_private_answers_is_expected_to_be_within_its_bound() -> None:
    found = [ANALYSIS.run(epsilon=1, delta="1e-6") for _ in range(4)]
    mean = np.mean([one.private.gap for one in found])
    assert mean <= float(found[0].bound) + 6 * 0.5 / np.sqrt(4 * 400)
    assert mean < 0.5 * np.mean([one.exact.gap for one in found])


def test_answers_with_hardly_any_noise_overfit_again() -> None:
    """The twin: at a large epsilon the private analyst is misled like the other one, and the bound says nothing."""
    found = ANALYSIS.run(epsilon=4000, delta="1e-6")
    assert found.private.gap > 0.1
    assert found.bound > 1


@pytest.mark.textbook("S14.10")
def test_what_can_be_learnt_is_learnt_from_private_answers() -> None:
    analysis = AdaptiveAnalysis(rows=4000, features=40, informative=2, strength=Fraction(4, 5), fresh=2000)
    found = analysis.run(epsilon=1, delta="1e-6")
    assert found.private.fresh[0] > 0.8
    assert abs(found.private.told[0] - found.private.fresh[0]) < 0.1


def gap_of_choice(mechanism: ExponentialMechanism) -> float:
    """Exactly, for two rows of four values: how much more often the chosen value occurs than in a fresh row."""
    gaps = []
    for rows in product(range(4), repeat=2):
        counts = [rows.count(value) for value in range(4)]
        odds = [float(upper(part)) for part in mechanism.probabilities(counts)]
        gaps.append(sum(part * count / 2 for part, count in zip(odds, counts, strict=True)) - 1 / 4)
    return sum(gaps) / len(gaps)


@pytest.mark.textbook("S14.10")
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_the_bound_on_the_gap_holds_exactly_for_a_small_choice(rate: Fraction) -> None:
    mechanism = ExponentialMechanism(rate=rate, neighbours=Replace("row"))
    rho = mechanism.loss(sensitivity=1).epsilon ** 2 / 8
    assert 0 < gap_of_choice(mechanism) <= expected_gap(rho=rho)


def test_the_test_above_notices_a_choice_that_costs_more_than_stated() -> None:
    steep = ExponentialMechanism(rate=Fraction(8), neighbours=Replace("row"))
    assert gap_of_choice(steep) > expected_gap(rho=Fraction(1, 8))


def test_pure_budgets_have_a_bound_too() -> None:
    found = AdaptiveAnalysis(rows=50, features=20, fresh=50).run(epsilon="0.1", delta=0)
    assert float(found.bound) == pytest.approx(np.sqrt(0.1 * np.tanh(0.05) / 2))


def test_figures_are_shown_and_drawn(tmp_path: Path) -> None:
    found = AdaptiveAnalysis(rows=50, features=20, fresh=50).run()
    assert len(str(found).splitlines()) == len(found.chosen) + 2
    chart = found.plot(tmp_path / "overfitting.svg")
    assert (tmp_path / "overfitting.svg").read_text() == chart.svg


def test_an_analysis_must_make_sense() -> None:
    for wrong in ({"rows": 1}, {"informative": 600}, {"strength": 2}):
        with pytest.raises(InvalidParameter):
            AdaptiveAnalysis(**wrong)


# ---- what regression minimises


@pytest.mark.textbook("S14.9")
def test_regression_minimises_the_sum_of_squares() -> None:
    draws = np.random.default_rng(0)
    x = np.column_stack([draws.normal(size=50), np.ones(50)])
    y = x @ (2.0, 1.0) + 0.1 * draws.normal(size=50)
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    rows: Any = {"features": x, "targets": y}
    for step in product((-0.1, 0.0, 0.1), repeat=2):
        assert squared_errors(theta=best, **rows) <= squared_errors(theta=best + step, **rows)


@pytest.mark.textbook("S14.9")
def test_the_square_of_the_sum_is_least_for_a_rule_that_is_always_wrong() -> None:
    rows: Any = {"features": np.array([[-1.0], [1.0]]), "targets": np.array([-1.0, 1.0])}
    for wrong in (-1.0, -100.0):
        assert squared_sum_of_errors(theta=[wrong], **rows) == 0 == squared_sum_of_errors(theta=[1.0], **rows)
        assert squared_errors(theta=[wrong], **rows) > 0 == squared_errors(theta=[1.0], **rows)


def test_errors_of_exchanged_arguments_are_refused() -> None:
    theta, features, targets = np.ones(2), np.ones((2, 2)), np.zeros(2)
    for errors in (squared_errors, squared_sum_of_errors):
        with pytest.raises(TypeError, match="positional"):
            errors(targets, features, theta)  # type: ignore[call-arg, misc]
        for wrong in ((features, theta, targets), (theta, targets, features), (theta, features, targets[:, None])):
            with pytest.raises(InvalidParameter, match="a row for each target"):
                errors(theta=wrong[0], features=wrong[1], targets=wrong[2])
    with pytest.raises(TypeError, match="positional"):
        Distance.between(features, theta, theta)  # type: ignore[call-arg, misc]


@pytest.mark.textbook("S14.9")
def test_coefficients_can_be_far_apart_where_predictions_are_not() -> None:
    draws = np.random.default_rng(0)
    first = draws.normal(size=200)
    x = np.column_stack([first, first + 0.001 * draws.normal(size=200)])
    moved = Distance.between([10.0, -9.0], [0.5, 0.5], features=x)
    assert moved.coefficients > 10
    assert moved.predictions < 0.02
    assert Distance.between([1.5, 0.5], [0.5, 0.5], features=x).predictions > 0.5
