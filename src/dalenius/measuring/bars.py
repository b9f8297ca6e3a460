"""Bars of what is computed from several released values.

Method, by what the term is:
- a statistic by itself: its own bar;
- a linear combination of counts and sums: the quantile of the combined noise, exact if there is one measurement;
- a ratio of two such combinations, as SUM(x) / COUNT(*) or 100 * COUNT(x) / COUNT(*): the farther end of the interval
  of all ratios that agree with the noisy values (Fieller); none if the denominator is not clearly different from zero;
- ROUND, COALESCE and other functions that keep the order: the function of the ends of the interval;
- anything else: the least and largest value over the box of the bars of the statistics in it. This is cautious for
  sums, differences, products and ratios.

Terms over noisy counts and sums that are linear, or quotients of linear ones: their noise has a known law.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor, gcd, lcm
from typing import Any, Protocol, TypeAlias

import numpy as np

from dalenius.measuring.estimates import Estimates, NoisyNumbers
from dalenius.measuring.released import apply, number, pick, plain
from dalenius.measuring.spreads import Floats, agreeing, spread
from dalenius.query.questions import Compute, Given, Post, ValueOf


@dataclass(frozen=True)
class Linear:
    """A sum of weights times noisy integers, and a constant. A measurement used twice is one source of noise."""

    weights: Mapping[NoisyNumbers, Fraction]
    constant: Fraction

    def plus(self, other: Linear, factor: Fraction) -> Linear:
        """This and `factor` times another."""
        weights = dict(self.weights)
        for source, weight in other.weights.items():
            weights[source] = weights.get(source, Fraction(0)) + factor * weight
        kept = {source: weight for source, weight in weights.items() if weight}
        return Linear(kept, self.constant + factor * other.constant)

    def times(self, factor: Fraction) -> Linear:
        """A multiple."""
        return Linear({}, Fraction(0)).plus(self, factor)

    @property
    def unit(self) -> Fraction:
        """The grid of its noise: the largest number that all weights are multiples of."""
        sizes = [abs(weight) for weight in self.weights.values()] or [Fraction(1)]
        below = lcm(*(size.denominator for size in sizes))
        return Fraction(gcd(*(int(size * below) for size in sizes)), below)

    def at(self, rows: Sequence[int]) -> Floats:
        """Its noisy value in each of these groups."""
        total = np.full(len(rows), float(self.constant))
        for source, weight in self.weights.items():
            total = total + float(weight) * np.asarray(source.values[list(rows)], dtype=np.float64)
        return total


@dataclass(frozen=True)
class Quotient:
    """A quotient of two linear combinations; where it is linear, the bottom is 1."""

    top: Linear
    bottom: Linear

    @property
    def linear(self) -> bool:
        return not self.bottom.weights

    @property
    def number(self) -> Fraction | None:
        """Its value, if it has no noise in it."""
        return self.top.constant if self.linear and not self.top.weights else None

    def times(self, factor: Fraction) -> Quotient:
        """A multiple."""
        return Quotient(self.top.times(factor), self.bottom)


_ONE = Linear({}, Fraction(1))


def quotient(post: Post, estimates: Sequence[Estimates | None]) -> Quotient | None:
    """The term as a quotient of linear combinations of counts and sums, if it is one."""
    match post:
        case Given(value=value):
            number = isinstance(value, int | Decimal | Fraction) and not isinstance(value, bool)
            return Quotient(Linear({}, Fraction(value)), _ONE) if number else None
        case ValueOf(index=index):
            found = estimates[index]
            if found is None or found.noise is None:
                return None
            return Quotient(Linear({found.noise: found.unit}, Fraction(0)), _ONE)
        case Compute(function=name, arguments=arguments) if name in _COMBINED:
            parts = [quotient(argument, estimates) for argument in arguments]
            known = [part for part in parts if part is not None]
            return _COMBINED[name](*known) if len(known) == len(parts) else None
    return None


def _add(a: Quotient, b: Quotient) -> Quotient | None:
    if b.number is not None:
        return Quotient(a.top.plus(a.bottom, b.number), a.bottom)
    if a.number is not None:
        return _add(b, a)
    return Quotient(a.top.plus(b.top, Fraction(1)), a.bottom) if a.bottom == b.bottom else None


def _subtract(a: Quotient, b: Quotient) -> Quotient | None:
    return _add(a, b.times(Fraction(-1)))


def _multiply(a: Quotient, b: Quotient) -> Quotient | None:
    if a.number is not None:
        return b.times(a.number)
    return a.times(b.number) if b.number is not None else None


def _divide(a: Quotient, b: Quotient) -> Quotient | None:
    if b.number is not None:
        return a.times(1 / b.number) if b.number else None
    if not a.linear or (a.number is None and not b.linear):
        return None
    if a.number is not None:
        return Quotient(b.bottom.times(a.number), b.top)
    return Quotient(a.top, b.top)


_COMBINED: Mapping[str, Callable[..., Quotient | None]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negate": lambda a: a.times(Fraction(-1)),
}


Ends: TypeAlias = tuple[Any, Any] | None
"""The ends of an interval; None where nothing can be said."""

_MOST_STATISTICS = 4
_FARTHEST = 1e4  # a ratio whose interval reaches this many times its value says nothing
_MEASURED = (int, float, Fraction, Decimal, dt.date)
_RISING = {"round", "floor", "ceil", "to_int", "to_real", "coalesce", "clamp", "bin"}


class ReleasedValues(Protocol):
    """What was released of each group."""

    @property
    def estimates(self) -> Sequence[Estimates | None]: ...
    @property
    def level(self) -> Fraction: ...
    def term(self, post: Post) -> Callable[[int, Mapping[int, Any]], Any]: ...


def bars(post: Post, groups: ReleasedValues, rows: Sequence[int], values: Sequence[Any]) -> list[Any] | None:
    """The bar of each value of a term, None where none is known; no list at all where a term has no statistic."""
    if not statistics(post):
        return None
    if isinstance(post, ValueOf):
        found = groups.estimates[post.index]
        return [None] * len(rows) if found is None else pick(found.errors, rows)
    ratio = quotient(post, groups.estimates)
    if ratio is not None and ratio.linear:
        return _linear_bars(ratio.top, groups.level, values)
    return [_error(value, ends) for value, ends in zip(values, _intervals(post, groups, rows), strict=True)]


def statistics(post: Post) -> set[int]:
    """The statistics in a term."""
    if isinstance(post, ValueOf):
        return {post.index}
    return set().union(*map(statistics, post.arguments)) if isinstance(post, Compute) else set()


def _linear_bars(line: Linear, level: Fraction, values: Sequence[Any]) -> list[Any]:
    """One bar for all groups: exact for one measurement, else on the grid of the values."""
    unit = line.unit
    if len(line.weights) <= 1:
        steps = sum(source.law.quantile(1 - level) for source in line.weights)
    else:
        steps = floor(_reach(line, level) / float(unit))
    error = number(steps * unit, unit)
    return [None if value is None else float(error) if isinstance(value, float) else error for value in values]


def _reach(line: Linear, level: Fraction) -> float:
    laws = [source.law for source in line.weights]
    return float(spread(laws, [np.array([float(weight)]) for weight in line.weights.values()], level=level)[0])


def _intervals(post: Post, groups: ReleasedValues, rows: Sequence[int]) -> list[Ends]:
    ratio = quotient(post, groups.estimates)
    if ratio is not None:
        return _ratio_ends(ratio, groups.level, rows)
    if isinstance(post, ValueOf):
        return [_statistic_ends(groups, post.index, row) for row in rows]
    if isinstance(post, Compute) and post.function in _RISING and not any(map(statistics, post.arguments[1:])):
        inner = _intervals(post.arguments[0], groups, rows)
        others = [groups.term(argument) for argument in post.arguments[1:]]
        return [
            _mapped(post, [other(row, {}) for other in others], ends) for row, ends in zip(rows, inner, strict=True)
        ]
    return _box_ends(post, groups, rows)


def _ratio_ends(ratio: Quotient, level: Fraction, rows: Sequence[int]) -> list[Ends]:
    """All ratios c for which top - c bottom is within reach of its noise."""
    top, bottom = ratio.top.at(rows), ratio.bottom.at(rows)
    sources = list({**ratio.top.weights, **ratio.bottom.weights})
    weights = [(float(ratio.top.weights.get(each, 0)), float(ratio.bottom.weights.get(each, 0))) for each in sources]

    def reach(c: Floats) -> Floats:
        return spread([each.law for each in sources], [a - c * b for a, b in weights], level=level)

    sign = np.where(bottom < 0, -1.0, 1.0)
    size = np.where(bottom == 0, 1.0, np.abs(bottom))
    far = _FARTHEST * (1 + np.abs(top) / size + reach(0 * top) / size)
    if not len(rows):
        return []
    low, high = agreeing(top * sign, size, reach, lower=-far, upper=far)
    known = (bottom != 0) & (low > -far) & (high < far)
    return [(a, b) if good else None for good, a, b in zip(known, low.tolist(), high.tolist(), strict=True)]


def _statistic_ends(groups: ReleasedValues, index: int, row: int) -> Ends:
    found = groups.estimates[index]
    if found is None or found.values[row] is None or found.errors[row] is None:
        return None
    value, error = plain(found.values[row]), plain(found.errors[row])
    return (value - error, value + error) if not isinstance(value, dict) else None


def _mapped(post: Compute, others: Sequence[Any], ends: Ends) -> Ends:
    if ends is None:
        return None
    low, high = (apply(post.function, [end, *others]) for end in ends)
    return None if low is None or high is None else (low, high)


def _box_ends(post: Post, groups: ReleasedValues, rows: Sequence[int]) -> list[Ends]:
    """The least and largest value where each statistic is at its value or at an end of its bar."""
    used, term = sorted(statistics(post)), groups.term(post)
    released = {index: groups.term(ValueOf(index)) for index in used}

    def ends(row: int) -> Ends:
        found = [_statistic_ends(groups, index, row) for index in used]
        if len(used) > _MOST_STATISTICS or None in found:
            return None
        places = [(end[0], released[index](row, {}), end[1]) for index, end in zip(used, found, strict=True) if end]
        results = [term(row, dict(zip(used, corner, strict=True))) for corner in product(*places)]
        if any(not isinstance(result, _MEASURED) or isinstance(result, bool) for result in results):
            return None
        return min(results), max(results)

    return [ends(row) for row in rows]


def _error(value: Any, ends: Ends) -> Any:
    """The distance to the farther end, in the kind of number that the value is."""
    if ends is None or value is None or isinstance(value, str | bool):
        return None
    if isinstance(value, dt.date):
        return max(ends[1] - value, value - ends[0])
    if isinstance(value, float):
        distance = max(abs(float(end) - value) for end in ends)
        return float(f"{distance:.12g}")  # 1.3, not 1.3000000000000043
    distances = [abs(Fraction(end) - Fraction(value)) for end in ends]
    unit = Fraction(10) ** int(value.as_tuple().exponent) if isinstance(value, Decimal) else Fraction(1)
    return number(ceil(max(distances) / unit) * unit, unit)
