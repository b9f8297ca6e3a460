"""Estimates: a reconstructed histogram, from which any question over its cells is answered, with error bars."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Protocol, TypeAlias

import numpy as np

from dalenius.errors import InvalidParameter
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.numbers import Number, inside_unit
from dalenius.privacy.reals import ball, precise, upper
from dalenius.tabular.workloads import Reals, Workload

Noise: TypeAlias = DiscreteLaplace | DiscreteGaussian


class Reconstruction(Protocol):
    """What an estimate needs to know of the strategy that it was made by."""

    cells: int

    def solved(self, weights: Reals, /) -> Reals:
        """(A'A)^-1 times vectors over the cells."""

    def variances(self, workload: Workload, /) -> Reals:
        """The variance of each answer, as a multiple of that of the noise."""

    def require_over(self, workload: Workload, /) -> None:
        """Refuse a workload over other cells."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers in people, their standard deviations, and the half-widths of intervals that hold the exact answers."""

    values: Reals
    deviations: Reals
    bars: Reals
    confidence: Fraction


@dataclass(frozen=True, eq=False)
class Estimate:
    """A public histogram of real numbers, reconstructed from the noisy counts of a strategy.

    Guarantee: every answer is a linear function of the same histogram, so answers agree with each other: a range is the
    sum of its parts. Each is without bias, with the variance that `Strategy.variances` states in advance, unless it was
    `smoothed` afterwards: see there what that does to bars.
    """

    histogram: Reals
    strategy: Reconstruction
    noise: Noise
    smoothed: bool = False

    def answers(self, workload: Workload, *, confidence: Number = "0.95") -> Answers:
        """The answers to a workload, each with an interval that holds the exact answer with this probability."""
        self.strategy.require_over(workload)
        values = np.asarray(workload.answers(self.histogram), dtype=np.float64) / workload.denominator
        deviations = np.sqrt(float(self.noise.law.variance()) * self.strategy.variances(workload))
        level = inside_unit(confidence=confidence)
        return Answers(values, deviations, deviations * width(self.noise, level), level)


def width(noise: Noise, confidence: Fraction) -> float:
    """How many standard deviations an interval needs on either side.

    A weighted sum of independent Gaussian noises is as good as Gaussian. One of Laplace noises ranges from a single
    Laplace noise to nearly a Gaussian of the same variance: the wider of both is taken, from 90 % on. That no sum needs
    more is checked by their exact laws, not proved.
    """
    normal = NormalDist().inv_cdf((1 + float(confidence)) / 2)
    if not isinstance(noise, DiscreteLaplace):
        return normal
    if confidence < Fraction(9, 10):
        raise InvalidParameter("confidence", confidence, allowed="at least 0.9 for bars of Laplace noise")
    with precise():
        return max(normal, float(upper(-ball(1 - confidence).log() / ball(2).sqrt())))
