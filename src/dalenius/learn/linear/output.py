"""Output perturbation: the minimum of a summed loss with a ridge, and noise that hides how far a unit moves it.

Guarantee: with slopes of at most L, rows of norm at most C and k differing rows, the gradients of the two objectives
differ by at most k L C everywhere, so their minima lie within k L C / ridge of each other; points that are certified to
lie within r of them within 2 r more. Noise for that Euclidean distance hides it.
Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), Theorem 6; on grids as everywhere.
Textbook: S14.6 (with the scale that the notes left out: it does not fall with the number of rows if the ridge does not
grow).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil

import numpy as np

from dalenius.learn.linear.losses_piecewise import Bend
from dalenius.learn.linear.minimum import Tilted
from dalenius.learn.linear.objective import apart, certifiable, on_grid, spherical_vector, turned
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import PureDP
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import positive
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy

TYPICAL_SQUARED = 16
"""The squared norm of weights for which the ridge is made."""


@dataclass(frozen=True, slots=True)
class SphericalNoise:
    """Add to a vector of whole numbers the whole part of noise with a density proportional to exp(-|z| / scale).

    Guarantee: if |f(x) - f(x')| <= s in the Euclidean norm for all neighbours, releasing it is (s / scale)-DP.
    Proof: the densities of f + z differ by at most exp(s / scale) by the triangle inequality, and the whole part of
    f + z, which is f and the whole part of z, is made of it without the data.
    Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), Algorithm 1.
    Textbook: S14.6.
    """

    scale: Fraction
    neighbours: Neighbours = field(default_factory=partial(stated, None))

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(scale=self.scale))

    @classmethod
    def calibrated(cls, *, sensitivity: Sensitivity, epsilon: Fraction, neighbours: Neighbours) -> SphericalNoise:
        """Noise that costs at most epsilon, the least up to one step of the grid."""
        return cls(ceil(_l2(sensitivity) / positive(epsilon=epsilon)) * Fraction(1), neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> PureDP:
        """The loss of one release."""
        return PureDP(_l2(Sensitivity.of(sensitivity)) / self.scale)

    def release(self, value: Integers, entropy: Entropy) -> Integers:
        """The noisy vector."""
        return np.asarray(value + spherical_vector(self.scale, len(value), entropy))


def _l2(sensitivity: Sensitivity) -> Fraction:
    with precise():
        return upper(ball(sensitivity.need("l2_squared", mechanism="spherical noise")).sqrt())


def minimum(rows: SealedRows, bend: Bend, label: int, ridge: Fraction) -> Exact[Integers]:
    """The sealed minimum for one label against all others, in steps of 2^-30, and how far a unit moves it."""
    squared = bend.steepest**2 * Fraction(rows.norm_squared, ONE**2)
    with precise():
        length = upper(ball(squared).sqrt())
    moved = rows.most * rows.neighbours.add_remove_steps * length / ridge
    change = apart(rows.width, more=moved).under(rows.neighbours)

    def found(entries: Entries) -> Integers:
        level = np.zeros(rows.width, dtype=np.int64)
        return on_grid(Tilted(bend, label, ridge, level).minimum(entries, norm_squared=rows.norm_squared))

    return rows.entries.map(found, sensitivity=change)


def noise(
    change: Sensitivity, price: Fraction, *, pure: bool, neighbours: Neighbours
) -> SphericalNoise | DiscreteGaussian:
    """The noise for a price: of epsilon, or of rho."""
    if pure:
        return SphericalNoise.calibrated(sensitivity=change, epsilon=price, neighbours=neighbours)
    return DiscreteGaussian.calibrated(sensitivity=change, rho=price, neighbours=neighbours)


def fitting_ridge(rows: SealedRows, bend: Bend, count: int, *, price: Fraction, pure: bool) -> Fraction:
    """The ridge at which the excess that noise causes, at most n c C^2 / 2 times its variance, and the excess that the
    ridge causes for weights of a typical norm B, ridge B^2 / 2, are least together: ridge^3 = 2 n c C^2 v / B^2, where
    v / ridge^2 is the variance of the noise. `count` is public: a noisy count of the rows."""
    differing = rows.most * rows.neighbours.add_remove_steps
    moved = bend.steepest**2 * Fraction(rows.norm_squared, ONE**2) * differing**2
    variance = moved * (rows.width + 1) / price**2 if pure else moved / (2 * price)
    cube = 2 * max(1, count) * turned(bend, rows.norm_squared, Fraction(1)) * variance / TYPICAL_SQUARED
    return max(Fraction(_cube_root(ceil(cube * 2**36)), 2**12), certifiable(rows, bend, count))


def _cube_root(value: int) -> int:
    """The least whole number whose cube is not below."""
    root = 1 << -(-value.bit_length() // 3)
    while (root - 1) ** 3 >= value:
        root = min(root - 1, (2 * root + value // root**2) // 3 + 1)
    return root
