"""Amounts: what a ledger adds up. Whole numbers of tiny units, so that a million charges sum up exactly."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from dalenius.accounting.composition import parts
from dalenius.accounting.conversion import to_pure
from dalenius.errors import InvalidParameter
from dalenius.privacy.losses import ApproximateDP, Loss, PureDP, RenyiCurve
from dalenius.privacy.numbers import whole

DIVERGENCE_UNIT = Fraction(1, 10**15)
DELTA_UNIT = Fraction(1, 10**20)
LARGEST = 2**63 - 1
_MANY_UNITS = 10**6  # with fewer, rounding down would cost noise that can be seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A charge, a cap or what is left of one, as two 64-bit integers.

    `divergence` counts units of 10^-15, of epsilon where `order` is None and of the Rényi divergence of that order
    otherwise; `delta` counts units of 10^-20 of event probability. Amounts of different orders do not mix.
    """

    divergence: int
    delta: int = 0
    order: Fraction | None

    def __post_init__(self) -> None:
        for name in ("divergence", "delta"):
            units = whole(0, **{name: getattr(self, name)})
            if units > LARGEST:
                raise InvalidParameter(name, units, allowed="at most 2^63 - 1 units; no budget holds more")
            object.__setattr__(self, name, units)  # a Python integer: NumPy's would wrap around when added up

    @classmethod
    def covering(cls, *, divergence: Fraction, delta: Fraction, order: Fraction | None) -> Charge:
        """The least amount that is not below these figures: what a release is charged."""
        return cls(divergence=ceil(divergence / DIVERGENCE_UNIT), delta=ceil(delta / DELTA_UNIT), order=order)

    @classmethod
    def within(cls, *, divergence: Fraction, delta: Fraction, order: Fraction | None) -> Charge:
        """The largest amount that is not above these figures: what a budget may hold."""
        return cls(divergence=floor(divergence / DIVERGENCE_UNIT), delta=floor(delta / DELTA_UNIT), order=order)

    @property
    def loss(self) -> Loss:
        """What is known of whatever costs no more than this: a bound at the one order that is counted."""
        size, event = self.divergence * DIVERGENCE_UNIT, self.delta * DELTA_UNIT
        if self.order is not None:
            return RenyiCurve(((self.order, size),), event)
        return ApproximateDP(size, event) if event else PureDP(size)

    def __bool__(self) -> bool:
        return bool(self.divergence or self.delta)

    def __le__(self, other: Charge) -> bool:
        self._same_order(other)
        return self.divergence <= other.divergence and self.delta <= other.delta

    def __add__(self, other: Charge) -> Charge:
        self._same_order(other)
        return Charge(divergence=self.divergence + other.divergence, delta=self.delta + other.delta, order=self.order)

    def __sub__(self, other: Charge) -> Charge:
        self._same_order(other)
        return Charge(divergence=self.divergence - other.divergence, delta=self.delta - other.delta, order=self.order)

    def __mul__(self, count: int) -> Charge:
        times = whole(count=count)
        return Charge(divergence=self.divergence * times, delta=self.delta * times, order=self.order)

    def part(self, share: Fraction) -> Charge:
        """A share of this amount, rounded down."""
        return Charge(divergence=floor(self.divergence * share), delta=floor(self.delta * share), order=self.order)

    def _same_order(self, other: Charge) -> None:
        if self.order != other.order:
            raise InvalidParameter(
                "order", other.order, allowed=f"{self.order}, as all amounts of one budget", hint="Price it again."
            )

    def __str__(self) -> str:
        size = _decimal(self.divergence, 15)
        words = f"epsilon = {size}" if self.order is None else f"Rényi divergence {size} of order {self.order}"
        return f"{words}, delta = {_decimal(self.delta, 20)}" if self.delta else words


def _decimal(units: int, places: int) -> str:
    """All digits, so that two amounts that differ never look alike."""
    return f"{Decimal(units).scaleb(-places).normalize():f}"


def price(loss: Loss, *, order: Fraction | None) -> Charge:
    """What a loss is charged in a ledger of this order: a pure function of public values.

    Every part of a composition is rounded up by itself, so that n uses cost exactly n times one use, charged together
    or one by one. Any positive loss costs at least one unit.
    """
    total = Charge(divergence=0, order=order)
    for part, count in parts(loss):
        total += Charge.covering(divergence=_divergence(part, order), delta=part.delta, order=order) * count
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
