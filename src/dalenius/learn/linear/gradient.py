"""Gradient descent whose gradients are noisy sums: all rows in every step, momentum, and the mean of the last weights.

Reference: Bassily, Smith & Thakurta 2014 (arXiv:1405.7085) for noisy gradients of convex losses; Polyak 1964 for
momentum; Polyak & Juditsky 1992 for the mean of the weights.
Textbook: S14.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.linear.conditioning import FeatureShape, once
from dalenius.learn.linear.losses_piecewise import Bend
from dalenius.learn.losses_tabulated import HEAVIEST, SLOPE, WEIGHT, Slope, on_grid
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy

Weights = NDArray[np.float64]
_EXACT = 1 << 53


@dataclass(frozen=True)
class Descent:
    """How to descend: the number of steps, their length, the momentum, and the parts of the price that find out how
    many rows there are and how features spread. All of it is public and fixed before anything is read."""

    steps: int = 100
    length: float = 2.0
    momentum: float = 0.9
    counting: Fraction = Fraction(1, 100)
    spreading: Fraction = Fraction(1, 50)

    def stable(self, slope: Slope, shape: FeatureShape) -> float:
        """The length of a step, shortened where it might overshoot: that is so beyond 2 (1 + momentum) over the largest
        second derivative of the mean loss, which is at most the sum of those along the features."""
        constant = float(shape.scales[-1]) ** 2
        bent = float(Bend(slope).curvature) * (shape.typical + constant)
        return min(self.length / (2 * constant), 1.9 * (1 + self.momentum) / bent)


def descended(
    rows: SealedRows,
    labels: int,
    slope: Slope,
    plan: Descent,
    budget_part: BudgetPart,
    entropy: Entropy,
    tick: Callable[[float], object] | None = None,
) -> Weights:
    """Weights of a score for the label 1 against all others, or for each of the labels 0, 1, ... if there are more, at
    the expense of the whole budget part.

    Guarantee: a row adds to a gradient, for each label, its features times a slope of at most `steepest`: an l2 norm of
    at most steepest sqrt(labels) times the rows' norm. Every step costs the same share of the budget part. Features are
    centred and scaled by what was released about them before.
    """
    shape = FeatureShape.of(rows, budget_part, counting=plan.counting, spreading=plan.spreading, entropy=entropy)
    pulls = Pulls.of(shape.centred(rows), labels, slope)
    noise = budget_part.noise(budget_part.equal(plan.steps), pulls.at(np.zeros((rows.width, labels))).sensitivity)
    unit = SLOPE * ONE * shape.count

    def noisy(weights: Weights) -> Weights:
        return measure(noise, pulls.at(weights), budget_part.allowance, entropy).astype(np.float64) / unit

    return shape.original(walked(noisy, (rows.width, labels), plan, plan.stable(slope, shape), tick))


def walked(
    noisy: Callable[[Weights], Weights],
    size: tuple[int, int],
    plan: Descent,
    length: float,
    tick: Callable[[float], object] | None = None,
) -> Weights:
    """The mean of the weights after the first fifth of the steps, by noisy mean gradients: it is post-processing."""
    weights = moved = total = np.zeros(size)
    last = plan.steps // 5
    for step in range(plan.steps):
        moved = plan.momentum * moved - length * noisy(weights)
        weights = np.clip(weights + moved, -HEAVIEST, HEAVIEST)
        total = total + weights if step >= last else total
        if tick:
            tick(100 * (step + 1) / plan.steps)
    return np.asarray(total / (plan.steps - last))


@dataclass(frozen=True)
class LabelledRows:
    """Rows as floats that hold whole numbers of steps, and the sign of each label for each row: made once for a fit,
    and never outside an `Exact`."""

    features: NDArray[np.float64]
    signs: Integers
    counts: Integers

    @classmethod
    def of(cls, entries: Entries, labels: int) -> LabelledRows:
        places = np.arange(1, 2) if labels == 1 else np.arange(labels)
        signs = np.where(entries.target[:, None] == places, 1, -1)
        return cls(entries.features.astype(np.float64), signs, entries.counts)


@dataclass(frozen=True)
class Pulls:
    """Gradients of the summed loss of sealed rows, wherever they are asked for."""

    facts: Exact[LabelledRows]
    rows: SealedRows
    slope: Slope

    @classmethod
    def of(cls, rows: SealedRows, labels: int, slope: Slope) -> Pulls:
        known = once(lambda entries: LabelledRows.of(entries, labels))
        return cls(rows.entries.map(known, sensitivity=rows.entries.sensitivity), rows, slope)

    def at(self, weights: Weights) -> Exact[Integers]:
        """The sealed gradient, in steps of 1 / (SLOPE ONE), for the nearest weights on the grid.

        The sizes of a row's features sum up to at most sqrt(width) times its norm, and to a whole number.
        """
        labels, placed = weights.shape[1], on_grid(weights)
        change = self.rows.change(
            l2_squared=labels * self.slope.cap**2 * self.rows.norm_squared,
            l1=labels * self.slope.cap * isqrt(self.rows.width * self.rows.norm_squared),
        )
        return self.facts.map(lambda facts: pull(facts, placed, self.slope), sensitivity=change)


def pull(facts: LabelledRows, weights: Integers, slope: Slope) -> Integers:
    """The gradient: the sum over rows, for each label, of -(1 or -1) slope(margin) features.

    Proof that it is exact: features are at most ONE and weights at most HEAVIEST WEIGHT steps in size, slopes at most
    `cap`; products are added in floats only as long as no partial sum can reach 2^53, and in 64 bits beyond.
    """
    scores = _scores(facts.features, weights)
    slopes = facts.signs * slope.steps(facts.signs * scores) * facts.counts[:, None]
    largest = ONE * slope.cap * int(facts.counts.max(initial=1))
    piece = max(1, _EXACT // largest)
    total = np.zeros(weights.shape, dtype=np.int64)
    for start in range(0, len(slopes), piece):
        part = slice(start, start + piece)
        total -= (facts.features[part].T @ slopes[part].astype(np.float64)).astype(np.int64)
    return total


def _scores(features: NDArray[np.float64], weights: Integers) -> Integers:
    piece = _EXACT // (ONE * HEAVIEST * WEIGHT)
    total = np.zeros((len(features), weights.shape[1]), dtype=np.int64)
    for start in range(0, len(weights), piece):
        part = slice(start, start + piece)
        total += (features[:, part] @ weights[part].astype(np.float64)).astype(np.int64)
    return total
