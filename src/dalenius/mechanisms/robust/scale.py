"""How many values must be added or removed to move the interquartile range out of a bin.

The interquartile range to within a factor, where it is stable: no bound on the scale of the data is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, Literal, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.errors import UnusableValue
from dalenius.mechanisms.robust.profiles import Ordered, Values, grid, one_value_if_replaced, rank
from dalenius.mechanisms.robust.stability import FAR, StabilityTest, one_step
from dalenius.privacy.losses import ApproximateDP
from dalenius.privacy.neighbours import Neighbours, Replace, stated
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.privacy.reals import ball, precise, upper
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.rounded import floor_of, laplace_quantile

Numbers: TypeAlias = NDArray[Any]


def edits_out_of_bin(ordered: Ordered, edges: tuple[int, int]) -> int:
    """The least number of values to add or remove so that the interquartile range leaves [least, above).

    Of m values the first quartile has ceil(m/4) values up to it, and the third floor(m/4) + 1 from it on.
    Proof, to make the range at least v: some s and s + v must have so many values up to s and from s + v on. Let u
    and w be how many there are, and `between` how many lie between. Only three edits can serve: adding up to s, adding
    from s + v on, and removing between; to remove a value on one side is never better than to add one on the other,
    since either changes m by one, and to add moves u or w towards what is needed. With e edits of which c remove, m
    is n + e - 2c: two more that remove, in place of two that add, lower both demands by one at most, and give up two.
    So c is 0 or 1. The best s is a value or the lower end: u is as large on the way to the next value, and w is not
    larger there.
    To make the range at most v: some s must have at most ceil(m/4) - 1 values before it, and at most floor(m/4) beyond
    s + v. What can serve is to remove on either side and to add inside, and again one that adds is enough. The best s
    is a value. No values at all are never nearer than a single one.
    For either way and either c, whether e edits suffice for some s can only turn from no to yes as e grows: one edit
    more raises the two demands by at most one together.
    Textbook: S11.5.
    """
    least, above = edges
    return min(_edits_to_at_most(ordered, least - 1), _edits_to_at_least(ordered, above))


def _edits_to_at_least(ordered: Ordered, width: int) -> int:
    if ordered.width < width:
        return FAR
    values = ordered.values
    starts = np.concatenate([np.array([ordered.lower], dtype=values.dtype), values[values <= ordered.upper - width]])
    low = np.searchsorted(values, starts, side="right")
    high = len(values) - np.searchsorted(values, starts + width, side="left")
    between = len(values) - low - high

    def suffices(added: int, removed: int) -> bool:
        count = len(values) + added - removed
        missing = np.maximum(0, -(-count // 4) - low) + np.maximum(0, count // 4 + 1 - high)
        return bool(np.any((missing <= added) & (between >= removed)))

    most = len(values) + 4  # with that many, each end alone can hold half of all values
    return min(_least(suffices, most, c) + c for c in (0, 1) if suffices(most, c))


def _edits_to_at_most(ordered: Ordered, width: int) -> int:
    if width < 0:
        return FAR
    values = ordered.values
    below = np.searchsorted(values, values, side="left")
    beyond = len(values) - np.searchsorted(values, values + width, side="right")

    def suffices(removed: int, added: int) -> bool:
        count = len(values) + added - removed
        extra = np.maximum(0, below - -(-count // 4) + 1) + np.maximum(0, beyond - count // 4)
        return bool(np.any(extra <= removed))

    # With one value left the range is 0.
    return min(_least(suffices, len(values) - 1 + c, c) + c for c in (0, 1))


def _least(suffices: Callable[[int, int], bool], most: int, others: int) -> int:
    """The least number that suffices together with so many others, where `most` does."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle, others) else (middle, high)
    return high


System: TypeAlias = Literal[0, 1]
"""Which bins of lg IQR: 0 for [k, k + 1), 1 for [k - 1/2, k + 1/2)."""
SYSTEMS: tuple[System, System] = (0, 1)
_FINENESS = 64  # steps of lg IQR in a factor of two


@dataclass(frozen=True, slots=True)
class Spread:
    """A private interquartile range: 0, or two to a power that is a multiple of 1/64."""

    log2: Fraction | None

    @property
    def value(self) -> float:
        return 0.0 if self.log2 is None else float(2.0 ** float(self.log2))


@dataclass(frozen=True, slots=True, kw_only=True)
class InterquartileScale:
    """The interquartile range of n integers on a grid times 2^Z, Z Laplace noise of scale 3 / epsilon; or None.

    The range is the value of rank ceil(3n/4) less that of rank ceil(n/4), and 0 of no values. It lies in a bin [2^k,
    2^(k+1)), or in the bin of its own that 0 is. If many values would have to change to move it out of its bin, it is
    released; if not, the same is tried with the bins [2^(k-1/2), 2^(k+1/2)), since near an edge of one kind there is
    none of the other. If that fails too, the answer is None.

    Guarantee: (epsilon, delta)-DP for neighbours by replacing one value, of n that are public, or by adding or removing
    up to `rows` values, where n is private: a third of epsilon for each test, a third for the release.
    Proof: let A be the least number of steps that can move the range out of its bin; A >= 1. Between neighbours in one
    bin A changes by at most 1, and neighbours in different bins both have A = 1; `StabilityTest` takes A - 1. Where a
    step adds or removes up to `rows` values, A is the least number of values to add or remove, over `rows` and rounded
    up: that too changes by at most 1 within a bin, and is 1 where a neighbour is in another bin.
    If two neighbours share a bin of either kind, their logarithms differ by at most 1, and the two tests and the noise
    cost a third each. If they share none, each test has the same law on both, and passes with probability at most delta
    / 2: this is the threshold 1 + ln(1 / delta) / epsilon for A. The published one, 1 + ln(1 / delta), lets
    delta^epsilon / 2 pass. The published proof pays for two releases; there is only one.
    Reference: Dwork & Lei 2009; Dwork & Roth 2014, Algorithm 12 and Theorem 7.1, corrected.
    Textbook: S11.5.
    """

    lower: int
    upper: int
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", whole(1, rows=self.rows))
        one_value_if_replaced("the scale", self.rows, stated(self.neighbours))
        lower, upper = grid(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "epsilon", positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", inside_unit(delta=self.delta))

    @property
    def test(self) -> StabilityTest:
        return StabilityTest(epsilon=self.epsilon / 3, delta=self.delta)

    def loss(self, *, sensitivity: SensitivityLike) -> ApproximateDP:
        one_step(sensitivity, mechanism="the scale", most=self.neighbours.add_remove_steps * self.rows)
        return ApproximateDP(self.epsilon, self.delta)

    def release(self, values: Values, entropy: Entropy) -> Spread | None:
        """The noisy range, or None."""
        ordered = Ordered.of(values, lower=self.lower, upper=self.upper)
        if ordered.size < 2 and isinstance(self.neighbours, Replace):
            raise UnusableValue("values", "too few", allowed="at least two, where their number is public")
        here = self.statistic(ordered)
        passed = [self.test.passes(self.steps_out_of_bin(ordered, system) - 1, entropy) for system in SYSTEMS]
        spread = self.noisy(here, entropy)
        return spread if any(passed) else None

    def statistic(self, ordered: Ordered) -> int:
        """The interquartile range itself."""
        return interquartile_range(ordered) if ordered.size else 0

    def steps_out_of_bin(self, ordered: Ordered, system: System) -> int:
        """A: how many steps can move the range out of its bin, at least."""
        if isinstance(self.neighbours, Replace):
            return moves_out_of_bin(ordered, system)
        return -(-edits_out_of_bin(ordered, bin_edges(self.statistic(ordered), system)) // self.rows)

    def error(self, beta: Number) -> Fraction:
        """The factor, as its logarithm to base 2, by which a released range is off with probability at most beta."""
        risk = inside_unit(beta=beta)
        with precise():
            return upper(-3 * ball(risk).log() / ball(self.epsilon)) + Fraction(1, _FINENESS)

    def noisy(self, here: int, entropy: Entropy) -> Spread:
        """A range with noise, which is drawn for a range of 0 as well."""

        def logarithm(u: arb) -> arb:
            return _FINENESS * (ball(max(here, 1)).log() / ball(2).log() + 3 * laplace_quantile(u) / ball(self.epsilon))

        spread = Fraction(floor_of(logarithm, entropy), _FINENESS)
        return Spread(spread if here else None)


def interquartile_range(ordered: Ordered) -> int:
    """The third quartile less the first."""
    first, third = quartiles(ordered.size)
    return ordered.at(third) - ordered.at(first)


def bin_edges(here: int, system: System) -> tuple[int, int]:
    """The least integer in the bin of an interquartile range, and the least above the bin; 0 is alone in its bin."""
    if not here:
        return 0, 1
    if system == 0:
        power = here.bit_length() - 1
        return 1 << power, 1 << (power + 1)
    twice = (here * here).bit_length() - 1  # the whole part of 2 lg
    middle = (twice + 1) // 2
    return _root(2 * middle - 1), _root(2 * middle + 1)


def moves_out_of_bin(ordered: Ordered, system: System) -> int:
    """A: the least number of values that must be replaced so that the interquartile range leaves its bin.

    To make it at most w, some stretch of length w must have no more values below it than come before the first
    quartile, and no more above it than come after the third; each value too many is one that must be moved in. The best
    stretch begins at a value. To make it at least v, some a and a + v must have a quartile's worth of values up to a,
    and as many as the third quartile leaves from a + v on; each that is missing is one that must be moved there. The
    best a is a value or the lower end. Both are found by one pass over the sorted values.
    Textbook: S11.5.
    """
    least, above = bin_edges(interquartile_range(ordered), system)
    return min(_moves_to_at_most(ordered, least - 1), _moves_to_at_least(ordered, above))


def _moves_to_at_most(ordered: Ordered, width: int) -> int:
    if width < 0:
        return FAR
    values, (first, third) = ordered.values, quartiles(ordered.size)
    below = np.searchsorted(values, values, side="left")
    above = len(values) - np.searchsorted(values, values + width, side="right")
    too_low, too_high = np.maximum(0, below - first), np.maximum(0, above - (len(values) - 1 - third))
    return int((too_low + too_high).min())


def _moves_to_at_least(ordered: Ordered, width: int) -> int:
    if ordered.width < width:
        return FAR
    values, (first, third) = ordered.values, quartiles(ordered.size)
    starts = np.concatenate([np.array([ordered.lower], dtype=values.dtype), values[values <= ordered.upper - width]])
    up_to = np.searchsorted(values, starts, side="right")
    beyond = len(values) - np.searchsorted(values, starts + width, side="left")
    missing = np.maximum(0, first + 1 - up_to) + np.maximum(0, len(values) - third - beyond)
    return int(missing.min())


def quartiles(size: int) -> tuple[int, int]:
    """The ranks, from 0, of the first and the third quartile."""
    return rank(Fraction(1, 4), size), rank(Fraction(3, 4), size)


def _root(power: int) -> int:
    """The least integer that is at least 2^(power / 2), for an odd power."""
    return 1 if power < 0 else isqrt(1 << power) + 1
