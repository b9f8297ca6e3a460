"""Certified real arithmetic: every figure comes with a proved enclosure.

A `ball` is an Arb interval (from FLINT): whatever is computed from balls contains the true value, so a figure can be
rounded to the safe side by `upper` or `lower`. No float takes part. Formulas run inside `with precise():`; a lower
working precision could only widen an enclosure, never make it wrong.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

PRECISION = 256  # bits: far finer than the 10^-20 to which charges are rounded up

# FLINT keeps one working precision for all threads: unguarded, a price would depend on what other threads compute.
_one_thread = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_one_thread.acquire, after_in_parent=_one_thread.release, after_in_child=_one_thread.release
    )


@contextmanager
def precise(bits: int = PRECISION) -> Iterator[None]:
    """Run the enclosed formulas with `bits` bits, one thread at a time."""
    with _one_thread, ctx.workprec(bits):
        yield


def ball(value: Fraction | int) -> arb:
    """The real number `value` as an enclosure."""
    return arb(fmpq(value.numerator, value.denominator))


def upper(enclosure: arb) -> Fraction:
    """A rational number that is not below the enclosed real."""
    return _rational(enclosure.upper())


def lower(enclosure: arb) -> Fraction:
    """A rational number that is not above the enclosed real."""
    return _rational(enclosure.lower())


def _rational(point: arb) -> Fraction:
    if not point.is_finite():
        raise ArithmeticError("the enclosure is not finite")
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
