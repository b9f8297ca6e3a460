"""Discrete Gaussian noise.

Certified sums of exp(-z^2 / 2v) over whole numbers z, in a time that does not grow with v.

All functions work at the current precision of Arb and enclose the true value whatever that precision is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from math import ceil, isqrt
from typing import Any, overload

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dalenius.privacy.numbers import Number, positive
from dalenius.privacy.reals import ball
from dalenius.randomness.entropy import Entropy, chosen
from dalenius.randomness.exact import coin_exp
from dalenius.randomness.integers import Size, collected
from dalenius.randomness.laplace import laplace_noise
from dalenius.randomness.tables import Integers, LawCells, draws


def total(variance: Fraction) -> arb:
    """The sum over all integers, which normalises the discrete Gaussian."""
    if _narrow(variance):
        return _theta(1 / ball(2 * variance), power=0)
    return (2 * arb.pi() * ball(variance)).sqrt() * _theta(_dual(variance), power=0)


def second_moment(variance: Fraction) -> arb:
    """The sum of z^2 exp(-z^2 / 2v) over all integers, divided by `total`: the variance of the discrete Gaussian."""
    if _narrow(variance):
        rate = 1 / ball(2 * variance)
        return _theta(rate, power=2) / _theta(rate, power=0)
    rate = _dual(variance)
    return ball(variance) * (1 - 2 * rate * _theta(rate, power=2) / _theta(rate, power=0))


def tail(variance: Fraction, start: int) -> arb:
    """The sum over all integers z >= start."""
    if start < 0:
        return total(variance) - tail(variance, 1 - start)
    bits = ctx.prec
    # As many terms as it takes until they have shrunk by 2^-bits: start^2 + 2 ln(2) bits v is where that happens.
    terms = isqrt(start * start + ceil(Fraction(7, 5) * bits * variance)) + 1 - start
    return _direct(variance, start, terms) if terms <= 4 * bits else _euler_maclaurin(variance, start, bits // 8)


def _narrow(variance: Fraction) -> bool:
    return variance * 44 < 7  # v < 1 / 2 pi: here the sum itself converges faster than its Poisson dual


def _dual(variance: Fraction) -> arb:
    # Poisson summation: the sum of exp(-z^2 / 2v) is sqrt(2 pi v) times the sum of exp(-2 pi^2 v k^2).
    return 2 * arb.pi() ** 2 * ball(variance)


def _theta(rate: arb, *, power: int) -> arb:
    """The sum of k^power exp(-rate k^2) over all integers k, for rate > 3 and power 0 or 2."""
    last = isqrt(ctx.prec // 4) + 1
    near = sum((k**power * (-rate * k * k).exp() for k in range(1, last + 1)), arb(0))
    # Each later term is less than half of the one before, so all of them are less than twice the first.
    far = (last + 1) ** power * (-rate * (last + 1) ** 2).exp() * 2
    return (1 if power == 0 else 0) + 2 * (near + _up_to(far))


def _direct(variance: Fraction, start: int, terms: int) -> arb:
    term = (-ball(Fraction(start * start) / (2 * variance))).exp()
    ratio = (-ball(Fraction(2 * start + 1) / (2 * variance))).exp()
    shrink = (-ball(1 / variance)).exp()
    value = arb(0)
    for _ in range(terms):
        value, term, ratio = value + term, term * ratio, ratio * shrink
    return value + _up_to(term / (1 - ratio))


def _euler_maclaurin(variance: Fraction, start: int, orders: int) -> arb:
    """Integral, half of the first term, `orders` derivative terms, and a proved bound of what is left.

    The n-th derivative of f(x) = exp(-x^2 / 2v) is (-1)^n h_n f with Hermite polynomials h_n, h_{n+1} = (x h_n - n
    h_{n-1}) / v. With all coefficients made positive they become g_n >= |h_n| for x >= 0. The rest is at most
    |B_2m| / (2m)! times the integral G_2m of g_2m f from `start` on, and by parts G_{n+1} = g_n f + (2n / v) G_{n-1}.
    """
    first = (-ball(Fraction(start * start) / (2 * variance))).exp()
    spread = ball(2 * variance).sqrt()
    integral = spread * arb.pi().sqrt() / 2 * (start / spread).erfc()
    slope, rate = ball(start / variance), ball(1 / variance)
    h, h_next, g, g_next, rest, value = arb(1), slope, arb(1), slope, integral, arb(0)
    for n, weight in zip(range(1, 2 * orders, 2), _weights(orders), strict=True):
        value += weight * h_next
        rest = g_next * first + 2 * n * rate * rest
        for k in (n, n + 1):
            h, h_next = h_next, slope * h_next - k * rate * h
            g, g_next = g_next, slope * g_next + k * rate * g
    bound = abs(_weights(orders)[-1]) * rest
    return integral + first * (value + fmpq(1, 2)) + (_up_to(bound) - _up_to(bound))


@cache
def _weights(orders: int) -> tuple[fmpq, ...]:
    """B_2j / (2j)! for j = 1, ..., orders."""
    factorials = [fmpq(1)]
    for k in range(1, 2 * orders + 1):
        factorials.append(factorials[-1] * k)
    return tuple(fmpq.bernoulli(2 * j) / factorials[2 * j] for j in range(1, orders + 1))


def _up_to(bound: arb) -> arb:
    """The enclosure of everything from 0 to `bound`."""
    return arb(0).union(bound)


_WIDEST = 1 << 112  # a variance beyond this is drawn as Python integers: 64 bits could overflow


@dataclass(frozen=True)
class GaussianCells(LawCells):
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
