"""Medians, other quantiles and trimmed means with noise that is as small as the data around them allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from dalenius.errors import InvalidParameter, NeighbourMismatch, TheoremDoesNotApply, UnusableValue
from dalenius.mechanisms.robust.profiles import (
    Ordered,
    Profile,
    Reach,
    TrimmedReach,
    Values,
    Windows,
    grid,
    one_value_if_replaced,
    rank,
)
from dalenius.mechanisms.robust.smooth import SmoothCauchy, SmoothLaplace, SmoothNoise, smooth_bound
from dalenius.privacy.losses import Loss
from dalenius.privacy.neighbours import AddRemove, Neighbours, stated
from dalenius.privacy.numbers import exact, probability, whole
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy

FINENESS = 1 << 20
"""Into how many parts a step of the grid is divided for a mean of a private number of values."""
_NAME = "smooth noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothQuantile:
    """The p-quantile of integers on the grid lower, ..., upper, with noise of the size of its smooth sensitivity.

    The quantile is the least value up to which a share p of the values lies; of no values it is `lower`. Values outside
    of the grid are moved to its ends, and so is what is released.

    Guarantee: what the noise states. Neighbours by replacing one of n values (n is public then): the exact smooth
    sensitivity, see `Windows`. Neighbours by adding or removing up to `rows` values: n is as private as the values,
    and a bound that is exact for the median is taken, see `Reach`.
    Reference: Nissim, Raskhodnikova & Smith 2007, Sections 2 and 3.1.
    Textbook: S11.1, S3.6.
    """

    lower: int
    upper: int
    noise: SmoothNoise
    neighbours: Neighbours
    p: Fraction = Fraction(1, 2)
    rows: int = 1

    def __post_init__(self) -> None:
        _ready(self, self.noise, self.neighbours)
        object.__setattr__(self, "p", probability(p=self.p))
        object.__setattr__(self, "rows", whole(1, rows=self.rows))
        one_value_if_replaced("the quantile", self.rows, self.neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        _one_step(sensitivity, self.neighbours.add_remove_steps * self.rows)
        return self.noise.loss

    def release(self, values: Values, entropy: Entropy) -> int:
        """The noisy quantile."""
        ordered = Ordered.of(values, lower=self.lower, upper=self.upper)
        noisy = self.statistic(ordered) + self.noise.noise(self.bound(ordered), entropy)
        return min(max(noisy, self.lower), self.upper)

    def statistic(self, ordered: Ordered) -> int:
        """The quantile itself."""
        return ordered.at(rank(self.p, ordered.size)) if ordered.size else self.lower

    def bound(self, ordered: Ordered) -> Fraction:
        """The smooth bound on how far one step moves the quantile."""
        return smooth_bound(self.profile(ordered), beta=self.noise.beta, most=ordered.width)

    def profile(self, ordered: Ordered) -> Profile:
        """How far the quantile can move in one step, after k others."""
        if isinstance(self.neighbours, AddRemove):
            return Reach(ordered, self.p, self.rows)
        return Windows(ordered, rank(self.p, ordered.size))


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothTrimmedMean:
    """The mean of what is left of integers on a grid without a share `trim` of the least and of the largest, with
    smooth noise. What is released is moved into the grid's range; the mean of no values is `lower`.

    Where one of n values is replaced, n is public: floor(trim n) values are left out at each end, and the noise is
    added to the sum of the others. Where up to `rows` values are added or removed, the number of values is as private
    as the values: the noise is added to the mean, in parts of 1 / FINENESS, and where trim n is no whole number, the
    values at the two edges count in part.

    Guarantee: what the noise states.
    Reference: Nissim, Raskhodnikova & Smith 2007, Sections 2 and 3.1, see `Windows` for sums of several ranks and
    `TrimmedReach` for means of a private number of values.
    Textbook: S11.1, S3.6.
    """

    lower: int
    upper: int
    noise: SmoothNoise
    neighbours: Neighbours
    trim: Fraction = Fraction(1, 4)
    rows: int = 1

    def __post_init__(self) -> None:
        _ready(self, self.noise, self.neighbours)
        object.__setattr__(self, "rows", whole(1, rows=self.rows))
        one_value_if_replaced("the trimmed mean", self.rows, self.neighbours)
        if not 0 <= exact(trim=self.trim) < Fraction(1, 2):
            raise InvalidParameter("trim", self.trim, allowed="at least 0 and below 1/2")
        object.__setattr__(self, "trim", exact(trim=self.trim))

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        _one_step(sensitivity, self.neighbours.add_remove_steps * self.rows)
        return self.noise.loss

    def release(self, values: Values, entropy: Entropy) -> Fraction:
        """The noisy mean."""
        ordered = Ordered.of(values, lower=self.lower, upper=self.upper)
        noisy = self._mean_of_any if isinstance(self.neighbours, AddRemove) else self._mean_of_known
        return min(max(noisy(ordered, entropy), Fraction(self.lower)), Fraction(self.upper))

    def _mean_of_known(self, ordered: Ordered, entropy: Entropy) -> Fraction:
        total, kept = self.total(ordered)
        return Fraction(total + self.noise.noise(self.bound(ordered), entropy), kept)

    def _mean_of_any(self, ordered: Ordered, entropy: Entropy) -> Fraction:
        parts = floor(self.statistic(ordered) * FINENESS) + self.noise.noise(self.bound(ordered), entropy)
        return Fraction(parts, FINENESS)

    def bound(self, ordered: Ordered) -> Fraction:
        """The smooth bound on how far one step moves what noise is added to."""
        parts = FINENESS if isinstance(self.neighbours, AddRemove) else 1
        return smooth_bound(self.profile(ordered), beta=self.noise.beta, most=ordered.width * parts)

    def statistic(self, ordered: Ordered) -> Fraction:
        """The trimmed mean itself, where the number of values is private."""
        count = ordered.size
        if not count:
            return Fraction(self.lower)
        cut = floor(self.trim * count)
        edge, last = cut + 1 - self.trim * count, count - 1 - cut
        if last == cut:
            return Fraction(ordered.at(cut))
        inside: int = sum(ordered.values[cut + 1 : last].tolist())
        return (inside + edge * (ordered.at(cut) + ordered.at(last))) / (count * (1 - 2 * self.trim))

    def total(self, ordered: Ordered) -> tuple[int, int]:
        """The sum of what is kept, and how many values that are, where their number is public."""
        start, kept = self.kept(ordered.size)
        return sum(ordered.values[start : start + kept].tolist()), kept

    def profile(self, ordered: Ordered) -> Profile:
        """How far one step, after k others, can move the mean, or the sum where the number of values is public."""
        if isinstance(self.neighbours, AddRemove):
            return TrimmedReach(ordered, self.trim, FINENESS, self.rows)
        return Windows(ordered, *self.kept(ordered.size))

    def kept(self, size: int) -> tuple[int, int]:
        """The first rank that is kept, and how many are, where their number is public."""
        if not size:
            raise UnusableValue("values", "none", allowed="at least one, where their number is public")
        cut = floor(self.trim * size)
        return cut, size - 2 * cut


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothEqualPairs:
    """How many pairs of rows have equal keys, with smooth noise: a count whose global sensitivity is unbounded.

    Guarantee: what the noise states, for neighbours by adding or removing one row.
    Proof: one row more with a key that m rows have makes m more pairs, and k steps can raise the largest m by k, no
    more; so A(k) is the largest m plus k, and e^(-b k) (m + k) falls from k = 1 / b on.
    Reference: Nissim, Raskhodnikova & Smith 2007, Definition 2.2, for a function that counts.
    Textbook: S11.1, S3.6.
    """

    noise: SmoothNoise
    neighbours: Neighbours

    def __post_init__(self) -> None:
        _right_noise(self.noise)
        if not isinstance(stated(self.neighbours), AddRemove):
            raise NeighbourMismatch(equal_pairs=AddRemove(self.neighbours.protects), mechanism=self.neighbours)

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        _one_step(sensitivity, 1)
        return self.noise.loss

    def release(self, keys: Iterable[Hashable], entropy: Entropy) -> int:
        """The noisy number of pairs, at least 0."""
        counts = Counter(keys)
        return max(0, self.statistic(counts) + self.noise.noise(self.bound(counts), entropy))

    def statistic(self, counts: Counter[Hashable]) -> int:
        """The number of pairs itself."""
        return sum(count * (count - 1) // 2 for count in counts.values())

    def bound(self, counts: Counter[Hashable]) -> Fraction:
        """The smooth bound on how many pairs one row more makes."""
        largest, last = max(counts.values(), default=0), ceil(1 / self.noise.beta) + 2
        return smooth_bound(lambda k: largest + k, beta=self.noise.beta, most=largest + last, last=last)


def _ready(mechanism: SmoothQuantile | SmoothTrimmedMean, noise: object, neighbours: Neighbours) -> None:
    _right_noise(noise)
    stated(neighbours)
    lower, upper = grid(mechanism.lower, mechanism.upper)
    object.__setattr__(mechanism, "lower", lower)
    object.__setattr__(mechanism, "upper", upper)


def _right_noise(noise: object) -> None:
    if not isinstance(noise, SmoothCauchy | SmoothLaplace):
        raise InvalidParameter("noise", type(noise), allowed="SmoothCauchy or SmoothLaplace")


def _one_step(sensitivity: SensitivityLike, most: int) -> None:
    changed = Sensitivity.of(sensitivity).need("l1", mechanism=_NAME)
    if changed > most:
        raise TheoremDoesNotApply(
            _NAME, needs=f"at most {most} values to change", given=f"up to {changed}", instead="a bound on rows"
        )
