"""Noisy counts of keys that come from the data themselves: shown only where they pass a threshold.

Keys that were chosen privately, with their noisy counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Self

import numpy as np
from flint import arb

from dalenius.accounting.composition import compose
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.keys.key_selection import GeometricKeySelection, Key, KeyCounts, changed_keys, within
from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.losses import ApproximateDP, Loss
from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.privacy.numbers import Number, inside_unit, whole
from dalenius.privacy.reals import ball, lower, precise
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedKeys:
    """Choose keys by `selection`, then add `noise` to the counts of those that were chosen.

    Guarantee: it costs what the two cost one after the other; the counts of any fixed set of keys change by no more
    than all counts do. Beside `ThresholdedCounts` it finds rarer keys, for more noise on their counts.
    Reference: basic composition of the selection and the noise.
    """

    selection: RenyiKeySelection | GeometricKeySelection
    noise: DiscreteLaplace | DiscreteGaussian

    def __post_init__(self) -> None:
        require_same(selection=self.selection.neighbours, noise=self.noise.neighbours)

    @property
    def neighbours(self) -> Neighbours:
        """Those of both parts."""
        return self.noise.neighbours

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        return compose([self.selection.loss(sensitivity=sensitivity), self.noise.loss(sensitivity=sensitivity)])

    def release(self, value: KeyCounts, entropy: Entropy) -> dict[Key, int]:
        """The noisy counts of the chosen keys, in the order of their keys."""
        chosen = self.selection.release(value, entropy)
        counts = dict(zip(*value.in_order(), strict=True))
        noisy = self.noise.release(np.array([int(counts[key]) for key in chosen], dtype=np.int64), entropy)
        return dict(zip(chosen, noisy.tolist(), strict=True))

    def half_kept(self) -> int | None:
        """The least number of units with which a key is shown at least every other time; None if it is very large."""
        return self.selection.half_kept()

    def error(self, beta: Number, *, count: int = 1, two_sided: bool = True) -> int:
        """As of the noise."""
        return self.noise.error(beta, count=count, two_sided=two_sided)


_NAME = "thresholding"
_COIN = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdedCounts:
    """Add integer noise to the number of units of every key that occurs, and show those noisy counts that are at least
    `threshold`, and those that are one less by a coin, with their keys.

    Guarantee: if one unit has at most `groups` keys, the release costs what the noise on the counts costs, and an event
    of probability `delta`.
    Proof: call a key *lonely* if it occurs in one world only. Its count there is 1, and all lonely keys of one
    world belong to the one unit that the other world lacks, so there are at most `groups` of them. The threshold is
    the least integer T for which 1 + noise reaches T, for any of `groups` independent draws, with probability at
    most delta: by the exact tail of the noise that is drawn; and what is left of delta goes to the coin. So in each
    world the event that a lonely key is shown has probability at most delta; it is independent of the noise of all
    other keys, and if it does not happen, the output is a function of noisy counts of the same keys in both worlds,
    which change by no more than the sensitivity. Replacing a unit leaves lonely keys on both sides, at most
    `groups` in each world; the event is counted per world, so delta does not double, while the sensitivity of the
    counts does.
    Reference: Korolova, Kenthapadi, Mishra & Ntoulas 2009; Wilson et al. 2020 (arXiv:1909.01917), Theorem 2; here with
    "at least", the exact law of integer noise on both sides, and a coin, so that no part of delta is unused.
    """

    noise: DiscreteLaplace | DiscreteGaussian
    delta: Fraction
    groups: int

    def __post_init__(self) -> None:
        if not isinstance(self.noise, DiscreteLaplace | DiscreteGaussian):
            raise InvalidParameter("noise", type(self.noise), allowed="DiscreteLaplace or DiscreteGaussian")
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))
        object.__setattr__(self, "groups", whole(1, groups=self.groups))

    @classmethod
    def calibrated(
        cls, *, noise: DiscreteLaplace | DiscreteGaussian, delta: Number, sensitivity: SensitivityLike
    ) -> Self:
        """The least threshold for this noise and delta, for counts that change by at most 1 in each key."""
        changed = max(1, changed_keys(sensitivity, mechanism=_NAME))
        return cls(noise=noise, delta=inside_unit(delta=delta), groups=-(-changed // noise.neighbours.add_remove_steps))

    @property
    def neighbours(self) -> Neighbours:
        """Those of the noise."""
        return self.noise.neighbours

    @property
    def threshold(self) -> int:
        """The least noisy count that is shown."""
        # `quantile` is the largest noise that is not rare; 1 + quantile is the largest lonely count that is not rare.
        return self.noise.law.quantile(self.delta, two_sided=False, count=self.groups) + 2

    @property
    def chance(self) -> Fraction:
        """With which a noisy count of one less than the threshold is shown, rounded down to 32 bits."""
        law = self.noise.law
        with precise():
            each = 1 - (1 - ball(self.delta)) ** (1 / ball(self.groups))
            rest = lower((each - law.tail(self.threshold - 1)) / law.pmf(self.threshold - 2))
        return Fraction(min(max(0, floor(rest * _COIN)), _COIN), _COIN)

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        changed = changed_keys(sensitivity, mechanism=_NAME)
        within(changed, self.groups * self.neighbours.add_remove_steps, mechanism=_NAME)
        return compose([self.noise.loss(sensitivity=sensitivity), ApproximateDP(0, self.delta)])

    def release(self, value: KeyCounts, entropy: Entropy) -> dict[Key, int]:
        """The noisy counts that are shown, in the order of their keys."""
        keys, counts = value.in_order()
        noisy, coins = self.noise.release(counts, entropy), entropy.words(len(counts)) >> np.uint64(32)
        edge = np.where(coins < np.uint64(int(self.chance * _COIN)), self.threshold - 1, self.threshold)
        return {keys[place]: int(noisy[place]) for place in np.flatnonzero(noisy >= edge).tolist()}

    def keep_probability(self, count: int) -> arb:
        """The probability that a key with so many units is shown."""
        if not whole(0, count=count):
            return arb(0)
        law, above = self.noise.law, self.threshold - count
        with precise():
            return law.tail(above) + ball(self.chance) * law.pmf(above - 1)

    def half_kept(self) -> int:
        """The least number of units with which a key is shown more often than not: the noise is symmetric."""
        return max(1, self.threshold - (self.chance > Fraction(1, 2)))

    def error(self, beta: Number, *, count: int = 1, two_sided: bool = True) -> int:
        """As of the noise, for keys that are shown whatever the noise is; near the threshold only high ones show."""
        return self.noise.error(beta, count=count, two_sided=two_sided)
