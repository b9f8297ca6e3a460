"""AdaSSP as its paper has it, for comparison: a ridge that fits the noise and the least eigenvalue of the data."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from flint import fmpz_mat, fmpz_poly
from numpy.typing import NDArray

from dalenius.learn.moments.solving import firm
from dalenius.learn.moments.sums import crossed, products, released, square
from dalenius.learn.moments.tilted import with_constant
from dalenius.learn.rows import ONE, Integers, Rows
from dalenius.mechanisms.purse import Purse
from dalenius.privacy.exact import Exact
from dalenius.randomness.entropy import Entropy

Floats = NDArray[np.float64]
FAILING = 0.05
"""With what probability the ridge may be too small for the noise."""


def adassp_weights(rows: Rows, penalties: Floats, purse: Purse, entropy: Entropy) -> Floats:
    """Weights of a linear score, that of 1 last, in half ranges of the target; penalties are wanted for features.

    A third of the purse each pays for the least eigenvalue of the sums of products, for these sums, and for the sums of
    features times the target. The ridge is as large as noise makes eigenvalues wrong, less what the least one surely
    has. Noise is that of the purse, where the paper's is for (epsilon, delta), and the probability of failing takes the
    place of its delta in the bound for the least eigenvalue.
    Guarantee: three Gaussian releases within the purse; see `least_eigenvalue` and `sums` for how far a row moves them.
    Reference: Wang 2018 (arXiv:1803.02596), Algorithm 2.
    Textbook: S14.9.
    """
    whole, third = with_constant(rows), purse.equal(3)
    least = released(least_eigenvalue(whole), ONE**2, purse, third, entropy)
    matrix = released(products(whole), ONE**2, purse, third, entropy)
    side = released(crossed(whole), ONE**2, purse, third, entropy)
    surely = max(0.0, least.number - least.deviation * sqrt(log(6 / FAILING)))
    ridge = max(0.0, matrix.deviation * sqrt(whole.width * log(2 * whole.width**2 / FAILING)) - surely)
    kept = firm(penalties, float(np.abs(matrix.value).max()) + ridge)
    steep = square(matrix.value, whole.width) + np.diag(np.append(kept, 0.0) + ridge)
    return np.asarray(np.linalg.lstsq(steep, side.value)[0])


def least_eigenvalue(rows: Rows) -> Exact[Integers]:
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
