"""Weights of a linear score, from sums with noise: first guess, then corrections by what the guess leaves unexplained.

Reference: Wang 2018 (arXiv:1803.02596), AdaSSP, for regression by noisy sums with a ridge that the noise decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.moments.sums import Noisy, square

Floats = NDArray[np.float64]
_FIRMEST = 2.0**22  # times the sums: no larger penalty is of use
_SPREAD = 1.0  # the guess holds the squared weights of all features together to be about this, in half target ranges


def firm(penalties: Floats, size: float) -> Floats:
    """Penalties, and no more than what leaves nothing of weights that sums of this size could tell from 0: larger ones
    change nothing but drown all else in floats."""
    return np.minimum(penalties, _FIRMEST * max(1.0, size))


@dataclass(frozen=True)
class Equations:
    """The normal equations of least squares with an intercept, each coefficient with its noise; `ridge` is added to the
    diagonal, one penalty for each feature."""

    count: Noisy
    sums: Noisy
    products: Noisy
    crossed: Noisy
    targets: Noisy
    ridge: Floats

    @property
    def width(self) -> int:
        return len(self.sums.value)

    @property
    def matrix(self) -> Floats:
        """Sums of products of features, with a last feature that is 1 everywhere."""
        inner = square(self.products.value, self.width) + np.diag(self.ridge)
        column = self.sums.value[:, None]
        return np.block([[inner, column], [column.T, self.count.value[None]]])

    @property
    def side(self) -> Floats:
        return np.concatenate([self.crossed.value, self.targets.value])

    def guess(self) -> Floats:
        """The most probable weights, if they and all noise were normal.

        At weights w with variances v, an equation is off by the noise of its own side and by the noise of its
        coefficients times w, which have the variance (squared deviations) @ v. So the side is normal with the
        covariance M diag(v) M + that of the noise, and w given the side is linear in it. Directions in which noise
        drowns the matrix come out near 0, and it does not matter whether the noisy matrix has negative eigenvalues.
        """
        matrix, spread = self.matrix, np.append(np.full(self.width, _SPREAD / max(1, self.width)), 1.0)
        noise = np.append(np.full(self.width, self.crossed.deviation), self.targets.deviation) ** 2
        covariance = (matrix * spread) @ matrix.T + np.diag(noise + self._deviations**2 @ spread)
        return np.asarray(spread * (matrix.T @ np.linalg.solve(covariance, self.side)))

    def inverse(self) -> Floats:
        """An inverse of the matrix, made safe: negative eigenvalues count as 0, and all are raised by the size that
        those of the noise have."""
        values, vectors = np.linalg.eigh(self.matrix)
        floor = max(self.products.deviation * (self.width + 1) ** 0.5, 1e-9)
        return np.asarray((vectors / (np.maximum(values, 0.0) + floor)) @ vectors.T)

    @property
    def _deviations(self) -> Floats:
        inner = np.full((self.width, self.width), self.products.deviation)
        column = np.full((self.width, 1), self.sums.deviation)
        return np.block([[inner, column], [column.T, np.full((1, 1), self.count.deviation)]])
