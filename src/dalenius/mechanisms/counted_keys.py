"""Keys that were chosen privately, with their noisy counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.accounting.composition import compose
from dalenius.mechanisms.gaussian import DiscreteGaussian
from dalenius.mechanisms.key_selection import Key, KeyCounts
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.renyi_selection import RenyiKeySelection
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import Neighbours, require_same
from dalenius.privacy.numbers import Number
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedKeys:
    """Choose keys by `selection`, then add `noise` to the counts of those that were chosen.

    Guarantee: it costs what the two cost one after the other; the counts of any fixed set of keys change by no more
    than all counts do. Beside `ThresholdedCounts` it finds rarer keys, for more noise on their counts.
    Reference: basic composition of `RenyiKeySelection` and the noise.
    """

    selection: RenyiKeySelection
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
