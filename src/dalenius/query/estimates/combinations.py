"""Terms over noisy counts and sums that are linear, or quotients of linear ones: their noise has a known law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from dalenius.query.estimates.estimates import Estimates, NoisyNumbers
from dalenius.query.estimates.spreads import Floats
from dalenius.query.questions import Compute, Given, Post, ValueOf


@dataclass(frozen=True)
class Linear:
    """A sum of weights times noisy integers, and a constant. A measurement used twice is one source of noise."""

    weights: Mapping[NoisyNumbers, Fraction]
    constant: Fraction

    def plus(self, other: Linear, factor: Fraction) -> Linear:
        """This and `factor` times another."""
        weights = dict(self.weights)
        for source, weight in other.weights.items():
            weights[source] = weights.get(source, Fraction(0)) + factor * weight
        kept = {source: weight for source, weight in weights.items() if weight}
        return Linear(kept, self.constant + factor * other.constant)

    def times(self, factor: Fraction) -> Linear:
        """A multiple."""
        return Linear({}, Fraction(0)).plus(self, factor)

    @property
    def unit(self) -> Fraction:
        """The grid of its noise: the largest number that all weights are multiples of."""
        sizes = [abs(weight) for weight in self.weights.values()] or [Fraction(1)]
        below = lcm(*(size.denominator for size in sizes))
        return Fraction(gcd(*(int(size * below) for size in sizes)), below)

    def at(self, rows: Sequence[int]) -> Floats:
        """Its noisy value in each of these groups."""
        total = np.full(len(rows), float(self.constant))
        for source, weight in self.weights.items():
            total = total + float(weight) * np.asarray(source.values[list(rows)], dtype=np.float64)
        return total


@dataclass(frozen=True)
class Quotient:
    """A quotient of two linear combinations; where it is linear, the bottom is 1."""

    top: Linear
    bottom: Linear

    @property
    def linear(self) -> bool:
        return not self.bottom.weights

    @property
    def number(self) -> Fraction | None:
        """Its value, if it has no noise in it."""
        return self.top.constant if self.linear and not self.top.weights else None

    def times(self, factor: Fraction) -> Quotient:
        """A multiple."""
        return Quotient(self.top.times(factor), self.bottom)


_ONE = Linear({}, Fraction(1))


def quotient(post: Post, estimates: Sequence[Estimates | None]) -> Quotient | None:
    """The term as a quotient of linear combinations of counts and sums, if it is one."""
    match post:
        case Given(value=value):
            number = isinstance(value, int | Decimal | Fraction) and not isinstance(value, bool)
            return Quotient(Linear({}, Fraction(value)), _ONE) if number else None
        case ValueOf(index=index):
            found = estimates[index]
            if found is None or found.noise is None:
                return None
            return Quotient(Linear({found.noise: found.unit}, Fraction(0)), _ONE)
        case Compute(function=name, arguments=arguments) if name in _COMBINED:
            parts = [quotient(argument, estimates) for argument in arguments]
            known = [part for part in parts if part is not None]
            return _COMBINED[name](*known) if len(known) == len(parts) else None
    return None


def _add(a: Quotient, b: Quotient) -> Quotient | None:
    if b.number is not None:
        return Quotient(a.top.plus(a.bottom, b.number), a.bottom)
    if a.number is not None:
        return _add(b, a)
    return Quotient(a.top.plus(b.top, Fraction(1)), a.bottom) if a.bottom == b.bottom else None


def _subtract(a: Quotient, b: Quotient) -> Quotient | None:
    return _add(a, b.times(Fraction(-1)))


def _multiply(a: Quotient, b: Quotient) -> Quotient | None:
    if a.number is not None:
        return b.times(a.number)
    return a.times(b.number) if b.number is not None else None


def _divide(a: Quotient, b: Quotient) -> Quotient | None:
    if b.number is not None:
        return a.times(1 / b.number) if b.number else None
    if not a.linear or (a.number is None and not b.linear):
        return None
    if a.number is not None:
        return Quotient(b.bottom.times(a.number), b.top)
    return Quotient(a.top, b.top)


_COMBINED: Mapping[str, Callable[..., Quotient | None]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negate": lambda a: a.times(Fraction(-1)),
}
