"""Boosting with noisy sums: in every round a small tree for each feature, all at once.

A row is in one leaf of each tree, so it adds its slope to as many sums as there are features, and the noise of a leaf
does not grow with the number of rows or cells in it. Noisy counts of cells, measured once, say how many rows a leaf
has, and so how far a sum of slopes should move its score.
Reference: Nori, Caruana, Bu, Shen & Kulkarni 2021 (arXiv:2106.09680), who split at random and take one feature after
the other.

Splits of features into leaves: by a public sequence and by noisy counts, never by rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.encoding import Floats
from dalenius.learn.losses_tabulated import SLOPE, WEIGHT, Slope, on_grid
from dalenius.learn.models import Tick
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows
from dalenius.learn.trees.cells import Layout
from dalenius.mechanisms.budget_parts import BudgetPart, deviation
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy

_TURN = (5**0.5 - 1) / 2  # the golden section: its multiples fill a circle evenly
_SHIFT = 2**0.5 - 1


@dataclass(frozen=True)
class Splits:
    """Where numbers may be cut, for each feature: at ends of cells, half of them at equal distances and half so that
    about as many rows lie between them, as far as noisy counts tell. Choices have a leaf for each cell."""

    layout: Layout
    cuts: tuple[Integers, ...]

    @classmethod
    def of(cls, layout: Layout, counts: Floats, bins: int) -> Splits:
        """Cuts into at most so many bins."""
        return cls(
            layout,
            tuple(
                _cuts(counts[part], bins) if feature.ordered else np.arange(1, feature.size)
                for feature, part in zip(layout.features, layout.parts, strict=True)
            ),
        )

    def trees(self, rounds: int, leaves: int) -> list[Integers]:
        """For each round, the leaf of every cell: a tree for each feature, numbered one after the other.

        Cuts move on from round to round, so that all of them have their turn; the same in all fits.
        """
        return [self._trees(done, leaves) for done in range(rounds)]

    def _trees(self, done: int, leaves: int) -> Integers:
        found, start = np.zeros(self.layout.cells, dtype=np.int64), 0
        for place, (feature, part) in enumerate(zip(self.layout.features, self.layout.parts, strict=True)):
            cuts = self.cuts[place]
            if feature.ordered and len(cuts) >= leaves:
                cuts = cuts[_chosen(len(cuts), leaves - 1, done, place)]
            found[part] = start + np.searchsorted(cuts, np.arange(feature.size), side="right")
            start += len(cuts) + 1
        return found


def _chosen(several: int, count: int, done: int, place: int) -> Integers:
    """Some of several cuts: one of each of `count` runs of them, another one in each round and for each feature."""
    runs = np.arange(count)
    within = ((done * count + runs + 1) * _TURN + place * _SHIFT) % 1
    return np.floor((runs + within) * several / count).astype(np.int64)


def _cuts(counts: Floats, bins: int) -> Integers:
    wide = np.linspace(0, len(counts), bins // 2 + 1)[1:-1]
    growing = np.maximum.accumulate(np.cumsum(counts))
    shares = growing / max(growing[-1], 1.0)
    even = np.searchsorted(shares, np.arange(1, bins // 2 + 1) / (bins // 2 + 1)) + 1
    return np.unique(np.clip(np.concatenate([np.rint(wide).astype(np.int64), even]), 1, len(counts) - 1))


class BoostingLoss(Protocol):
    """What is to be made small: a slope for each row and score, in steps of 1 / SLOPE, from its target and its score
    alone."""

    @property
    def scores(self) -> int:
        """How many scores a row has."""

    @property
    def cap(self) -> int:
        """The largest slope in size."""

    @property
    def bend(self) -> float:
        """What is assumed of how fast the slope falls with the score: no less than it does."""

    @property
    def caution(self) -> float:
        """How many rows' bends a leaf must have for each unit of noise, before it moves half as far as its sum says:
        more where scores are small next to the steepest slope."""

    def slopes(self, target: Integers, scores: Integers) -> Integers:
        """How steeply the loss falls with each score, in steps of 1 / WEIGHT."""


@dataclass(frozen=True)
class Labels:
    """The logistic loss of each label against all others, or of the second of two."""

    scores: int
    slope: Slope = field(default=Slope("logistic", steepest=0.5))
    bend = 0.25
    caution = 20.0

    @property
    def cap(self) -> int:
        return self.slope.cap

    def slopes(self, target: Integers, scores: Integers) -> Integers:
        wanted = [1] if self.scores == 1 else range(self.scores)
        signs = np.where(target[:, None] == np.array(wanted), 1, -1)
        return np.asarray(signs * self.slope.steps(signs * scores * ONE))


@dataclass(frozen=True)
class SquaredLoss:
    """Half of the squared difference to a target in steps of 1 / ONE, no steeper than `steepest`.

    The slope bends by 1; twice as much is assumed, or features that move at once would overshoot and swing.
    """

    steepest: float = 0.5
    scores = 1
    bend = 2.0
    caution = 1000.0

    @property
    def cap(self) -> int:
        return int(np.ceil(self.steepest * SLOPE))

    def slopes(self, target: Integers, scores: Integers) -> Integers:
        apart = target[:, None] * (WEIGHT // ONE) - scores
        return np.asarray(np.clip(apart // (WEIGHT // SLOPE), -self.cap, self.cap))


@dataclass(frozen=True)
class Boosting:
    """How to boost; all of it is public and fixed before anything is read.

    `counting` is the part of the price for the counts of cells. A round moves the score of a leaf by `length` times its
    sum of slopes, over what its rows can bend and the loss's caution times the noise of the mean of all rounds; of the
    last move a part `momentum` is done again. The result is the mean of the last half.
    """

    rounds: int
    length: float
    momentum: float
    bins: int = 32
    leaves: int = 6
    counting: Fraction = Fraction(1, 10)

    @classmethod
    def usual(cls, features: int, *, pure: bool) -> Boosting:
        """Short moves where many features move at once, and few rounds where each costs much."""
        if pure:
            return cls(rounds=24, length=min(0.5, 3 / (features + 1)), momentum=0.7)
        return cls(rounds=50, length=min(0.3, 3 / (features + 1)), momentum=0.5)


@dataclass(frozen=True)
class BoostedScores:
    """The score of every cell, the score of all rows, and the noisy counts of cells."""

    scores: Floats
    intercept: Floats
    counts: Floats


def boost(
    rows: SealedRows,
    layout: Layout,
    loss: BoostingLoss,
    plan: Boosting,
    budget_part: BudgetPart,
    entropy: Entropy,
    tick: Tick | None = None,
) -> BoostedScores:
    """Scores that are learnt at the expense of the whole budget part."""
    placed = layout.of_rows(rows)
    counted = counts(placed, layout)
    noise = budget_part.noise(budget_part.equal(1, share=plan.counting), counted.sensitivity)
    cells = measure(noise, counted, budget_part.allowance, entropy).astype(np.float64)
    trees = Splits.of(layout, cells, plan.bins).trees(plan.rounds, plan.leaves)
    model = _Model.empty(layout, loss)
    change = slopes(placed, trees[0], model, loss).sensitivity
    noise = budget_part.noise(budget_part.equal(plan.rounds), change)
    caution = loss.caution * deviation(noise) / SLOPE / sqrt(plan.rounds)
    total = max(1.0, float(np.mean([cells[part].sum() for part in layout.parts])))
    kept, half = [], plan.rounds - max(1, plan.rounds // 2)
    moves = _Model.empty(layout, loss)
    for done, leaves in enumerate(trees):
        found = measure(noise, slopes(placed, leaves, model, loss), budget_part.allowance, entropy)
        sums = found.astype(np.float64) / SLOPE
        sizes = np.maximum(np.bincount(leaves, cells, leaves.max() + 1), 0.0)
        wanted = (sums[1:] / (loss.bend * sizes + caution)[:, None])[leaves]
        level = sums[0] / (loss.bend * total)
        moves = _Model(
            plan.momentum * moves.scores + plan.length * wanted, plan.momentum * moves.intercept + plan.length * level
        )
        model = _Model(model.scores + moves.scores, model.intercept + moves.intercept)
        if done >= half:
            kept.append(model)
        if tick:
            tick(100 * (done + 1) / plan.rounds)
    scores = np.mean([each.scores for each in kept], axis=0)
    return BoostedScores(scores, np.mean([each.intercept for each in kept], axis=0), cells)


@dataclass(frozen=True)
class _Model:
    """Scores of cells, and of all rows."""

    scores: Floats
    intercept: Floats

    @classmethod
    def empty(cls, layout: Layout, loss: BoostingLoss) -> _Model:
        return cls(np.zeros((layout.cells, loss.scores)), np.zeros(loss.scores))

    def on_grid(self) -> tuple[Integers, Integers]:
        """Both in whole steps of 1 / WEIGHT."""
        return on_grid(self.scores), on_grid(self.intercept)


def counts(placed: SealedRows, layout: Layout) -> Exact[Integers]:
    """How many rows are in each cell, sealed. A row is in one cell of each feature."""

    def counted(entries: Entries) -> Integers:
        repeated = np.repeat(entries.counts, len(layout))
        return np.bincount(entries.features.ravel(), repeated, layout.cells).astype(np.int64)

    return placed.summed(counted, l2_squared=len(layout), l1=len(layout))


def added(scores: Integers, intercept: Integers, places: NDArray[Any]) -> Integers:
    """The scores of rows: those of their cells, and that of all rows."""
    reached = np.repeat(intercept[None], len(places), axis=0)
    for cells in places.T:
        reached += scores[cells]
    return reached


def slopes(placed: SealedRows, leaves: Integers, model: _Model, loss: BoostingLoss) -> Exact[Integers]:
    """The sealed sum of slopes of all rows, and then of each leaf.

    Guarantee: a row adds its slope, at most `cap` for each score, to the sum of all and to one leaf of each feature.
    """
    scores, intercept = model.on_grid()
    several = int(leaves.max()) + 1

    def summed(entries: Entries) -> Integers:
        reached = added(scores, intercept, entries.features)
        parts = loss.slopes(entries.target, reached) * entries.counts[:, None]
        # Whole numbers below 2^53 in all, so float64 adds them exactly.
        floats, cells = parts.T.astype(np.float64), np.zeros((loss.scores, len(leaves)))
        for places in entries.features.T:
            for score, part in enumerate(floats):
                cells[score] += np.bincount(places, part, len(leaves))
        sums = [np.bincount(leaves, score, several) for score in cells]
        return np.vstack([parts.sum(axis=0), np.stack(sums, axis=1).astype(np.int64)])

    touched = (placed.width + 1) * loss.scores
    return placed.summed(summed, l2_squared=touched * loss.cap**2, l1=touched * loss.cap)
