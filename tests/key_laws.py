"""Exact laws, by plain enumeration, of the mechanisms that choose keys and grid points, and bugs to be planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from flint import arb

from dalenius.mechanisms import quantiles
from dalenius.mechanisms.counted_keys import CountedKeys
from dalenius.mechanisms.grouped_choice import GroupedChoice
from dalenius.mechanisms.key_selection import GeometricKeySelection, Key, KeyCounts
from dalenius.mechanisms.limited_domain import LimitedTopK
from dalenius.mechanisms.quantiles import PrivateQuantiles, Quantile, ValueCounts
from dalenius.mechanisms.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.thresholding import ThresholdedCounts
from dalenius.privacy.reals import ball, precise

Law = dict[Any, arb]
Unit = tuple[Any, ...]


@cache
def _key_counts(counted: frozenset[tuple[str, int]]) -> KeyCounts:
    """One object for each value, so that it can be looked up."""
    names = sorted(counted, reverse=True)
    return KeyCounts([(name,) for name, _ in names], np.array([count for _, count in names], dtype=np.int64))


def key_counts(units: Iterable[Unit]) -> KeyCounts:
    """How many units have each key; a unit is the tuple of its keys."""
    return _key_counts(frozenset(Counter(key for unit in units for key in unit).items()))


def counted(value: KeyCounts) -> dict[Key, int]:
    return dict(zip(value.keys, value.counts.tolist(), strict=True))


def kept_law(mechanism: GeometricKeySelection | RenyiKeySelection, value: KeyCounts) -> Law:
    """Every set of keys, with one coin for each key."""
    chances = {key: mechanism.keep_probability(count) for key, count in sorted(counted(value).items())}
    law: Law = {}
    with precise():
        for coins in product((False, True), repeat=len(chances)):
            kept = tuple(key for key, coin in zip(chances, coins, strict=True) if coin)
            pairs = zip(chances.values(), coins, strict=True)
            law[kept] = prod((chance if coin else 1 - chance for chance, coin in pairs), start=arb(1))
    return law


def shown_law(mechanism: ThresholdedCounts, value: KeyCounts, reach: int = 12) -> Law:
    """Every set of keys with noisy counts, up to some above the threshold."""
    first, law = mechanism.threshold, {(): arb(1)}
    with precise():
        for key, count in sorted(counted(value).items()):
            noisy = {((key, z),): mechanism.noise.law.pmf(z - count) for z in range(first, first + reach)}
            noisy[()] = 1 - mechanism.noise.law.tail(first - count)  # type: ignore[index]
            law = {(*seen, *more): p * q for seen, p in law.items() for more, q in noisy.items()}  # type: ignore[misc]
    return law


def counted_law(mechanism: CountedKeys, value: KeyCounts, reach: int = 6) -> Law:
    """Every set of keys with noisy counts not far from theirs."""
    chances, law = counted(value), {(): arb(1)}
    with precise():
        for key, count in sorted(chances.items()):
            kept = mechanism.selection.keep_probability(count)
            near = range(-reach, reach + 1)
            noisy = {((key, z),): kept * mechanism.noise.law.pmf(z - count) for z in near}
            noisy[()] = 1 - kept  # type: ignore[index]
            law = {(*seen, *more): p * q for seen, p in law.items() for more, q in noisy.items()}  # type: ignore[misc]
    return law


def listed_law(mechanism: LimitedTopK, value: KeyCounts) -> Law:
    return mechanism.probabilities(value)


@cache
def _value_counts(counts: frozenset[tuple[int, int]]) -> ValueCounts:
    pairs = sorted(counts, reverse=True)
    return ValueCounts(np.array([v for v, _ in pairs], dtype=np.int64), np.array([n for _, n in pairs], dtype=np.int64))


def one_group(units: Iterable[Unit]) -> tuple[ValueCounts, ...]:
    return (_value_counts(frozenset(Counter(value for unit in units for value in unit).items())),)


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
    middle, law = len(targets) // 2, Counter[Any]()
    middle = 0 if len(targets) == 2 and targets[1] == 1 else middle
    p, parts = targets[middle], quantiles._PARTS if len(targets) > 1 else 1
    places = list(product(range(low, high + 1), range(parts)))
    aim = m.margin if p == 0 else len(rows) - m.margin if p == 1 else p * len(rows)
    weights = [_weight(m, rows, Fraction(aim), p, point, part, parts) for point, part in places]
    total = sum(weights, arb(0))
    splits: Counter[Any] = Counter()
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
    grid, law = range(m.lower, m.upper + 1), {(): arb(1)}
    for target in m.targets:
        lows, highs = (_end(m, rows, target, side, grid, steepness) for side in (-1, 1))
        law = {
            (*ends, (low, high)): chance * x * y
            for (ends, chance), (low, x), (high, y) in product(law.items(), lows.items(), highs.items())
        }
    found: Counter[Any] = Counter()
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
        kept = ((over, short)[side < 0],) if point == last else (short, over)
        weights[point] = (-ball(steepness * m.rate * max(0, *kept) / (2 * max(p, 1 - p)))).exp()
    total = sum(weights.values(), arb(0))
    return {point: weight / total for point, weight in weights.items()}


def votes(units: Iterable[Unit]) -> tuple[tuple[int, int], ...]:
    """Counts of two candidates in each of three groups; a unit is pairs (group, candidate)."""
    found = Counter(vote for unit in units for vote in unit)
    return tuple((found[group, 0], found[group, 1]) for group in range(3))


def votes_law(mechanism: GroupedChoice, value: Sequence[Sequence[int]]) -> Law:
    return mechanism.probabilities(value)


class ThresholdOneTooLow(ThresholdedCounts):
    """Shows counts that pass a threshold where it should be those above it."""

    @property
    def threshold(self) -> int:
        return super().threshold - 1


class WithoutHandicap(LimitedTopK):
    """An exponential mechanism over keys found in the data."""

    @property
    def handicap(self) -> int:
        return 1


def planted(kind: type, mechanism: Any) -> Any:
    """The mechanism with a bug: the same fields in a broken class."""
    fields: Callable[[str], Any] = mechanism.__getattribute__
    return kind(**{name: fields(name) for name in mechanism.__dataclass_fields__})
