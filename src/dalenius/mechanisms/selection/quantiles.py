"""Quantiles on a public grid: the exponential mechanism on ranks, several at once by halving, and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import NamedTuple, Self

from dalenius.accounting.composition import compose, repeated
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.mechanisms.selection.rank_grid import Aim, CountedValues, ValueCounts
from dalenius.mechanisms.selection.scores import union_shortfall
from dalenius.mechanisms.selection.top_k import each_round
from dalenius.privacy.losses import BoundedRange, Loss
from dalenius.privacy.neighbours import Neighbours, stated
from dalenius.privacy.numbers import Number, exact, inside_unit, positive, probability, whole
from dalenius.privacy.reals import ball, precise, upper
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
    With `beta`, each target gets an interval. Its ends are two more choices among all values, at half the rate, that
    aim at p N - spread and p N + spread; the end of the grid stands for all that lies beyond it, and costs nothing
    where the aim is out of reach. Ends on the wrong side of the estimate are moved to it. The least value has the end
    of the grid as lower end, the largest as upper end, without a choice.
    Where values are divided at a point, equal ones are too: a point has `_PARTS` parts, equal values lie in them in a
    fixed order, and the choice is one among parts of points.

    Guarantee: if one unit has values in at most `groups` groups and at most `rows` in each, the answers cost groups *
    `levels` choices of bounded range rate * rows (rate * 2 rows where a unit is replaced), and groups * `ends` of half
    that range; pure and Rényi alike.
    Proof: one value more changes a N - b (values up to a point) by a or a - b, and the other term likewise, so every
    cost changes by at most max(a, b - a), and the difference of two costs by at most twice that: the log-weights of one
    choice tilt by at most `rate` for every value that comes or goes. A level is all choices that are made among
    disjoint parts of one group's values. The values that a unit adds are spread over these, each in at most one, so
    their ranges add up to at most rate * rows, and the log-ratio of all choices of the level together lies in an
    interval of that length. Where two units meet in some groups, ranges of up to 2 rows in at most `groups` groups cost
    most, because the divergence of a bounded range grows faster than linearly with its length. How values are divided
    depends on the data only through what was chosen before.
    An end has a fixed number added to a N, which changes nothing; the cost of the grid's end is one of the two terms.
    Intervals: let Q be the least point up to which p N values lie, among G grid points, N > 0, and s the spread. A
    lower end x > Q is wrong, and costs at least b s: at least p N values lie below x. An upper end x < Q is wrong, and
    costs at least b s: fewer than p N values lie up to x. Some point costs nothing in both choices: the one at the
    rank that is aimed at, or the end of the grid, which is never wrong. So either choice is wrong with probability at
    most w = exp(-rate b s / (4 max(a, b - a))) for each point on its side of Q, and both together with at most
    (G - 1) w, which the spread makes at most beta. So with probability at least 1 - beta the interval holds Q,
    whatever the data, the ties and the estimate. For p = 0 Q is the least value. Data with all values at two points
    comes close to this bound, so no smaller spread will do for these choices.
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
        levels, ends = len(shares).bit_length(), _ends(shares, risk)
        purely = each_round(rounds=groups * (2 * levels + ends), epsilon=epsilon)  # of an end, half that of an estimate
        by_squares = each_round(rounds=groups * (4 * levels + ends), epsilon=epsilon, delta=delta)
        rate = 2 * max(purely, by_squares) / (rows * relation.add_remove_steps)
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
        return len(self.targets).bit_length()

    @property
    def ends(self) -> int:
        """How many ends of intervals are chosen besides, at half the rate."""
        return _ends(self.targets, self.beta)

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
        estimates = repeated(BoundedRange(self.rate * reach), self.groups * self.levels)
        if not self.ends:
            return estimates
        return compose([estimates, repeated(BoundedRange(self.rate * reach / 2), self.groups * self.ends)])

    def release(self, groups: Sequence[ValueCounts], entropy: Entropy) -> tuple[tuple[Quantile, ...], ...]:
        """For each group, a quantile for each target; of no values at all, points from anywhere on the grid."""
        spreads = [self.spread(target) for target in self.targets] if self.beta is not None else []
        return tuple(self._of_group(group, spreads, entropy) for group in groups)

    def choice(self, values: CountedValues, p: Fraction) -> Callable[[Entropy], int]:
        """Chooses a point for p, anew at every call."""
        runs, rate = values.runs(self._aim(p, values.size)), self._rate(p)
        return lambda entropy: runs.pick(rate=rate, entropy=entropy)

    def rank_error(self, p: Number, beta: Number) -> Fraction:
        """With probability at least 1 - beta, the first choice for p is off by at most this many values.

        Off: that many fewer than p N values lie up to it, or that many more below it. For halving, the errors of all
        levels add up. Holds for all data; see `typical_rank_error` for what to expect.
        """
        share = probability(p=p)
        unit = 1 if share in (0, 1) else share.denominator
        cost = union_shortfall(Fraction(self._points * self._parts), rate=self._rate(share), beta=beta)
        return cost / unit + (self.margin if share in (0, 1) else 0)

    def typical_rank_error(self, p: Number, beta: Number) -> Fraction:
        """The error in ranks that the estimate for the target p exceeds with probability about beta.

        Where values are spread evenly, a choice is off by k ranks with probability proportional to q^|k|, where -ln q
        is the rate over 2 max(p, 1 - p); by more than t with 2 q^(t + 1) / (1 + q), so by more than about
        ln(1 / beta) / -ln q with probability beta. For 0 and 1, which aim `margin` values inside, it is margin plus t,
        where q^(t + 1) / (1 + q) is beta. In halving the errors of the levels that lead to a target, as far as they
        reach it, are independent, and taken together by the root of their squares.
        """
        risk, squares = inside_unit(beta=beta), Fraction(0)
        for target, part in self._way(probability(p=p)):
            squares += (part * self._typical(target, risk)) ** 2 if part else 0
        with precise():
            return Fraction(ceil(upper(ball(squares).sqrt())))

    def spread(self, p: Number) -> int:
        """How many ranks from that of the quantile p the ends of its interval are looked for."""
        if self.beta is None:
            raise InvalidParameter("beta", None, allowed="given, for intervals")
        share = probability(p=p)
        cost = union_shortfall(Fraction(self._points - 1), rate=self._rate(share) / 2, beta=self.beta)
        return ceil(cost / share.denominator)

    @property
    def _parts(self) -> int:
        """How many parts a point has in the first choice; one, where nothing is divided at it."""
        return 1 if len(self.targets) == 1 else _PARTS

    @property
    def _points(self) -> int:
        return self.upper - self.lower + 1

    def _rate(self, p: Fraction) -> Fraction:
        return self.rate / (2 * max(p.numerator, p.denominator - p.numerator))

    def _aim(self, p: Fraction, size: int) -> Aim:
        if p in (0, 1):
            return Aim(size - self.margin if p else self.margin, 1)
        return Aim(p.numerator * size, p.denominator)

    def _way(self, p: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
        """The targets that are found on the way to one, and how much of their errors in ranks gets there."""
        if p not in self.targets:
            raise InvalidParameter("p", p, allowed="one of the targets")
        targets = self.targets
        while p != (middle := targets[_middle(targets)]):
            yield middle, p / middle if p < middle else (1 - p) / (1 - middle)
            targets = _left(targets) if p < middle else _right(targets)
            p = p / middle if p < middle else (p - middle) / (1 - middle)
        yield p, Fraction(1)

    def _typical(self, p: Fraction, beta: Fraction) -> Fraction:
        """What `typical_rank_error` says of one choice."""
        sides, aside = (1, self.margin) if p in (0, 1) else (2, 0)
        decay = self._rate(p) * p.denominator
        with precise():
            odds = sides / (ball(beta) * (1 + (-ball(decay)).exp()))
            return aside + max(Fraction(0), upper(odds.log() / ball(decay)) - 1)

    def _of_group(self, group: ValueCounts, spreads: list[int], entropy: Entropy) -> tuple[Quantile, ...]:
        values = CountedValues.of(group, low=self.lower, high=self.upper)
        found = tuple(self._halved(values, self.targets, entropy))
        if self.beta is None:
            return tuple(map(Quantile, found))
        cases = zip(found, self.targets, spreads, strict=True)
        return tuple(self._bracketed(values, *case, entropy) for case in cases)

    def _halved(self, values: CountedValues, targets: tuple[Fraction, ...], entropy: Entropy) -> Iterator[int]:
        if len(targets) == 1:
            yield self._chosen(values, targets[0], entropy)
        if len(targets) < 2:
            return
        p, fine = targets[_middle(targets)], values.refined(_PARTS)
        place = self._chosen(fine, p, entropy)
        left, right = fine.up_to(place).coarse(_PARTS), fine.after(place).coarse(_PARTS)
        yield from self._halved(left, _left(targets), entropy)
        yield place // _PARTS
        yield from self._halved(right, _right(targets), entropy)

    def _bracketed(self, values: CountedValues, found: int, p: Fraction, spread: int, entropy: Entropy) -> Quantile:
        low = -self._beyond(values.mirrored(), 1 - p, spread, entropy) if p > 0 else self.lower
        high = self._beyond(values, p, spread, entropy) if p < 1 else self.upper
        return Quantile(found, min(low, found), max(found, high))

    def _beyond(self, values: CountedValues, p: Fraction, spread: int, entropy: Entropy) -> int:
        aim = Aim(p.numerator * values.size + p.denominator * spread, p.denominator, open_end=True)
        return values.runs(aim).pick(rate=self._rate(p) / 2, entropy=entropy)

    def _chosen(self, values: CountedValues, p: Fraction, entropy: Entropy) -> int:
        return self.choice(values, p)(entropy)


def _ends(targets: tuple[Fraction, ...], beta: Fraction | None) -> int:
    return 0 if beta is None else sum((target > 0) + (target < 1) for target in targets)


def _middle(targets: tuple[Fraction, ...]) -> int:
    """Where to divide: at neither 0 nor 1 if there is another target, since their aims are not the very ends."""
    middle = len(targets) // 2
    return 0 if len(targets) == 2 and targets[1] == 1 else middle


def _left(targets: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The targets before the middle one, rescaled for the values before it."""
    middle = _middle(targets)
    return tuple(target / targets[middle] for target in targets[:middle])


def _right(targets: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The targets after the middle one, rescaled for the values after it."""
    middle = _middle(targets)
    return tuple((target - targets[middle]) / (1 - targets[middle]) for target in targets[middle + 1 :])


def _integer(**parameter: Number) -> int:
    value = exact(**parameter)
    if value.denominator != 1:
        name = next(iter(parameter))
        raise InvalidParameter(name, parameter[name], allowed="a whole number")
    return int(value)
