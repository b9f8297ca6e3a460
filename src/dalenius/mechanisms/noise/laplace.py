"""The Laplace mechanism on integers: noise with geometric tails, scaled to the l1 sensitivity."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Self

from dalenius.privacy.losses import LaplaceDP
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.integers import Integers, add_noise
from dalenius.randomness.laplace import discrete_laplace
from dalenius.randomness.laws import DiscreteLaplaceLaw


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Add to each coordinate independent integer noise Z with P[Z = z] proportional to exp(-|z| / scale).

    Guarantee: if f gives integers and |f(x) - f(x')|_1 <= s for all neighbours x, x', then releasing f(x) + Z is
    (s / scale)-DP for these neighbours, and no smaller epsilon holds. A fractional s is rounded up.
    Reference: Dwork & Roth 2014, Theorem 3.6; on integers the geometric mechanism of Ghosh, Roughgarden &
    Sundararajan 2009 (arXiv:0811.2841).
    Textbook: S4.3.
    """

    scale: Fraction
    neighbours: Neighbours = field(default_factory=partial(stated, None))

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(scale=self.scale))
        stated(self.neighbours)

    @classmethod
    def calibrated(cls, *, sensitivity: SensitivityLike, epsilon: Number, neighbours: Neighbours | None = None) -> Self:
        """The least noise that makes the release of integers with this l1 sensitivity epsilon-DP."""
        steps = positive(sensitivity=_steps(sensitivity))
        return cls(scale=steps / positive(epsilon=epsilon), neighbours=stated(neighbours))

    @property
    def law(self) -> DiscreteLaplaceLaw:
        """The exact law of the noise on one coordinate."""
        return DiscreteLaplaceLaw(self.scale)

    def loss(self, *, sensitivity: SensitivityLike) -> LaplaceDP:
        """The loss of one release."""
        steps = _steps(sensitivity)
        return LaplaceDP(steps / self.scale, steps)

    def release(self, value: Integers, entropy: Entropy) -> Integers:
        """The noisy value, of the same kind and shape."""
        return add_noise(value, lambda count: discrete_laplace(self.scale, count, entropy=entropy))

    def error(self, beta: Number, *, count: int = 1, two_sided: bool = True) -> int:
        """The least t that the noise of `count` coordinates all at once exceeds with probability at most beta."""
        return self.law.quantile(beta, two_sided, count=count)


def laplace_accuracy(*, coordinates: int, beta: Number, sensitivity: SensitivityLike, epsilon: Number) -> Fraction:
    """The error ln(k / beta) s / epsilon, which Laplace noise on k coordinates reaches with probability at most beta.

    The theorem is about continuous noise. `DiscreteLaplace.error`, which is exact on integers, is less than 1/2 above.
    Reference: Dwork & Roth 2014, Theorem 3.8; the half because scale ln(2 / (1 + exp(-1 / scale))) < 1/2.
    Textbook: S4.3.
    """
    bound = Sensitivity.of(sensitivity).need("l1", mechanism="the Laplace mechanism")
    scale = positive(sensitivity=bound) / positive(epsilon=epsilon)
    with precise():
        return upper(ball(whole(1, coordinates=coordinates) / inside_unit(beta=beta)).log() * ball(scale))


def _steps(sensitivity: SensitivityLike) -> int:
    return ceil(Sensitivity.of(sensitivity).need("l1", mechanism="the Laplace mechanism"))
