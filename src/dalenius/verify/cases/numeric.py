"""Numbers with noise and randomized responses, with their exact laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from flint import arb

from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.histogram import Histogram, OneWayMarginals
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.noise.randomized_response import CoinResponse, RandomizedResponse
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.reals import precise
from dalenius.privacy.sensitivity import SensitivityLike
from dalenius.verify.cases.case import ADD, REPLACE, Case, Law, neighbouring

YES_NO = tuple(product((0, 1), repeat=2))
"""The rows of a table with two yes-or-no columns."""


def noise_law(mechanism: DiscreteLaplace | DiscreteGaussian, value: int, reach: int = 60) -> Law:
    with precise():
        return {value_out: mechanism.law.pmf(value_out - value) for value_out in range(-reach, reach + 1)}


def vector_law(mechanism: DiscreteLaplace | DiscreteGaussian, value: tuple[int, ...], reach: int = 8) -> Law:
    coordinates = [noise_law(mechanism, entry, reach) for entry in value]
    with precise():
        laws: Law = {(): arb(1)}
        for law in coordinates:
            laws = {(*outcome, z): chance * p for outcome, chance in laws.items() for z, p in law.items()}
        return laws


def response_law(mechanism: RandomizedResponse | CoinResponse, value: int) -> Law:
    return {report: mechanism.chance(answer=value, report=report) for report in range(mechanism.choices)}


def cell_counts(cells: int) -> Callable[[Iterable[Any]], tuple[int, ...]]:
    histogram = Histogram(tuple(range(cells)))
    return lambda rows: tuple(histogram.counts(rows))


def yes_counts(rows: Iterable[Any]) -> tuple[int, ...]:
    return tuple(OneWayMarginals(2).counts(rows))


def _wide_vector_law(mechanism: DiscreteGaussian, value: tuple[int, ...]) -> Law:
    """Far enough out for the orders of which the divergence is compared."""
    return vector_law(mechanism, value, reach=14)


def _size(rows: Iterable[Any]) -> int:
    return len(tuple(rows))


def numeric_cases() -> Iterator[Case]:
    for relation in (ADD, REPLACE):
        values, pairs = neighbouring(_size, ADD, (0,)) if relation == ADD else neighbouring(sum, REPLACE, (0, 1, 2))
        step = 1 if relation == ADD else 2
        noisy: dict[str, Any] = {"law": noise_law, "complete": False}
        yield Case("Laplace", relation, step, DiscreteLaplace.calibrated, values, pairs, **noisy)
        yield Case("Gaussian", relation, step, gaussian, values, pairs, **noisy, pure=False)
        yield Case("Gaussian by delta", relation, step, by_delta, values, pairs, **noisy, pure=False, targeted=False)
        cells, pairs = neighbouring(cell_counts(2), relation, (0, 1))
        each = Histogram((0, 1)).sensitivity(relation)
        noisy = {"law": vector_law, "complete": False}
        yield Case("Laplace histogram", relation, each, DiscreteLaplace.calibrated, cells, pairs, **noisy)
        noisy = {"law": _wide_vector_law, "complete": False, "pure": False}
        yield Case("Gaussian histogram", relation, each, gaussian, cells, pairs, **noisy)
        yield Case("Gaussian histogram by delta", relation, each, by_delta, cells, pairs, **noisy, targeted=False)
    both = ((0, 1), (1, 0))
    yield Case("randomized response", REPLACE, 1, RandomizedResponse.calibrated, (0, 1), both, response_law)
    yield Case("coin response", REPLACE, 1, coin, (0, 1), both, response_law, targeted=False)
    triple = tuple((a, b) for a in range(3) for b in range(3) if a != b)
    yield Case("randomized response of three", REPLACE, 1, of_three, (0, 1, 2), triple, response_law)


def gaussian(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> DiscreteGaussian:
    return DiscreteGaussian.calibrated(sensitivity=sensitivity, rho=epsilon, neighbours=neighbours)


DELTA = Fraction(1, 1000)


def by_delta(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> DiscreteGaussian:
    return DiscreteGaussian.calibrated(sensitivity=sensitivity, epsilon=epsilon, delta=DELTA, neighbours=neighbours)


def of_three(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> RandomizedResponse:
    return RandomizedResponse.calibrated(sensitivity=sensitivity, epsilon=epsilon, choices=3, neighbours=neighbours)


def coin(*, sensitivity: SensitivityLike, epsilon: Fraction, neighbours: Neighbours | None) -> CoinResponse:
    """Its probability is rational, so it stands for the epsilon that it has, not for one that is asked."""
    return CoinResponse(1 - 1 / (4 * (1 + epsilon)), neighbours)  # type: ignore[arg-type]
