"""Robust statistics: noise that fits the data, and answers that come where they are stable, with their exact laws.

The exact laws of robust mechanisms: the answer that comes where a test passes, and noise that fits the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain, pairwise, permutations
from typing import Any, TypeAlias

from flint import arb

from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.robust.profiles import Ordered
from dalenius.mechanisms.robust.propose_test_release import Proposed, ProposedQuantile, ProposeTestRelease
from dalenius.mechanisms.robust.scale import SYSTEMS, InterquartileScale, Spread
from dalenius.mechanisms.robust.smooth import SmoothCauchy, SmoothLaplace
from dalenius.mechanisms.robust.stability import DistanceToInstability, StabilityTest, Stable
from dalenius.mechanisms.robust.stable_answers import StableMode, StableQuantile
from dalenius.mechanisms.selection.rank_grid import ValueCounts
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, positive
from dalenius.privacy.reals import ball, precise
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.verify.cases.case import ADD, REPLACE, Calibrated, Case, Law, LawOf, Pairs, neighbouring
from dalenius.verify.cases.grids import Unit, unrolled, value_counts
from dalenius.verify.cases.keys import EVENT

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


_FEW, _SOME = (0, 1, 4), (0, 1)
MANY = 20
"""The values of a unit in cases where it has many."""


def tested(kind: type, **settings: Any) -> Calibrated:
    """A mechanism that tests first, at an epsilon and the same delta."""

    def calibrated(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> Any:
        return kind(**settings, epsilon=epsilon, delta=EVENT, neighbours=neighbours)

    return calibrated


def smooth(kind: type, noise: Any, **settings: Any) -> Calibrated:
    """A statistic with smooth noise of one of the two kinds."""

    def calibrated(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> Any:
        more = {"delta": EVENT} if noise is SmoothLaplace else {}
        return kind(**settings, noise=noise.calibrated(epsilon=epsilon, **more), neighbours=neighbours)

    return calibrated


def medians_of_two_groups(
    *, sensitivity: SensitivityLike, epsilon: Number, neighbours: Neighbours | None
) -> GroupedStatistic:
    """One unit has values in both groups; where it is replaced, each is two steps away."""
    each = positive(epsilon=epsilon) / (4 if neighbours == REPLACE else 2)
    median = SmoothQuantile(lower=0, upper=3, noise=SmoothCauchy.calibrated(epsilon=each), neighbours=ADD)
    return GroupedStatistic(statistic=median, groups=2, neighbours=neighbours)  # type: ignore[arg-type]


def modes_of_two_groups(
    *, sensitivity: SensitivityLike, epsilon: Number, neighbours: Neighbours | None
) -> GroupedStatistic:
    each = positive(epsilon=epsilon) / (4 if neighbours == REPLACE else 2)
    mode = StableMode(epsilon=each, delta=EVENT / 4, neighbours=ADD)
    return GroupedStatistic(statistic=mode, groups=2, neighbours=neighbours)  # type: ignore[arg-type]


def robust_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        yield from _smooth_cases(relation)
        yield from _tested_cases(relation)
        units = (((0, 0), (1, 3)), ((0, 3), (1, 0)), ((0, 3),), ((1, 3),))
        values, pairs = neighbouring(of_groups, relation, units, most=3, also=[units[:1] * 12])
        change, law = 2 * relation.add_remove_steps, grouped_law
        event = {"event": True, "targeted": False, "pure": False}
        yield Case("modes of groups", relation, change, modes_of_two_groups, values, pairs, law, tight=False, **event)
        yield Case("medians of groups", relation, change, medians_of_two_groups, values, pairs, law, tight=False)
    yield from _cases_of_many_rows()


def _smooth_cases(relation: Neighbours) -> Iterator[Case]:
    """The mean where the number of values is private is not among them: its outcomes are parts of a millionth."""
    change, event = relation.add_remove_steps, {"tight": False, "event": True, "targeted": False, "pure": False}
    values, pairs = neighbouring(in_order, relation, _FEW, most=4)
    grid, law = {"lower": 0, "upper": 4}, quantile_law
    for name, settings in {"robust median": {}, "robust quartile": {"p": Fraction(1, 4)}}.items():
        cauchy, laplace = (smooth(SmoothQuantile, noise, **grid, **settings) for noise in (SmoothCauchy, SmoothLaplace))
        yield Case(name, relation, change, cauchy, values, pairs, law, tight=False)
        yield Case(f"{name}, Laplace", relation, change, laplace, values, pairs, law, **event)
    if relation == REPLACE:
        mean, of_sum = smooth(SmoothTrimmedMean, SmoothCauchy, **grid), trimmed_law
        yield Case("robust trimmed mean", relation, change, mean, values, pairs, of_sum, tight=False)
    else:
        equal, of_pairs = smooth(SmoothEqualPairs, SmoothCauchy), pairs_law
        yield Case("equal pairs", relation, change, equal, values, pairs, of_pairs, tight=False, complete=False)


def _cases_of_many_rows() -> Iterator[Case]:
    """Units with up to `MANY` values, which only adding and removing knows."""
    event = {"tight": False, "event": True, "targeted": False, "pure": False}
    grid = {"lower": 0, "upper": 2 * MANY, "rows": MANY}
    spread = ((0,) * 5 * MANY, (0,) * 5 * MANY + (MANY,) * (MANY - 1) + (2 * MANY,) * 5 * MANY)
    pairs: Pairs = tuple(
        (rows, in_order((*rows, *unit))) for rows in spread for unit in ((0,) * MANY, (2 * MANY,) * MANY)
    )
    values = tuple(dict.fromkeys(chain.from_iterable(pairs)))
    law: LawOf = quantile_law
    median = smooth(SmoothQuantile, SmoothCauchy, **grid)
    yield Case("robust median of many rows", ADD, MANY, median, values, pairs, law, tight=False)
    proposed = tested(ProposedQuantile, **grid, bound=1)
    law = proposed_quantile_law
    yield Case("proposed median of many rows", ADD, MANY, proposed, values, pairs, law, **event)
    units = ((0,) * MANY, (1,) * MANY, (0,), (1,))
    values, pairs = neighbouring(_value_counts, ADD, units, also=[units[:1] * size for size in range(3, 9)])
    for name, calibrated in {
        "stable mode of many rows": tested(StableMode, rows=MANY),
        "stable median of many rows": tested(StableQuantile, lower=0, upper=1, rows=MANY),
    }.items():
        yield Case(name, ADD, MANY, calibrated, values, pairs, stable_law, **event)


def _value_counts(units: Iterable[Rows]) -> ValueCounts:
    return value_counts(chain.from_iterable(units))


def _tested_cases(relation: Neighbours) -> Iterator[Case]:
    change, event = relation.add_remove_steps, {"tight": False, "event": True, "targeted": False, "pure": False}
    stable = tuple(Stable(answer, distance) for answer in "ab" for distance in range(8))
    pairs = _pairs(stable, lambda one, other: one == other)
    test = tested(DistanceToInstability)
    yield Case("stable answer", relation, 1, test, stable, pairs, answer_law, **event)
    numbers = tuple(Proposed(value, distance) for value in range(4) for distance in (0, 1, 9, 10, 11))
    pairs = _pairs(numbers, lambda one, other: abs(one - other) <= 2)
    test = tested(ProposeTestRelease, bound=2)
    law: LawOf = proposed_law
    yield Case("proposed and tested", relation, 1, test, numbers, pairs, law, **event, complete=False)
    values, pairs = neighbouring(value_counts, relation, _SOME, most=8)
    for name, calibrated in {
        "stable mode": tested(StableMode),
        "stable mode of labels": tested(StableMode, labels=_SOME),
        "stable median": tested(StableQuantile, lower=0, upper=1),
    }.items():
        yield Case(name, relation, change, calibrated, values, pairs, stable_law, **event)
    values, pairs = neighbouring(in_order, relation, _FEW, most=4, also=[(1,) * 12])
    test, law = tested(ProposedQuantile, lower=0, upper=4, bound=1), proposed_quantile_law
    yield Case("proposed median", relation, change, test, values, pairs, law, **event)
    values, pairs = neighbouring(in_order, relation, _FEW, most=3, also=[(0,) * 30 + (4,) * 30])
    if relation == REPLACE:  # of two values or more
        values, pairs = tuple(filter(_several, values)), tuple(pair for pair in pairs if _several(pair[0]))
    test, law = tested(InterquartileScale, lower=0, upper=4), scale_law
    yield Case("robust scale", relation, change, test, values, pairs, law, **event, complete=False)


def _several(rows: Rows) -> bool:
    return len(rows) > 1


def _pairs(values: Sequence[tuple[Any, int]], alike: Callable[[Any, Any], bool]) -> Pairs:
    """Answers and distances that neighbours may have: distances one apart at most, and 0 where answers differ."""
    return tuple(
        (first, second)
        for first, second in permutations(values, 2)
        if (abs(first[1] - second[1]) <= 1 if alike(first[0], second[0]) else first[1] == second[1] == 0)
    )
