"""What linear regression minimises: the sum of the squared errors, and not the square of their sum.

One of the source texts prints the square of the sum, |sum of (<theta, x_i> - y_i)|^2. It is 0 for every theta whose
errors cancel out, so it has no single minimiser and says nothing about how well single rows are predicted: a test has
a theta with no error in it that predicts every row badly. The text's point stands with the right objective: noise can
move coefficients far without moving predictions, where rows hardly differ along what is moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter


def squared_errors(*, theta: ArrayLike, features: ArrayLike, targets: ArrayLike) -> float:
    """The sum over rows of (<theta, x> - y)^2, for public rows: the objective of linear regression.

    Reference: Dwork & Roth 2014, Section 13.1, corrected.
    Textbook: S14.9.
    """
    return float((_errors(theta, features, targets) ** 2).sum())


def squared_sum_of_errors(*, theta: ArrayLike, features: ArrayLike, targets: ArrayLike) -> float:
    """The square of the sum over rows of <theta, x> - y, as it is printed: not an objective, see above.

    Textbook: S14.9.
    """
    return float(_errors(theta, features, targets).sum() ** 2)


@dataclass(frozen=True)
class Distance:
    """How far two sets of coefficients are apart, and the root mean square by which their predictions differ."""

    coefficients: float
    predictions: float

    @classmethod
    def between(cls, first: ArrayLike, second: ArrayLike, *, features: ArrayLike) -> Distance:
        """For public rows, or fresh ones.

        Textbook: S14.9.
        """
        moved = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
        apart = np.asarray(features, dtype=np.float64) @ moved
        return cls(sqrt(float(moved @ moved)), sqrt(float((apart**2).mean())))


def _errors(theta: ArrayLike, features: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
    rows, weights, wanted = (np.asarray(each, dtype=np.float64) for each in (features, theta, targets))
    if rows.ndim != 2 or rows.shape != (*wanted.shape, *weights.shape):
        raise InvalidParameter(
            "features",
            f"of shape {rows.shape}",
            allowed=f"a row for each target {wanted.shape} and a column for each part of theta {weights.shape}",
        )
    return np.asarray(rows @ weights - wanted)
