"""Gradients of Poisson-sampled batches: every row is in a batch with the same chance, independently of all others.

Reference: Abadi et al. 2016 (arXiv:1607.00133); Mironov, Talwar & Zhang 2019 (arXiv:1908.10530) for the Rényi curve.
Textbook: S14.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from math import comb, floor

import numpy as np
from flint import arb

from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import number
from dalenius.learn.linear.conditioning import FeatureShape
from dalenius.learn.linear.gradient import Descent, LabelledRows, Weights, pull, walked
from dalenius.learn.linear.minimum import RowCounts
from dalenius.learn.linear.objective import counted
from dalenius.learn.losses_tabulated import SLOPE, Slope, on_grid
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.privacy.losses import Loss, valid_order
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import Number, not_negative
from dalenius.privacy.reals import ball, least_multiple, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy

RATE_BITS = 32
"""Chances are whole numbers of 2^-32, so that a word of that many bits decides exactly."""


@dataclass(frozen=True, slots=True)
class SampledGaussian(Loss):
    """Integer Gaussian noise on a sum over a batch in which a row is with the chance `rate`; `rho` is what the noise
    would cost if the row were in it for sure.

    Guarantee: for a whole order a, the divergence is at most
    ln(sum over k of (a choose k) (1 - rate)^(a - k) rate^k exp(k (k - 1) rho)) / (a - 1), both ways.
    Proof: let P be the law without the row and Q the law with it for sure, the other rows' batch given. The moment of
    ((1 - rate) P + rate Q) / P under P is the binomial sum of the moments of Q / P, each at most exp(k (k - 1) rho) for
    Gaussian noise on integers. The reflection that takes P to Q takes Q to P and integers to integers, so the other
    direction is no larger (Theorem 5). Mixing over the batches of the others cannot raise either. Between whole orders
    (a - 1) times the divergence is convex in a, and 0 at a = 1, so the chord lies above.
    Reference: Mironov, Talwar & Zhang 2019 (arXiv:1908.10530), Theorems 4 and 5 and section 3.3; Canonne, Kamath &
    Steinke 2020 (arXiv:2004.00010), Proposition 5, for integers.
    """

    rate: Fraction
    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", not_negative(rho=self.rho))
        if not 0 <= self.rate <= 1:
            raise InvalidParameter("rate", self.rate, allowed="a chance, from 0 to 1")

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    def renyi(self, alpha: Number) -> Fraction:
        order = valid_order(alpha)
        known = max(order, Fraction(2))  # below 2 the chord is as high as at 2
        below = floor(known)
        part = known - below
        with precise():
            chord = ball(1 - part) * self._log_moment(below)
            if part:
                chord = chord + ball(part) * self._log_moment(below + 1)
            return min(upper(chord / ball(known - 1)), order * self.rho)

    def _log_moment(self, order: int) -> arb:
        stays, comes = ball(1 - self.rate), ball(self.rate)
        terms = [
            comb(order, k) * stays ** (order - k) * comes**k * ball(k * (k - 1) * self.rho).exp()
            for k in range(order + 1)
        ]
        return sum(terms, ball(0)).log()

    def __str__(self) -> str:
        return f"rho = {float(self.rho):.4g} on a share of {float(self.rate):.4g} of the rows"


@dataclass(frozen=True)
class BatchGradient:
    """Release the noisy gradient of the summed loss over a batch, for weights on the grid.

    Guarantee: as `SampledGaussian` says, where no row's part is longer than the sensitivity. The batch is drawn anew at
    every release, may be empty, and is shown to nobody.
    """

    weights: tuple[tuple[int, ...], ...]
    slope: Slope
    rate: Fraction
    noise: DiscreteGaussian
    part_squared: int
    neighbours: Neighbours = field(default_factory=partial(stated, None))

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1 or self.rate * (1 << RATE_BITS) % 1:
            raise InvalidParameter("rate", self.rate, allowed=f"a multiple of 2^-{RATE_BITS} above 0, at most 1")
        if not isinstance(self.neighbours, AddRemove):
            raise InvalidParameter("neighbours", self.neighbours, allowed="add_remove, for which batches are priced")

    def loss(self, *, sensitivity: SensitivityLike) -> SampledGaussian:
        """The loss of one release, where the sensitivity is the number of rows of a unit: one."""
        if Sensitivity.of(sensitivity).need("l1", mechanism="a sampled batch") > 1:
            raise InvalidParameter("rows of a unit", "several", allowed="one, for which batches are priced")
        return SampledGaussian(self.rate, self.part_squared / (2 * self.noise.variance))

    def release(self, value: RowCounts, entropy: Entropy) -> Integers:
        """The noisy gradient, in steps of 1 / (SLOPE ONE)."""
        return self.noise.release(self.gradient(batch(value.entries, self.rate, entropy)), entropy)

    def gradient(self, entries: Entries) -> Integers:
        """The exact gradient over some rows: a row's part is that over it alone."""
        weights = np.array(self.weights, dtype=np.int64)
        return pull(LabelledRows.of(entries, weights.shape[1]), weights, self.slope)


def descended(
    rows: SealedRows,
    labels: int,
    slope: Slope,
    plan: Descent,
    share: float,
    budget_part: BudgetPart,
    entropy: Entropy,
    tick: Callable[[float], object] | None = None,
) -> Weights:
    """Weights by descent along noisy gradients of batches with an expected share of the rows, at the expense of the
    whole budget part; see `gradient.descended`. Every step costs the same."""
    order, rate = budget_part.allowance.left.order, rate_of(share)
    shape = FeatureShape.of(rows, budget_part, counting=plan.counting, spreading=plan.spreading, entropy=entropy)
    moved = shape.centred(rows)
    price = budget_part.equal(plan.steps) * (order or 1)
    mechanism = calibrated(moved, labels, slope, rate, price=price, order=order)
    unit = SLOPE * ONE * shape.count * float(rate)

    def noisy(weights: Weights) -> Weights:
        found = measure(at(mechanism, on_grid(weights)), counted(moved), budget_part.allowance, entropy)
        return found.astype(np.float64) / unit

    return shape.original(walked(noisy, (rows.width, labels), plan, plan.stable(slope, shape), tick))


def batch(entries: Entries, rate: Fraction, entropy: Entropy) -> Entries:
    """Every row with the chance `rate`, exactly: 32 random bits are below the rate in their units."""
    total = int(entries.counts.sum())
    words = entropy.words(total) >> np.uint64(64 - RATE_BITS)
    comes = words < np.uint64(int(rate * (1 << RATE_BITS)))
    counts = np.bincount(np.repeat(np.arange(len(entries)), entries.counts)[comes], minlength=len(entries))
    kept = counts > 0
    return Entries(entries.features[kept], entries.target[kept], counts[kept])


def rate_of(share: float) -> Fraction:
    """An expected share of the rows as a chance on the grid."""
    if not 0 < number(share) <= 1:
        raise InvalidParameter("batch", share, allowed="an expected share of the rows, above 0 and at most 1")
    return Fraction(max(1, round(number(share) * (1 << RATE_BITS))), 1 << RATE_BITS)


def calibrated(
    rows: SealedRows, labels: int, slope: Slope, rate: Fraction, *, price: Fraction, order: Fraction | None
) -> BatchGradient:
    """The least noise with which a gradient of a batch costs no more than a divergence of the ledger's order."""
    if order is None:
        raise InvalidParameter("batch", float(rate), allowed="None where delta is 0: pure budgets do not see batches")
    squared = labels * slope.cap**2 * rows.norm_squared
    start = tuple((0,) * labels for _ in range(rows.width))
    noise = DiscreteGaussian(squared * least_variance(rate, price, order), rows.neighbours)
    return BatchGradient(start, slope, rate, noise, squared, rows.neighbours)


@lru_cache(maxsize=256)
def least_variance(rate: Fraction, price: Fraction, order: Fraction) -> Fraction:
    """The least variance with which a batch of rows of length 1 costs no more than a divergence of an order."""

    def affordable(variance: Fraction) -> bool:
        return variance > 0 and SampledGaussian(rate, 1 / (2 * variance)).renyi(order) <= price

    return least_multiple(affordable, near=order * rate**2 / price)


def at(mechanism: BatchGradient, weights: Integers) -> BatchGradient:
    """The same, for other weights."""
    placed = tuple(tuple(row) for row in weights.tolist())
    return BatchGradient(
        placed, mechanism.slope, mechanism.rate, mechanism.noise, mechanism.part_squared, mechanism.neighbours
    )
