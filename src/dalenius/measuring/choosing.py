"""Which mechanism each measurement gets at a given price: the one with the smaller error, decided from public facts.

Mechanisms are compared at equal price, never at equal epsilon. What is charged is the price of their own losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, singledispatch
from typing import Any, TypeAlias, get_args, get_type_hints

from dalenius.accounting.amounts import DELTA_UNIT, DIVERGENCE_UNIT, Charge, price
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import Composition
from dalenius.accounting.conversion import max_divergence
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.measuring.measurements import (
    Counts,
    FoundKeys,
    Measurement,
    MeasurementPlan,
    Mode,
    Numbers,
    Quantiles,
    Robust,
    SplitSums,
    TopKeys,
)
from dalenius.measuring.robust import STABLE, least_affordable, robust_mechanism, rounded_down, rounded_up
from dalenius.mechanisms.door import Mechanism
from dalenius.mechanisms.keys.key_selection import GeometricKeySelection
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.mechanisms.keys.renyi_selection import RenyiKeySelection
from dalenius.mechanisms.keys.thresholding import CountedKeys, ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.selection.grouped_choice import GroupedChoice
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles
from dalenius.mechanisms.selection.scores import tilt
from dalenius.mechanisms.selection.top_k import TopK
from dalenius.privacy.losses import ZCDP, BoundedRange, LaplaceDP, Loss
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.sensitivity import Sensitivity

Amounts: TypeAlias = Mapping[str, Charge]
"""An amount for each population that a question is about."""

Orders: TypeAlias = Mapping[str, Fraction | None]
"""The Rényi order of each population's ledger; None for a pure one."""

_RARE = 10**9
"""A key that is shown from no reasonable number of units on."""

AdditiveNoise: TypeAlias = DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True)
class PricedMeasurement:
    """One measurement with its mechanism, the loss of using it once, and what that costs each population."""

    measurement: Measurement
    mechanism: Mechanism[Any, Any]
    loss: Loss
    charge: Amounts


def steps(
    program: MeasurementPlan, *, amounts: Amounts, orders: Orders, level: Fraction, weights: Sequence[Fraction]
) -> tuple[PricedMeasurement, ...]:
    """A mechanism for each measurement, together within the amounts; `weights` split the price, and `orders` are those
    in which populations are charged.

    Numbers that one unit moves equally far get equal noise for an equal part of the price: it is worked out once.
    """
    whole = sum(weights, Fraction(0))
    risky = [part for part in program.measurements if _has_event(part, program)]
    made, alike = list[PricedMeasurement](), dict[tuple[Sensitivity, Fraction], PricedMeasurement]()
    for part, weight in zip(program.measurements, weights, strict=True):
        known = alike.get((part.sensitivity, weight)) if isinstance(part, Numbers | Counts | SplitSums) else None
        if known is None:
            share, event = weight / whole, Fraction(part in risky, len(risky) or 1)
            offered = {name: _offer(amount, share, event) for name, amount in amounts.items()}
            known = _step(program, part, list(offered.values()), level, orders)
        if isinstance(part, Numbers | Counts | SplitSums):
            alike[part.sensitivity, weight] = known
        made.append(replace(known, measurement=part))
    return tuple(made)


def _has_event(part: Measurement, program: MeasurementPlan) -> bool:
    """Whether a measurement needs a delta: a choice of keys that are not public, or a test of what is stable."""
    if isinstance(part, FoundKeys | TopKeys):
        return program.question.public_keys is None
    return isinstance(part, Robust) and part.kind in STABLE


def _offer(amount: Charge, share: Fraction, event: Fraction) -> Charge:
    """A measurement's part of an amount; the delta is divided equally among those that need one."""
    part = amount.part(share)
    if not part.divergence:
        raise InvalidParameter("epsilon", "too small", allowed="large enough for one unit of 10^-15 a measurement")
    return replace(part, delta=int(amount.delta * event))


def _step(
    program: MeasurementPlan, part: Measurement, offers: list[Charge], level: Fraction, orders: Orders
) -> PricedMeasurement:
    step = _charged(part, mechanism_for(part, program, offers, level), orders)
    if not all(price(step.loss, order=offer.order) <= offer for offer in offers):
        raise InvalidParameter("price", "too small", allowed=f"enough for {part.title}", hint="Offer more.")
    return step


def _charged(part: Measurement, mechanism: Mechanism[Any, Any], orders: Orders) -> PricedMeasurement:
    loss = mechanism.loss(sensitivity=part.sensitivity)
    return PricedMeasurement(part, mechanism, loss, {name: price(loss, order=order) for name, order in orders.items()})


def by_own_law(step: PricedMeasurement, promise: Budget, orders: Orders) -> Iterator[PricedMeasurement]:
    """The same with the least Gaussian noise that its own law allows for a promise, which is less than a Rényi order
    knows of; for whatever is released alone.

    It is not rounded: somewhat more noise can be somewhat less private. Beside keys that are found, a part of delta
    goes to their event: as much as before, or half of it, which is for what takes the whole budget.
    """
    part, mechanism = step.measurement, step.mechanism
    if isinstance(part, FoundKeys) and isinstance(mechanism, ThresholdedCounts | CountedKeys):
        for event in {min(step.loss.delta, promise.delta / 2), promise.delta / 2}:
            noise = _least_gaussian(part, mechanism.neighbours, promise.epsilon, promise.delta - event)
            found = ThresholdedCounts.calibrated(noise=noise, delta=event, sensitivity=part.sensitivity)
            yield _charged(part, found, orders)
    elif isinstance(mechanism, DiscreteGaussian):
        yield _charged(part, _least_gaussian(part, mechanism.neighbours, promise.epsilon, promise.delta), orders)


def _least_gaussian(part: Measurement, neighbours: Neighbours, epsilon: Fraction, delta: Fraction) -> DiscreteGaussian:
    return DiscreteGaussian.calibrated(
        sensitivity=part.sensitivity, epsilon=epsilon, delta=delta, neighbours=neighbours
    )


@singledispatch
def mechanism_for(
    part: Measurement, program: MeasurementPlan, offers: list[Charge], level: Fraction
) -> Mechanism[Any, Any]:
    """The best mechanism for a measurement that costs no more than any of the offers."""
    raise TypeError(f"{type(part).__name__} is no measurement")


@mechanism_for.register(Numbers | Counts | SplitSums)
def _(
    part: Numbers | Counts | SplitSums, program: MeasurementPlan, offers: list[Charge], level: Fraction
) -> AdditiveNoise:
    return additive_noise(part.sensitivity, program.neighbours, offers, level)


def additive_noise(
    sensitivity: Sensitivity, neighbours: Neighbours, offers: Sequence[Charge], level: Fraction
) -> AdditiveNoise:
    """Laplace or Gaussian noise, whichever has the smaller error at this price and level."""
    by_laplace = laplace(sensitivity, neighbours, offers)
    if _must_be_pure(offers):
        return by_laplace
    by_gaussian = gaussian(sensitivity, neighbours, offers)
    return by_gaussian if by_gaussian.error(1 - level) <= by_laplace.error(1 - level) else by_laplace


def _must_be_pure(offers: Sequence[Charge]) -> bool:
    return any(offer.is_pure for offer in offers)


def laplace(sensitivity: Sensitivity, neighbours: Neighbours, offers: Sequence[Charge]) -> DiscreteLaplace:
    """The least Laplace noise that costs no more than any of the offers."""
    reach = int(sensitivity.need("l1", mechanism="the Laplace mechanism"))
    epsilon = least_affordable(offers, lambda size: LaplaceDP(size, reach))
    return DiscreteLaplace(rounded_up(reach / epsilon), neighbours)


def gaussian(sensitivity: Sensitivity, neighbours: Neighbours, offers: Sequence[Charge]) -> DiscreteGaussian:
    """The least Gaussian noise that costs no more than any of the offers."""
    reach = sensitivity.need("l2_squared", mechanism="the Gaussian mechanism")
    rho = least_affordable(offers, ZCDP)
    return DiscreteGaussian(rounded_up(reach / (2 * rho)), neighbours)


@mechanism_for.register
def _(part: TopKeys, program: MeasurementPlan, offers: list[Charge], level: Fraction) -> TopK | LimitedTopK:
    choices = [offer.part(Fraction(1, part.k)) for offer in offers]
    width = tilt(part.sensitivity, neighbours=program.neighbours, mechanism="top-k")
    rate = rounded_down(least_affordable(choices, BoundedRange) / width)
    if program.question.public_keys is not None:
        return TopK(k=part.k, rate=rate, neighbours=program.neighbours)
    return LimitedTopK(
        k=part.k,
        rate=rate,
        delta=_event(offers),
        neighbours=program.neighbours,
        each=Fraction(part.rows),
        reach=max(1000, part.k),
    )


@mechanism_for.register
def _(
    part: FoundKeys, program: MeasurementPlan, offers: list[Charge], level: Fraction
) -> RenyiKeySelection | GeometricKeySelection | ThresholdedCounts | CountedKeys:
    delta, neighbours = _event(offers), program.neighbours
    noise = additive_noise(part.sensitivity, neighbours, offers, level)
    at_once = ThresholdedCounts.calibrated(noise=noise, delta=delta, sensitivity=part.sensitivity)
    if not part.shown:
        chosen = _selected_keys(part, neighbours, offers)
        return chosen if (chosen.half_kept() or at_once.half_kept()) < at_once.half_kept() else at_once
    apart = _counted_keys(part, neighbours, offers, level)
    # Apart finds rarer keys and its counts have sqrt(2) times the noise: worth it where that is the smaller loss.
    return apart if 2 * (apart.half_kept() or at_once.half_kept()) ** 2 < at_once.half_kept() ** 2 else at_once


def _counted_keys(part: FoundKeys, neighbours: Neighbours, offers: Sequence[Charge], level: Fraction) -> CountedKeys:
    """Half of the divergence for the choice of keys, with all of the delta, and half for their counts."""
    half = [offer.part(Fraction(1, 2)) for offer in offers]
    finding = [replace(amount, delta=offer.delta) for amount, offer in zip(half, offers, strict=True)]
    counting = [replace(amount, delta=0) for amount in half]
    selection = _selected_keys(part, neighbours, finding)
    return CountedKeys(selection=selection, noise=additive_noise(part.sensitivity, neighbours, counting, level))


def _selected_keys(
    part: FoundKeys, neighbours: Neighbours, offers: Sequence[Charge]
) -> RenyiKeySelection | GeometricKeySelection:
    """The best choice of keys alone."""
    bounds: dict[str, Any] = {"sensitivity": part.sensitivity, "neighbours": neighbours}
    if not _must_be_pure(offers):
        return RenyiKeySelection.calibrated(amounts=offers, **bounds)
    epsilon = min(offer.epsilon for offer in offers) * DIVERGENCE_UNIT
    return GeometricKeySelection.calibrated(epsilon=epsilon, delta=_event(offers), **bounds)


@mechanism_for.register
def _(part: Quantiles, program: MeasurementPlan, offers: list[Charge], level: Fraction) -> PrivateQuantiles:
    assert part.groups is not None
    plain = PrivateQuantiles(
        targets=part.targets,
        lower=part.domain.lower,
        upper=part.domain.upper,
        rate=Fraction(1),
        neighbours=program.neighbours,
        rows=part.rows,
        groups=part.groups,
        beta=1 - level,
    )
    reach = part.rows * program.neighbours.add_remove_steps
    return replace(plain, rate=rounded_down(least_affordable(offers, partial(_choices, plain)) / reach))


def _choices(plain: PrivateQuantiles, size: Fraction) -> Composition:
    """The loss of quantiles whose estimates have ranges of this size, and the ends of whose intervals half of it."""
    uses = (BoundedRange(size), plain.levels), (BoundedRange(size / 2), plain.ends)
    return Composition(tuple((loss, plain.groups * count) for loss, count in uses))


@mechanism_for.register
def _(part: Mode, program: MeasurementPlan, offers: list[Charge], level: Fraction) -> GroupedChoice:
    assert part.groups is not None
    choices = [offer.part(Fraction(1, part.groups)) for offer in offers]
    width = tilt(part.sensitivity, neighbours=program.neighbours, mechanism="the mode")
    rate = rounded_down(least_affordable(choices, BoundedRange) / width)
    return GroupedChoice(groups=part.groups, rate=rate, neighbours=program.neighbours)


@mechanism_for.register
def _(part: Robust, program: MeasurementPlan, offers: list[Charge], level: Fraction) -> GroupedStatistic:
    return robust_mechanism(part, program.neighbours, offers)


def spread(step: PricedMeasurement, level: Fraction) -> float:
    """How far off what is measured may be, to compare two mechanisms for the same measurement."""
    part, mechanism = step.measurement, step.mechanism
    if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        return float(mechanism.error(1 - level))
    if isinstance(part, FoundKeys) and part.shown and isinstance(mechanism, ThresholdedCounts | CountedKeys):
        return float((mechanism.half_kept() or _RARE) * mechanism.error(1 - level))
    if isinstance(mechanism, RenyiKeySelection | GeometricKeySelection | ThresholdedCounts | CountedKeys):
        return float(mechanism.half_kept() or _RARE)
    if isinstance(mechanism, LimitedTopK):
        return float(mechanism.error(1 - level))
    sharpness = max_divergence(step.loss)
    assert sharpness  # all choices, quantiles and robust statistics are pure outside of their events
    return 1 / float(sharpness)


def choosable() -> frozenset[type]:
    """All kinds of mechanisms that can be chosen: those that the functions above say they return."""
    made = (get_type_hints(choose)["return"] for part, choose in mechanism_for.registry.items() if part is not object)
    kinds = {kind for stated in made for kind in get_args(stated) or (stated,)}
    statistics = get_args(get_type_hints(GroupedStatistic)["statistic"])
    return frozenset({*kinds, *statistics} - {GroupedStatistic})


def kind_of(mechanism: Mechanism[Any, Any]) -> type:
    """What a mechanism is counted as among those: a statistic in each group as that statistic."""
    return type(mechanism.statistic if isinstance(mechanism, GroupedStatistic) else mechanism)


def _event(offers: Sequence[Charge]) -> Fraction:
    """The probability that keys are found by; a pure budget has none."""
    units = min(offer.delta for offer in offers)
    if not units:
        raise QueryRefused(
            "GROUP BY",
            rule="keys that are not public are found with a small probability of failure, and this price has no delta",
            instead="List the keys (WHERE key IN ('a', 'b')), declare the column as Category, or ask the owner for a "
            "budget with delta > 0 or offer a larger epsilon.",
        )
    return units * DELTA_UNIT
