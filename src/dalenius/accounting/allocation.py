"""How to divide a budget among several questions, so that the parts never add up to more than the whole."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from dalenius.accounting.amounts import DIVERGENCE_UNIT, Amount
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.privacy.reals import ball, lower, precise


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


def split_amount(amount: Amount, shares: Sequence[Number]) -> tuple[Amount, ...]:
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
