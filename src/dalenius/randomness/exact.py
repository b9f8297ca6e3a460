"""Exact coins and dice: a uniform real number is revealed bit by bit until it decides.

A uniform number U in [0, 1) is never rounded: only its leading bits are drawn, and as long as they leave a question
about U open, more are drawn. Which side of a real number U lies on is decided by integers that enclose that real.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, overload

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dalenius.privacy.numbers import Number, not_negative, probability, whole
from dalenius.privacy.reals import ball, precise
from dalenius.randomness.entropy import Entropy, chosen
from dalenius.randomness.integers import Size, collected, filled

Real: TypeAlias = Callable[[], arb]
"""A real number, as a function that encloses it at the working precision."""

_GUARD = 64  # bits beyond the prefix: an enclosure is this much finer than what it is compared with
_WORD = 1 << 64


def is_below(prefix: int, bits: int, real: Real, entropy: Entropy) -> bool:
    """Whether the uniform number whose first `bits` bits are `prefix` is below `real`."""
    while True:
        least, most = bracket(real, bits)
        if prefix < least:
            return True
        if prefix >= most:
            return False
        prefix, bits = prefix << 64 | entropy.word(), bits + 64


def bracket(real: Real, bits: int) -> tuple[int, int]:
    """Integers around 2^bits times a `real` in [0, 1]: one not above it, one not below it."""
    with precise(bits + _GUARD):
        scaled = real() * ball(1 << bits)
        if not scaled.is_finite():  # as little as that is known at this precision
            return 0, 1 << bits
        return max(0, whole_point(scaled.lower().floor())), min(1 << bits, whole_point(scaled.upper().ceil()))


def whole_point(point: arb) -> int:
    """The integer that an exact enclosure consists of."""
    found = point.unique_fmpz()
    assert found is not None
    return int(found)


def exp_minus(numerator: int, denominator: int) -> arb:
    """An enclosure of exp(-numerator/denominator)."""
    return ball(Fraction(-numerator, denominator)).exp()


# exp(-y) in fixed point with 64 bits. With y = i/16 + j/4096 + r, r < 2^-12, it is COARSE[i] * FINE[j] * exp(-r).
# Errors, in units of 2^-64: leaving out the fourth term of the series of exp(-r) costs at most r^3/6 < 2^25.5; y, the
# two table entries, r^2/2 and the product are rounded down, by at most 1 each; all factors are at most one, so errors
# at most add up. From y = 45 on exp(-y) < 2^-64, and the last entry, zero, misses it by less than 1. The sum is below
# 2^25.5 + 6 < 2^26.
_EXP_ERROR = 1 << 26
_COARSE = [bracket(partial(exp_minus, i, 16), 64)[0] for i in range(45 * 16)] + [0]
_FINE = [bracket(partial(exp_minus, j, 4096), 64)[0] for j in range(256)]


def exp_word(numerator: int, denominator: int) -> int:
    """2^64 exp(-numerator/denominator) up to an error of 2^26, by integers and at a cost that does not vary."""
    y = (numerator << 64) // denominator
    rest = y & 0xF_FFFF_FFFF_FFFF
    series = _WORD - rest + (rest * rest >> 65)
    return _COARSE[min(y >> 60, 720)] * _FINE[y >> 52 & 255] * series >> 128


def coin_exp(numerator: int, denominator: int, entropy: Entropy) -> bool:
    """True with probability exactly exp(-numerator/denominator)."""
    word, threshold = entropy.word(), exp_word(numerator, denominator)
    if abs(word - threshold) > _EXP_ERROR:
        return word < threshold
    return is_below(word, 64, partial(exp_minus, numerator, denominator), entropy)


def coin(numerator: int, denominator: int, entropy: Entropy) -> bool:
    """True with probability exactly numerator/denominator."""
    while True:
        # U < p is decided by the first 64-bit digit in which they differ; the remainder is what is left of p.
        digit, numerator = divmod(numerator << 64, denominator)
        word = entropy.word()
        if word != digit or not numerator:
            return word < digit


@overload
def bernoulli(p: Number, size: None = None, *, entropy: Entropy | None = None) -> bool: ...
@overload
def bernoulli(p: Number, size: Size, *, entropy: Entropy | None = None) -> NDArray[np.bool_]: ...
def bernoulli(p: Number, size: Size | None = None, *, entropy: Entropy | None = None) -> bool | NDArray[np.bool_]:
    """True with probability exactly `p`, once or in an array of `size` draws.

    Guarantee: if 0 <= p <= 1 is rational, each draw is True with probability p, to the last bit.
    """
    chance, source = probability(p=p), chosen(entropy)
    flip = partial(coin, chance.numerator, chance.denominator, source)
    return flip() if size is None else flips(size, (lambda: ball(chance)), source)


@overload
def bernoulli_exp(x: Number, size: None = None, *, entropy: Entropy | None = None) -> bool: ...
@overload
def bernoulli_exp(x: Number, size: Size, *, entropy: Entropy | None = None) -> NDArray[np.bool_]: ...
def bernoulli_exp(x: Number, size: Size | None = None, *, entropy: Entropy | None = None) -> bool | NDArray[np.bool_]:
    """True with probability exactly exp(-x), once or in an array of `size` draws.

    Guarantee: if x >= 0 is rational, each draw is True with probability exp(-x), to the last bit.
    Reference: Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Algorithm 1 states the law; here a revealed
    uniform number is compared with an enclosure of exp(-x).
    """
    rate, source = not_negative(x=x), chosen(entropy)
    if size is None:
        return coin_exp(rate.numerator, rate.denominator, source)
    return flips(size, partial(exp_minus, rate.numerator, rate.denominator), source)


def flips(size: Size, real: Real, entropy: Entropy) -> NDArray[np.bool_]:
    """Coins that are True with probability exactly `real`."""
    least, most = bracket(real, 64)

    def fill(piece: NDArray[np.bool_]) -> None:
        words = entropy.words(piece.size)
        if least == _WORD:
            piece[:] = True
            return
        np.less(words, np.uint64(least), out=piece)
        for i in np.flatnonzero((words >= np.uint64(least)) & (words <= np.uint64(max(most, 1) - 1))):
            piece[i] = is_below(int(words[i]), 64, real, entropy)

    return filled(size, np.bool_, fill)


@overload
def uniform_below(n: int, size: None = None, *, entropy: Entropy | None = None) -> int: ...
@overload
def uniform_below(n: int, size: Size, *, entropy: Entropy | None = None) -> NDArray[np.int64]: ...
def uniform_below(n: int, size: Size | None = None, *, entropy: Entropy | None = None) -> int | NDArray[Any]:
    """A uniform integer in 0, ..., n - 1, once or in an array of `size` draws (of Python integers if n > 2^63)."""
    bound, source = whole(1, n=n), chosen(entropy)
    if size is None:
        return source.below(bound)
    if bound > 1 << 63:
        return collected(size, partial(source.below, bound))
    return filled(size, np.int64, partial(_below, bound, entropy=source))


def _below(n: int, piece: NDArray[np.int64], *, entropy: Entropy) -> None:
    """Remainders of words, without the last, incomplete run of n words."""
    last = np.uint64(_WORD - _WORD % n - 1)
    words = entropy.words(piece.size)
    while (late := np.flatnonzero(words > last)).size:
        words = words.copy()
        words[late] = entropy.words(late.size)
    np.subtract(words, words // np.uint64(n) * np.uint64(n), out=piece.view(np.uint64))
