"""What the theorems say about excess loss, as functions: to be compared with what is measured.

All are about the mean loss over n rows of norm at most C, slopes of at most L, and the best weights, of norm at most B.
Textbook: S14.6, S14.7, S14.8 (with the constants that the notes leave out).
"""

from __future__ import annotations

from math import sqrt


def output_excess(
    *, rows: int, width: int, ridge: float, steepest: float, norm: float, weights: float, deviation: float
) -> float:
    """The largest expected excess of output perturbation: the ridge gives up ridge B^2 / 2n, and noise of this standard
    deviation on each weight moves a score by at most C times its length, so a loss by at most L C sqrt(width) times it.

    Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), Theorem 17's argument.
    """
    return ridge * weights**2 / (2 * rows) + steepest * norm * sqrt(width) * deviation


def objective_excess(*, rows: int, ridge: float, weights: float, tilt: float) -> float:
    """The largest expected excess of objective perturbation: for a tilt of this root mean square length, the minimum w*
    of the tilted sum has a sum of losses that is at most that of the best weights, and ridge B^2 / 2 more, and
    tilt^2 / ridge more, for moving by at most tilt / ridge against a pull of at most tilt.

    Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), Theorem 18's argument.
    """
    return (ridge * weights**2 / 2 + tilt**2 / ridge) / rows


def gradient_excess(
    *, rows: int, width: int, steps: int, steepest: float, norm: float, weights: float, deviation: float
) -> float:
    """The largest expected excess of the mean of plain gradient descent with the best fixed step, where noise has this
    standard deviation on each coordinate of the summed gradient: B G / sqrt(steps), with G^2 the largest mean square of
    a noisy mean gradient.

    Reference: Bassily, Smith & Thakurta 2014 (arXiv:1405.7085), Theorem 2.4; Shalev-Shwartz & Ben-David 2014, 14.8.
    """
    longest = sqrt((steepest * norm) ** 2 + width * (deviation / rows) ** 2)
    return weights * longest / sqrt(steps)
