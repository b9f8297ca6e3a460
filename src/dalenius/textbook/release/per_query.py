"""Independent noise for every question: the simplest release, and the yardstick of all others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Self

import numpy as np

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import whole_units
from dalenius.accounting.calibration import per_use_epsilon, textbook_epsilon
from dalenius.accounting.composition import repeated
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import Exact
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.synth.online.sealed import Release, bounded, sealed_answers
from dalenius.tabular.workloads import Integers, Workload


@dataclass(frozen=True, slots=True)
class LaplaceEach:
    """Laplace noise on each of several integers, priced as that many uses of one: cheaper, with a delta, than by l1.

    Guarantee: releasing k integers is k uses of `noise`, of which only those count whose integer moves. With l1 change
    s1 and no integer moving by more than s, they are at most min(k, s1) for s = 1, and otherwise as many as min(k,
    2 s1 / s): integers that together move by s or less are one use at s, and can be grouped into so many.
    """

    noise: DiscreteLaplace
    count: int

    def __post_init__(self) -> None:
        whole(1, count=self.count)

    @property
    def neighbours(self) -> Neighbours:
        return self.noise.neighbours

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        bounds = Sensitivity.of(sensitivity)
        moves = bounds.need("linf", mechanism="LaplaceEach")
        return repeated(self.noise.loss(sensitivity=moves), _uses(bounds, self.count))

    def release(self, value: Integers, entropy: Entropy) -> Integers:
        return self.noise.release(np.asarray(value), entropy)


@dataclass(frozen=True, kw_only=True, eq=False)
class PerQuery:
    """Answer every question of a workload with noise of its own, Laplace or Gaussian.

    Guarantee: the loss of the mechanism; the answers need not fit together.
    Reference: Dwork & Roth 2014, Theorems 3.6 and 3.22, and Section 4, opening.
    Textbook: S9.18.
    """

    workload: Workload
    mechanism: LaplaceEach | DiscreteGaussian
    sensitivity: Sensitivity

    @classmethod
    def laplace(
        cls, workload: Workload, *, epsilon: Number, neighbours: Neighbours, delta: Number = 0, rows: int = 1
    ) -> Self:
        """The least Laplace noise for (epsilon, delta)-DP by optimal composition; by the l1 change for delta = 0."""
        bounds, target = bounded(workload, neighbours, rows=rows), positive(epsilon=epsilon)
        moves = bounds.need("linf", mechanism="PerQuery")
        uses = _uses(bounds, workload.count)
        each = whole_units(per_use_epsilon(epsilon=target, delta=delta, count=uses))
        noise = DiscreteLaplace(moves / each, neighbours)
        return cls(workload=workload, mechanism=LaplaceEach(noise, workload.count), sensitivity=bounds)

    @classmethod
    def textbook(
        cls, workload: Workload, *, epsilon: Number, delta: Number, neighbours: Neighbours, rows: int = 1
    ) -> Self:
        """Laplace noise of scale sqrt(8 k ln(1 / delta)) / epsilon on each of k questions, for epsilon < 1.

        Reference: Dwork & Roth 2014, Corollary 3.21.
        """
        bounds = bounded(workload, neighbours, rows=rows)
        moves = bounds.need("linf", mechanism="PerQuery")
        each = textbook_epsilon(epsilon=epsilon, count=workload.count, slack=delta)
        noise = DiscreteLaplace(moves / each, neighbours)
        return cls(workload=workload, mechanism=LaplaceEach(noise, workload.count), sensitivity=bounds)

    @classmethod
    def gaussian(
        cls, workload: Workload, *, epsilon: Number, delta: Number, neighbours: Neighbours, rows: int = 1
    ) -> Self:
        """The least Gaussian noise for (epsilon, delta)-DP."""
        bounds = bounded(workload, neighbours, rows=rows)
        mechanism = DiscreteGaussian.calibrated(sensitivity=bounds, epsilon=epsilon, delta=delta, neighbours=neighbours)
        return cls(workload=workload, mechanism=mechanism, sensitivity=bounds)

    def loss(self) -> Loss:
        """What a release costs."""
        return self.mechanism.loss(sensitivity=self.sensitivity)

    def error(self, beta: Number) -> Fraction:
        """With probability 1 - beta, no answer is off by more people than this."""
        noise = self.mechanism.noise if isinstance(self.mechanism, LaplaceEach) else self.mechanism
        return Fraction(noise.error(beta, count=self.workload.count), self.workload.denominator)

    def release(self, histogram: Exact[Integers], allowance: Allowance, entropy: Entropy, *, beta: Number) -> Release:
        """Pay, and answer every question."""
        exact = sealed_answers(histogram, self.workload)
        noisy = measure(self.mechanism, exact, allowance, entropy)
        answers = np.asarray(noisy, dtype=np.float64) / self.workload.denominator
        return Release(answers=answers, error=self.error(beta), beta=inside_unit(beta=beta))


def _uses(bounds: Sensitivity, count: int) -> int:
    moves, total = bounds.need("linf", mechanism="LaplaceEach"), bounds.l1
    if total is None or not moves:
        return count
    return max(1, min(count, ceil(total if moves == 1 else 2 * total / moves)))
