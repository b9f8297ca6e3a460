"""The mode and quantiles exactly, where they are stable: from counts or values to the answer in one mechanism."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dalenius.mechanisms.robust.profiles import Values, grid
from dalenius.mechanisms.robust.stability import (
    DistanceToInstability,
    hashable_options,
    one_step,
    stable_plurality,
    stable_quantile,
)
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import probability
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy

_NAME = "an exact answer where it is stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StableMode:
    """The most frequent of public labels, the first of equals, if its lead is large; else None.

    Guarantee: that of `DistanceToInstability`; the distance of the mode is known exactly.
    Reference: Dwork & Roth 2014, Section 7.3.1.
    Textbook: S11.6.
    """

    labels: tuple[Hashable, ...]
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", hashable_options(self.labels))
        object.__setattr__(self, "epsilon", self.inner.epsilon)
        object.__setattr__(self, "delta", self.inner.delta)

    @property
    def inner(self) -> DistanceToInstability:
        return DistanceToInstability(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        """The sensitivity is that of the counts: one row comes, goes or is replaced."""
        one_step(sensitivity, mechanism=_NAME, most=self.neighbours.add_remove_steps)
        return self.inner.loss(sensitivity=1)

    def release(self, counts: Mapping[Hashable, int], entropy: Entropy) -> Hashable | None:
        """The mode, or None; labels that are not public count for nothing."""
        numbers = [int(counts.get(label, 0)) for label in self.labels]
        return self.inner.release(stable_plurality(numbers, labels=self.labels, neighbours=self.neighbours), entropy)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class StableQuantile:
    """The p-quantile of integers on a public grid, exactly, if many values would have to change to move it; else None.

    Guarantee: that of `DistanceToInstability`; the distance of a quantile is known exactly. For data with many equal
    values: where all values differ, every quantile is unstable.
    Reference: Dwork & Roth 2014, Section 7.3.1.
    Textbook: S11.6.
    """

    lower: int
    upper: int
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    p: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        lower, upper = grid(self.lower, self.upper)
        settings = {"lower": lower, "upper": upper, "p": probability(p=self.p)}
        for name, value in {**settings, "epsilon": self.inner.epsilon, "delta": self.inner.delta}.items():
            object.__setattr__(self, name, value)

    @property
    def inner(self) -> DistanceToInstability:
        return DistanceToInstability(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        """The sensitivity is that of the counts of all values: one value comes, goes or is replaced."""
        one_step(sensitivity, mechanism=_NAME, most=self.neighbours.add_remove_steps)
        return self.inner.loss(sensitivity=1)

    def release(self, values: Values, entropy: Entropy) -> int | None:
        """The quantile, or None."""
        found = stable_quantile(values, lower=self.lower, upper=self.upper, neighbours=self.neighbours, p=self.p)
        return self.inner.release(found, entropy)  # type: ignore[no-any-return]
