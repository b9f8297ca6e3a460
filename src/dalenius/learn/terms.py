"""Public lines: how numbers and dates of a column become steps of the grid of features, by whole numbers alone, so that
arrays and engines round alike.

Integer expressions over the rows of an engine, each with a known range: what sums of features are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dalenius.learn.rows import ONE, Integers
from dalenius.query.expressions import Column, Expression, Literal
from dalenius.query.functions.arguments import integer, scaled
from dalenius.query.functions.functions import call, literal
from dalenius.query.plan.relations import Project, Relation
from dalenius.query.types import Code, Dated, Number, Ranged
from dalenius.tabular.columns import BinnedColumn

FINE = 2**32
"""The grid of slopes: 1 is so many steps."""
_STEEPEST = 2**47  # from one bin to the next it goes further than from -ONE to ONE


@dataclass(frozen=True)
class ClampedLine:
    """(slope * offset + start) / FINE, rounded down, and no further than ONE from 0. An offset counts bins of a column
    from its first one; see `offsets`."""

    slope: int
    start: int

    @classmethod
    def over(cls, axis: BinnedColumn, lower: int, upper: int) -> ClampedLine:
        """The line that is -ONE at one code of a column and ONE at another, at the middles of its bins."""
        scale = Fraction(2 * ONE, upper - lower)
        bins, middle = _bins(axis)
        start = (middle - Fraction(lower + upper, 2)) * scale + Fraction(1, 2)
        return cls(min(round(bins * scale * FINE), _STEEPEST), min(max(round(start * FINE), -_STEEPEST), _STEEPEST))

    @classmethod
    def of(cls, axis: BinnedColumn) -> ClampedLine:
        """The line of a feature: -1 and 1 are the ends of its declared range, and the only value of a range is 0."""
        assert isinstance(axis.domain, Ranged)
        lower, upper = axis.domain.lower, axis.domain.upper
        return cls.over(axis, lower, upper) if lower < upper else cls(0, 0)

    def at(self, offsets: Integers) -> Integers:
        """The steps of bins."""
        return np.clip((self.slope * offsets + self.start) // FINE, -ONE, ONE)


def offsets(axis: BinnedColumn) -> Integers:
    """How far each bin of a number or date is from the first one, NULL left out."""
    first, size = start_of(axis)
    return np.array([(int(code) - first) // size for code in axis.cut.codes() if code is not None], dtype=np.int64)


def start_of(axis: BinnedColumn) -> tuple[int, int]:
    """The code of the first bin, and how many codes make an offset of 1."""
    cut = axis.cut
    if isinstance(cut, Dated):
        return next(int(code) for code in cut.codes() if code is not None), cut.grain.size
    assert isinstance(cut, Ranged)
    return cut.lower, 1


def _bins(axis: BinnedColumn) -> tuple[Fraction, Fraction]:
    """How many codes of the column make an offset of 1, and the middle of the first bin as if it were whole."""
    first, size = start_of(axis)
    if isinstance(axis.cut, Number) and isinstance(axis.domain, Number):
        width = axis.cut.step / axis.domain.step
        return width, first * width + (width - 1) / 2
    return Fraction(size), Fraction(first) + (Fraction(size - 1, 2) if axis.cut != axis.domain else 0)


def column(relation: Relation, name: str) -> Column:
    """A column of a relation."""
    return Column(relation.schema[name], name)


def extended(relation: Relation, new: Mapping[str, Expression], *, kept: Iterable[str] | None = None) -> Project:
    """The rows with new columns beside those that are kept, all of them unless named."""
    old = relation.schema if kept is None else kept
    return Project(relation, (*((name, column(relation, name)) for name in old), *new.items()))


def total(terms: Sequence[Expression]) -> Expression:
    """The sum of terms, put together in pairs so that it is not deep."""
    if not terms:
        return integer(0)
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return call("add", total(terms[:half]), total(terms[half:]))


def times(term: Expression, factor: int) -> Expression:
    """A whole number times a constant."""
    return scaled(term, int(factor), Fraction(1))


def quotient(term: Expression, divisor: int) -> Expression:
    """Divided by a constant above 0, rounded down."""
    return call("floor_divide", term, integer(divisor))


def clip(term: Expression, lower: int, upper: int) -> Expression:
    """No less and no more than two constants."""
    return call("clamp", term, integer(int(lower)), integer(int(upper)))


def among(term: Expression, size: int) -> Expression:
    """A whole number from 0 to below `size`, as one of all of these, even if not all can occur."""
    assert isinstance(term.domain, Ranged)
    assert 0 <= term.domain.lower <= term.domain.upper < size
    return replace(term, domain=Number(False, 0, size - 1))


def by_number(term: Expression, values: Sequence[int]) -> Expression:
    """The constant at a place: for 0 the first one, and so on; the last one for all others."""
    pairs = [(call("equal", term, integer(place)), integer(int(value))) for place, value in enumerate(values[:-1])]
    last = integer(int(values[-1]))
    return call("case", *(part for pair in pairs for part in pair), last) if pairs else last


def by_value(axis: BinnedColumn, text: Expression, values: Sequence[int]) -> Expression:
    """For each listed text or truth value of a column, and then NULL, a constant."""
    pairs = [
        (_is(text, code), integer(int(value))) for code, value in zip(axis.cut.codes(), values, strict=True) if value
    ]
    return call("case", *(part for pair in pairs for part in pair), integer(0)) if pairs else integer(0)


def on_line(axis: BinnedColumn, code: Expression, line: ClampedLine) -> Expression:
    """The step of a number or date on a public line; 0 for NULL."""
    first, size = start_of(axis)
    bare = call("subtract", _bare(code), integer(first))
    offset = bare if size == 1 else quotient(bare, size)
    moved = call("add", times(offset, line.slope), integer(line.start))
    return call("coalesce", clip(quotient(moved, FINE), -ONE, ONE), integer(0))


def _bare(code: Expression) -> Expression:
    """A column's codes as whole numbers, whatever they count."""
    assert isinstance(code, Column)
    assert isinstance(code.domain, Ranged)
    return Column(Number(code.domain.nullable, code.domain.lower, code.domain.upper), code.name)


def _is(term: Expression, code: Code) -> Expression:
    if code is None:
        return call("is_null", term)
    same: Literal = literal(code)
    return call("equal", term, same)
