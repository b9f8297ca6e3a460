"""Rows that stay in their engine: sums over them are asked for in SQL, and only totals by public keys come back.

A sum is described once and spelled twice: for arrays (`__call__`), and for an engine as grouped sums (`asked`) that are
put together (`put`). Both give the same integers for the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dalenius.learn.rows import ONE, Entries, Integers, Summable
from dalenius.learn.terms import ClampedLine, column, extended, on_line
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.expressions import Column, Expression
from dalenius.query.functions.arguments import integer
from dalenius.query.functions.functions import call
from dalenius.query.keys import KeySpace
from dalenius.query.plan.passes import Aggregate, Cells, Pass, RunPass, Total
from dalenius.query.plan.relations import Bound, Filter, Project, Relation
from dalenius.query.rows import RowSource
from dalenius.query.types import Ranged
from dalenius.tabular.columns import BinnedColumn

TARGET = "y.0"
"""The name of the column to learn: its step on the grid where it is a number, else its label."""
MOST_TOTALS = 400
"""How many sums one pass takes at most; engines have limits for columns."""
MOST_FEATURES = 1000
"""How many features rows may have whose sums are taken in an engine."""
_ROWS = Total("rows")


@dataclass(frozen=True)
class Grouped:
    """For every combination of keys, how many rows there are and what each term sums up to. Found as an array: an axis
    for each key, and a last one for the number of rows and the terms."""

    relation: Relation
    keys: tuple[str, ...]
    terms: tuple[Expression, ...] = ()

    @property
    def space(self) -> KeySpace:
        return KeySpace(tuple(self.relation.schema[key] for key in self.keys))

    def step(self, rows: int) -> Pass:
        """The pass that finds it, where a unit has at most so many rows."""
        names = {f"t.{place}": term for place, term in enumerate(self.terms)}
        told = extended(self.relation, names, kept=self.keys)
        return Aggregate(Bound(told, self.keys, rows, None), (_ROWS, *(Total("sum", name) for name in names)))

    def dense(self, cells: Cells) -> Integers:
        """What the pass found, with 0 for keys that do not occur."""
        columns = [self.space.dense(cells.keys, np.asarray(total, dtype=np.int64)) for total in cells.totals]
        return np.stack(columns, axis=-1).reshape(*self.space.sizes, len(columns))


@dataclass(frozen=True)
class Columns:
    """The rows of a question as an engine has them, features beside each other. All of it is public.

    A number or date is the column `x.i` in steps of the grid, where i is its place among the features. A text or truth
    value is the column `k.i` as it is, where i is the place of its first indicator.
    """

    relation: Relation
    axes: tuple[BinnedColumn, ...]

    @classmethod
    def of(
        cls, question: RowSource, axes: tuple[BinnedColumn, ...], target: BinnedColumn | None, line: ClampedLine | None
    ) -> Columns:
        """The columns of bound rows; a target is the last one, and rows without it are left out.

        Stability: 1. Of each unit at most `most.rows` rows stay, the same ones in every pass, because all columns that
        are bound decide which; then each row stays or goes and is mapped by itself.
        """
        names = question.columns
        few = question.kept
        if target:
            few = Filter(few, call("not", call("is_null", column(few, names[-1]))))
        new = {
            key: on_line(axis, column(few, name), ClampedLine.of(axis)) if key.startswith("x") else column(few, name)
            for (key, axis), name in zip(_keys(axes).items(), names, strict=False)
        }
        if target:
            new[TARGET] = on_line(target, column(few, names[-1]), line) if line else column(few, names[-1])
        return cls(Project(few, tuple(new.items())), axes)

    @property
    def keys(self) -> dict[str, BinnedColumn]:
        """The columns, each with its axis."""
        return _keys(self.axes)

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers and dates."""
        return [key for key in self.keys if key.startswith("x")]

    @property
    def texts(self) -> list[str]:
        """The columns of texts and truth values."""
        return [key for key in self.keys if key.startswith("k")]

    @property
    def width(self) -> int:
        return sum(_features(axis) for axis in self.axes)

    def features(self, key: str) -> slice:
        """The places of a column among the features."""
        first = int(key.partition(".")[2])
        return slice(first, first + _features(self.keys[key]))

    @property
    def target(self) -> Column:
        return column(self.relation, TARGET)


def _keys(axes: Sequence[BinnedColumn]) -> dict[str, BinnedColumn]:
    firsts = np.cumsum([0, *(_features(axis) for axis in axes)]).tolist()
    return {
        f"{'x' if isinstance(axis.domain, Ranged) else 'k'}.{first}": axis
        for axis, first in zip(axes, firsts, strict=False)
    }


def _features(axis: BinnedColumn) -> int:
    return 1 if isinstance(axis.domain, Ranged) else axis.size


class Sum(Protocol):
    """A sum over rows, with two spellings that give the same integers for the same rows."""

    def __call__(self, entries: Entries) -> Integers:
        """Of rows in memory."""

    def asked(self, columns: Columns) -> list[Grouped]:
        """Of rows in an engine: what is asked of it."""

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        """The sum, from what was found for each part that was asked for."""


@dataclass(frozen=True)
class EngineRows(Summable):
    """Rows of a private table, of which nothing but totals by public keys leaves the engine: no more than there are
    keys, however many rows there are.

    Proof of the sensitivities: as for rows in memory, because `Columns` keeps at most `most` rows of a unit, and every
    row adds to each sum what the same row in memory would add. Where a table changes between two passes of one sum,
    these may see different rows of a unit; the norms that are stated hold then too, because those of a table are put
    together from the largest of each column, and passes tell columns, or pairs of them, apart.
    """

    columns: Columns
    run_pass: RunPass
    hidden: Neighbours
    width: int
    norm_squared: int
    most: int
    _found: dict[tuple[Relation, tuple[str, ...]], list[_Found]] = field(default_factory=dict, compare=False)

    @property
    def neighbours(self) -> Neighbours:
        return self.hidden

    def ready(self, *parts: Sum) -> None:
        for each in merged([each for part in parts for each in part.asked(self.columns)], self._missing):
            found = _Found(each, self.run_pass(each.step(self.most)))
            self._found.setdefault((each.relation, each.keys), []).append(found)

    def summed(self, part: Sum, *, l2_squared: int, l1: int) -> Exact[Integers]:
        self.ready(part)
        asked = part.asked(self.columns)
        known = [self._found[each.relation, each.keys] for each in asked]
        sealed = Exact.together(
            [found.cells for several in known for found in several], sensitivity=Sensitivity(neighbours=self.neighbours)
        )

        def put(cells: tuple[Cells, ...]) -> Integers:
            left = iter(cells)
            arrays = [_picked(each, several, left) for each, several in zip(asked, known, strict=True)]
            return part.put(self.columns, arrays)

        return sealed.map(put, sensitivity=self.change(l2_squared=l2_squared, l1=l1))

    def count(self) -> Exact[Integers]:
        return self.summed(RowCount(), l2_squared=1, l1=1)

    def _missing(self, each: Grouped) -> list[Expression] | None:
        """The terms that were not yet looked for; None where there is nothing to look for."""
        found = self._found.get((each.relation, each.keys), [])
        left = [term for term in each.terms if not any(term in known.asked.terms for known in found)]
        return left if left or not found else None


@dataclass(frozen=True)
class _Found:
    asked: Grouped
    cells: Exact[Cells]


@dataclass(frozen=True)
class RowCount:
    """How many rows there are."""

    def __call__(self, entries: Entries) -> Integers:
        return np.array([int(entries.counts.sum())])

    def asked(self, columns: Columns) -> list[Grouped]:
        return [Grouped(columns.relation, ())]

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        return found[0]


def passes(columns: Columns, parts: Sequence[Sum], rows: int) -> tuple[Pass, ...]:
    """The passes that find some sums."""
    asked = [each for part in parts for each in part.asked(columns)]
    return tuple(each.step(rows) for each in merged(asked, lambda each: list(each.terms)))


def merged(asked: Sequence[Grouped], missing: Callable[[Grouped], list[Expression] | None]) -> list[Grouped]:
    """What is missing of several grouped sums, with all terms of the same keys together, as far as one pass takes
    them."""
    terms: dict[tuple[Relation, tuple[str, ...]], dict[Expression, None]] = {}
    for each in asked:
        left = missing(each)
        if left is not None:
            terms.setdefault((each.relation, each.keys), {}).update(dict.fromkeys(left))
    return [Grouped(*where, part) for where, wanted in terms.items() for part in _parts(tuple(wanted))]


def _parts(terms: tuple[Expression, ...]) -> list[tuple[Expression, ...]]:
    return [terms[start : start + MOST_TOTALS] for start in range(0, max(1, len(terms)), MOST_TOTALS)]


def _picked(each: Grouped, several: Sequence[_Found], cells: Iterator[Cells]) -> Integers:
    """What was asked for, of what was found in one or more passes."""
    dense = [(found.asked, found.asked.dense(next(cells))) for found in several]
    rows = dense[0][1][..., 0]
    columns = [
        next(array[..., 1 + asked.terms.index(term)] for asked, array in dense if term in asked.terms)
        for term in each.terms
    ]
    return np.stack([rows, *columns], axis=-1)


@dataclass(frozen=True)
class PerFeature:
    """The sum of every feature times a factor, of rows in an engine, apart for each combination of some keys.

    `power` 1 takes features as they are, 2 their squares, and 0 counts those that are ONE.
    """

    relation: Relation
    factor: Expression | None = None
    by: tuple[str, ...] = ()
    power: int = 1

    def asked(self, columns: Columns) -> list[Grouped]:
        factor = () if self.factor is None else (self.factor,)
        numbers = tuple(self._number(column(self.relation, key)) for key in columns.numbers)
        parts = [Grouped(self.relation, (*self.by, key), factor) for key in columns.texts]
        return [Grouped(self.relation, self.by, (*factor, *numbers)), *parts]

    def put(self, columns: Columns, found: Sequence[Integers]) -> Integers:
        """The sums of features, and then of the factor itself."""
        last = 0 if self.factor is None else 1
        whole, *parts = found
        sums = np.zeros((*whole.shape[:-1], columns.width + 1), dtype=np.int64)
        for place, key in enumerate(columns.numbers):
            sums[..., columns.features(key)] = whole[..., last + 1 + place, None]
        for part, key in zip(parts, columns.texts, strict=True):
            sums[..., columns.features(key)] = ONE**self.power * part[..., last]
        sums[..., -1] = whole[..., last]
        return sums

    def _number(self, x: Expression) -> Expression:
        if self.power == 0:
            return call("case", call("equal", x, integer(ONE)), integer(1), integer(0))
        own = x if self.power == 1 else call("multiply", x, x)
        return own if self.factor is None else call("multiply", self.factor, own)
