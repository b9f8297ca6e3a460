"""Which mechanism a robust statistic gets at a given price, and what can be said of its error before data is read.

What several offers pay for together, rounded to the safe side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from dalenius.accounting.amounts import DELTA_UNIT, Charge
from dalenius.accounting.calibration import affordable
from dalenius.accounting.composition import repeated
from dalenius.errors import QueryRefused
from dalenius.measuring.expectations import ExpectedError, figure
from dalenius.measuring.measurements import Robust
from dalenius.mechanisms.robust.grouped import GroupedStatistic, RobustStatistic
from dalenius.mechanisms.robust.order_statistics import FINENESS, SmoothQuantile, SmoothTrimmedMean
from dalenius.mechanisms.robust.profiles import Ordered
from dalenius.mechanisms.robust.propose_test_release import ProposedQuantile
from dalenius.mechanisms.robust.scale import InterquartileScale
from dalenius.mechanisms.robust.smooth import SmoothCauchy, smooth_bound
from dalenius.mechanisms.robust.stable_answers import StableMode, StableQuantile
from dalenius.privacy.group import group_delta
from dalenius.privacy.losses import ApproximateDP, Loss, PureDP
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.query.types import Domain, Number, Ranged


def least_affordable(offers: Sequence[Charge], loss: Callable[[Fraction], Loss]) -> Fraction:
    """The largest parameter whose loss costs no more than any of the offers."""
    return min(affordable(offer, loss) for offer in offers)


def rounded_up(size: Fraction) -> Fraction:
    """A noise parameter with six digits, rounded up: never less noise, and a short number for the exact samplers."""
    context = Context(prec=6, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(size.numerator), Decimal(size.denominator)))


def rounded_down(size: Fraction) -> Fraction:
    """The rate of a choice with six digits, rounded down: never a sharper choice than was paid for."""
    context = Context(prec=6, rounding=ROUND_FLOOR)
    return Fraction(context.divide(Decimal(size.numerator), Decimal(size.denominator)))


STABLE = ("robust_scale", "stable_mode", "stable_quantile", "proposed_quantile")
"""Statistics that are released where they are stable: the test of that fails with a small probability."""
_MANY = 10_000  # evenly spread values from which on an error shrinks like 1 / n


def robust_mechanism(part: Robust, neighbours: Neighbours, offers: Sequence[Charge]) -> GroupedStatistic:
    """The statistic of each key, at the largest epsilon that every offer pays for."""
    assert part.groups is not None
    steps, groups = neighbours.add_remove_steps, part.groups
    found = least_affordable(offers, lambda size: repeated(PureDP(steps * size), groups))
    epsilon = rounded_down(found)
    shared: dict[str, Any] = {"neighbours": AddRemove(neighbours.protects), "rows": part.rows}
    if part.kind in STABLE:
        shared |= {"epsilon": epsilon, "delta": _event(part, offers, epsilon, steps)}
    return GroupedStatistic(statistic=_statistic(part, epsilon, shared), groups=groups, neighbours=neighbours)


def _statistic(part: Robust, epsilon: Fraction, shared: dict[str, Any]) -> RobustStatistic:
    if part.kind == "stable_mode":
        return StableMode(**shared)
    assert isinstance(part.domain, Ranged)
    shared |= {"lower": part.domain.lower, "upper": part.domain.upper}
    if part.kind == "robust_scale":
        return InterquartileScale(**shared)
    assert part.p is not None
    if part.kind == "stable_quantile":
        return StableQuantile(**shared, p=part.p)
    if part.kind == "proposed_quantile":
        assert isinstance(part.domain, Number)
        assert part.bound is not None
        width = part.domain.upper - part.domain.lower  # nobody moves a quantile further
        return ProposedQuantile(**shared, p=part.p, bound=max(1, min(floor(part.bound / part.domain.step), width)))
    noise = SmoothCauchy.calibrated(epsilon=epsilon)
    if part.kind == "trimmed_mean":
        return SmoothTrimmedMean(**shared, noise=noise, trim=part.p)
    return SmoothQuantile(**shared, noise=noise, p=part.p)


def _event(part: Robust, offers: Sequence[Charge], epsilon: Fraction, steps: int) -> Fraction:
    """The delta of one step in one group: all groups of a unit together cost what is offered, in whole units each."""
    assert part.groups is not None
    units = min(offer.delta for offer in offers) // part.groups
    if not units:
        raise QueryRefused(
            part.title,
            rule="whether it is stable is tested with a small probability of failure, and this price has no delta",
            instead="Ask for MODE, STDDEV or QUANTILE, or ask the owner for a budget with delta > 0, or offer a larger "
            "epsilon.",
        )
    tiny = Fraction(1, 10**30)  # how much delta grows from one step to all steps does not depend on its size
    growth = group_delta(ApproximateDP(epsilon, tiny), size=steps) / tiny
    return Fraction(floor(units * DELTA_UNIT / growth * 10**30), 10**30)


def robust_expectation(mechanism: GroupedStatistic, domain: Domain, level: Fraction) -> ExpectedError:
    """What is known of the error before data is read; where noise fits the values, for values spread evenly."""
    statistic, beta = mechanism.statistic, 1 - level
    if isinstance(statistic, StableMode):
        lead = statistic.lead(beta)
        return _said(f"exact where it leads by {lead:,} rows or more; where it does not, perhaps NULL", level)
    if isinstance(statistic, StableQuantile):
        enough = statistic.inner.enough(beta) * statistic.rows + 1
        return _said(f"exact where {enough:,} rows cannot change it; where they can, perhaps NULL", level)
    if isinstance(statistic, ProposedQuantile):
        assert isinstance(domain, Number)
        noise = min(statistic.inner.error(beta), statistic.upper - statistic.lower)
        steady = f"{statistic.inner.enough(beta):,} units more or fewer let no unit move it by more than proposed"
        return _said(f"± {figure(float(noise * domain.step))} where {steady}; where they do, perhaps NULL", level)
    if isinstance(statistic, InterquartileScale):
        # No more than ten doublings: two to the power of a large number is no float.
        factor, rows = 2 ** min(10.0, float(statistic.error(beta))), statistic.test.enough(beta) * statistic.rows + 1
        size = f"right to within a factor of {figure(factor)}" if factor < 1000 else "known to no useful factor"
        return _said(f"{size} where {rows:,} rows cannot halve or double it; where they can, perhaps NULL", level)
    if not isinstance(domain, Number):
        return _said("no figure", level)
    worth = float(domain.step * statistic.noise.spread(beta))

    def curve(size: int) -> float:
        few = min(size, _MANY)
        return min(worth * _bound(statistic, few) * few / size, float(domain.step * (domain.upper - domain.lower)))

    return ExpectedError(
        lambda: (
            f"depends on the values: about ± {figure(curve(10**6) * 10**6)} / n where they are spread evenly, for "
            "large n"
        ),
        level,
        curve=curve,
    )


def _bound(statistic: SmoothQuantile | SmoothTrimmedMean, size: int) -> float:
    """The smooth bound, in steps, for so many values that are spread evenly over the grid."""
    width, parts = statistic.upper - statistic.lower, FINENESS if isinstance(statistic, SmoothTrimmedMean) else 1
    even = np.array([statistic.lower + (2 * place + 1) * width // (2 * size) for place in range(size)], dtype=object)
    profile = statistic.profile(Ordered.of(even, lower=statistic.lower, upper=statistic.upper))
    return float(smooth_bound(profile, beta=statistic.noise.beta, most=width * parts)) / parts


def _said(text: str, level: Fraction) -> ExpectedError:
    return ExpectedError(text, level, fixed=float("nan"))
