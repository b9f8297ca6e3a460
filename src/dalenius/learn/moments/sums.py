"""Sealed sums of features, of their products and of targets, with what one row adds at most; and these sums with noise.

Every sum is one of integers: features in steps of 1 / ONE, targets in steps of 1 / ONE too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.engine_rows import Columns, Grouped, PerFeature
from dalenius.learn.rows import ONE, PIECE, Entries, Integers, Summable, product
from dalenius.learn.terms import column
from dalenius.mechanisms.budget_parts import BudgetPart, deviation
from dalenius.mechanisms.door import measure
from dalenius.privacy.exact import Exact
from dalenius.query.functions.functions import call
from dalenius.randomness.entropy import Entropy

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noisy:
    """What was released, and the standard deviation of the noise on each number."""

    value: Floats
    deviation: float

    @property
    def number(self) -> float:
        return float(self.value[0])


def released(exact: Exact[Integers], unit: int, budget_part: BudgetPart, part: Fraction, entropy: Entropy) -> Noisy:
    """A sealed sum in steps of 1 / unit, with the noise that a share of the budget part buys."""
    noise = budget_part.noise(part, exact.sensitivity)
    value = measure(noise, exact, budget_part.allowance, entropy)
    return Noisy(np.asarray(value, dtype=np.float64) / unit, deviation(noise) / unit)


def parts(budget_part: BudgetPart, shares: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """What each share of the budget part can spend."""
    return {name: budget_part.equal(1, share=share) for name, share in shares.items()}


@dataclass(frozen=True)
class Sums:
    """The sum of every feature, in steps of 1 / ONE."""

    def __call__(self, entries: Entries) -> Integers:
        return _column_sums(entries.features, entries.counts)

    def asked(self, columns: Columns) -> list[Grouped]:
        return PerFeature(columns.relation).asked(columns)

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return PerFeature(columns.relation).put(columns, found)[:-1]


@dataclass(frozen=True)
class Squares:
    """The sum of the square of every feature, in steps of 1 / ONE^2."""

    def __call__(self, entries: Entries) -> Integers:
        return _column_sums(entries.features.astype(np.int64) ** 2, entries.counts)

    def asked(self, columns: Columns) -> list[Grouped]:
        return PerFeature(columns.relation, power=2).asked(columns)

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return PerFeature(columns.relation, power=2).put(columns, found)[:-1]


@dataclass(frozen=True)
class Products:
    """The sum of the product of every two features, each pair once (the upper triangle, row by row), in steps of
    1 / ONE^2."""

    def __call__(self, entries: Entries) -> Integers:
        features = entries.features.astype(np.int64)
        whole = product(features.T, features * entries.counts[:, None], largest=ONE**2 * PIECE)
        return whole[np.triu_indices(features.shape[1])]

    def asked(self, columns: Columns) -> list[Grouped]:
        """Numbers by each other, numbers by texts, and how often two texts occur together."""
        numbers = [column(columns.relation, key) for key in columns.numbers]
        pairs = combinations_with_replacement(numbers, 2)
        return [
            Grouped(columns.relation, (), tuple(call("multiply", one, other) for one, other in pairs)),
            *(Grouped(columns.relation, (key,), tuple(numbers)) for key in columns.texts),
            *(Grouped(columns.relation, keys) for keys in combinations(columns.texts, 2)),
        ]

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        matrix, parts = np.zeros((columns.width, columns.width), dtype=np.int64), iter(found)
        numbers = [columns.features(key).start for key in columns.numbers]
        pairs = [*combinations_with_replacement(numbers, 2)]
        matrix[[one for one, _ in pairs], [other for _, other in pairs]] = next(parts)[1:]
        for key in columns.texts:
            here, part = columns.features(key), next(parts)
            matrix[here, here] = ONE**2 * np.diag(part[:, 0])
            for place, number in enumerate(numbers):
                matrix[number, here] = matrix[here, number] = ONE * part[:, 1 + place]
        for one, other in combinations(columns.texts, 2):
            matrix[columns.features(one), columns.features(other)] = ONE**2 * next(parts)[..., 0]
        return matrix[np.triu_indices(columns.width)]


@dataclass(frozen=True)
class Crossed:
    """The sum of every feature times the target, in steps of 1 / ONE^2. No target is larger than ONE."""

    def __call__(self, entries: Entries) -> Integers:
        weighted = (_targets(entries) * entries.counts)[:, None]
        return product(entries.features.T, weighted, largest=ONE**2 * PIECE)[:, 0]

    def asked(self, columns: Columns) -> list[Grouped]:
        return PerFeature(columns.relation, columns.target).asked(columns)

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return PerFeature(columns.relation, columns.target).put(columns, found)[:-1]


@dataclass(frozen=True)
class Targets:
    """The sum of the targets, in steps of 1 / ONE."""

    def __call__(self, entries: Entries) -> Integers:
        return np.array([_targets(entries) @ entries.counts])

    def asked(self, columns: Columns) -> list[Grouped]:
        return [Grouped(columns.relation, (), (columns.target,))]

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return found[0][1:]


def sums(rows: Summable) -> Exact[Integers]:
    """The sealed sums of features. A row adds itself."""
    return rows.summed(Sums(), l2_squared=rows.norm_squared, l1=largest_l1(rows))


def squares(rows: Summable) -> Exact[Integers]:
    """The sealed sums of squares of features.

    Proof: no feature is larger than ONE, so the squares of a row sum up to at most its squared norm N, and the squares
    of these to at most ONE^2 N.
    """
    return rows.summed(Squares(), l2_squared=ONE**2 * rows.norm_squared, l1=rows.norm_squared)


def products(rows: Summable) -> Exact[Integers]:
    """The sealed sums of products of features.

    Proof: over pairs i <= j, the products of a row x have sum of squares (|x|^4 + sum of x_i^4) / 2, and x_i^4 is at
    most ONE^2 x_i^2; over all pairs it is |x|^4, which may be less. Their sizes sum up to
    (|x|_1^2 + |x|^2) / 2, and |x|_1^2 is at most width |x|^2.
    """
    squared = rows.norm_squared
    return rows.summed(
        Products(),
        l2_squared=min(squared * squared, (squared * squared + ONE**2 * squared + 1) // 2),
        l1=(rows.width * squared + squared + 1) // 2,
    )


def crossed(rows: Summable) -> Exact[Integers]:
    """The sealed sums of features times the target, which is no larger than ONE."""
    return rows.summed(Crossed(), l2_squared=ONE**2 * rows.norm_squared, l1=ONE * largest_l1(rows))


def targets(rows: Summable) -> Exact[Integers]:
    """The sealed sum of the targets."""
    return rows.summed(Targets(), l2_squared=ONE**2, l1=ONE)


def square(upper: Floats, width: int) -> Floats:
    """The symmetric matrix whose upper triangle is listed row by row."""
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width)] = upper
    return matrix + np.triu(matrix, 1).T


def largest_l1(rows: Summable) -> int:
    """The largest sum of the sizes of a row's features."""
    return min(isqrt(rows.width * rows.norm_squared), rows.width * ONE)


def _targets(entries: Entries) -> Integers:
    return np.clip(entries.target, -ONE, ONE)


def _column_sums(values: NDArray[np.int16] | Integers, counts: Integers) -> Integers:
    return np.asarray((values.astype(np.int64) * counts[:, None]).sum(axis=0))
