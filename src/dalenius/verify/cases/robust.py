"""Robust statistics: noise that fits the data, and answers that come where they are stable, with their exact laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, permutations
from typing import Any

from dalenius.mechanisms.rank_grid import ValueCounts
from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.robust.order_statistics import SmoothEqualPairs, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.robust.propose_test_release import Proposed, ProposedQuantile, ProposeTestRelease
from dalenius.mechanisms.robust.scale import InterquartileScale
from dalenius.mechanisms.robust.smooth import SmoothCauchy, SmoothLaplace
from dalenius.mechanisms.robust.stability import DistanceToInstability, Stable
from dalenius.mechanisms.robust.stable_answers import StableMode, StableQuantile
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import Number, positive
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.verify.cases import robust_laws
from dalenius.verify.cases.case import ADD, REPLACE, Calibrated, Case, LawOf, Pairs, neighbouring
from dalenius.verify.cases.grid_laws import value_counts
from dalenius.verify.cases.keys import EVENT

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
        values, pairs = neighbouring(robust_laws.of_groups, relation, units, most=3, also=[units[:1] * 12])
        change, law = 2 * relation.add_remove_steps, robust_laws.grouped_law
        event = {"event": True, "targeted": False, "pure": False}
        yield Case("modes of groups", relation, change, modes_of_two_groups, values, pairs, law, tight=False, **event)
        yield Case("medians of groups", relation, change, medians_of_two_groups, values, pairs, law, tight=False)
    yield from _cases_of_many_rows()


def _smooth_cases(relation: Neighbours) -> Iterator[Case]:
    """The mean where the number of values is private is not among them: its outcomes are parts of a millionth."""
    change, event = relation.add_remove_steps, {"tight": False, "event": True, "targeted": False, "pure": False}
    values, pairs = neighbouring(robust_laws.in_order, relation, _FEW, most=4)
    grid, law = {"lower": 0, "upper": 4}, robust_laws.quantile_law
    for name, settings in {"robust median": {}, "robust quartile": {"p": Fraction(1, 4)}}.items():
        cauchy, laplace = (smooth(SmoothQuantile, noise, **grid, **settings) for noise in (SmoothCauchy, SmoothLaplace))
        yield Case(name, relation, change, cauchy, values, pairs, law, tight=False)
        yield Case(f"{name}, Laplace", relation, change, laplace, values, pairs, law, **event)
    if relation == REPLACE:
        mean, of_sum = smooth(SmoothTrimmedMean, SmoothCauchy, **grid), robust_laws.trimmed_law
        yield Case("robust trimmed mean", relation, change, mean, values, pairs, of_sum, tight=False)
    else:
        equal, of_pairs = smooth(SmoothEqualPairs, SmoothCauchy), robust_laws.pairs_law
        yield Case("equal pairs", relation, change, equal, values, pairs, of_pairs, tight=False, complete=False)


def _cases_of_many_rows() -> Iterator[Case]:
    """Units with up to `MANY` values, which only adding and removing knows."""
    event = {"tight": False, "event": True, "targeted": False, "pure": False}
    grid = {"lower": 0, "upper": 2 * MANY, "rows": MANY}
    spread = ((0,) * 5 * MANY, (0,) * 5 * MANY + (MANY,) * (MANY - 1) + (2 * MANY,) * 5 * MANY)
    pairs: Pairs = tuple(
        (rows, robust_laws.in_order((*rows, *unit))) for rows in spread for unit in ((0,) * MANY, (2 * MANY,) * MANY)
    )
    values = tuple(dict.fromkeys(chain.from_iterable(pairs)))
    law: LawOf = robust_laws.quantile_law
    median = smooth(SmoothQuantile, SmoothCauchy, **grid)
    yield Case("robust median of many rows", ADD, MANY, median, values, pairs, law, tight=False)
    proposed = tested(ProposedQuantile, **grid, bound=1)
    law = robust_laws.proposed_quantile_law
    yield Case("proposed median of many rows", ADD, MANY, proposed, values, pairs, law, **event)
    units = ((0,) * MANY, (1,) * MANY, (0,), (1,))
    values, pairs = neighbouring(_value_counts, ADD, units, also=[units[:1] * size for size in range(3, 9)])
    for name, calibrated in {
        "stable mode of many rows": tested(StableMode, rows=MANY),
        "stable median of many rows": tested(StableQuantile, lower=0, upper=1, rows=MANY),
    }.items():
        yield Case(name, ADD, MANY, calibrated, values, pairs, robust_laws.stable_law, **event)


def _value_counts(units: Iterable[robust_laws.Rows]) -> ValueCounts:
    return value_counts(chain.from_iterable(units))


def _tested_cases(relation: Neighbours) -> Iterator[Case]:
    change, event = relation.add_remove_steps, {"tight": False, "event": True, "targeted": False, "pure": False}
    stable = tuple(Stable(answer, distance) for answer in "ab" for distance in range(8))
    pairs = _pairs(stable, lambda one, other: one == other)
    test = tested(DistanceToInstability)
    yield Case("stable answer", relation, 1, test, stable, pairs, robust_laws.answer_law, **event)
    numbers = tuple(Proposed(value, distance) for value in range(4) for distance in (0, 1, 9, 10, 11))
    pairs = _pairs(numbers, lambda one, other: abs(one - other) <= 2)
    test = tested(ProposeTestRelease, bound=2)
    law: LawOf = robust_laws.proposed_law
    yield Case("proposed and tested", relation, 1, test, numbers, pairs, law, **event, complete=False)
    values, pairs = neighbouring(value_counts, relation, _SOME, most=8)
    for name, calibrated in {
        "stable mode": tested(StableMode),
        "stable mode of labels": tested(StableMode, labels=_SOME),
        "stable median": tested(StableQuantile, lower=0, upper=1),
    }.items():
        yield Case(name, relation, change, calibrated, values, pairs, robust_laws.stable_law, **event)
    values, pairs = neighbouring(robust_laws.in_order, relation, _FEW, most=4, also=[(1,) * 12])
    test, law = tested(ProposedQuantile, lower=0, upper=4, bound=1), robust_laws.proposed_quantile_law
    yield Case("proposed median", relation, change, test, values, pairs, law, **event)
    values, pairs = neighbouring(robust_laws.in_order, relation, _FEW, most=3, also=[(0,) * 30 + (4,) * 30])
    if relation == REPLACE:  # of two values or more
        values, pairs = tuple(filter(_several, values)), tuple(pair for pair in pairs if _several(pair[0]))
    test, law = tested(InterquartileScale, lower=0, upper=4), robust_laws.scale_law
    yield Case("robust scale", relation, change, test, values, pairs, law, **event, complete=False)


def _several(rows: robust_laws.Rows) -> bool:
    return len(rows) > 1


def _pairs(values: Sequence[tuple[Any, int]], alike: Callable[[Any, Any], bool]) -> Pairs:
    """Answers and distances that neighbours may have: distances one apart at most, and 0 where answers differ."""
    return tuple(
        (first, second)
        for first, second in permutations(values, 2)
        if (abs(first[1] - second[1]) <= 1 if alike(first[0], second[0]) else first[1] == second[1] == 0)
    )
