"""The most frequent of some public values, in each of many groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, Self

from flint import arb
from numpy.typing import NDArray

from dalenius.accounting.composition import repeated
from dalenius.mechanisms.selection.exponential import ExponentialMechanism
from dalenius.mechanisms.selection.scores import calibrated_rate, tilt
from dalenius.mechanisms.selection.top_k import each_round
from dalenius.privacy.losses import BoundedRange, Loss
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.reals import precise
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy

_NAME = "a choice in each group"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedChoice:
    """In each group choose one of the same public candidates by the exponential mechanism on their counts.

    Guarantee: if one unit is in at most `groups` groups, and no neighbour step changes the difference of two counts of
    one group by more than t, then all choices together cost `groups` choices of bounded range rate * t.
    Proof: groups are decided independently, each from its own counts, and those that no unit touches do not change.
    Where one unit is replaced by another, each in at most `groups` groups, t is twice the change of one count. Where
    only one of the two is present, all counts move the same way, and the range is half of that; together the ranges are
    at most groups * rate * t, none above rate * t, and as the divergence of a bounded range grows faster than linearly
    with its length, `groups` full ones cost most.
    Reference: as `ExponentialMechanism`.
    """

    groups: int
    rate: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", whole(1, groups=self.groups))
        object.__setattr__(self, "rate", positive(rate=self.rate))
        stated(self.neighbours)

    @classmethod
    def calibrated(
        cls,
        *,
        groups: int,
        sensitivity: SensitivityLike,
        epsilon: Number,
        delta: Number = 0,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The steepest weights for which all choices together are (epsilon, delta)-DP."""
        relation = stated(neighbours)
        each = each_round(rounds=groups, epsilon=epsilon, delta=delta)
        rate = calibrated_rate(sensitivity, epsilon=each, neighbours=relation, mechanism=_NAME)
        return cls(groups=groups, rate=rate, neighbours=relation)

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        width = tilt(sensitivity, neighbours=self.neighbours, mechanism=_NAME)
        return repeated(BoundedRange(self.rate * width), self.groups)

    def release(self, counts: Sequence[Sequence[int]] | NDArray[Any], entropy: Entropy) -> tuple[int, ...]:
        """For each group, given as the counts of all candidates, the index of the chosen one."""
        choice = self._one()
        return tuple(choice.release(scores, entropy) for scores in counts)

    def probabilities(self, counts: Sequence[Sequence[int]]) -> dict[tuple[int, ...], arb]:
        """The exact law of all choices, as enclosures; for a few groups."""
        laws = [self._one().probabilities(scores) for scores in counts]
        with precise():
            return {
                chosen: prod((law[index] for law, index in zip(laws, chosen, strict=True)), start=arb(1))
                for chosen in product(*(range(len(law)) for law in laws))
            }

    def error(self, beta: Number, *, candidates: int) -> Fraction:
        """With probability at least 1 - beta, a group's choice is at most this much below the best."""
        return self._one().error(beta, candidates=candidates)

    def _one(self) -> ExponentialMechanism:
        return ExponentialMechanism(rate=self.rate, neighbours=self.neighbours)
