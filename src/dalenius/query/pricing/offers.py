"""What several offers pay for together, rounded to the safe side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dalenius.accounting.amounts import Amount
from dalenius.accounting.calibration import affordable
from dalenius.privacy.losses import Loss


def least_affordable(offers: Sequence[Amount], loss: Callable[[Fraction], Loss]) -> Fraction:
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
