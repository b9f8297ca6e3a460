"""Random vectors with a density, rounded down to whole numbers: drawn exactly.

Uniform real numbers are known by their leading bits. What is made of them is enclosed, and more bits are drawn until
all enclosures agree on the whole part, so each vector of whole numbers comes with exactly the probability that the
density gives to its cell.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.privacy.numbers import positive, whole
from dalenius.privacy.reals import ball, precise
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.exact import whole_point

Wide: TypeAlias = NDArray[Any]
"""An array of Python's whole numbers: no number is too large for it, so no draw is ever left out."""

_FIRST_BITS, _MORE_BITS = 128, 64


def normal_vector(variance: Fraction, size: int, entropy: Entropy) -> Wide:
    """The whole parts of `size` independent normal numbers with this variance.

    Reference: Box & Muller 1958.
    """
    count = whole(1, size=size)
    spread = positive(variance=variance)
    pairs = (count + 1) // 2
    return _whole_parts(
        2 * pairs, lambda uniform: [ball(spread).sqrt() * each for each in _normal(uniform)][:count], entropy
    )


def spherical_vector(scale: Fraction, size: int, entropy: Entropy) -> Wide:
    """The whole parts of a vector z of `size` numbers with a density proportional to exp(-|z| / scale), where |z| is
    the Euclidean norm.

    In polar coordinates the norm has a density proportional to r^(size - 1) exp(-r / scale), a sum of exponential
    numbers, and is independent of the direction, that of a normal vector.
    Reference: Chaudhuri, Monteleoni & Sarwate 2011 (arXiv:0912.0071), section 3.
    """
    count = whole(1, size=size)
    wide = positive(scale=scale)
    pairs = (count + 1) // 2

    def point(uniform: list[arb]) -> list[arb]:
        direction = _normal(uniform[: 2 * pairs])[:count]
        length = -sum((each.log() for each in uniform[2 * pairs :]), arb(0)) * ball(wide)
        stretch = length / sum((each * each for each in direction), arb(0)).sqrt()
        return [each * stretch for each in direction]

    return _whole_parts(2 * pairs + count, point, entropy)


def _normal(uniform: list[arb]) -> list[arb]:
    """As many independent standard normal numbers as there are uniform ones, an even number."""
    numbers: list[arb] = []
    for first, second in zip(uniform[::2], uniform[1::2], strict=True):
        length = (-2 * first.log()).sqrt()
        numbers += [length * (2 * second).cos_pi(), length * (2 * second).sin_pi()]
    return numbers


def _whole_parts(count: int, formula: Callable[[list[arb]], list[arb]], entropy: Entropy) -> Wide:
    """The whole parts of what a formula makes of uniform numbers, which are revealed until all are certain."""
    bits = _FIRST_BITS
    prefixes = [entropy.bits(bits) for _ in range(count)]
    while True:
        with precise(bits + _MORE_BITS):
            half = arb(0, 1) * ball(Fraction(1, 2 << bits))
            known = formula([ball(Fraction(2 * prefix + 1, 2 << bits)) + half for prefix in prefixes])
            if all(each.is_finite() for each in known):
                ends = [(whole_point(each.lower().floor()), whole_point(each.upper().floor())) for each in known]
                if all(low == high for low, high in ends):
                    return np.array([low for low, _ in ends], dtype=object)
        prefixes = [prefix << _MORE_BITS | entropy.bits(_MORE_BITS) for prefix in prefixes]
        bits += _MORE_BITS
