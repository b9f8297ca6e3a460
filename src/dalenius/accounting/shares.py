"""Shares of a budget, backwards: the least one that suffices.

How to divide a budget among several questions, so that the parts never add up to more than the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor

from dalenius.accounting.amounts import DIVERGENCE_UNIT, Charge
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.reals import ball, lower, precise

_HALVINGS, _REFINEMENTS = 60, 10
_CLOSE = Fraction(1001, 1000)


def two_digits(value: Fraction) -> Fraction:
    """Rounded down to two digits."""
    unit = Fraction(10) ** (Decimal(float(value)).adjusted() - 1)
    return value // unit * unit


def cheapest_within(excess: Callable[[Fraction], Fraction | None], *, halvings: int = _HALVINGS) -> Fraction | None:
    """The same, where it is known how many times too much something is at a share: 1 or less suffices, None is beyond
    measure. It is asked about half as often: what lies between is taken for a power of the share.
    """
    enough, short = Fraction(1), Fraction(1, 2**halvings)
    under, over = excess(enough), excess(short)
    if under is None or under > 1:
        return None
    if over is not None and over <= 1:
        return short
    poor = False
    while enough > short * _CLOSE:
        before, guessed = enough / short, not poor
        if over and under and guessed:
            share = _crossing(short, over, enough, under)
        else:
            share, guessed = _middle(short, enough), False
        found = excess(share)
        if found is not None and found <= 1:
            enough, under = share, found
        else:
            short, over = share, found
        poor = guessed and (enough / short) ** 2 > before  # no better than the middle, which is next
    return enough


def _crossing(short: Fraction, over: Fraction, enough: Fraction, under: Fraction) -> Fraction:
    """About where the excess is 1, and so far inside that a bracket around it closes."""
    height = math.log(over)
    way = height / (height - math.log(under)) if over != under else 0.5
    guess = _rounded(float(short) * (float(enough) / float(short)) ** way)
    near = (_CLOSE - 1) / 2
    return max(short * (1 + near), min(enough / (1 + near), guess))


def _middle(short: Fraction, enough: Fraction) -> Fraction:
    return _rounded(math.sqrt(short * enough))


def _rounded(share: float) -> Fraction:
    """To few bits, so that it is the same wherever logarithms are."""
    size, exponent = math.frexp(share)
    return Fraction(round(size * 2**16), 2**16) * Fraction(2) ** exponent


def uniform_split(*, epsilon: Number, parts: int) -> tuple[Fraction, ...]:
    """Equal parts of epsilon (or rho), rounded down to the ledger's unit, so that all of them can be charged.

    Reference: the k-means slides' epsilon / m for each of m iterations; they call the general problem unsolved.
    Textbook: S6.9.
    """
    return _split(positive(epsilon=epsilon), [Fraction(1)] * whole(1, parts=parts))


def laplace_split(
    *, epsilon: Number, sensitivities: Sequence[Number], weights: Sequence[Number] | None = None
) -> tuple[Fraction, ...]:
    """The parts of epsilon that make the weighted sum of the Laplace variances 2 (sensitivity / part)^2 least.

    Guarantee: each part is in proportion to the cube root of weight times squared sensitivity, the unique optimum
    (Lagrange), up to rounding down to the ledger's unit.
    Textbook: S6.9.
    """
    sizes = [positive(sensitivity=size) ** 2 for size in sensitivities]
    return _split(positive(epsilon=epsilon), _roots(sizes, weights, 3))


def gaussian_split(
    *, rho: Number, sensitivities: Sequence[Number], weights: Sequence[Number] | None = None
) -> tuple[Fraction, ...]:
    """The parts of rho that make the weighted sum of the Gaussian variances sensitivity^2 / (2 part) least.

    Guarantee: each part is in proportion to the square root of weight times squared (l2) sensitivity, the unique
    optimum (Cauchy and Schwarz), up to rounding down to the ledger's unit.
    Textbook: S6.9.
    """
    sizes = [positive(sensitivity=size) ** 2 for size in sensitivities]
    return _split(positive(rho=rho), _roots(sizes, weights, 2))


def split_amount(amount: Charge, shares: Sequence[Number]) -> tuple[Charge, ...]:
    """An amount of a ledger in proportion to `shares`, each part rounded down."""
    sizes = [positive(share=share) for share in shares]
    _some(sizes)
    return tuple(amount.part(size / sum(sizes)) for size in sizes)


def _roots(sizes: list[Fraction], weights: Sequence[Number] | None, degree: int) -> list[Fraction]:
    """The roots of weight times size; each is rational and positive, and near enough."""
    importance = [Fraction(1)] * len(sizes) if weights is None else [positive(weight=weight) for weight in weights]
    if len(importance) != len(sizes):
        raise InvalidParameter(
            "weights", f"{len(importance)} weights", allowed=f"one for each of {len(sizes)} questions"
        )
    with precise():
        return [lower(ball(size * weight).root(degree)) for size, weight in zip(sizes, importance, strict=True)]


def _split(total: Fraction, shares: list[Fraction]) -> tuple[Fraction, ...]:
    _some(shares)
    whole_share = sum(shares)
    split = tuple(floor(total * share / whole_share / DIVERGENCE_UNIT) * DIVERGENCE_UNIT for share in shares)
    if 0 in split:
        raise InvalidParameter("total", float(total), allowed="enough for a unit of 10^-15 in every part")
    return split


def _some(shares: list[Fraction]) -> None:
    if not shares:
        raise InvalidParameter("parts", 0, allowed="at least one question")
