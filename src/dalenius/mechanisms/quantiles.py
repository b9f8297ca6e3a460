"""Quantiles on a public grid: the exponential mechanism on ranks, several at once by halving, and intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple, Self

from dalenius.accounting.composition import repeated
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.rank_grid import Aim, ValueCounts, Values
from dalenius.mechanisms.scores import union_shortfall
from dalenius.mechanisms.top_k import each_round
from dalenius.privacy.losses import BoundedRange, Loss
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, exact, inside_unit, positive, probability, whole
from dalenius.privacy.sensitivity import Sensitivity, SensitivityLike
from dalenius.randomness.entropy import Entropy

__all__ = ["PrivateQuantiles", "Quantile", "ValueCounts"]

_NAME = "private quantiles"
_PARTS = 64  # into how many parts a value is cut where data is divided at it

_OUTSIDE = Fraction(1, 20)  # how often the least or largest value may be looked for beyond the data


class Quantile(NamedTuple):
    """A quantile and, where they were asked for, the ends of an interval around it; all are codes of the grid."""

    value: int
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateQuantiles:
    """Quantiles of the values in each group, on the whole public grid lower, ..., upper.

    One choice: the exponential mechanism over all grid points. For the quantile p = a / b of N values a point costs
    max(0, a N - b (values up to it), b (values below it) - a N), and has weight exp(-rate cost / (2 max(a, b - a))).
    Several targets are found by halving: the middle one first, then those on its left among the values on its left, and
    likewise on the right, with targets rescaled. For 0 and 1, the least and the largest value, the aim is not the very
    end, where every point beyond the data would serve as well, but `margin` values inside.
    With `beta`, each target is found by itself and gets an interval: from the values before the estimate the one that
    is number `spread` from the top, and from those after it the one that is number `spread` from the bottom.
    Where values are divided at a point, equal ones are too: a point has `_PARTS` parts, equal values lie in them in a
    fixed order, and the choice is one among parts of points.

    Guarantee: if one unit has values in at most `groups` groups and at most `rows` in each, the answers cost groups *
    `levels` choices of bounded range rate * rows (rate * 2 rows where a unit is replaced); pure and Rényi alike.
    Proof: one value more changes a N - b (values up to a point) by a or a - b, and the other term likewise, so every
    cost changes by at most max(a, b - a), and the difference of two costs by at most twice that: the log-weights of one
    choice tilt by at most `rate` for every value that comes or goes. A level is all choices that are made among
    disjoint parts of one group's values. The values that a unit adds are spread over these, each in at most one, so
    their ranges add up to at most rate * rows, and the log-ratio of all choices of the level together lies in an
    interval of that length. Where two units meet in some groups, ranges of up to 2 rows in at most `groups` groups cost
    most, because the divergence of a bounded range grows faster than linearly with its length. How values are divided
    depends on the data only through what was chosen before.
    Intervals: let Q be the least point up to which p N values lie. Let e1 be the error in ranks that the first choice
    exceeds with probability at most beta / 2, and e2 that of a choice by absolute rank, and m the estimate. If Q < m,
    at least p N values lie up to Q and at most p N + e1 before the chosen part of m, so at most e1 of the latter are
    above Q; but at least spread - e2 > e1 of them are not below the lower end, unless that is the end of the grid; so
    the lower end is not above Q. If Q > m, fewer than p N values lie below Q and at least p N - e1 up to the chosen
    part, so fewer than e1 of those after it are below Q, and the upper end is not. If Q = m, nothing can go wrong.
    Given m, only one of the two ends can miss. So with probability at least 1 - beta the interval holds Q, whatever the
    data. For p = 0 Q is the least value, and e1 counts `margin` too.
    Reference: Smith 2011 (STOC), Algorithm 2, for the choice; Kaplan, Schnapp & Stemmer 2022 (arXiv:2110.05429) for
    halving, here with ties and with Rényi divergence.
    """

    targets: tuple[Fraction, ...]
    lower: int
    upper: int
    rate: Fraction
    neighbours: Neighbours
    rows: int = 1
    groups: int = 1
    beta: Fraction | None = None

    def __post_init__(self) -> None:
        targets = tuple(probability(target=target) for target in self.targets)
        if not targets or any(left >= right for left, right in pairwise(targets)):
            raise InvalidParameter("targets", self.targets, allowed="at least one, in rising order")
        object.__setattr__(self, "targets", targets)
        if _integer(lower=self.lower) > _integer(upper=self.upper):
            raise InvalidParameter("upper", self.upper, allowed=f"at least the lower end {self.lower}")
        object.__setattr__(self, "rate", positive(rate=self.rate))
        object.__setattr__(self, "rows", whole(1, rows=self.rows))
        object.__setattr__(self, "groups", whole(1, groups=self.groups))
        object.__setattr__(self, "beta", None if self.beta is None else inside_unit(beta=self.beta))
        stated(self.neighbours)

    @classmethod
    def calibrated(
        cls,
        *,
        targets: Sequence[Number],
        lower: int,
        upper: int,
        sensitivity: SensitivityLike,
        epsilon: Number,
        delta: Number = 0,
        groups: int = 1,
        beta: Number | None = None,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """The steepest weights for which all quantiles together are (epsilon, delta)-DP.

        The sensitivity is that of the counts of all values: its l1 bound is split evenly over `groups` groups.
        """
        relation = stated(neighbours)
        total = positive(sensitivity=Sensitivity.of(sensitivity).need("l1", mechanism=_NAME))
        rows = ceil(total / (relation.add_remove_steps * whole(1, groups=groups)))
        shares = tuple(probability(target=target) for target in targets)
        risk = None if beta is None else inside_unit(beta=beta)
        each = each_round(rounds=groups * _levels(len(shares), risk), epsilon=epsilon, delta=delta)
        rate = each / (rows * relation.add_remove_steps)
        return cls(
            targets=shares,
            lower=lower,
            upper=upper,
            rate=rate,
            neighbours=relation,
            rows=rows,
            groups=groups,
            beta=risk,
        )

    @property
    def levels(self) -> int:
        """How many choices among all values of a group are made, where choices among disjoint parts count as one."""
        return _levels(len(self.targets), self.beta)

    @property
    def margin(self) -> int:
        """How many values inside of the data the least and the largest value are looked for."""
        return ceil(union_shortfall(Fraction(self._points * self._parts), rate=self.rate / 2, beta=_OUTSIDE))

    def loss(self, *, sensitivity: SensitivityLike) -> Loss:
        reach = self.rows * self.neighbours.add_remove_steps
        total = Sensitivity.of(sensitivity).need("l1", mechanism=_NAME)
        if total > self.groups * reach:
            raise TheoremDoesNotApply(
                _NAME,
                needs=f"at most {self.groups * reach} values to change",
                given=f"up to {total}",
                instead="a mechanism that is calibrated for this sensitivity",
            )
        return repeated(BoundedRange(self.rate * reach), self.groups * self.levels)

    def release(self, groups: Sequence[ValueCounts], entropy: Entropy) -> tuple[tuple[Quantile, ...], ...]:
        """For each group, a quantile for each target; of no values at all, points from anywhere on the grid."""
        spreads = [self.spread(target) for target in self.targets] if self.beta is not None else []
        return tuple(self._of_group(group, spreads, entropy) for group in groups)

    def rank_error(self, p: Number, beta: Number) -> Fraction:
        """With probability at least 1 - beta, the first choice for p is off by at most this many values.

        Off: that many fewer than p N values lie up to it, or that many more below it. For halving, the errors of all
        levels add up.
        """
        share = probability(p=p)
        unit = 1 if share in (0, 1) else share.denominator
        cost = union_shortfall(Fraction(self._points * self._parts), rate=self._rate(share), beta=beta)
        return cost / unit + (self.margin if share in (0, 1) else 0)

    def spread(self, p: Number) -> int:
        """How many values the ends of the interval around the quantile p are away from the estimate, about."""
        if self.beta is None:
            raise InvalidParameter("beta", None, allowed="given, for intervals")
        absolute = union_shortfall(Fraction(self._points), rate=self.rate / 2, beta=self.beta / 2)
        return floor(self.rank_error(p, self.beta / 2) + absolute) + 1

    @property
    def _parts(self) -> int:
        """How many parts a point has in the first choice; one, where nothing is divided at it."""
        return 1 if self.beta is None and len(self.targets) == 1 else _PARTS

    @property
    def _points(self) -> int:
        return self.upper - self.lower + 1

    def _rate(self, p: Fraction) -> Fraction:
        return self.rate / (2 * max(p.numerator, p.denominator - p.numerator))

    def _aim(self, p: Fraction, size: int) -> Aim:
        if p in (0, 1):
            return Aim(size - self.margin if p else self.margin, 1)
        return Aim(p.numerator * size, p.denominator)

    def _of_group(self, group: ValueCounts, spreads: list[int], entropy: Entropy) -> tuple[Quantile, ...]:
        values = Values.of(group, low=self.lower, high=self.upper)
        if self.beta is None:
            return tuple(Quantile(point) for point in self._halved(values, self.targets, entropy))
        pairs = zip(self.targets, spreads, strict=True)
        return tuple(self._bracketed(values, target, spread, entropy) for target, spread in pairs)

    def _halved(self, values: Values, targets: tuple[Fraction, ...], entropy: Entropy) -> Iterator[int]:
        if len(targets) == 1:
            yield self._chosen(values, targets[0], entropy)
        if len(targets) < 2:
            return
        middle = len(targets) // 2
        p, fine = targets[middle], values.refined(_PARTS)
        place = self._chosen(fine, p, entropy)
        left, right = fine.up_to(place).coarse(_PARTS), fine.after(place).coarse(_PARTS)
        yield from self._halved(left, tuple(target / p for target in targets[:middle]), entropy)
        yield place // _PARTS
        yield from self._halved(right, tuple((target - p) / (1 - p) for target in targets[middle + 1 :]), entropy)

    def _bracketed(self, values: Values, target: Fraction, spread: int, entropy: Entropy) -> Quantile:
        fine = values.refined(_PARTS)
        place = self._chosen(fine, target, entropy)
        far = Aim(spread, 1, open_end=True)
        sides = fine.before(place).coarse(_PARTS).mirrored(), fine.after(place).coarse(_PARTS)
        low, high = (side.runs(far).pick(rate=self.rate / 2, entropy=entropy) for side in sides)
        return Quantile(place // _PARTS, -low, high)

    def _chosen(self, values: Values, p: Fraction, entropy: Entropy) -> int:
        return values.runs(self._aim(p, values.size)).pick(rate=self._rate(p), entropy=entropy)


def _levels(targets: int, beta: Fraction | None) -> int:
    return targets.bit_length() if beta is None else 2 * targets


def _integer(**parameter: Number) -> int:
    value = exact(**parameter)
    if value.denominator != 1:
        name = next(iter(parameter))
        raise InvalidParameter(name, parameter[name], allowed="a whole number")
    return int(value)
