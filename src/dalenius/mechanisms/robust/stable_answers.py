"""The mode and quantiles exactly, where they are stable: from counts or values to the answer in one mechanism."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dalenius.mechanisms.robust.profiles import Values, grid, one_value_if_replaced
from dalenius.mechanisms.robust.stability import (
    DistanceToInstability,
    Stable,
    hashable_options,
    one_step,
    stable_leader,
    stable_plurality,
    stable_quantile,
)
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, probability, whole
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy

_NAME = "an exact answer where it is stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StableMode:
    """The most frequent of public labels, the first of equals, if its lead is large; else None.

    Without labels it is the most frequent of all values that occur, whatever they are: nobody has to know them before.

    Guarantee: that of `DistanceToInstability`, where one unit has up to `rows` values. The distance of the mode is
    known exactly where there are labels and one value of each unit.
    Proof: one step changes the lead of one label over another by at most `rows`, or twice that where a unit is
    replaced. So the steps that it takes to make up the lead are at least the lead over that, rounded up; this number,
    less one, is 0 where a neighbour's mode is another, and changes by at most one where it is the same. Without labels
    the lead is that over the next value that occurs, or over 0 values.
    Reference: Dwork & Roth 2014, Section 7.3.1.
    Textbook: S11.6.
    """

    labels: tuple[Hashable, ...] | None = None
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", None if self.labels is None else hashable_options(self.labels))
        object.__setattr__(self, "epsilon", self.inner.epsilon)
        object.__setattr__(self, "delta", self.inner.delta)
        object.__setattr__(self, "rows", whole(1, rows=self.rows))

    @property
    def inner(self) -> DistanceToInstability:
        return DistanceToInstability(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        """The sensitivity is that of the counts: the values of one unit come, go or are replaced."""
        one_step(sensitivity, mechanism=_NAME, most=self.neighbours.add_remove_steps * self.rows)
        return self.inner.loss(sensitivity=1)

    def release(self, counts: Mapping[Hashable, int] | ValueCounts, entropy: Entropy) -> Hashable | None:
        """The mode, or None; where labels are public, others count for nothing."""
        return self.inner.release(self.stable(_by_value(counts)), entropy)  # type: ignore[no-any-return]

    def stable(self, counts: Mapping[Hashable, int]) -> Stable:
        """The mode and its distance to instability."""
        if self.labels is None:
            return stable_leader(counts, neighbours=self.neighbours, rows=self.rows)
        numbers = [int(counts.get(label, 0)) for label in self.labels]
        return stable_plurality(numbers, labels=self.labels, neighbours=self.neighbours, rows=self.rows)

    def lead(self, beta: Number) -> int:
        """The lead, in values, from which on the mode is released with probability at least 1 - beta."""
        return self.inner.enough(beta) * self.rows * self.neighbours.add_remove_steps + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StableQuantile:
    """The p-quantile of integers on a public grid, exactly, if many values would have to change to move it; else None.

    Guarantee: that of `DistanceToInstability`, where one unit has up to `rows` values; the distance of a quantile is
    known exactly. For data with many equal values: where all values differ, every quantile is unstable.
    Reference: Dwork & Roth 2014, Section 7.3.1.
    Textbook: S11.6.
    """

    lower: int
    upper: int
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    p: Fraction = Fraction(1, 2)
    rows: int = 1

    def __post_init__(self) -> None:
        lower, upper = grid(self.lower, self.upper)
        settings = {"lower": lower, "upper": upper, "p": probability(p=self.p)}
        for name, value in {**settings, "epsilon": self.inner.epsilon, "delta": self.inner.delta}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "rows", whole(1, rows=self.rows))
        one_value_if_replaced("the quantile", self.rows, self.neighbours)

    @property
    def inner(self) -> DistanceToInstability:
        return DistanceToInstability(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        """The sensitivity is that of the counts of all values: those of one unit come, go or are replaced."""
        one_step(sensitivity, mechanism=_NAME, most=self.neighbours.add_remove_steps * self.rows)
        return self.inner.loss(sensitivity=1)

    def release(self, values: Values, entropy: Entropy) -> int | None:
        """The quantile, or None."""
        return self.inner.release(self.stable(values), entropy)  # type: ignore[no-any-return]

    def stable(self, values: Values) -> Stable:
        """The quantile and its distance to instability."""
        ends = {"lower": self.lower, "upper": self.upper}
        return stable_quantile(values, **ends, neighbours=self.neighbours, p=self.p, rows=self.rows)


def _by_value(counts: Mapping[Hashable, int] | ValueCounts) -> Mapping[Hashable, int]:
    if not isinstance(counts, ValueCounts):
        return counts
    return dict(zip(list(counts.values), map(int, counts.counts), strict=True))
