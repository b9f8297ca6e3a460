"""Discrete Gaussian noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any, overload

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.privacy.numbers import Number, positive
from dalenius.privacy.reals import ball
from dalenius.randomness.arrays import Size, collected
from dalenius.randomness.entropy import Entropy, chosen
from dalenius.randomness.exact import coin_exp
from dalenius.randomness.laplace import laplace_noise
from dalenius.randomness.tables import Cells, Integers, draws

_WIDEST = 1 << 112  # a variance beyond this is drawn as Python integers: 64 bits could overflow


@dataclass(frozen=True)
class GaussianCells(Cells):
    """P[z] proportional to exp(-z^2 / (2 variance)).

    As in LaplaceCells, z >= 0 is (0, z) and z < 0 is (1, -z - 1). A cell that starts at distance a from zero has a
    weight proportional to exp(-a^2 / (2 variance)), and its integer at distance a + r is kept with probability
    exp(-r (2a + r) / (2 variance)).
    """

    variance: Fraction
    shift: int = field(init=False, compare=False)
    rate: Fraction = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", max(0, isqrt(int(self.variance) >> 14).bit_length() - 1))
        object.__setattr__(self, "rate", 1 / (2 * self.variance))

    def tails(self, bits: int) -> Iterator[arb]:
        weights, beyond = self._weights(bits)
        tails = []
        for weight in reversed(weights):
            tails.append(beyond)
            beyond = beyond + weight
        unit = ball(1 << bits) / beyond
        return (tail * unit for tail in reversed(tails))

    def _weights(self, bits: int) -> tuple[list[arb], arb]:
        """The weights of the cells down to 2^(-bits-16), and an enclosure of the sum of all others."""
        width, least = 1 << self.shift, ball(Fraction(1, 1 << (bits + 16)))
        weight, ratio, bend = ball(1), self._exp(width * width), self._exp(2 * width * width)
        other, other_bend = self._exp(1), self._exp(2 * width)
        weights: list[arb] = []
        while len(weights) < 4 or not weight < least:
            weights += (weight, weight * other)
            weight, ratio, other = weight * ratio, ratio * bend, other * other_bend
        # Later weights fall at least as fast as `ratio`, and the negative halves are no heavier than the others.
        return weights, 2 * weight / (1 - ratio) * arb(0.5, 0.5)

    def _exp(self, numerator: int) -> arb:
        return ball(-numerator * self.rate).exp()

    def value(self, cell: Any) -> Any:
        return (cell >> 1 << self.shift) ^ -(cell & 1)

    def exponent(self, value: Any, r: Any) -> Any:
        return r * (2 * abs(value) + r)

    def safe(self, values: Integers) -> NDArray[np.bool_]:
        width = 1 << self.shift
        farthest = (int(self.variance) // (16 * width) - width) // 2
        return np.abs(values) <= farthest if self.shift else super().safe(values)


def gaussian_noise(numerator: int, denominator: int, entropy: Entropy) -> int:
    """One draw of the discrete Gaussian law with variance numerator/denominator; every try costs the same."""
    scale = isqrt(numerator // denominator) + 1
    unit = denominator * scale
    full = 2 * numerator * unit * scale
    while True:
        noise = laplace_noise(scale, 1, entropy)
        if coin_exp((abs(noise) * unit - numerator) ** 2, full, entropy):
            return noise


@overload
def discrete_gaussian(variance: Number, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def discrete_gaussian(variance: Number, size: Size, *, entropy: Entropy | None = None) -> NDArray[np.int64]: ...
def discrete_gaussian(
    variance: Number, size: Size | None = None, *, entropy: Entropy | None = None
) -> int | NDArray[Any]:
    """An integer z with P[z] proportional to exp(-z^2 / (2 variance)), once or in an array of `size` draws.

    Guarantee: if variance > 0 is rational, every z has exactly the stated probability, and a single draw does the
    same work whatever z is. Arrays hold 64-bit integers; from a variance of 2^112 on they hold Python integers if a
    draw does not fit, and below it such a draw, less likely than 2^-10000, raises OverflowError.
    Reference: Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Algorithm 3.
    Textbook: S2.2, S2.4.
    """
    exact, source = positive(variance=variance), chosen(entropy)
    one = partial(gaussian_noise, exact.numerator, exact.denominator, source)
    if size is None:
        return one()
    return draws(GaussianCells(exact), one, size, source) if exact < _WIDEST else collected(size, one)
