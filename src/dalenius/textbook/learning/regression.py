"""What linear regression minimises: the sum of the squared errors, and not the square of their sum.

One of the source texts prints the square of the sum, |sum of (<theta, x_i> - y_i)|^2. It is 0 for every theta whose
errors cancel out, so it has no single minimiser and says nothing about how well single rows are predicted: a test has
a theta with no error in it that predicts every row badly. The text's point stands with the right objective: noise can
move coefficients far without moving predictions, where rows hardly differ along what is moved.

What the theorems say about excess loss, as functions: to be compared with what is measured.

All are about the mean loss over n rows of norm at most C, slopes of at most L, and the best weights, of norm at most B.
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


def output_excess(
    *, rows: int, width: int, ridge: float, steepest: float, norm: float, weights: float, deviation: float
) -> float:
    """The largest expected excess of output perturbation: the ridge gives up ridge B^2 / 2n, and noise of this standard
    deviation on each weight moves a score by at most C times its length, so a loss by at most L C sqrt(width) times it.

    Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), Theorem 17's argument.
    Textbook: S14.6.
    """
    return ridge * weights**2 / (2 * rows) + steepest * norm * sqrt(width) * deviation


def objective_excess(*, rows: int, ridge: float, weights: float, tilt: float) -> float:
    """The largest expected excess of objective perturbation: for a tilt of this root mean square length, the minimum w*
    of the tilted sum has a sum of losses that is at most that of the best weights, and ridge B^2 / 2 more, and
    tilt^2 / ridge more, for moving by at most tilt / ridge against a pull of at most tilt.

    Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), Theorem 18's argument.
    Textbook: S14.7.
    """
    return (ridge * weights**2 / 2 + tilt**2 / ridge) / rows


def gradient_excess(
    *, rows: int, width: int, steps: int, steepest: float, norm: float, weights: float, deviation: float
) -> float:
    """The largest expected excess of the mean of plain gradient descent with the best fixed step, where noise has this
    standard deviation on each coordinate of the summed gradient: B G / sqrt(steps), with G^2 the largest mean square of
    a noisy mean gradient.

    Reference: Bassily, Smith & Thakurta 2014 (arXiv:1405.7085), Theorem 2.4; Shalev-Shwartz & Ben-David 2014, 14.8.
    Textbook: S14.8.
    """
    longest = sqrt((steepest * norm) ** 2 + width * (deviation / rows) ** 2)
    return weights * longest / sqrt(steps)
