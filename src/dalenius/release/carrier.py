"""Rows of a private table as people on a grid: the question that carries them, the pass that counts them, sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dalenius.curator.asking.asking import Asked
from dalenius.errors import InvalidParameter
from dalenius.privacy.exact import Exact
from dalenius.privacy.numbers import positive, whole
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.cells import Cells
from dalenius.query.expressions import Column
from dalenius.query.frames.aggregates import count, count_distinct
from dalenius.query.frames.formulas import Formula
from dalenius.query.frames.frames import Frame
from dalenius.query.plan.passes import Aggregate, Pass, Total
from dalenius.query.plan.relations import Bound, Few, Project
from dalenius.query.questions import Question
from dalenius.query.tables import Most
from dalenius.query.types import Domain, Identifier, Ranged
from dalenius.release.axes import Axis, formula, grid_of, require_few, require_listed
from dalenius.release.grid import Grid
from dalenius.release.people import Crowd, People, summed

Bins = Mapping[str, int | str]
"""For a column, about how many bins, or their width as a text."""


@dataclass(frozen=True)
class Carrier:
    """Rows that were asked for, and the axes that they are counted on.

    The question's relation has one column for each axis, and of one unit `most.rows` rows are counted; others are left
    out by a public hash. All of it is public.
    """

    asked: Asked
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, rows: Frame, *, columns: Sequence[str] | None, bins: Bins, most: int | None) -> Carrier:
        """The rows of a frame over named columns, or over all that have declared values; nothing is read or spent."""
        if not isinstance(rows, Frame):
            raise InvalidParameter("rows", type(rows), allowed='rows of a private table: session.table("visits")')
        limited = rows if most is None else rows.contributing(Most(rows=whole(1, rows=most), groups=1))
        table, declared, known = _declared(limited)
        names = tuple(columns) if columns is not None else declared
        if isinstance(columns, str) or not names or len(set(names)) < len(names):
            raise InvalidParameter("columns", columns, allowed="a list of one or more, each named once")
        unknown = [name for name in bins if name not in (*names, *known)]
        if unknown:
            raise InvalidParameter("bins", unknown[0], allowed=f"for some of {', '.join(names)}")
        plain = _domains(_carried(limited, names).question)
        for name, domain in zip(names, plain, strict=True):
            require_listed(name, domain, table)
        for name, domain in zip(names, plain, strict=True):
            if name in bins and not isinstance(domain, Ranged):
                raise InvalidParameter("bins", name, allowed="for numbers and dates; other values are counted each")
        cut = [formula(name, domain, _bins(bins, name)) for name, domain in zip(names, plain, strict=True)]
        asked = _carried(limited, cut)
        axes = [Axis(*each) for each in zip(names, plain, _domains(asked.question), strict=True)]
        for axis in axes:
            require_few(axis)
        return cls(asked, tuple(axes))

    @classmethod
    def uncut(cls, rows: Frame, *, columns: Sequence[str], bins: Bins) -> Carrier:
        """The rows with every value as it is, in the steps that its column declares; bins are for the axes alone."""
        found = cls.of(rows, columns=columns, bins=bins, most=None)
        return replace(found, asked=_carried(rows, columns))

    @property
    def grid(self) -> Grid:
        return grid_of({axis.name: axis for axis in self.axes})

    @property
    def question(self) -> Question:
        """The question, with the number of rows of one unit that are counted."""
        question, limit = self.asked.question, self.asked.question.relation.rows_of_unit
        rows = question.most.rows if limit is None else min(limit, question.most.rows)
        return replace(question, most=Most(rows=rows, groups=1))

    @property
    def text(self) -> str:
        """The columns and the table, for people."""
        return f"{', '.join(axis.name for axis in self.axes)} of {self.question.relation.tables[0].name}"


def counting(question: Question) -> Pass:
    """The pass that counts the rows of a carried question in every cell that is not empty."""
    columns = tuple(statistic.columns[0] for statistic in question.statistics)
    relation = question.relation
    kept = Project(relation, tuple((name, Column(relation.schema[name], name)) for name in columns))
    rows = question.most.rows
    return Aggregate(Bound(Few(kept, rows), columns, rows, None), (Total("rows"),))


def people(question: Question, axes: Sequence[Axis], cells: Exact[Cells]) -> People:
    """What that pass found, as sealed people on the grid of the axes.

    Proof of its sensitivities: `Few` leaves at most `most.rows` rows of a unit, each of which is counted once.
    """
    neighbours = next(table.protection.neighbours for table in question.relation.tables if table.protection)
    grid = grid_of({axis.name: axis for axis in axes})
    unstated = Sensitivity(neighbours=neighbours)
    sealed = cells.map(_Crowding(tuple(axes), grid).crowd, sensitivity=unstated)
    return People(grid, sealed, question.most.rows)


class _Crowding:
    """Puts the crowd of one sealed count of cells together, once: a sealed value is computed for every measurement. It
    lives inside an `Exact`."""

    def __init__(self, axes: tuple[Axis, ...], grid: Grid) -> None:
        self._axes, self._grid = axes, grid
        self._made: Crowd | None = None

    def crowd(self, cells: Cells) -> Crowd:
        if self._made is None:
            places = [axis.places(codes) for axis, codes in zip(self._axes, cells.keys, strict=True)]
            self._made = summed(places, np.asarray(cells.totals[0], dtype=np.int64), self._grid)
        return self._made


def _declared(rows: Frame) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The table that rows come from, its columns whose values are declared, and all columns of all tables."""
    tables = _asked(rows.agg(n=count())).question.relation.tables
    listed = [(name, domain) for name, domain in tables[0].columns if not isinstance(domain, Identifier)]
    every = tuple(name for table in tables for name, _ in table.columns)
    return tables[0].name, tuple(name for name, domain in listed if domain.size is not None), every


def _carried(rows: Frame, columns: Sequence[str | Formula]) -> Asked:
    """A question whose relation has these columns: each is the argument of a statistic."""
    return _asked(rows.agg(**{f"c{place}": count_distinct(column) for place, column in enumerate(columns)}))


def asked_for(rows: Frame, columns: Sequence[str]) -> tuple[Asked, tuple[Domain, ...]]:
    """A question whose relation has these columns as they are, whatever values they may have, and their domains."""
    if not isinstance(rows, Frame):
        raise InvalidParameter("rows", type(rows), allowed='rows of a private table: session.table("visits")')
    asked = _carried(rows, columns)
    return asked, tuple(_domains(asked.question))


def _asked(frame: Frame) -> Asked:
    asked = frame.asked()
    if not isinstance(asked, Asked):
        raise InvalidParameter("rows", "of a server", allowed="rows of a database that is open in this process")
    if len(asked.question.relation.populations) != 1:
        raise InvalidParameter("populations", asked.question.relation.populations, allowed="one, whose rows these are")
    return asked


def _domains(question: Question) -> list[Domain]:
    if not all(statistic.columns for statistic in question.statistics):
        raise InvalidParameter(
            "columns", "the unit", allowed="columns that say something about people, not who they are"
        )
    return [question.relation.schema[statistic.columns[0]] for statistic in question.statistics]


def _bins(bins: Bins, name: str) -> int | Fraction | None:
    given = bins.get(name)
    return positive(bins=given) if isinstance(given, str) else None if given is None else whole(1, bins=given)
