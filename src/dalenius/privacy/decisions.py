"""Yes-or-no questions about real numbers, decided with certainty, and searches that ask them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

from flint import arb

from dalenius.privacy.reals import precise

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
