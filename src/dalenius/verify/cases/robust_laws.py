"""The exact laws of robust mechanisms: the answer that comes where a test passes, and noise that fits the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from flint import arb

from dalenius.mechanisms.rank_grid import ValueCounts
from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.robust.profiles import Ordered
from dalenius.mechanisms.robust.propose_test_release import Proposed, ProposedQuantile, ProposeTestRelease
from dalenius.mechanisms.robust.scale import SYSTEMS, InterquartileScale, Spread
from dalenius.mechanisms.robust.stability import DistanceToInstability, StabilityTest, Stable
from dalenius.mechanisms.robust.stable_answers import StableMode, StableQuantile
from dalenius.privacy.reals import ball, precise
from dalenius.verify.cases.case import Law
from dalenius.verify.cases.grid_laws import Unit, unrolled, value_counts

Share: TypeAlias = Callable[[int], arb]
"""The probability of each whole number, the same for z and -z."""
Rows: TypeAlias = tuple[int, ...]

NEAR = 12
"""How far from 0 noisy numbers are listed where they have no end: the same ones, whatever the value."""


# ---- values of small databases


def in_order(rows: Iterable[int]) -> Rows:
    return tuple(sorted(rows))


def of_groups(units: Iterable[Unit]) -> tuple[ValueCounts, ...]:
    """The values in each of two groups; a unit is pairs (group, value)."""
    entries = [entry for unit in units for entry in unit]
    return tuple(value_counts(value for group, value in entries if group == here) for here in range(2))


# ---- tests, and answers that come if they pass


def answer_law(mechanism: DistanceToInstability, value: Stable) -> Law:
    return _if_passed(mechanism.test, value.distance, {value.answer: arb(1)})


def stable_law(mechanism: StableMode | StableQuantile, value: ValueCounts) -> Law:
    if isinstance(mechanism, StableMode):
        return answer_law(mechanism.inner, mechanism.stable(Counter[Hashable](unrolled(value))))
    return answer_law(mechanism.inner, mechanism.stable(value))


def proposed_law(mechanism: ProposeTestRelease, value: Proposed) -> Law:
    with precise():
        noisy = {z: mechanism.noise.law.pmf(z - value.value) for z in range(-NEAR, NEAR + 1)}
        return _if_passed(mechanism.test, value.distance, noisy)


def proposed_quantile_law(mechanism: ProposedQuantile, value: Rows) -> Law:
    quantile, distance = mechanism.proposed(value)
    inner = mechanism.inner
    with precise():
        noisy = _on_grid(inner.noise.law.pmf, quantile, mechanism.lower, mechanism.upper)
        return _if_passed(inner.test, distance, noisy)


def scale_law(mechanism: InterquartileScale, value: Rows, *, reach: int = 2) -> Law:
    """Of the noisy logarithm, what is less than `reach` from 0 is listed."""
    ordered = Ordered.of(value, lower=mechanism.lower, upper=mechanism.upper)
    here = mechanism.statistic(ordered)
    with precise():
        failed = arb(1)
        for system in SYSTEMS:
            failed = failed * (1 - mechanism.test.chance(mechanism.steps_out_of_bin(ordered, system) - 1))
        if not here:
            return {None: failed, Spread(None): 1 - failed}
        logarithm, rate = ball(here).log() / ball(2).log(), ball(mechanism.epsilon / 3)
        steps = range(-64 * reach, 64 * reach + 1)
        below = [_laplace_below(rate * (ball(Fraction(step, 64)) - logarithm)) for step in steps]
        cells = {Spread(Fraction(at, 64)): high - low for at, (low, high) in zip(steps, pairwise(below), strict=False)}
        return {None: failed, **{spread: (1 - failed) * mass for spread, mass in cells.items()}}


def _if_passed(test: StabilityTest, distance: int, law: Law) -> Law:
    with precise():
        passed = test.chance(distance)
        found = {outcome: passed * mass for outcome, mass in law.items()}
        return found | {None: found.get(None, arb(0)) + 1 - passed}


def _laplace_below(z: arb) -> arb:
    return z.exp() / 2 if z < 0 else 1 - (-z).exp() / 2


# ---- noise of the size of a smooth bound


def quantile_law(mechanism: SmoothQuantile, value: Rows) -> Law:
    ordered = Ordered.of(value, lower=mechanism.lower, upper=mechanism.upper)
    share = partial(mechanism.noise.share, mechanism.bound(ordered))
    with precise():
        return _on_grid(share, mechanism.statistic(ordered), mechanism.lower, mechanism.upper)


def trimmed_law(mechanism: SmoothTrimmedMean, value: Rows) -> Law:
    """Where the number of values is public; where it is private, the outcomes are parts of a millionth."""
    ordered = Ordered.of(value, lower=mechanism.lower, upper=mechanism.upper)
    (total, kept), share = mechanism.total(ordered), partial(mechanism.noise.share, mechanism.bound(ordered))
    with precise():
        law = _on_grid(share, total, mechanism.lower * kept, mechanism.upper * kept)
    return {Fraction(outcome, kept): mass for outcome, mass in law.items()}


def pairs_law(mechanism: SmoothEqualPairs, value: Rows) -> Law:
    counts = Counter[Hashable](value)
    pairs, share = mechanism.statistic(counts), partial(mechanism.noise.share, mechanism.bound(counts))
    with precise():
        return {0: _beyond(share, pairs), **{z: share(z - pairs) for z in range(1, NEAR + 1)}}


def grouped_law(mechanism: GroupedStatistic, value: Sequence[ValueCounts]) -> Law:
    """Of modes or quantiles, group by group and independently."""
    statistic: Any = mechanism.statistic
    law: Law = {(): arb(1)}
    for group in value:
        rows = unrolled(group)
        each = stable_law(statistic, group) if isinstance(statistic, StableMode) else quantile_law(statistic, rows)
        with precise():
            law = {(*told, one): mass * part for told, mass in law.items() for one, part in each.items()}
    return law


def _on_grid(share: Share, at: int, lower: int, upper: int) -> Law:
    """A value with noise, moved to the nearest end where it leaves the grid."""
    inside = {z: share(z - at) for z in range(lower + 1, upper)}
    return {lower: _beyond(share, at - lower), **inside, upper: _beyond(share, upper - at)}


def _beyond(share: Share, steps: int) -> arb:
    """The probability of so much noise or more, up or down."""
    if steps <= 0:
        return 1 - _beyond(share, 1 - steps)
    return (1 - sum((share(z) for z in range(1 - steps, steps)), arb(0))) / 2
