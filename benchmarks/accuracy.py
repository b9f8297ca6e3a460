"""How far the noise lies from the truth: the exact noise on integers beside the continuous one it replaces."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from dalenius.mechanisms.noise.continuous_gaussian import gaussian_variance
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace, laplace_accuracy
from dalenius.privacy.neighbours import AddRemove

COUNTS = (1, 1000)
BETA = 0.05
EPSILON, DELTA = 1, "1e-9"


@dataclass(frozen=True)
class Accuracy:
    """The error that `count` noisy values all keep to with probability 95 %."""

    law: str
    count: int
    discrete: int
    continuous: float


def accuracies() -> list[Accuracy]:
    """Sensitivity 1 at epsilon 1, the Gaussian at delta 10^-9, for one value and for a thousand."""
    target = {"sensitivity": 1, "epsilon": EPSILON}
    laplace = DiscreteLaplace.calibrated(**target, neighbours=AddRemove())
    gaussian = DiscreteGaussian.calibrated(**target, delta=DELTA, neighbours=AddRemove())
    deviation = sqrt(gaussian_variance(**target, delta=DELTA))
    found = []
    for count in COUNTS:
        textbook = float(laplace_accuracy(**target, coordinates=count, beta=BETA))
        normal = deviation * NormalDist().inv_cdf((1 + (1 - BETA) ** (1 / count)) / 2)
        found.append(Accuracy("Laplace", count, laplace.error(BETA, count=count), textbook))
        found.append(Accuracy("Gaussian", count, gaussian.error(BETA, count=count), normal))
    return sorted(found, key=lambda row: row.law, reverse=True)
