"""Integer expressions over the rows of an engine, each with a known range: what sums of features are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dalenius.learn.lines import FINE, Line, start_of
from dalenius.learn.rows import ONE
from dalenius.query.expressions import Column, Expression, Literal
from dalenius.query.functions.arguments import integer, scaled
from dalenius.query.functions.functions import call, literal
from dalenius.query.plan.relations import Project, Relation
from dalenius.query.types import Code, Number, Ranged
from dalenius.release.axes import Axis


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


def clipped(term: Expression, lower: int, upper: int) -> Expression:
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


def by_value(axis: Axis, text: Expression, values: Sequence[int]) -> Expression:
    """For each listed text or truth value of a column, and then NULL, a constant."""
    pairs = [
        (_is(text, code), integer(int(value))) for code, value in zip(axis.cut.codes(), values, strict=True) if value
    ]
    return call("case", *(part for pair in pairs for part in pair), integer(0)) if pairs else integer(0)


def on_line(axis: Axis, code: Expression, line: Line) -> Expression:
    """The step of a number or date on a public line; 0 for NULL."""
    first, size = start_of(axis)
    bare = call("subtract", _bare(code), integer(first))
    offset = bare if size == 1 else quotient(bare, size)
    moved = call("add", times(offset, line.slope), integer(line.start))
    return call("coalesce", clipped(quotient(moved, FINE), -ONE, ONE), integer(0))


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
