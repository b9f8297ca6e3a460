"""What must hold for every kind of loss, whatever it describes."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise

import pytest

import dalenius
from dalenius.accounting.amounts import price
from dalenius.accounting.composition import Composition, ParallelLoss, compose, repeated
from dalenius.accounting.conversion import to_approximate, to_delta
from dalenius.errors import InvalidParameter
from dalenius.learn.linear.batches import SampledGaussian
from dalenius.learn.linear.objective import TiltedNormal
from dalenius.privacy.loss_distribution import LossDistribution, RandomizedBits
from dalenius.privacy.losses import ZCDP, ApproximateDP, BoundedRange, LaplaceDP, Loss, PureDP, RenyiCurve

ORDERS = tuple(Fraction(order) for order in ("1.01", "1.5", "2", "4", "16", "64"))
DELTAS = tuple(Fraction(delta) for delta in ("1e-9", "0.001", "0.3"))
SIZES = (Fraction(1, 10), Fraction(1, 2), Fraction(2))
"""From much noise to little."""
EVENT = Fraction(1, 10**10)


def curve(size: Fraction) -> RenyiCurve:
    return RenyiCurve(tuple((order, order * size / 8) for order in ORDERS), event=EVENT)


def distribution(size: Fraction) -> LossDistribution:
    """Yes, no, or with a small chance the truth itself."""
    kept = (1 + size) / (2 + size)
    told = {"yes": kept * (1 - EVENT), "no": (1 - kept) * (1 - EVENT), "truth": EVENT}
    other = {"yes": (1 - kept) * (1 - EVENT), "no": kept * (1 - EVENT), "other": EVENT}
    return LossDistribution.between(told, other)


def several(size: Fraction) -> Loss:
    return compose([PureDP(size), ZCDP(size), PureDP(size), *[ApproximateDP(size, EVENT)] * 3])


def beside(size: Fraction) -> ParallelLoss:
    return ParallelLoss((PureDP(size), ZCDP(size / 2), ApproximateDP(size / 3, EVENT)), touched=2)


KINDS: dict[type[Loss], Callable[[Fraction], Loss]] = {
    PureDP: PureDP,
    LaplaceDP: lambda size: LaplaceDP(size, steps=2),
    BoundedRange: BoundedRange,
    ApproximateDP: lambda size: ApproximateDP(size, EVENT),
    ZCDP: ZCDP,
    RenyiCurve: curve,
    LossDistribution: distribution,
    RandomizedBits: lambda size: RandomizedBits(size, 3),
    Composition: several,
    ParallelLoss: beside,
    SampledGaussian: lambda size: SampledGaussian(Fraction(1, 10), size),
    TiltedNormal: lambda size: TiltedNormal(size, 2, Fraction(1, 10), 1, Fraction(1, 1000)),
}
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
AT_ONE_ORDER = {SampledGaussian, TiltedNormal}
"""Losses that a ledger prices at its own order; to look for the best of all orders would take minutes."""
every_convertible_kind = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in AT_ONE_ORDER], ids=lambda kind: kind.__name__
)


def losses(kind: type[Loss]) -> list[Loss]:
    return [KINDS[kind](size) for size in SIZES]


@cache
def epsilon_at(loss: Loss, delta: Fraction) -> Fraction:
    return to_approximate(loss, delta=delta).epsilon


def kinds_below(kind: type[Loss]) -> Iterator[type[Loss]]:
    for below in kind.__subclasses__():
        yield below
        yield from kinds_below(below)


def test_no_kind_of_loss_is_left_out() -> None:
    for module in pkgutil.walk_packages(dalenius.__path__, "dalenius."):
        importlib.import_module(module.name)
    ours = {kind for kind in kinds_below(Loss) if kind.__module__.startswith("dalenius.")}
    # A dataclass with slots is a second class; the first one, which no module shows, is a subclass as well.
    shown = {kind for kind in ours if getattr(importlib.import_module(kind.__module__), kind.__name__) is kind}
    assert shown == set(KINDS)
    assert {kind.__name__ for kind in ours} == {kind.__name__ for kind in KINDS}
    assert all(type(loss) is kind for kind in KINDS for loss in losses(kind))


@every_kind
def test_the_divergence_is_positive_and_does_not_fall_with_the_order(kind: type[Loss]) -> None:
    for loss in losses(kind):
        figures = [loss.renyi(order) for order in ORDERS]
        assert figures == sorted(figures)
        assert figures[0] > 0


@every_kind
@pytest.mark.parametrize("alpha", [1, 0, -1, "0.999", float("nan"), float("inf")])
def test_orders_of_at_most_one_are_refused(kind: type[Loss], alpha: object) -> None:
    for loss in losses(kind):
        with pytest.raises(InvalidParameter, match="alpha"):
            loss.renyi(alpha)  # type: ignore[arg-type]


@every_kind
@pytest.mark.parametrize("count", [1, 2, 5])
def test_n_uses_are_n_compositions_and_cost_n_times_the_price(kind: type[Loss], count: int) -> None:
    for loss in losses(kind):
        one_by_one = loss
        for _ in range(count - 1):
            one_by_one = compose([one_by_one, loss])
        assert repeated(loss, count) == one_by_one == compose([loss] * count)
        for order in (Fraction(2), Fraction(16)):
            assert repeated(loss, count).renyi(order) == count * loss.renyi(order)
            assert price(repeated(loss, count), order=order) == price(loss, order=order) * count
            assert price(loss, order=order).divergence > 0
        assert repeated(loss, count).delta == count * loss.delta


@every_convertible_kind
def test_epsilon_falls_as_delta_grows_and_is_the_same_curve_as_delta(kind: type[Loss]) -> None:
    """Where `to_approximate` gives an epsilon for some delta, `to_delta` gives no more than that delta, up to the
    search for the best order."""
    for loss in losses(kind):
        epsilons = [epsilon_at(loss, delta) for delta in DELTAS]
        assert epsilons == sorted(epsilons, reverse=True)
        assert epsilons[0] > epsilons[-1] >= 0
        assert to_delta(loss, epsilon=epsilons[1]) <= DELTAS[1] * (1 + Fraction(1, 10**6))


@every_kind
def test_more_noise_is_never_dearer(kind: type[Loss]) -> None:
    for more, less in pairwise(losses(kind)):
        for order in ORDERS:
            assert price(more, order=order) <= price(less, order=order)
            assert more.renyi(order) < less.renyi(order)
        for delta in DELTAS if kind not in AT_ONE_ORDER else ():
            assert epsilon_at(more, delta) <= epsilon_at(less, delta)


@every_kind
def test_a_loss_is_a_frozen_value(kind: type[Loss]) -> None:
    for loss, again in zip(losses(kind), losses(kind), strict=True):
        assert loss == again
        assert hash(loss) == hash(again)
        name = dataclasses.fields(loss)[0].name  # type: ignore[arg-type]
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            setattr(loss, name, Fraction(0))
        assert loss == again
        assert str(loss)
    assert len(set(losses(kind))) == len(SIZES)


@every_kind
def test_a_loss_is_never_mistaken_for_one_of_another_kind(kind: type[Loss]) -> None:
    """Equal losses are counted together, so a kind with the same figures must not be equal."""
    others = [loss for other in KINDS if other is not kind for loss in losses(other)]
    assert all(loss != other for loss in losses(kind) for other in others)
