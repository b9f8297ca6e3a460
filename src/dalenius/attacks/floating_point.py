"""Attacks on noise that is added in floating point.

A float sum can only take the values that its operands' last bits allow, so one output often rules out one of two true
values for certain, whatever epsilon was promised. Integer noise on a public grid leaves nothing to find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole

Floats: TypeAlias = NDArray[np.float64]

_MANTISSA = 53  # bits of a float64
_ANY_GRID = 10_000  # the exponent that stands for zero, a multiple of every power of two
_LAST_BITS = 6  # of an integer that are looked at: 64 remainders
_COMMON = 100  # a remainder that came so often on one value comes on the other too, if the noise is honest
_WINDOW = 4  # neighbouring uniforms tried: rounding moves the inverse by at most a few steps


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportFinding:
    """How often one output told two true values apart for certain.

    `only_first` is the share of outputs on the first value that the second one cannot give, `only_second` the reverse.
    """

    only_first: Fraction
    only_second: Fraction
    draws: int

    @property
    def share(self) -> Fraction:
        """The share of outputs that give the true value away, on the more exposed of the two values."""
        return max(self.only_first, self.only_second)

    def __str__(self) -> str:
        return (
            f"{float(self.only_first):.1%} of the outputs on the first value cannot occur on the second, "
            f"{float(self.only_second):.1%} the other way round ({self.draws} draws each)"
        )


def precision_attack(
    run: Callable[[int, int], ArrayLike], *, first: int = 0, second: int = 1, draws: int = 1_000_000
) -> SupportFinding:
    """Tell two true values apart by the last bits of an output.

    `run(value, size)` releases the true value `size` times. Adding to 1 rounds the sum to a multiple of 2^-53, adding
    to 0 keeps the finer bits of small noise: an output with such bits was not made from 1. The grid of each value is
    the finest one among its own outputs. Integers are told apart by their remainders too: noise that is coarser than
    the numbers it is added to leaves those of the true value.
    Reference: Haney, Desfontaines, Hartman, Shrestha & Hay 2022 (arXiv:2207.13793), precision-based attacks.
    Textbook: S2.2.
    """
    size = whole(1, draws=draws)
    outputs, others = (np.asarray(run(value, size)) for value in (first, second))
    on_first, on_second = _lowest_bit(outputs), _lowest_bit(others)
    return _finding(
        (on_first < on_second.min()) | _strange(outputs, others),
        (on_second < on_first.min()) | _strange(others, outputs),
    )


def porous_noise_attack(
    run: Callable[[int, int], ArrayLike],
    *,
    noise: Callable[[Floats], Floats],
    uniform: Callable[[Floats], Floats],
    first: int = 0,
    second: int = 1,
    draws: int = 100_000,
) -> SupportFinding:
    """Tell two true values apart by asking which of them can give an output at all.

    `noise(u)` is the attacked sampler as a function of its uniform variable, a multiple of 2^-53, and `uniform` its
    approximate inverse. Many floats are the image of no such u, so few outputs are possible on both values.
    Reference: Mironov 2012, On significance of the least significant bits for differential privacy.
    Textbook: S2.2.
    """
    size = whole(1, draws=draws)
    on_first, on_second = (np.asarray(run(value, size), dtype=np.float64) for value in (first, second))

    def possible(outputs: Floats, value: int) -> NDArray[np.bool_]:
        return _possible(outputs, value, noise, uniform)

    return _finding(
        possible(on_first, first) & ~possible(on_first, second),
        possible(on_second, second) & ~possible(on_second, first),
    )


def _possible(
    outputs: Floats, value: int, noise: Callable[[Floats], Floats], uniform: Callable[[Floats], Floats]
) -> NDArray[np.bool_]:
    """Which outputs are the rounded sum of the value and the noise of some uniform variable."""
    middle = np.rint(uniform(outputs - value) * 2.0**_MANTISSA)
    found = np.zeros(len(outputs), dtype=np.bool_)
    for step in range(-_WINDOW, _WINDOW + 1):
        candidate = np.clip(middle + step, 1, 2.0**_MANTISSA - 1) / 2.0**_MANTISSA
        found |= value + noise(candidate) == outputs
    return found


def _finding(only_first: NDArray[np.bool_], only_second: NDArray[np.bool_]) -> SupportFinding:
    size = len(only_first)
    hits = int(only_first.sum()), int(only_second.sum())
    return SupportFinding(only_first=Fraction(hits[0], size), only_second=Fraction(hits[1], size), draws=size)


def _strange(outputs: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Which integers leave a remainder, by a power of two, that is common among them and not once among the others."""
    found = np.zeros(len(outputs), dtype=np.bool_)
    if not (np.issubdtype(outputs.dtype, np.integer) and np.issubdtype(others.dtype, np.integer)):
        return found
    for bits in range(1, _LAST_BITS + 1):
        here, there = outputs & ((1 << bits) - 1), others & ((1 << bits) - 1)
        counts, missing = np.bincount(here, minlength=1 << bits), np.bincount(there, minlength=1 << bits) == 0
        found |= (missing & (counts >= max(_COMMON, len(outputs) // 100)))[here]
    return found


def _lowest_bit(outputs: NDArray[Any]) -> NDArray[np.int64]:
    """The exponent of the largest power of two that divides each output."""
    if np.issubdtype(outputs.dtype, np.integer):
        return _trailing_zeros(outputs.astype(np.int64))
    if not np.issubdtype(outputs.dtype, np.floating):
        raise InvalidParameter("run", outputs.dtype, allowed="a function whose outputs are integers or floats")
    fraction, exponent = np.frexp(outputs.astype(np.float64))
    zeros = _trailing_zeros((fraction * 2.0**_MANTISSA).astype(np.int64))
    return np.where(zeros == _ANY_GRID, _ANY_GRID, zeros + exponent - _MANTISSA)


def _trailing_zeros(integers: NDArray[np.int64]) -> NDArray[np.int64]:
    lowest = (integers & -integers).astype(np.float64)
    return np.where(integers == 0, _ANY_GRID, np.frexp(lowest)[1] - 1)
