"""Losses of a margin whose slope is made of straight pieces between public knots: all about them is exact.

A table of slopes would give a loss with corners everywhere. Straight pieces between its entries give one that is
convex, has a continuous slope, and of which slope, steepest slope and strongest curvature are whole numbers of steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.learn.losses_tabulated import Slope
from dalenius.learn.rows import Integers

MARGIN_BITS = 50
"""Margins are whole numbers of 2^-50 here."""
SLOPE_BITS = 48
"""Slopes are whole numbers of 2^-48 here."""
REACH = 16
"""Beyond this margin, and below its negative, the slope stays as it is."""

_KNOT_BITS = 5  # there are 2^5 knots for a margin of 1
_VALUE_BITS = 20  # at a knot the slope is a whole number of 2^-20
_PIECE_BITS = MARGIN_BITS - _KNOT_BITS


@dataclass(frozen=True)
class Bend:
    """A loss that falls with the margin, close to that of `slope`: its slope is the same at knots 1/32 apart, rounded
    to 2^-20, and straight between them."""

    slope: Slope
    two_sided = False

    @cached_property
    def values(self) -> Integers:
        """The slope at the knots, without its sign, in steps of 2^-20: never rising, and 0 at the last."""
        knots = np.arange(-(REACH << _KNOT_BITS), (REACH << _KNOT_BITS) + 1) / (1 << _KNOT_BITS)
        table = np.rint(self.slope.at(knots) * (1 << _VALUE_BITS)).astype(np.int64)
        table[-1] = 0
        return np.maximum.accumulate(table[::-1])[::-1]

    @cached_property
    def falls(self) -> Integers:
        """How much the slope falls from each knot to the next."""
        return np.append(-np.diff(self.values), 0)

    @property
    def steepest(self) -> Fraction:
        """The largest slope, without its sign."""
        return Fraction(int(self.values[0]), 1 << _VALUE_BITS)

    @property
    def curvature(self) -> Fraction:
        """The largest second derivative, where there is one: the steepest of the straight pieces of the slope."""
        return Fraction(int(self.falls.max()) << _KNOT_BITS, 1 << _VALUE_BITS)

    def steps(self, margins: Integers) -> Integers:
        """The slopes without their sign, in steps of 2^-48, at margins in steps of 2^-50: too large by less than one
        step, and never too small."""
        within = np.clip(margins, -REACH << MARGIN_BITS, REACH << MARGIN_BITS)
        places, beyond = (within >> _PIECE_BITS) + (REACH << _KNOT_BITS), within & ((1 << _PIECE_BITS) - 1)
        fallen = self.falls[places] * beyond >> (_PIECE_BITS + _VALUE_BITS - SLOPE_BITS)
        return np.asarray((self.values[places] << (SLOPE_BITS - _VALUE_BITS)) - fallen)

    def nearly(self, margins: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes without their sign, and second derivatives, in floats: to look for a minimum with."""
        knots = np.clip((margins + REACH) * (1 << _KNOT_BITS), 0, len(self.values) - 1)
        places = knots.astype(np.int64)
        falls = self.falls[places] / (1 << _VALUE_BITS)
        inside = (knots > 0) & (knots < len(self.values) - 1)
        slopes = self.values[places] / (1 << _VALUE_BITS) - falls * (knots - places)
        return slopes, np.where(inside, falls * (1 << _KNOT_BITS), 0.0)

    def value(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """The loss itself, 0 beyond the last knot: for reports and tests."""
        wide, tall = 1 / (1 << _KNOT_BITS), 1 << _VALUE_BITS
        areas = (self.values[:-1] + self.values[1:]) / (2 * tall) * wide
        at_knots = np.append(np.cumsum(areas[::-1])[::-1], 0.0)
        knots = np.clip((margins + REACH) / wide, 0, len(self.values) - 1)
        places = knots.astype(np.int64)
        rest = (knots - places) * wide
        inside = at_knots[places] - rest * (self.values[places] / tall - self.falls[places] / tall * rest / (2 * wide))
        return np.asarray(inside + np.maximum(-REACH - margins, 0) * float(self.steepest))


@dataclass(frozen=True)
class Huber:
    """Half the square of a residual, the score less the target; where it is larger than `reach`, straight on.

    As a loss of a margin, which is the residual here, its slope lies between -reach and reach: the residual cut off. It
    is least squares for rows with residuals within reach, and others pull no harder than those at its end.
    Reference: Huber 1964.
    """

    reach: int = 1
    two_sided = True

    @property
    def steepest(self) -> Fraction:
        """The largest slope in size."""
        return Fraction(self.reach)

    @property
    def curvature(self) -> Fraction:
        """The largest second derivative, where there is one."""
        return Fraction(1)

    def steps(self, margins: Integers) -> Integers:
        """The slopes with the other sign, as those of a `Bend`, in steps of 2^-48, at margins in steps of 2^-50: too
        large by less than one step, and never too small."""
        within = np.clip(margins, -self.reach << MARGIN_BITS, self.reach << MARGIN_BITS)
        return np.asarray(-(within >> (MARGIN_BITS - SLOPE_BITS)))

    def nearly(self, margins: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes with the other sign, and second derivatives, in floats: to look for a minimum with. At the ends of its
        reach the inner one: a search that begins at targets there needs to know that they bend."""
        return -np.clip(margins, -self.reach, self.reach), (np.abs(margins) <= self.reach).astype(np.float64)


Curve: TypeAlias = Bend | Huber
"""A loss of a margin that is convex and smooth, and of which all is exact."""
