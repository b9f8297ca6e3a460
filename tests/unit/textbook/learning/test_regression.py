"""Excess-risk theorems against measurement: what is measured stays below, and noise that nobody counted does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.learn.linear.losses_piecewise import Bend
from dalenius.learn.linear.minimum import TILT_BITS, Tilted
from dalenius.learn.losses_tabulated import Slope
from dalenius.learn.rows import ONE, Entries
from dalenius.textbook.learning.regression import gradient_excess, objective_excess, output_excess

BEND = Bend(Slope())
COUNT, WIDTH = 2000, 3


def data() -> tuple[Entries, Any]:
    draws = np.random.default_rng(1)
    features = draws.integers(-ONE, ONE + 1, (COUNT, WIDTH))
    target = (features[:, 0] + draws.integers(-ONE, ONE, COUNT) > 0).astype(np.int64)
    entries = Entries(features.astype(np.int16), target, np.ones(COUNT, dtype=np.int64))
    return entries, features / ONE * np.where(target == 1, 1, -1)[:, None]


ENTRIES, SIGNED = data()


def risk(weights: Any) -> float:
    return float(BEND.value(SIGNED @ weights).mean())


def minimum(ridge: Fraction, tilt: Any) -> Any:
    steps = np.rint(np.asarray(tilt) * 2**TILT_BITS).astype(np.int64)
    return Tilted(BEND, 1, ridge, steps).minimum(ENTRIES, norm_squared=WIDTH * ONE**2) / 2**48


BEST = minimum(Fraction(1, 64), np.zeros(WIDTH))
SIZE = float(np.linalg.norm(BEST))


def excess_of_objective(spread: float) -> float:
    draws = np.random.default_rng(2)
    found = [minimum(Fraction(10), draws.normal(scale=spread, size=WIDTH)) for _ in range(20)]
    return float(np.mean([risk(each) for each in found])) - risk(BEST)


@pytest.mark.textbook("S14.7")
def test_objective_perturbation_stays_below_its_theorem() -> None:
    bound = objective_excess(rows=COUNT, ridge=10, weights=SIZE, tilt=20 * WIDTH**0.5)
    assert 0 < excess_of_objective(20) < bound
    assert excess_of_objective(2000) > bound, "the twin: a hundred times the tilt that was counted"


@pytest.mark.textbook("S14.6")
def test_output_perturbation_stays_below_its_theorem() -> None:
    draws, found = np.random.default_rng(3), minimum(Fraction(10), np.zeros(WIDTH))
    facts: dict[str, Any] = {"rows": COUNT, "width": WIDTH, "ridge": 10, "steepest": 1, "norm": 3**0.5}
    bound = output_excess(**facts, weights=SIZE, deviation=0.2)

    def excess(deviation: float) -> float:
        noisy = [risk(found + draws.normal(scale=deviation, size=WIDTH)) for _ in range(200)]
        return float(np.mean(noisy)) - risk(BEST)

    assert 0 < excess(0.2) < bound
    assert excess(20) > bound, "the twin: noise that was not counted"


@pytest.mark.textbook("S14.8")
def test_gradient_perturbation_stays_below_its_theorem() -> None:
    facts: dict[str, Any] = {"rows": COUNT, "width": WIDTH, "steps": 50, "steepest": 1, "norm": 3**0.5}
    bound = gradient_excess(**facts, weights=SIZE, deviation=300)
    length = SIZE**2 / (bound * 50)

    def excess(deviation: float) -> float:
        draws, found = np.random.default_rng(4), []
        for _ in range(20):
            weights, total = np.zeros(WIDTH), np.zeros(WIDTH)
            for _ in range(50):
                total = total + weights
                pull = BEND.nearly(SIGNED @ weights)[0] @ SIGNED
                weights = weights + length * (pull + draws.normal(scale=deviation, size=WIDTH)) / COUNT
            found.append(risk(total / 50))
        return float(np.mean(found)) - risk(BEST)

    assert 0 < excess(300) < bound
    assert excess(300_000) > bound, "the twin: noise that was not counted"
