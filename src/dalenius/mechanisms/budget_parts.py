"""What an allowance can still buy: noise and choices for a part of it, whatever the ledger counts in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, pi, sqrt
from typing import TypeAlias

from dalenius.accounting.allowance import Allowance, JointAllowance
from dalenius.accounting.amounts import DIVERGENCE_UNIT
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.privacy.reals import ball, lower, precise
from dalenius.privacy.sensitivity import Sensitivity

Noise: TypeAlias = DiscreteGaussian | DiscreteLaplace


class TooLittleLeft(InvalidParameter):
    """What is left of a price is too little to be divided. Something may have been measured before."""

    consequence = "nothing was measured for it, and what was charged stays charged"


@dataclass(frozen=True)
class BudgetPart:
    """An allowance as one number: rho where the ledger counts Rényi divergence, so that Gaussian noise for a part p has
    variance (l2 sensitivity)^2 / 2p and a choice has range sqrt(8 p); epsilon where it counts that.

    Every mechanism is made for a share of it, and draws that when it is measured; what is left is asked anew.
    """

    allowance: Allowance

    def __post_init__(self) -> None:
        if isinstance(self.allowance, JointAllowance):
            raise InvalidParameter(
                "populations", len(self.allowance.parts), allowed="one, whose people are in the rows"
            )

    @property
    def left(self) -> Fraction:
        """What can still be spent."""
        left = self.allowance.left
        return left.divergence * DIVERGENCE_UNIT / (left.order or 1)

    def equal(self, count: int, *, share: Fraction = Fraction(1)) -> Fraction:
        """What can be spent `count` times of a share of what is left, in whole units of the ledger."""
        left = self.allowance.left
        units = floor(left.divergence * share / count)
        if not units:
            raise TooLittleLeft("price", str(left), allowed=f"enough for {count} measurements")
        return units * DIVERGENCE_UNIT / (left.order or 1)

    @property
    def pure(self) -> bool:
        return self.allowance.left.order is None

    def noise(self, part: Fraction, change: Sensitivity) -> Noise:
        """The least noise that costs no more than a part."""
        if self.pure:
            return DiscreteLaplace.calibrated(sensitivity=change, epsilon=part, neighbours=self.allowance.neighbours)
        return DiscreteGaussian.calibrated(sensitivity=change, rho=part, neighbours=self.allowance.neighbours)

    def choice(self, part: Fraction, change: Sensitivity) -> ExponentialMechanism:
        """The steepest choice that costs no more than a part."""
        if self.pure:
            width = part
        else:
            with precise():
                width = lower((8 * ball(part)).sqrt()).limit_denominator(10**18) * (1 - Fraction(1, 10**12))
        return ExponentialMechanism.calibrated(sensitivity=change, epsilon=width, neighbours=self.allowance.neighbours)


def deviation(noise: Noise) -> float:
    """The standard deviation of noise."""
    return sqrt(noise.variance) if isinstance(noise, DiscreteGaussian) else sqrt(2) * float(noise.scale)


def typical(noise: Noise) -> float:
    """The mean size of noise."""
    return sqrt(2 * float(noise.variance) / pi) if isinstance(noise, DiscreteGaussian) else float(noise.scale)
