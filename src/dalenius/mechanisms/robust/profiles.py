"""Values in order, and how far one step can move a statistic of them after k other steps: exact, in integers.

A profile is a function k -> A(k) that does not fall, with two properties. A(0) is at least the local sensitivity. And
A(k) at a database is at most A(k + 1) at every neighbour of it. Then max over k of e^(-beta k) A(k) is a beta-smooth
bound on the local sensitivity, and the least k with A(k) > b is at most the distance to a database whose local
sensitivity exceeds b, changes by at most one between neighbours, and is 0 where the local sensitivity exceeds b itself.
Reference: Nissim, Raskhodnikova & Smith 2007, Definition 2.2 and Claim 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.randomness.integers import integer_array

Profile: TypeAlias = Callable[[int], int]
Values: TypeAlias = Sequence[int] | NDArray[Any] | ValueCounts
"""Integers in any order, one for each row, or different values with their counts."""

_NARROW = 1 << 60  # beyond, NumPy's integers could wrap, and Python's are taken


@dataclass(frozen=True, eq=False)
class Ordered:
    """Values in rising order, each moved to the nearest end of the grid lower, ..., upper if it is outside.

    Before the first value stand arbitrarily many copies of `lower`, after the last one of `upper`.
    """

    values: NDArray[Any]
    lower: int
    upper: int

    @classmethod
    def of(cls, values: Values, *, lower: int, upper: int) -> Ordered:
        counted = isinstance(values, ValueCounts)
        numbers = integer_array(values.values if isinstance(values, ValueCounts) else values).ravel()
        wide = max(abs(lower), abs(upper)) >= _NARROW or numbers.dtype == object
        found = np.clip(numbers.astype(object) if wide else numbers, lower, upper)
        if counted:
            assert isinstance(values, ValueCounts)
            found = np.repeat(found, integer_array(values.counts).astype(np.int64))
        return cls(np.sort(found), lower, upper)

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return self.upper - self.lower

    def at(self, place: int) -> int:
        """The value of this rank, counted from 0."""
        if place < 0:
            return self.lower
        return self.upper if place >= self.size else int(self.values[place])

    def between(self, first: int, last: int) -> NDArray[Any]:
        """The values of the ranks first, ..., last."""
        inside = self.values[max(0, first) : max(0, last + 1)]
        before = min(max(0, -first), last - first + 1)
        kind = self.values.dtype
        low = np.full(before, self.lower, dtype=kind)
        return np.concatenate([low, inside, np.full(last - first + 1 - before - len(inside), self.upper, dtype=kind)])


@dataclass(frozen=True, eq=False)
class Windows:
    """The profile of the sum of the ranks start, ..., start + kept - 1 of n values of which one may be replaced.

    A(k) is the widest stretch that `kept + k` gaps between neighbouring ranks cover, where the stretch begins at one of
    the ranks start - k - 1, ..., start. It is the largest local sensitivity within k replacements, no less.
    Proof: replacing one value takes a rank out of the sum and brings the next one in on the other side, or moves less
    than that. So the local sensitivity is the larger of x[start + kept] - x[start] and x[start + kept - 1] -
    x[start - 1]. Moving k values from between these ranks to the two ends of the grid widens the stretch between them
    by k ranks, in any division between left and right, and k replacements cannot do more: of the values inside of a
    stretch of an altered database, all but k were there before.
    With kept = 1 the sum is one order statistic.
    Reference: Nissim, Raskhodnikova & Smith 2007, Proposition 3.4 for the median; the sum of several ranks likewise.
    Textbook: S3.5, S3.6.
    """

    ordered: Ordered
    start: int
    kept: int = 1

    def __call__(self, k: int) -> int:
        if k >= self.ordered.size:
            return self.ordered.width
        reach = self.kept + k
        stretch = self.ordered.between(self.start - k - 1, self.start + reach)
        return int((stretch[reach:] - stretch[: k + 2]).max())


@dataclass(frozen=True, eq=False)
class Reach:
    """The profile of the p-quantile where values are added or removed, up to `rows` in one step.

    Let R = rows (k + 1), and let l and h be the least and the largest rank of these values that R additions and
    removals can make the quantile. A(k) is the widest stretch of at most R gaps between adjacent ranks in l, ..., h.
    Proof: with b values added below and a removed above, the rank r(n - a + b) is what was the rank r(n - a + b) - b
    before; r is `rank`. Since r(m) is ceil(p m) - 1, that is lowest for b as large as can be where p <= 1/2, and for a
    as large as can be otherwise; and likewise on the other side. So l and h are right, and all quantiles within R
    additions and removals lie between their values.
    Let y be within k steps of x, and z one step from y. At most rows - 1 values of y lie strictly between the two
    quantiles, so at most R - 1 values of x do, and both quantiles lie between the values of l and h: A(k) bounds their
    difference. From x to a neighbour, a stretch of values has at most `rows` values more inside, and what R steps
    reach, R + rows steps of the neighbour reach: A(k) here is at most A(k + 1) there.
    For the median with one row, A(k) is the largest local sensitivity within k steps: removing the k middle values
    leaves the whole stretch as one gap. For other quantiles it is an upper bound on it. The quantile of no values is
    `lower`.
    Textbook: S3.5, S3.6.
    """

    ordered: Ordered
    p: Fraction
    rows: int = 1

    def __call__(self, k: int) -> int:
        gaps = (k + 1) * self.rows
        if gaps > self.ordered.size:
            return self.ordered.width
        low, high = self._ranks(gaps)
        if high - low <= gaps:
            return self.ordered.at(high) - self.ordered.at(low)
        stretch = self.ordered.between(low, high)
        return int((stretch[gaps:] - stretch[:-gaps]).max())

    def ends(self, steps: int) -> tuple[int, int]:
        """The least and the largest quantile within so many additions and removals."""
        if steps > self.ordered.size:  # all values can be others
            return self.ordered.lower, self.ordered.upper
        if not self.ordered.size:
            return self.ordered.lower, self.ordered.lower
        low, high = self._ranks(steps)
        return self.ordered.at(low), self.ordered.at(high)

    def _ranks(self, steps: int) -> tuple[int, int]:
        """Their ranks, for some values and at most as many steps; -1 stands for the lower end."""
        count, early = self.ordered.size, 2 * self.p <= 1
        removed = min(steps, count - 1)
        added = steps - removed
        down = rank(self.p, count + steps) - steps if early else rank(self.p, count - removed + added) - added
        up = rank(self.p, count - removed + added) + removed if early else rank(self.p, count + steps)
        return -1 if steps == count else max(down, -1), min(up, count)


@dataclass(frozen=True, eq=False)
class TrimmedReach:
    """The profile of a trimmed mean where values are added or removed, up to `rows` in one step; in 1 / `fineness`.

    The mean is that of Q(u) over trim < u < 1 - trim, where Q(u) is the least value up to which a share u of the values
    lies. Let R = rows (k + 1), and let a and b be the least trim-quantile and the largest (1 - trim)-quantile that R
    additions and removals can make. A(k) is (b - a) min(1, rows / ((1 - 2 trim) (n - R))), or the whole width where R
    is n or more; in parts of 1 / fineness it is rounded up, which covers that the mean is rounded too.
    Proof: let y be within k steps of x, and z one step from y, with i values removed and j added, i + j <= rows. Both
    means lie between a and b. The area between two functions Q over trim < u < 1 - trim is the area between the two
    distribution functions over part of the values from a to b. Removing i of m values moves a distribution function by
    at most i / m, adding j so that there are m' by at most j / m'; m and m' are at least n - R. So the area is at most
    (b - a) rows / (n - R), and the means differ by at most that over 1 - 2 trim. From x to a neighbour a falls no more
    and b rises no more than `rows` more additions and removals allow, and n grows by at most `rows`: A(k) here is at
    most A(k + 1) there.
    Textbook: S3.5, S3.6.
    """

    ordered: Ordered
    trim: Fraction
    fineness: int
    rows: int = 1

    def __call__(self, k: int) -> int:
        steps, count = (k + 1) * self.rows, self.ordered.size
        if steps >= count:
            return self.ordered.width * self.fineness
        low, _ = Reach(self.ordered, self.trim).ends(steps)
        _, high = Reach(self.ordered, 1 - self.trim).ends(steps)
        share = min(Fraction(1), Fraction(self.rows) / ((1 - 2 * self.trim) * (count - steps)))
        return ceil((high - low) * self.fineness * share)


def rank(p: Fraction, count: int) -> int:
    """The rank, from 0, of the p-quantile of so many values: the first one up to which a share p of them lies."""
    return max(0, ceil(p * count) - 1)


def distance_beyond(profile: Profile, bound: int, *, most: int) -> int:
    """The least k with A(k) > bound, or `most` if that is less."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if profile(middle) > bound else (middle, high)
    return high


def grid(lower: object, upper: object) -> tuple[int, int]:
    """The ends of a public grid."""
    ends = [end for end in (lower, upper) if isinstance(end, int | np.integer) and not isinstance(end, bool)]
    if len(ends) < 2 or ends[0] > ends[1]:
        raise InvalidParameter("upper", upper, allowed=f"an integer, as is lower = {lower}, and not below it")
    return int(ends[0]), int(ends[1])


def one_value_if_replaced(what: str, rows: int, neighbours: Neighbours) -> None:
    """Refuse several values of a unit that is replaced: its values could be more or fewer, and the number changes."""
    if rows > 1 and not isinstance(neighbours, AddRemove):
        raise TheoremDoesNotApply(
            f"{what} where one unit is replaced",
            needs="one value of each unit",
            given=f"up to {rows}",
            instead="neighbours that add or remove",
        )
