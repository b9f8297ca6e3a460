"""Weights of a linear score, from sums with noise: first guess, then corrections by what the guess leaves unexplained.

Reference: Wang 2018 (arXiv:1803.02596), AdaSSP, for regression by noisy sums with a ridge that the noise decides.

Least squares by objective perturbation: the minimum of Huber's loss with a ridge and a random tilt.

AdaSSP as its paper has it, for comparison: a ridge that fits the noise and the least eigenvalue of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt

import numpy as np
from flint import fmpz_mat, fmpz_poly
from numpy.typing import NDArray

from dalenius.learn.linear import objective
from dalenius.learn.linear.conditioning import FeatureShape
from dalenius.learn.linear.losses_piecewise import Huber
from dalenius.learn.moments.sums import Noisy, crossed, products, released, square
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy

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


LONGEST = 4.0
"""How long rows may be, squared, counted in typical ones: few rows are longer, so few are shortened."""
_COUNTING = Fraction(1, 100)  # the share of a budget part that finds out how many rows there are
_SPREADING = Fraction(1, 20)  # and the share that finds out how their features spread


def tilted_weights(rows: SealedRows, penalties: Floats, budget_part: BudgetPart, entropy: Entropy) -> Floats:
    """Weights of a linear score, that of 1 last, in half ranges of the target; penalties are wanted for features.

    Guarantee: the theorem of `linear.objective` for slopes of both signs. It needs losses of a linear score that are
    convex, with a slope and a second derivative that are bounded whatever the weights are. The squared loss has no
    bounded slope; Huber's has: 1 at most, half of the target's range, and a second derivative of 1 at most. Where the
    best score leaves no row more than that unexplained, both losses have the same minimum.
    Reference: Kifer, Smith & Thakurta 2012, section 4; Huber 1964.
    Textbook: S14.7.
    """
    whole = with_constant(rows)
    shape = FeatureShape.of(whole, budget_part, counting=_COUNTING, spreading=_SPREADING, entropy=entropy)
    centred, order = shape.centred(whole, longest=LONGEST), budget_part.allowance.left.order
    mechanism = objective.calibrated(
        centred,
        Huber(),
        None,
        price=budget_part.equal(1) * (order or 1),
        order=order,
        count=shape.count,
        penalties=(np.append(penalties, 0.0) * shape.scales**2).tolist(),
    )
    found = measure(mechanism, objective.counted(centred), budget_part.allowance, entropy)
    return shape.original(objective.weights_of(found[:, None]))[:, 0]


def with_constant(rows: SealedRows) -> SealedRows:
    """The rows with a last feature that is 1 everywhere."""
    entries = rows.entries.map(_with_constant, sensitivity=rows.entries.sensitivity)
    return SealedRows(entries, rows.width + 1, rows.norm_squared + ONE**2, rows.most)


def _with_constant(entries: Entries) -> Entries:
    ones = np.full((len(entries), 1), ONE, dtype=np.int16)
    return Entries(np.hstack([entries.features, ones]), entries.target, entries.counts)


FAILING = 0.05
"""With what probability the ridge may be too small for the noise."""


def adassp_weights(rows: SealedRows, penalties: Floats, budget_part: BudgetPart, entropy: Entropy) -> Floats:
    """Weights of a linear score, that of 1 last, in half ranges of the target; penalties are wanted for features.

    The budget part pays by thirds for the least eigenvalue of the sums of products, for these sums, and for the
    sums of features times the target. The ridge is as large as noise makes eigenvalues wrong, less what the least one
    surely has. Noise is that of the budget part, where the paper's is for (epsilon, delta), and the probability of
    failing takes the place of its delta in the bound for the least eigenvalue.
    Guarantee: three Gaussian releases within the budget part; see `least_eigenvalue` and `sums` for how far a row moves
    them.
    Reference: Wang 2018 (arXiv:1803.02596), Algorithm 2.
    Textbook: S14.9.
    """
    whole, third = with_constant(rows), budget_part.equal(3)
    least = released(least_eigenvalue(whole), ONE**2, budget_part, third, entropy)
    matrix = released(products(whole), ONE**2, budget_part, third, entropy)
    side = released(crossed(whole), ONE**2, budget_part, third, entropy)
    surely = max(0.0, least.number - least.deviation * sqrt(log(6 / FAILING)))
    ridge = max(0.0, matrix.deviation * sqrt(whole.width * log(2 * whole.width**2 / FAILING)) - surely)
    kept = firm(penalties, float(np.abs(matrix.value).max()) + ridge)
    steep = square(matrix.value, whole.width) + np.diag(np.append(kept, 0.0) + ridge)
    return np.asarray(np.linalg.lstsq(steep, side.value)[0])


def least_eigenvalue(rows: SealedRows) -> Exact[Integers]:
    """The sealed least eigenvalue of the sums of products, rounded down, in steps of 1 / ONE^2.

    Proof: a row adds a matrix with the eigenvalues 0 and its squared norm, so it raises the least one by no less than
    0 and no more than that (Weyl), which is a whole number of steps; so does what is rounded down.
    """
    exact = products(rows)
    change = rows.change(l2_squared=rows.norm_squared**2, l1=rows.norm_squared)
    return exact.map(lambda upper: np.array([_floor(upper, rows.width)]), sensitivity=change)


def _floor(upper: Integers, width: int) -> int:
    """The least eigenvalue of a matrix of whole numbers, rounded down, exactly: the largest whole number that can be
    taken from all roots of the characteristic polynomial without making one negative."""
    matrix = np.zeros((width, width), dtype=object)
    matrix[np.triu_indices(width)] = upper.tolist()
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    roots = fmpz_mat(width, width, matrix.ravel().tolist()).charpoly()
    low, high = 0, int(min(np.diag(matrix))) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _not_negative(roots(fmpz_poly([middle, 1]))) else (low, middle)
    return low


def _not_negative(polynomial: fmpz_poly) -> bool:
    """Whether all roots, which are real, are 0 or more: then and only then signs alternate from the leading one on."""
    coefficients = [int(each) for each in polynomial.coeffs()]
    degree = len(coefficients) - 1
    return all((-1) ** (degree - place) * each >= 0 for place, each in enumerate(coefficients))
