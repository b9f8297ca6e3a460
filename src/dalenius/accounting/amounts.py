"""Amounts: what a ledger adds up. Whole numbers of tiny units, so that a million charges sum up exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from dalenius.accounting.composition import parts
from dalenius.accounting.conversion import max_divergence, to_pure
from dalenius.errors import InvalidParameter
from dalenius.privacy.losses import ApproximateDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.numbers import whole

DIVERGENCE_UNIT = Fraction(1, 10**15)
DELTA_UNIT = Fraction(1, 10**20)
LARGEST = 2**63 - 1
UNBOUNDED = LARGEST
"""As an epsilon: none is known. Sums of epsilons stop here; every cap lies below."""
_MANY_UNITS = 10**6  # with fewer, rounding down would cost noise that can be seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A charge, a cap or what is left of one, as three 64-bit integers.

    `divergence` counts units of 10^-15 of the Rényi divergence of this `order`, and `epsilon` of that of order
    infinity, which is `UNBOUNDED` where a release is not pure; where `order` is None both are epsilon. `delta` counts
    units of 10^-20 of event probability. Amounts of different orders do not mix.
    """

    divergence: int
    delta: int = 0
    order: Fraction | None
    epsilon: int = UNBOUNDED

    def __post_init__(self) -> None:
        if self.order is None:
            object.__setattr__(self, "epsilon", self.divergence)
        for name in ("divergence", "delta", "epsilon"):
            units = whole(0, **{name: getattr(self, name)})
            if units > LARGEST:
                raise InvalidParameter(name, units, allowed="at most 2^63 - 1 units; no budget holds more")
            object.__setattr__(self, name, units)  # a Python integer: NumPy's would wrap around when added up

    @classmethod
    def covering(
        cls, *, divergence: Fraction, delta: Fraction, order: Fraction | None, epsilon: Fraction | None = None
    ) -> Charge:
        """The least amount that is not below these figures: what a release is charged. No `epsilon` is no bound."""
        pure = UNBOUNDED if epsilon is None else min(UNBOUNDED, ceil(epsilon / DIVERGENCE_UNIT))
        size, event = ceil(divergence / DIVERGENCE_UNIT), ceil(delta / DELTA_UNIT)
        if pure < UNBOUNDED:
            size = min(size, pure)  # no order's divergence is above that of order infinity, whatever was rounded
        return cls(divergence=size, delta=event, order=order, epsilon=pure)

    @classmethod
    def within(
        cls, *, divergence: Fraction, delta: Fraction, order: Fraction | None, epsilon: Fraction | None = None
    ) -> Charge:
        """The largest amount that is not above these figures: what a budget may hold."""
        pure = UNBOUNDED if epsilon is None else floor(epsilon / DIVERGENCE_UNIT)
        size, event = floor(divergence / DIVERGENCE_UNIT), floor(delta / DELTA_UNIT)
        return cls(divergence=size, delta=event, order=order, epsilon=pure)

    @property
    def loss(self) -> Loss:
        """What is known of whatever costs no more than this: bounds at the order that is counted and at infinity."""
        size, event = self.divergence * DIVERGENCE_UNIT, self.delta * DELTA_UNIT
        if self.order is not None:
            pure = None if self.epsilon == UNBOUNDED else self.epsilon * DIVERGENCE_UNIT
            return RenyiCurve(((self.order, size),), event, pure)
        return ApproximateDP(size, event) if event else PureDP(size)

    def admitted(self, cap: Charge) -> bool:
        """Whether a ledger of this cap may have charged so much in all: the events fit, and one of both sums.

        docs/accounting.md, Theorem 1, says why one of them is enough. A cap that bounds no epsilon has one sum.
        """
        self._same_order(cap)
        by_addition = self.epsilon <= cap.epsilon < UNBOUNDED
        return self.delta <= cap.delta and (self.divergence <= cap.divergence or by_addition)

    def share(self, cap: Charge) -> Fraction:
        """The part of a cap that is spent after such charges, above 1 where they were not admitted: of both sums of
        divergence the one that lasts longer counts, unless the events have taken more. It never falls as sums rise."""
        self._same_order(cap)
        share = _ratio(self.divergence, cap.divergence)
        if self.epsilon < UNBOUNDED and cap.epsilon < UNBOUNDED:
            share = min(share, _ratio(self.epsilon, cap.epsilon))
        return max(share, _ratio(self.delta, cap.delta))

    def __bool__(self) -> bool:
        return bool(self.divergence or self.delta)

    def __le__(self, other: Charge) -> bool:
        """Whether no figure is larger: what draws on an allowance must fit into each of them."""
        self._same_order(other)
        return self.divergence <= other.divergence and self.delta <= other.delta and self.epsilon <= other.epsilon

    def __add__(self, other: Charge) -> Charge:
        self._same_order(other)
        return Charge(
            divergence=self.divergence + other.divergence,
            delta=self.delta + other.delta,
            order=self.order,
            epsilon=min(UNBOUNDED, self.epsilon + other.epsilon),
        )

    def __sub__(self, other: Charge) -> Charge:
        self._same_order(other)
        return Charge(
            divergence=self.divergence - other.divergence,
            delta=self.delta - other.delta,
            order=self.order,
            epsilon=UNBOUNDED if self.epsilon == UNBOUNDED else self.epsilon - other.epsilon,
        )

    def less(self, spent: Charge) -> Charge:
        """What is left of each figure of a cap; nothing where more was spent than it holds."""
        self._same_order(spent)
        unbounded = self.epsilon == UNBOUNDED
        return Charge(
            divergence=max(0, self.divergence - spent.divergence),
            delta=max(0, self.delta - spent.delta),
            order=self.order,
            epsilon=UNBOUNDED if unbounded else max(0, self.epsilon - spent.epsilon),
        )

    def __mul__(self, count: int) -> Charge:
        times = whole(count=count)
        return Charge(
            divergence=self.divergence * times,
            delta=self.delta * times,
            order=self.order,
            epsilon=min(UNBOUNDED, self.epsilon * times),
        )

    def part(self, share: Fraction) -> Charge:
        """A share of this amount, rounded down."""
        return Charge(
            divergence=floor(self.divergence * share),
            delta=floor(self.delta * share),
            order=self.order,
            epsilon=UNBOUNDED if self.epsilon == UNBOUNDED else floor(self.epsilon * share),
        )

    def at_least(self, floor: Charge) -> Charge:
        """The same, with no less divergence and epsilon than a floor."""
        self._same_order(floor)
        sums = {name: max(getattr(self, name), getattr(floor, name)) for name in ("divergence", "epsilon")}
        return replace(self, **sums)

    @property
    def is_pure(self) -> bool:
        """Whether it bounds epsilon, so that only what is pure, outside of its events, can cost no more."""
        return self.epsilon < UNBOUNDED

    @property
    def rectangle(self) -> Charge:
        """The same without a bound on epsilon: what pays for noise that is not pure."""
        return self if self.order is None else replace(self, epsilon=UNBOUNDED)

    def _same_order(self, other: Charge) -> None:
        if self.order != other.order:
            raise InvalidParameter(
                "order", other.order, allowed=f"{self.order}, as all amounts of one budget", hint="Price it again."
            )

    def __str__(self) -> str:
        pure = "" if self.epsilon == UNBOUNDED else f"epsilon = {_decimal(self.epsilon, 15)}"
        size = "" if self.order is None else f"Rényi divergence {_decimal(self.divergence, 15)} of order {self.order}"
        event = f"delta = {_decimal(self.delta, 20)}" if self.delta else ""
        return ", ".join(filter(None, [pure, size, event]))


def _ratio(spent: int, cap: int) -> Fraction:
    """The part of a figure that is spent; where the cap has none, any is all of it."""
    return Fraction(spent, cap) if cap else Fraction(bool(spent))


def _decimal(units: int, places: int) -> str:
    """All digits, so that two amounts that differ never look alike."""
    return f"{Decimal(units).scaleb(-places).normalize():f}"


def price(loss: Loss, *, order: Fraction | None) -> Charge:
    """What a loss is charged in a ledger of this order: a pure function of public values.

    Every part of a composition is rounded up by itself, so that n uses cost exactly n times one use, charged together
    or one by one. Any positive loss costs at least one unit.
    """
    total = Charge(divergence=0, order=order, epsilon=0)
    for part, count in parts(loss):
        size, pure = _divergence(part, order), max_divergence(part)
        total += Charge.covering(divergence=size, delta=part.delta, order=order, epsilon=pure) * count
    return total


def _divergence(loss: Loss, order: Fraction | None) -> Fraction:
    if order is None:
        return to_pure(loss).epsilon
    try:
        return loss.renyi(order)
    except ArithmeticError:
        raise InvalidParameter("loss", loss, allowed="of a size that can be computed with") from None


def whole_units(epsilon: Fraction) -> Fraction:
    """Epsilon rounded down to whole units, for one of several parts: a ledger rounds each part up, and all must fit."""
    units = floor(epsilon / DIVERGENCE_UNIT)
    return units * DIVERGENCE_UNIT if units >= _MANY_UNITS else epsilon
