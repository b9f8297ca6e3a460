"""Cauchy-type noise: tails so heavy that a slightly larger scale never makes a value much likelier."""

from __future__ import annotations

from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dalenius.privacy.numbers import Number, positive
from dalenius.randomness.entropy import Entropy, chosen
from dalenius.randomness.exact import coin
from dalenius.randomness.integers import Size, collected


def cauchy_noise(numerator: int, denominator: int, entropy: Entropy) -> int:
    """One draw of the discrete Cauchy law with scale numerator/denominator.

    Let s be the scale and g the integer with g - 1 < s <= g. A distance k is proposed either uniformly below g or
    from P[k] = g / (k (k + 1)) for k >= g, in the proportion g to g + 1. It is kept with probability s^2 / (s^2 + k^2)
    in the first case and s^2 k (k + 1) / ((s^2 + k^2) g (g + 1)) in the second, which is at most 1 because s <= g and
    g k <= g^3 + g^2 + k^2. So each k >= 0 comes with a probability proportional to s^2 / (s^2 + k^2).
    """
    edge = -(-numerator // denominator)
    while True:
        index, far = entropy.below(2 * edge + 1), _far(edge, entropy)
        negative = entropy.bits(1)
        size = index if index < edge else far
        square = numerator**2
        chance, whole = square, square + (size * denominator) ** 2
        if index >= edge:
            chance, whole = chance * size * (size + 1), whole * edge * (edge + 1)
        if coin(chance, whole, entropy) and (size or not negative):
            return -size if negative else size


def _far(edge: int, entropy: Entropy) -> int:
    """An integer k >= edge with P[k] = edge / (k (k + 1)): the whole part of edge / U, for U uniform in (0, 1)."""
    bits = 64 + edge.bit_length()
    prefix = entropy.bits(bits)
    while True:
        # U lies between prefix and prefix + 1 in units of 2^-bits.
        least = (edge << bits) // (prefix + 1)
        if prefix and least == (edge << bits) // prefix:
            return least
        prefix, bits = prefix << 64 | entropy.word(), bits + 64


@overload
def discrete_cauchy(scale: Number, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def discrete_cauchy(scale: Number, size: Size, *, entropy: Entropy | None = None) -> NDArray[np.int64]: ...
def discrete_cauchy(scale: Number, size: Size | None = None, *, entropy: Entropy | None = None) -> int | NDArray[Any]:
    """An integer z with P[z] proportional to 1 / (1 + (z / scale)^2), once or in an array of `size` draws.

    Guarantee: if scale > 0 is rational, every z has exactly the stated probability. An array holds 64-bit integers, or
    Python integers if one of the draws needs more; for a large scale that does happen.
    Reference: Nissim, Raskhodnikova & Smith 2007, admissible noise for smooth sensitivity, here on the integers.
    Textbook: S2.4.
    """
    exact, source = positive(scale=scale), chosen(entropy)
    one = partial(cauchy_noise, exact.numerator, exact.denominator, source)
    return one() if size is None else collected(size, one)
