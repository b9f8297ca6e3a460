"""Public lines: how numbers and dates of a column become steps of the grid of features, by whole numbers alone, so that
arrays and engines round alike."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.learn.rows import ONE, Integers
from dalenius.query.types import Dated, Number, Ranged
from dalenius.release.axes import Axis

FINE = 2**32
"""The grid of slopes: 1 is so many steps."""
_STEEPEST = 2**47  # from one bin to the next it goes further than from -ONE to ONE


@dataclass(frozen=True)
class Line:
    """(slope * offset + start) / FINE, rounded down, and no further than ONE from 0. An offset counts bins of a column
    from its first one; see `offsets`."""

    slope: int
    start: int

    @classmethod
    def over(cls, axis: Axis, lower: int, upper: int) -> Line:
        """The line that is -ONE at one code of a column and ONE at another, at the middles of its bins."""
        scale = Fraction(2 * ONE, upper - lower)
        bins, middle = _bins(axis)
        start = (middle - Fraction(lower + upper, 2)) * scale + Fraction(1, 2)
        return cls(min(round(bins * scale * FINE), _STEEPEST), min(max(round(start * FINE), -_STEEPEST), _STEEPEST))

    @classmethod
    def of(cls, axis: Axis) -> Line:
        """The line of a feature: -1 and 1 are the ends of its declared range, and the only value of a range is 0."""
        assert isinstance(axis.domain, Ranged)
        lower, upper = axis.domain.lower, axis.domain.upper
        return cls.over(axis, lower, upper) if lower < upper else cls(0, 0)

    def at(self, offsets: Integers) -> Integers:
        """The steps of bins."""
        return np.clip((self.slope * offsets + self.start) // FINE, -ONE, ONE)


def offsets(axis: Axis) -> Integers:
    """How far each bin of a number or date is from the first one, NULL left out."""
    first, size = start_of(axis)
    return np.array([(int(code) - first) // size for code in axis.cut.codes() if code is not None], dtype=np.int64)


def start_of(axis: Axis) -> tuple[int, int]:
    """The code of the first bin, and how many codes make an offset of 1."""
    cut = axis.cut
    if isinstance(cut, Dated):
        return next(int(code) for code in cut.codes() if code is not None), cut.grain.size
    assert isinstance(cut, Ranged)
    return cut.lower, 1


def _bins(axis: Axis) -> tuple[Fraction, Fraction]:
    """How many codes of the column make an offset of 1, and the middle of the first bin as if it were whole."""
    first, size = start_of(axis)
    if isinstance(axis.cut, Number) and isinstance(axis.domain, Number):
        width = axis.cut.step / axis.domain.step
        return width, first * width + (width - 1) / 2
    return Fraction(size), Fraction(first) + (Fraction(size - 1, 2) if axis.cut != axis.domain else 0)
