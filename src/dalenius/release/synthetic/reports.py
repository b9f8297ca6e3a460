"""The report card of a synthetic table: how well it can answer what, and what it must not be used for.

All of it is made of noisy measurements; the data are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.curator.answers.charts import Chart, drawn
from dalenius.curator.answers.columns import Column
from dalenius.curator.answers.displays import html_table, text_table
from dalenius.curator.extras import optional
from dalenius.query.estimates.kinds import COUNT, REAL
from dalenius.release.grid import Columns
from dalenius.release.inference.fitting import Fitted, Measured
from dalenius.release.synthetic.bars import known

CAUTIONS = (
    "Do not look for single people in it: its rows are nobody's, and a rare combination in them may not exist.",
    "Do not use it for combinations of columns that were not measured together: there it knows nothing but what "
    "follows from the measured ones.",
    "Do not use it for minima, maxima, outliers or exact sums: values are drawn from bins.",
    "Do not count its rows as if they were a sample: error bars of tests on it are too small by what this card says.",
    "Do not tune or check it on the private data: that costs budget. An owner can pay for an evaluation.",
)


@dataclass(frozen=True)
class Line:
    """One group of columns: whether it was measured, how far the model is from the noisy counts and how far noise
    alone would be, and how far it can be from the truth at 95 %; all as shares of the rows, summed over cells."""

    columns: Columns
    cells: int
    from_noisy: float | None
    noise: float | None
    most: float | None

    @property
    def measured(self) -> bool:
        return self.most is not None


@dataclass(frozen=True)
class Report:
    """What a synthetic table is worth. `lines` has every group of one and two columns, and those it was made for."""

    rows: int
    columns: Columns
    charge: str
    marginals: int
    gap: float
    lines: tuple[Line, ...]
    cautions: tuple[str, ...] = CAUTIONS

    @property
    def table(self) -> tuple[Column, ...]:
        """By how many columns are combined: groups, how many of them were measured, and their errors."""
        orders = sorted({len(line.columns) for line in self.lines})
        groups = [[line for line in self.lines if len(line.columns) == order] for order in orders]
        held = [[line for line in group if line.measured] for group in groups]
        return (
            Column("columns combined", tuple(orders), kind=COUNT, is_key=True),
            Column("groups", tuple(map(len, groups)), kind=COUNT),
            Column("measured together", tuple(map(len, held)), kind=COUNT),
            Column("from noisy counts", tuple(_mean(line.from_noisy for line in group) for group in held), kind=REAL),
            Column("noise alone", tuple(_mean(line.noise for line in group) for group in held), kind=REAL),
            Column("at most, at 95%", tuple(_mean(line.most for line in group) for group in held), kind=REAL),
        )

    @property
    def _footer(self) -> list[str]:
        return [
            f"{self.rows} rows of {', '.join(self.columns)}; {self.marginals} noisy marginals for {self.charge}.",
            "Errors are sums over all cells of a group, as shares of the rows (0 is right, 2 is all wrong), and means "
            "over the groups that were measured together. Of other groups nothing is promised.",
            *self.cautions,
        ]

    def __str__(self) -> str:
        return text_table(self.table, footer=self._footer)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.table, footer=self._footer)

    def worst(self, count: int = 10) -> tuple[Line, ...]:
        """The groups of which least is known: those that were not measured together, the largest first, then those
        with the largest possible error."""
        return tuple(sorted(self.lines, key=lambda line: (line.measured, -(line.most or line.cells)))[:count])

    def plot(self, path: str | Path | None = None) -> Chart:
        """Each measured group: how far the model is from the noisy counts, beside what noise alone would give. Needs
        the extra `plot`."""
        figure = optional("matplotlib.figure", function="Report.plot", extra="plot").Figure(
            figsize=(6, 5), layout="constrained"
        )
        axes = figure.subplots()
        for order in sorted({len(line.columns) for line in self.lines}):
            here = [line for line in self.lines if len(line.columns) == order and line.measured]
            axes.plot(
                [line.noise for line in here], [line.from_noisy for line in here], "o", ms=4, label=f"{order} columns"
            )
        top = max((line.noise or 0 for line in self.lines), default=1) or 1
        axes.plot([0, top], [0, top], color="#999999", lw=1)
        axes.set_xlabel("distance that noise alone makes")
        axes.set_ylabel("distance of the model from noisy counts")
        axes.legend(frameon=False)
        return drawn(figure, path)


def report(model: Fitted, measured: Sequence[Measured], groups: Sequence[Columns], *, charge: str) -> Report:
    """The card of a model that fits noisy marginals and was made for some groups of columns."""
    grid = model.beliefs.grid
    asked = [group for order in (1, 2) for group in combinations(grid.columns, order)]
    lines = [_line(model, measured, group) for group in dict.fromkeys([*asked, *groups])]
    return Report(max(0, round(model.total)), grid.columns, charge, len(measured), model.gap, tuple(lines))


def _line(model: Fitted, measured: Sequence[Measured], group: Columns) -> Line:
    grid, rows = model.beliefs.grid, max(1.0, model.total)
    found = known(measured, group, grid)
    if found is None:
        return Line(group, grid.size(group), None, None, None)
    told = model.counts(group)
    noise = found.deviation * sqrt(2 / pi) * told.size
    off = float(np.abs(told - found.counts).sum())
    return Line(group, told.size, off / rows, noise / rows, min(2.0, found.distance(told) / rows))


def _mean(figures: Any) -> float | None:
    listed = [figure for figure in figures if figure is not None]
    return float(np.mean(listed)) if listed else None
