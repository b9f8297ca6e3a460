"""Quantiles on a grid and choices within groups, with their exact laws.

The exact laws, by scoring every point of a grid, of quantiles; and of choices within groups.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from flint import arb

from dalenius.mechanisms.selection import quantiles
from dalenius.mechanisms.selection.grouped_choice import GroupedChoice
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles, Quantile, ValueCounts
from dalenius.privacy.reals import ball, precise
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.verify.cases.case import ADD, REPLACE, Case, Law, neighbouring

Unit = tuple[Any, ...]


def value_counts(values: Iterable[int]) -> ValueCounts:
    """Values and how often each occurs; of equal values the same object, so that it can be looked up."""
    return _counted(frozenset(Counter(values).items()))


@cache
def _counted(counts: frozenset[tuple[int, int]]) -> ValueCounts:
    pairs = sorted(counts, reverse=True)
    return ValueCounts(np.array([v for v, _ in pairs], dtype=np.int64), np.array([n for _, n in pairs], dtype=np.int64))


def one_group(units: Iterable[Unit]) -> tuple[ValueCounts, ...]:
    return (value_counts(value for unit in units for value in unit),)


def unrolled(value: ValueCounts) -> tuple[int, ...]:
    return tuple(np.sort(np.repeat(value.values, value.counts)).tolist())


def quantile_law(
    mechanism: PrivateQuantiles, value: Sequence[ValueCounts], steepness: Fraction = Fraction(1, 2)
) -> Law:
    """Of one group, by scoring every point of the grid by itself; ends of intervals have `steepness` times the rate."""
    (group,) = value
    rows, grid = unrolled(group), (mechanism.lower, mechanism.upper)
    with precise():
        if mechanism.beta is None:
            law = _halves(mechanism, rows, mechanism.targets, *grid)
            return {(tuple(Quantile(point) for point in points),): chance for points, chance in law.items()}
        return _with_ends(mechanism, rows, steepness)


@cache
def _halves(m: PrivateQuantiles, rows: tuple[int, ...], targets: tuple[Fraction, ...], low: int, high: int) -> Law:
    if not targets:
        return {(): arb(1)}
    middle, law = len(targets) // 2, defaultdict[Any, arb](arb)
    middle = 0 if len(targets) == 2 and targets[1] == 1 else middle
    p, parts = targets[middle], quantiles._PARTS if len(targets) > 1 else 1
    places = list(product(range(low, high + 1), range(parts)))
    aim = m.margin if p == 0 else len(rows) - m.margin if p == 1 else p * len(rows)
    weights = [_weight(m, rows, Fraction(aim), p, point, part, parts) for point, part in places]
    total = sum(weights, arb(0))
    splits = defaultdict[Any, arb](arb)
    for (point, part), weight in zip(places, weights, strict=True):
        splits[point, sum(place <= (point, part) for place in _placed(rows, parts))] += weight / total
    before = tuple(target / p for target in targets[:middle])
    after = tuple((target - p) / (1 - p) for target in targets[middle + 1 :])
    for (point, kept), chance in splits.items():
        first, second = _halves(m, rows[:kept], before, low, point), _halves(m, rows[kept:], after, point, high)
        for (left, x), (right, y) in product(first.items(), second.items()):
            law[(*left, point, *right)] += chance * x * y
    return dict(law)


@cache
def _placed(rows: tuple[int, ...], parts: int) -> tuple[tuple[int, int], ...]:
    """Each row with its part: the j-th of equal rows lies where the binary digits of j are reversed."""
    bits = len(bin(parts)) - 3
    turned = {j: sum((j >> bit & 1) << (bits - 1 - bit) for bit in range(bits)) for j in range(parts)}
    return tuple(sorted((row, turned[j % parts]) for row, n in Counter(rows).items() for j in range(n)))


def _weight(
    m: PrivateQuantiles, rows: tuple[int, ...], aim: Fraction, p: Fraction, point: int, part: int, parts: int
) -> arb:
    places = _placed(rows, parts)
    low, high = sum(place < (point, part) for place in places), sum(place <= (point, part) for place in places)
    off = max(Fraction(0), aim - high, low - aim)  # in ranks
    return (-ball(m.rate * off / (2 * max(p, 1 - p)))).exp()


def _with_ends(m: PrivateQuantiles, rows: tuple[int, ...], steepness: Fraction) -> Law:
    """Estimates as without intervals, and two ends for each, chosen apart from them and from each other."""
    grid = range(m.lower, m.upper + 1)
    law: Law = {(): arb(1)}
    for target in m.targets:
        lows, highs = (_end(m, rows, target, side, grid, steepness) for side in (-1, 1))
        law = {
            (*ends, (low, high)): chance * x * y
            for (ends, chance), (low, x), (high, y) in product(law.items(), lows.items(), highs.items())
        }
    found = defaultdict[Any, arb](arb)
    halves = _halves(m, rows, m.targets, m.lower, m.upper)
    for (points, x), (ends, y) in product(halves.items(), law.items()):
        cases = zip(points, ends, strict=True)
        found[(tuple(Quantile(at, min(low, at), max(at, high)) for at, (low, high) in cases),)] += x * y
    return dict(found)


def _end(m: PrivateQuantiles, rows: tuple[int, ...], p: Fraction, side: int, grid: range, steepness: Fraction) -> Law:
    """The lower (side -1) or the upper end; the grid's end on that side is never too far in."""
    last = grid[0] if side < 0 else grid[-1]
    if p == (0 if side < 0 else 1):
        return {last: arb(1)}
    aim, weights = p * len(rows) + side * m.spread(p), {}
    for point in grid:
        short, over = aim - sum(row <= point for row in rows), sum(row < point for row in rows) - aim
        kept = [(over, short)[side < 0]] if point == last else [short, over]
        weights[point] = (-ball(steepness * m.rate * max(Fraction(0), *kept) / (2 * max(p, 1 - p)))).exp()
    total = sum(weights.values(), arb(0))
    return {point: weight / total for point, weight in weights.items()}


def votes(units: Iterable[Unit]) -> tuple[tuple[int, int], ...]:
    """Counts of two candidates in each of three groups; a unit is pairs (group, candidate)."""
    found = Counter(vote for unit in units for vote in unit)
    return tuple((found[group, 0], found[group, 1]) for group in range(3))


def votes_law(mechanism: GroupedChoice, value: Sequence[Sequence[int]]) -> Law:
    return mechanism.probabilities(value)


def of_grid(targets: tuple[Any, ...], upper: int = 3, **more: Any) -> Callable[..., PrivateQuantiles]:
    return lambda **parameters: PrivateQuantiles.calibrated(targets=targets, lower=0, upper=upper, **more, **parameters)


def grid_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        steps = relation.add_remove_steps
        values, pairs = neighbouring(one_group, relation, ((0,), (1, 1), (1, 3), (3,), (2, 3)))
        for name, calibrated in [
            ("median", of_grid(("1/2",))),
            ("first decile", of_grid(("1/10",))),
            ("least value", of_grid((0,))),
            ("three quartiles", of_grid(("1/4", "1/2", "3/4"))),
            ("least and largest value", of_grid((0, 1))),
            ("median with an interval", of_grid(("1/2",), beta="1/10")),
            ("least value and median with intervals", of_grid((0, "1/2"), beta="1/2")),
        ]:
            change = Sensitivity(l1=2 * steps)
            yield Case(name, relation, change, calibrated, values, pairs, quantile_law, tight=False)
        units = (((0, 0),), ((0, 1), (1, 1)), ((1, 0), (2, 1)), ((2, 1),))
        values, pairs = neighbouring(votes, relation, units)
        change = Sensitivity(linf=1, monotone=relation == ADD)
        yield Case("choices", relation, change, in_two_groups, values, pairs, votes_law, tight=False)


def in_two_groups(**parameters: Any) -> GroupedChoice:
    return GroupedChoice.calibrated(groups=2, **parameters)
