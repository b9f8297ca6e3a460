"""Continuous noise, rounded to whole numbers: drawn exactly, by revealing random bits until the rounding is certain.

Rounding what a mechanism gives is done without the data, so a guarantee that was proved for densities holds for the
rounded noise. It is needed where the scale depends on the data: there, discrete noise has no such theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from flint import arb

from dalenius.privacy.numbers import Number, positive
from dalenius.privacy.reals import ball, precise
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import whole_point
from dalenius.randomness.laplace import geometric_steps

Rising: TypeAlias = Callable[[arb], arb]
"""A rising function on (0, 1), such as the inverse of a distribution function, at the working precision."""

_HALF = Fraction(1, 2)


def rounded_laplace(scale: Number, entropy: Entropy) -> int:
    """The integer nearest to scale * Z, where Z has the density exp(-|z|) / 2; a half is rounded up.

    With E exponential, the whole part of 2 scale E is geometric, and that of -2 scale E is one less than its negative.
    """
    width = positive(scale=scale)
    halves = geometric_steps(2 * width.numerator, width.denominator, entropy)
    return ((halves ^ -entropy.bits(1)) + 1) // 2


def rounded_cauchy(scale: Number, entropy: Entropy) -> int:
    """The integer nearest to scale * Z, where Z has the density 1 / (pi (1 + z^2))."""
    width = positive(scale=scale)
    return floor_of(lambda u: ball(width) * (u - ball(_HALF)).tan_pi() + ball(_HALF), entropy)


def laplace_quantile(u: arb) -> arb:
    """The z up to which a share u of the density exp(-|z|) / 2 lies."""
    return (2 * u).log() if u < ball(_HALF) else -(2 * (1 - u)).log()


def floor_of(rising: Rising, entropy: Entropy) -> int:
    """The whole part of rising(U), for U uniform in (0, 1)."""
    prefix, bits = entropy.word(), 64
    while True:
        with precise(bits + 64):
            least, most = (rising(ball(Fraction(end, 1 << bits))) for end in (prefix, prefix + 1))
            if least.is_finite() and most.is_finite():
                low, high = whole_point(least.lower().floor()), whole_point(most.upper().floor())
                if low == high:
                    return low
        prefix, bits = prefix << 64 | entropy.word(), bits + 64


def laplace_share(scale: Fraction, z: int) -> arb:
    """The probability that `rounded_laplace` gives z."""
    ends = [ball((z + end) / scale) for end in (-_HALF, _HALF)]
    low, high = (_laplace_below(end) for end in ends)
    if z > 0:  # the difference of two figures near 1 would lose its digits
        low, high = (_laplace_below(-end) for end in reversed(ends))
    return high - low


def cauchy_share(scale: Fraction, z: int) -> arb:
    """The probability that `rounded_cauchy` gives z."""
    low, high = (ball((z + end) / scale) for end in (-_HALF, _HALF))
    return ((high - low) / (1 + low * high)).atan() / arb.pi() if z else 2 * high.atan() / arb.pi()


def _laplace_below(z: arb) -> arb:
    return z.exp() / 2 if z < 0 else 1 - (-z).exp() / 2
