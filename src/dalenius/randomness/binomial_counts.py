"""Binomial noise: counting coins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, overload

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dalenius.privacy.numbers import Number, probability, whole
from dalenius.privacy.reals import ball, lower, precise
from dalenius.randomness.entropy import Entropy, chosen
from dalenius.randomness.exact import is_below
from dalenius.randomness.integers import Size, collected
from dalenius.randomness.laplace import laplace_noise
from dalenius.randomness.tables import LawCells, draws

_FAIR_BITS = 4096  # fair coins up to this many are simply counted
_WIDEST = 1 << 18  # a variance up to this makes a table of at most about nine thousand cells


@dataclass(frozen=True)
class BinomialCells(LawCells):
    """Each integer is a cell, in the order m, m + 1, m - 1, m + 2, ... around the mode m."""

    n: int
    p: Fraction
    shift = 0
    rate = Fraction(0)

    @property
    def mode(self) -> int:
        return int((self.n + 1) * self.p)

    def value(self, cell: Any) -> Any:
        return self.mode + (cell + 1) // 2 * (cell % 2 * 2 - 1)

    def tails(self, bits: int) -> Iterator[arb]:
        above, above_rest = self._side(bits, 1)
        below, below_rest = self._side(bits, -1)
        weights = [ball(1)] + [ball(0)] * (2 * max(len(above), len(below)))
        weights[1 : 2 * len(above) : 2], weights[2 : 2 * len(below) + 1 : 2] = above, below
        tail, tails = above_rest + below_rest, []
        for weight in reversed(weights):
            tails.append(tail)
            tail = tail + weight
        unit = ball(1 << bits) / tail
        return (part * unit for part in reversed(tails))

    def _side(self, bits: int, direction: int) -> tuple[list[arb], arb]:
        """The weights on one side of the mode, as multiples of the mode's, and an enclosure of the sum of the rest.

        The law is log-concave, so past any integer the weights fall at least as fast as they just did.
        """
        weights: list[arb] = []
        weight, least, k = ball(1), ball(Fraction(1, 1 << (bits + 16))), self.mode
        while True:
            up, down = self._ratio(k, direction)
            if up == 0 or weight < least:
                return weights, weight * up / (down - up) * arb(0.5, 0.5)
            weight, k = weight * up / down, k + direction
            weights.append(weight)

    def _ratio(self, k: int, direction: int) -> tuple[int, int]:
        """P[k + direction] / P[k], as a numerator and a denominator."""
        true, false = self.p.numerator, self.p.denominator - self.p.numerator
        return ((self.n - k) * true, (k + 1) * false) if direction > 0 else (k * false, (self.n - k + 1) * true)


def _log_weight(n: int, p: Fraction, k: int) -> arb:
    """log P[k], or minus infinity outside 0, ..., n."""
    coefficient = ball(n + 1).lgamma() - ball(k + 1).lgamma() - ball(n - k + 1).lgamma()
    return coefficient + k * ball(p).log() + (n - k) * ball(1 - p).log()


def _acceptance(n: int, p: Fraction, mode: int, step: int, scale: int) -> arb:
    with precise(ctx.prec + 2 * n.bit_length()):
        log_ratio = _log_weight(n, p, mode + step) - _log_weight(n, p, mode)
        return (log_ratio + ball(Fraction(abs(step), scale)) - 1).exp()


def _scale(n: int, p: Fraction, mode: int) -> int:
    """The least integer scale that is certainly not below 1 / P[mode]."""
    with precise(64 + 2 * n.bit_length()):
        return ceil(1 / lower(_log_weight(n, p, mode).exp()))


def binomial_count(n: int, p: Fraction, entropy: Entropy) -> int:
    """One draw, at a cost that does not grow with n.

    Discrete Laplace noise around the mode m is kept with probability P[m + i] / P[m] * exp(|i| / scale - 1), which is
    at most 1 for every log-concave law with P[m] >= 1 / scale.
    Reference: Devroye 1987, a simple generator for discrete log-concave distributions.
    """
    if p.denominator == 1:
        return n * int(p)
    if p.denominator == 2 and n <= _FAIR_BITS:
        return entropy.bits(n).bit_count()
    mode = int((n + 1) * p)
    scale = _scale(n, p, mode)
    while True:
        step = laplace_noise(scale, 1, entropy)
        word = entropy.word()
        if 0 <= mode + step <= n and is_below(word, 64, partial(_acceptance, n, p, mode, step, scale), entropy):
            return mode + step


@overload
def binomial(n: int, size: None = None, *, p: Number = Fraction(1, 2), entropy: Entropy | None = None) -> int: ...
@overload
def binomial(
    n: int, size: Size, *, p: Number = Fraction(1, 2), entropy: Entropy | None = None
) -> NDArray[np.int64]: ...
def binomial(
    n: int, size: Size | None = None, *, p: Number = Fraction(1, 2), entropy: Entropy | None = None
) -> int | NDArray[Any]:
    """How many of `n` independent coins fall True, each with probability exactly `p`.

    Guarantee: if n >= 0 is whole and 0 <= p <= 1 is rational, every count has exactly its binomial probability.
    Textbook: S2.4.
    """
    coins, chance, source = whole(n=n), probability(p=p), chosen(entropy)
    one = partial(binomial_count, coins, chance, source)
    if size is None:
        return one()
    if 0 < coins * chance * (1 - chance) <= _WIDEST and coins < 1 << 62:
        return draws(BinomialCells(coins, chance), one, size, source)
    return collected(size, one)
