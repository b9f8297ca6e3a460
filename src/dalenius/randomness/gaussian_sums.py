"""Certified sums of exp(-z^2 / 2v) over whole numbers z, in a time that does not grow with v.

All functions work at the current precision of Arb and enclose the true value whatever that precision is.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil, isqrt

from flint import arb, ctx, fmpq

from dalenius.privacy.reals import ball


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
