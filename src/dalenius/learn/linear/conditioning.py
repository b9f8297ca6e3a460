"""What is found out about features first: where their middle is and how far they spread, for a small part of the price.

Rows that are centred and scaled by it are shorter and rounder, so less noise hides them, and no direction is left
behind. What was released is public, so every row can be changed by it, each by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.rows import ONE, PIECE, Entries, Integers, SealedRows, product, within_norm
from dalenius.mechanisms.budget_parts import BudgetPart, deviation
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy

Floats = NDArray[np.float64]
Kept = TypeVar("Kept")

TYPICAL = 1.5
"""How long rows may be, squared, counted in typical ones."""
LEAST = 0.01
"""What is added to the variance of a feature before it is scaled by it: rare features are not blown up beyond that."""


@dataclass(frozen=True)
class FeatureShape:
    """About the features, the last of which is constant: their number of rows, means and variances, and how uncertain
    these are."""

    count: float
    means: Floats
    variances: Floats
    uncertain: float

    @classmethod
    def of(
        cls, rows: SealedRows, budget_part: BudgetPart, *, counting: Fraction, spreading: Fraction, entropy: Entropy
    ) -> FeatureShape:
        """Measured, for these shares of what the budget part holds."""
        parts = [budget_part.equal(1, share=share) for share in (counting, spreading)]
        count = counted(rows, budget_part, parts[0], entropy)
        exact = moments(rows)
        noise = budget_part.noise(parts[1], exact.sensitivity)
        sums = measure(noise, exact, budget_part.allowance, entropy).astype(np.float64) / (ONE * count)
        uncertain = deviation(noise) / (ONE * count)
        found = np.append(np.clip(sums[: rows.width - 1], -1, 1), 0.0)
        means = np.where(np.abs(found) > 2 * uncertain, found, 0.0)  # what noise may have made does not move rows
        return cls(count, means, sums[rows.width :] - means**2, uncertain)

    @property
    def scales(self) -> Floats:
        """By how much features are shortened: the less, the less they spread, until all spread alike. Noise and ridges
        then weigh on all of them alike, which makes the excess loss least: with noise as long as the rows, it is at
        most (sum of v g^2) (sum of 1 / (v g^2)) for variances v and scales g. The constant feature counts as one that
        spreads as far as an even coin."""
        spread = np.append((np.maximum(self.variances, 0) + 2 * self.uncertain + LEAST)[:-1], 0.25)
        return np.asarray(np.rint(np.sqrt(spread.min() / spread) * ONE) / ONE)

    @property
    def typical(self) -> float:
        """The squared norm of a typical row, centred and scaled, without the constant feature."""
        return max(float((self.scales**2 * np.maximum(self.variances, 0))[:-1].sum()), 1 / 256)

    def centred(self, rows: SealedRows, *, longest: float = TYPICAL) -> SealedRows:
        """The rows with features less their means, scaled, none longer, squared, than so many typical rows.

        Guarantee: means, scales and length are public by now. Every row is moved, each feature scaled and cut to the
        grid's range and the row then shortened to the length, by itself; the constant feature is the same for all. So
        no row has a larger norm than stated, and a unit has as many rows as before.
        """
        middle, scales = (np.rint(each * ONE).astype(np.int64) for each in (self.means, self.scales))
        squared = min(ceil(longest * self.typical * ONE**2), rows.norm_squared)
        moved = once(lambda entries: _moved(entries, middle, scales, squared))
        sealed = rows.entries.map(moved, sensitivity=rows.entries.sensitivity)
        return SealedRows(sealed, rows.width, squared + int(scales[-1]) ** 2, rows.most)

    def original(self, weights: Floats) -> Floats:
        """Weights for features as they are, from weights for features that are centred and scaled."""
        moved = weights * self.scales[:, None]
        moved[-1] -= np.rint(self.means * ONE) / ONE @ moved
        return np.asarray(moved)


def _moved(entries: Entries, middle: Integers, scales: Integers, longest: int) -> Entries:
    # No product is above 2^25 in size: half the bits of Integers do.
    moved = (entries.features.astype(np.int32) - middle.astype(np.int32)) * scales.astype(np.int32) // ONE
    kept = within_norm(np.clip(moved[:, :-1], -ONE, ONE).astype(np.float64), longest)
    constant = np.full((len(entries), 1), scales[-1], dtype=np.int16)
    return Entries(np.hstack([kept, constant]), entries.target, entries.counts)


def once(function: Callable[[Entries], Kept]) -> Callable[[Entries], Kept]:
    """The function, with its result kept: what is inside an `Exact` is computed anew at every measurement."""
    kept: list[tuple[Entries, Kept]] = []

    def known(entries: Entries) -> Kept:
        if not kept or kept[0][0] is not entries:
            kept[:] = [(entries, function(entries))]
        return kept[0][1]

    return known


def counted(rows: SealedRows, budget_part: BudgetPart, part: Fraction, entropy: Entropy) -> float:
    """How many rows there are, about, and at least 1."""
    exact = rows.count()
    (noisy,) = measure(budget_part.noise(part, exact.sensitivity), exact, budget_part.allowance, entropy)
    return max(1.0, float(noisy))


def moments(rows: SealedRows) -> Exact[Integers]:
    """The sealed sums of features, then of their squares, in steps of the grid.

    A feature of x steps adds x and the whole part of x^2 / ONE, which is no larger in size because no feature is above
    ONE: so a row's squared norm is at most twice that of its features, and its l1 norm at most twice theirs, which is
    at most sqrt(width) times the Euclidean one.
    """
    return rows.summed(_moments, l2_squared=2 * rows.norm_squared, l1=2 * (isqrt(rows.width * rows.norm_squared) + 1))


def _moments(entries: Entries) -> Integers:
    features = entries.features.astype(np.int32)
    parts = (features, features**2 // ONE)
    return np.concatenate([product(entries.counts[None], part, largest=ONE * PIECE)[0] for part in parts])
