"""Sealed sums of features, of their products and of targets, with what one row adds at most; and these sums with noise.

Every sum is one of integers: features in steps of 1 / ONE, targets in steps of 1 / ONE too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.exact_sums import product
from dalenius.learn.rows import ONE, PIECE, Entries, Integers, Rows
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Purse, deviation
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noisy:
    """What was released, and the standard deviation of the noise on each number."""

    value: Floats
    deviation: float

    @property
    def number(self) -> float:
        return float(self.value[0])


def released(exact: Exact[Integers], unit: int, purse: Purse, part: Fraction, entropy: Entropy) -> Noisy:
    """A sealed sum in steps of 1 / unit, with the noise that a part of the purse buys."""
    noise = purse.noise(part, exact.sensitivity)
    value = measure(noise, exact, purse.allowance, entropy)
    return Noisy(np.asarray(value, dtype=np.float64) / unit, deviation(noise) / unit)


def parts(purse: Purse, shares: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """What each share of the purse can spend."""
    return {name: purse.equal(1, share=share) for name, share in shares.items()}


def sums(rows: Rows) -> Exact[Integers]:
    """The sum of every feature, in steps of 1 / ONE. A row adds itself."""
    return rows.summed(
        lambda entries: _column_sums(entries.features, entries.counts),
        l2_squared=rows.norm_squared,
        l1=largest_l1(rows),
    )


def squares(rows: Rows) -> Exact[Integers]:
    """The sum of the square of every feature, in steps of 1 / ONE^2.

    Proof: no feature is larger than ONE, so the squares of a row sum up to at most its squared norm N, and the squares
    of these to at most ONE^2 N.
    """
    return rows.summed(
        lambda entries: _column_sums(entries.features.astype(np.int64) ** 2, entries.counts),
        l2_squared=ONE**2 * rows.norm_squared,
        l1=rows.norm_squared,
    )


def products(rows: Rows) -> Exact[Integers]:
    """The sum of the product of every two features, each pair once (the upper triangle, row by row), in steps of
    1 / ONE^2.

    Proof: over pairs i <= j, the products of a row x have sum of squares (|x|^4 + sum of x_i^4) / 2, and x_i^4 is at
    most ONE^2 x_i^2; over all pairs it is |x|^4, which may be less. Their sizes sum up to
    (|x|_1^2 + |x|^2) / 2, and |x|_1^2 is at most width |x|^2.
    """
    squared = rows.norm_squared
    return rows.summed(
        _products,
        l2_squared=min(squared * squared, (squared * squared + ONE**2 * squared + 1) // 2),
        l1=(rows.width * squared + squared + 1) // 2,
    )


def crossed(rows: Rows) -> Exact[Integers]:
    """The sum of every feature times the target, in steps of 1 / ONE^2. No target is larger than ONE."""
    return rows.summed(_crossed, l2_squared=ONE**2 * rows.norm_squared, l1=ONE * largest_l1(rows))


def targets(rows: Rows) -> Exact[Integers]:
    """The sum of the targets, in steps of 1 / ONE."""
    return rows.summed(lambda entries: np.array([_targets(entries) @ entries.counts]), l2_squared=ONE**2, l1=ONE)


def square(upper: Floats, width: int) -> Floats:
    """The symmetric matrix whose upper triangle is listed row by row."""
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width)] = upper
    return matrix + np.triu(matrix, 1).T


def largest_l1(rows: Rows) -> int:
    """The largest sum of the sizes of a row's features."""
    return min(isqrt(rows.width * rows.norm_squared), rows.width * ONE)


def _targets(entries: Entries) -> Integers:
    return np.clip(entries.target, -ONE, ONE)


def _column_sums(values: NDArray[np.int16] | Integers, counts: Integers) -> Integers:
    return np.asarray((values.astype(np.int64) * counts[:, None]).sum(axis=0))


def _products(entries: Entries) -> Integers:
    features = entries.features.astype(np.int64)
    whole = product(features.T, features * entries.counts[:, None], largest=ONE**2 * PIECE)
    return whole[np.triu_indices(features.shape[1])]


def _crossed(entries: Entries) -> Integers:
    weighted = (_targets(entries) * entries.counts)[:, None]
    return product(entries.features.T, weighted, largest=ONE**2 * PIECE)[:, 0]
