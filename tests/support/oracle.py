"""An independent oracle for accounting: the textbook formulas again, in mpmath with at least 100 good digits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import comb

import mpmath as mp

DIGITS = 150  # so that 100 are left where a formula cancels


def real(value: Fraction | int) -> mp.mpf:
    return mp.mpf(value.numerator) / mp.mpf(value.denominator)


def parameters(seed: int, **ranges: tuple[float, float]) -> Iterator[dict[str, Fraction]]:
    """Endless random parameters, each spread evenly over the powers of ten between its bounds, to six digits."""
    source = random.Random(seed)
    while True:
        yield {
            name: Fraction(f"{10 ** source.uniform(*(float(mp.log10(end)) for end in ends)):.6g}")
            for name, ends in ranges.items()
        }


def sound_and_tight(figure: Fraction, truth: mp.mpf) -> bool:
    """Never below the truth, and never more than one percent above it."""
    return truth <= real(figure) <= truth * mp.mpf("1.01") + mp.mpf(10) ** -60


def sound_and_tight_below(figure: Fraction, truth: mp.mpf) -> bool:
    """Never above the truth, and never more than one percent below it."""
    return truth * mp.mpf("0.99") <= real(figure) <= truth


def renyi_epsilon(divergence: mp.mpf, alpha: mp.mpf, delta: mp.mpf) -> mp.mpf:
    return max(mp.mpf(0), divergence + mp.log((alpha - 1) / alpha) - mp.log(delta * alpha) / (alpha - 1))


def renyi_delta(divergence: mp.mpf, alpha: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    power = (alpha - 1) * (divergence - epsilon)
    return min(mp.mpf(1), mp.exp(power) / (alpha - 1) * (1 - 1 / alpha) ** alpha)


def bit_renyi(epsilon: mp.mpf, alpha: mp.mpf) -> mp.mpf:
    """Randomized response: p^alpha q^(1-alpha) summed over both answers."""
    true, false = 1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))
    return mp.log(true**alpha * false ** (1 - alpha) + false**alpha * true ** (1 - alpha)) / (alpha - 1)


def zcdp_epsilon(rho: mp.mpf, delta: mp.mpf) -> mp.mpf:
    """The least epsilon over all orders: the derivative is zero where rho (alpha - 1)^2 = -ln(alpha delta)."""
    best = root(lambda excess: rho * excess**2 + mp.log((1 + excess) * delta), mp.sqrt(-mp.log(delta) / rho))
    return renyi_epsilon(rho * (1 + best), 1 + best, delta)


def zcdp_delta(rho: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    """The least delta over all orders: the derivative of its logarithm is zero."""
    most = (epsilon + 1) / rho + 1
    best = root(lambda excess: rho * (2 * excess + 1) - epsilon + mp.log(excess / (1 + excess)), most)
    return renyi_delta(rho * (1 + best), 1 + best, epsilon)


def root(rising: Callable[[mp.mpf], mp.mpf], most: mp.mpf) -> mp.mpf:
    """Where a rising function is zero, between nearly 0 and `most`."""
    return mp.findroot(rising, (mp.mpf(10) ** -40, most), solver="anderson", tol=mp.mpf(10) ** -60, maxsteps=500)


def bits_delta(epsilon: mp.mpf, count: int, target: mp.mpf, delta: mp.mpf) -> mp.mpf:
    """The hockey stick of `count` leaky randomized responses, summed over the number of wrong answers."""
    true, false = 1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))
    gaps = (
        comb(count, wrong)
        * (true ** (count - wrong) * false**wrong - mp.exp(target) * true**wrong * false ** (count - wrong))
        for wrong in range(count + 1)
    )
    return 1 - (1 - delta) ** count * (1 - mp.fsum(gap for gap in gaps if gap > 0))


def advanced(epsilon: mp.mpf, count: int, slack: mp.mpf) -> mp.mpf:
    return mp.sqrt(2 * count * mp.log(1 / slack)) * epsilon + count * epsilon * (mp.exp(epsilon) - 1)


def tight_advanced(epsilon: mp.mpf, count: int, slack: mp.mpf) -> mp.mpf:
    drift = epsilon * (mp.exp(epsilon) - 1) / (mp.exp(epsilon) + 1)
    return mp.sqrt(2 * count * mp.log(1 / slack)) * epsilon + count * drift
