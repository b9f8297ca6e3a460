"""Discrete Laplace noise, and the geometric law that it is made of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, overload

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.privacy.numbers import Number, positive
from dalenius.privacy.reals import ball
from dalenius.randomness.entropy import Entropy, chosen
from dalenius.randomness.exact import coin_exp, exp_minus
from dalenius.randomness.integers import Size, collected
from dalenius.randomness.tables import LawCells, draws, refined_cell

_WIDEST = 1 << 56  # a scale beyond this is drawn as Python integers: 64 bits could overflow


@dataclass(frozen=True)
class GeometricCells(LawCells):
    """P[k] proportional to exp(-k / scale) for k >= 0."""

    scale: Fraction
    shift: int = field(init=False, compare=False)
    rate: Fraction = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", max(0, int(self.scale / 32).bit_length() - 1))
        object.__setattr__(self, "rate", 1 / self.scale)

    def tails(self, bits: int) -> Iterator[arb]:
        ratio, left = self._ratio(1 << self.shift), ball(1 << bits)
        while True:
            left = left * ratio
            yield left

    def value(self, cell: Any) -> Any:
        return cell << self.shift

    def exponent(self, value: Any, r: Any) -> Any:
        return r

    def _ratio(self, steps: int) -> arb:
        return exp_minus(steps * self.scale.denominator, self.scale.numerator)


@dataclass(frozen=True)
class LaplaceCells(GeometricCells):
    """P[z] proportional to exp(-|z| / scale).

    z >= 0 is (0, z) and z < 0 is (1, -z - 1), so that zero has one name; in both halves the second number is geometric,
    and the first is 1 with probability e^(-1/scale) / (1 + e^(-1/scale)). Cells alternate between the halves.
    """

    def tails(self, bits: int) -> Iterator[arb]:
        ratio, negative, left = self._ratio(1 << self.shift), self._ratio(1), ball(1 << bits)
        between = (ratio + negative) / (1 + negative)
        while True:
            yield left * between
            left = left * ratio
            yield left

    def value(self, cell: Any) -> Any:
        return (cell >> 1 << self.shift) ^ -(cell & 1)


# 255 boundaries take eight comparisons wherever the search ends, and stay in the fastest cache.
_FINENESS = 8
_STEPS = GeometricCells(Fraction(_FINENESS))
_STEP_LEAST, _STEP_LAST = (bounds[:255] for bounds in _STEPS.boundaries(64))


def geometric_steps(numerator: int, denominator: int, entropy: Entropy) -> int:
    """One draw of the geometric law with ratio exp(-denominator/numerator); every try costs the same.

    With i geometric of ratio e^(-1/8) and U uniform below the numerator, kept with probability
    exp(-U / (8 numerator)), the integer i * numerator + U is geometric of ratio exp(-1 / (8 numerator)); dividing
    it by 8 denominator and rounding down leaves a geometric law, of the wanted ratio.
    """
    while True:
        word = entropy.word()
        step = bisect_right(_STEP_LEAST, word)
        if step == 255 or (step and word <= _STEP_LAST[step - 1]):
            step = refined_cell(word, 64, _STEPS, entropy)
        within = entropy.below(numerator)
        if coin_exp(within, _FINENESS * numerator, entropy):
            return (step * numerator + within) // (_FINENESS * denominator)


def laplace_noise(numerator: int, denominator: int, entropy: Entropy) -> int:
    """One draw of the discrete Laplace law with scale numerator/denominator."""
    while True:
        size = geometric_steps(numerator, denominator, entropy)
        negative = entropy.bits(1)
        if size or not negative:  # drop "-0", or zero comes twice too often
            return (size ^ -negative) + negative  # minus size if negative, by the same steps


@overload
def geometric(x: Number, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def geometric(x: Number, size: Size, *, entropy: Entropy | None = None) -> NDArray[np.int64]: ...
def geometric(x: Number, size: Size | None = None, *, entropy: Entropy | None = None) -> int | NDArray[Any]:
    """An integer k >= 0 with P[k] = (1 - exp(-x)) exp(-x k): exponential noise of rate x, on the integer grid.

    Guarantee: if x > 0 is rational, every k has exactly the stated probability.
    Reference: Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Algorithm 2, lines that draw a geometric number.
    Textbook: S2.4.
    """
    scale, source = 1 / positive(x=x), chosen(entropy)
    one = partial(geometric_steps, scale.numerator, scale.denominator, source)
    if size is None:
        return one()
    return draws(GeometricCells(scale), one, size, source) if scale < _WIDEST else collected(size, one)


@overload
def discrete_laplace(scale: Number, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: Size, *, entropy: Entropy | None = None) -> NDArray[np.int64]: ...
def discrete_laplace(scale: Number, size: Size | None = None, *, entropy: Entropy | None = None) -> int | NDArray[Any]:
    """An integer z with P[z] proportional to exp(-|z| / scale), once or in an array of `size` draws.

    Guarantee: if scale > 0 is rational, every z has exactly the stated probability, and a single draw does the same
    work whatever z is. Arrays hold 64-bit integers; from a scale of 2^56 on they hold Python integers if a draw
    does not fit, and below it such a draw, less likely than 2^-184, raises OverflowError.
    Reference: Ghosh, Roughgarden & Sundararajan 2009 (arXiv:0811.2841); Canonne, Kamath & Steinke 2020
    (arXiv:2004.00010), Algorithm 2.
    Textbook: S2.2, S2.4.
    """
    exact, source = positive(scale=scale), chosen(entropy)
    one = partial(laplace_noise, exact.numerator, exact.denominator, source)
    if size is None:
        return one()
    return draws(LaplaceCells(exact), one, size, source) if exact < _WIDEST else collected(size, one)
