"""Certified real arithmetic: every figure comes with a proved enclosure.

A `ball` is an Arb interval (from FLINT): whatever is computed from balls contains the true value, so a figure can be
rounded to the safe side by `upper` or `lower`. No float takes part. Formulas run inside `with precise():`; a lower
working precision could only widen an enclosure, never make it wrong.

Yes-or-no questions about real numbers, decided with certainty, and searches that ask them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import ceil

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


_FIRST_BITS, _MOST_BITS = 128, 1 << 16


def certainly_positive(formula: Callable[[], arb]) -> bool:
    """Whether a real number other than zero is positive; `formula` runs with more bits until that is certain."""
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        with precise(bits):
            value = formula()
            if value > 0:
                return True
            if value < 0:
                return False
        bits *= 2
    raise ArithmeticError(f"{_MOST_BITS} bits do not tell the sign of a figure")


def least(holds: Callable[[int], bool], *, guess: int = 0) -> int:
    """The least integer where `holds` is true, if it stays true from there on; searched outwards from `guess`."""
    low, high = _bracket(holds, guess)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _bracket(holds: Callable[[int], bool], guess: int) -> tuple[int, int]:
    step = 1
    if holds(guess):
        while holds(guess - step):
            guess, step = guess - step, 2 * step
        return guess - step, guess
    while not holds(guess + step):
        guess, step = guess + step, 2 * step
    return guess, guess + step


def least_multiple(holds: Callable[[Fraction], bool], *, near: Fraction) -> Fraction:
    """The least multiple of a step, a power of two at most 2^-20 of `near`, where `holds`; short to write down."""
    step = Fraction(2) ** (near.numerator.bit_length() - near.denominator.bit_length() - 21)
    return step * least(lambda steps: holds(steps * step), guess=ceil(near / step))
