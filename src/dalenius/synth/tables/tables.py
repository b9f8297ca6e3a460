"""A synthetic table: a model of the rows that gives new rows and answers questions, at no further price.

The report card of a synthetic table: how well it can answer what, and what it must not be used for.

All of it is made of noisy measurements; the data are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dalenius.errors import InvalidParameter
from dalenius.lazy import optional
from dalenius.measuring.postprocess import COUNT, REAL, TEXT, Kind, of_domain
from dalenius.privacy.numbers import Number, whole
from dalenius.query.frames.frames import Frame
from dalenius.query.types import Domain
from dalenius.query.types import Number as Numeric
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.charts import Chart, drawn
from dalenius.session.answers.columns import AnswerColumn, arrow_array
from dalenius.session.answers.contents import NoisyMarginal
from dalenius.session.answers.displays import html_table, text_table
from dalenius.session.offers import Offer
from dalenius.synth.inference.beliefs import Array
from dalenius.synth.inference.fitting import Fitted
from dalenius.synth.inference.sampling import Codes, rows
from dalenius.synth.measured import known
from dalenius.synth.tables import saved
from dalenius.synth.tables.adaptive import LARGEST_MODEL, Settings
from dalenius.synth.tables.constraints import UNCONSTRAINED, Constraints
from dalenius.synth.tables.evaluating import Evaluation, carried, compared
from dalenius.synth.tables.fits import Fit
from dalenius.tabular.columns import BinnedColumn, grid_of
from dalenius.tabular.domains import CellDomain, Columns

CAUTIONS = (
    "Do not look for single people in it: its rows are nobody's, and a rare combination in them may not exist.",
    "Do not use it for combinations of columns that were not measured together: there it knows nothing but what "
    "follows from the measured ones.",
    "Do not use it for minima, maxima, outliers or exact sums: values are drawn from bins.",
    "Do not count its rows as if they were a sample: error bars of tests on it are too small by what this card says.",
    "Do not tune or check it on the private data: that costs budget. An owner can pay for an evaluation.",
)


@dataclass(frozen=True)
class ReportLine:
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
class SyntheticReport:
    """What a synthetic table is worth. `lines` has every group of one and two columns, and those it was made for."""

    rows: int
    columns: Columns
    charge: str
    marginals: int
    gap: float
    lines: tuple[ReportLine, ...]
    cautions: tuple[str, ...] = CAUTIONS

    @property
    def table(self) -> tuple[AnswerColumn, ...]:
        """By how many columns are combined: groups, how many of them were measured, and their errors."""
        orders = sorted({len(line.columns) for line in self.lines})
        groups = [[line for line in self.lines if len(line.columns) == order] for order in orders]
        held = [[line for line in group if line.measured] for group in groups]
        return (
            AnswerColumn("columns combined", tuple(orders), kind=COUNT, is_key=True),
            AnswerColumn("groups", tuple(map(len, groups)), kind=COUNT),
            AnswerColumn("measured together", tuple(map(len, held)), kind=COUNT),
            AnswerColumn(
                "from noisy counts", tuple(_mean(line.from_noisy for line in group) for group in held), kind=REAL
            ),
            AnswerColumn("noise alone", tuple(_mean(line.noise for line in group) for group in held), kind=REAL),
            AnswerColumn("at most, at 95%", tuple(_mean(line.most for line in group) for group in held), kind=REAL),
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

    def worst(self, count: int = 10) -> tuple[ReportLine, ...]:
        """The groups of which least is known: those that were not measured together, the largest first, then those
        with the largest possible error."""
        return tuple(sorted(self.lines, key=lambda line: (line.measured, -(line.most or line.cells)))[:count])

    def plot(self, path: str | Path | None = None) -> Chart:
        """Each measured group: how far the model is from the noisy counts, beside what noise alone would give. Needs
        the extra `plot`."""
        figure = optional("matplotlib.figure", function="SyntheticReport.plot", extra="plot").Figure(
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


def report(
    model: Fitted, measured: Sequence[NoisyMarginal], groups: Sequence[Columns], *, charge: str
) -> SyntheticReport:
    """The card of a model that fits noisy marginals and was made for some groups of columns."""
    grid = model.beliefs.grid
    asked = [group for order in (1, 2) for group in combinations(grid.columns, order)]
    lines = [_line(model, measured, group) for group in dict.fromkeys([*asked, *groups])]
    return SyntheticReport(max(0, round(model.total)), grid.columns, charge, len(measured), model.gap, tuple(lines))


def _line(model: Fitted, measured: Sequence[NoisyMarginal], group: Columns) -> ReportLine:
    grid, rows = model.beliefs.grid, max(1.0, model.total)
    found = known(measured, group, grid)
    if found is None:
        return ReportLine(group, grid.size(group), None, None, None)
    told = model.counts(group)
    noise = found.deviation * sqrt(2 / pi) * told.size
    off = float(np.abs(told - found.counts).sum())
    return ReportLine(group, told.size, off / rows, noise / rows, min(2.0, found.distance(told) / rows))


def _mean(figures: Any) -> float | None:
    listed = [figure for figure in figures if figure is not None]
    return float(np.mean(listed)) if listed else None


KIND = "dalenius synthetic table"
FREE = "From a synthetic table: made of noisy marginals that were paid for before, at no further price."


@dataclass(frozen=True)
class SyntheticTable:
    """Made of noisy marginals alone: whatever is done with it costs nothing more and tells nothing more.

    `sample` gives rows with the declared columns, `answer` the expected counts of combinations of columns with error
    bars, `report` says what it is good for.
    """

    axes: tuple[BinnedColumn, ...]
    groups: tuple[Columns, ...]
    measured: tuple[NoisyMarginal, ...]
    source: Answer
    constraints: Constraints = UNCONSTRAINED
    rows_of_unit: int = 1
    """How many rows of one unit were counted."""

    @classmethod
    def from_answer(cls, answer: Answer, fit: Fit) -> SyntheticTable:
        """The table that noisy marginals make, as `Synthesizer.fit` bought them."""
        return cls(fit.axes, fit.groups, fit.decode(answer), answer, fit.settings.constraints, fit.question.most.rows)

    @property
    def grid(self) -> CellDomain:
        return grid_of({axis.name: axis for axis in self.axes})

    @cached_property
    def model(self) -> Fitted:
        """The distribution that fits the noisy marginals best, and keeps to what was declared."""
        return self.constraints.fit(self.grid, self.measured)

    @property
    def size(self) -> int:
        """How many rows the private table has: as declared, or about, what the noisy marginals add up to."""
        return max(0, round(self.model.total))

    def sample(self, count: int | None = None, *, entropy: Entropy | None = None) -> pa.Table:
        """New rows, as an Arrow table; as many as the private table has, about, unless told otherwise."""
        source = system_entropy() if entropy is None else entropy
        places = rows(self.model.beliefs, self.size if count is None else whole(0, count=count), source)
        return pa.table(self.columns(places, source))

    def columns(self, places: Codes, entropy: Entropy) -> dict[str, pa.Array]:
        """The columns of rows that are given by their places on the axes, with a value of each bin, of the types that
        the private columns have."""
        return {
            axis.name: arrow_array(axis.values(places[:, place], entropy), _kind(axis.domain))
            for place, axis in enumerate(self.axes)
        }

    def counts(self, columns: Iterable[str]) -> Array:
        """The expected counts of all combinations of some columns, with an axis for each."""
        chosen = self.grid.ordered(columns)
        if not chosen:
            raise InvalidParameter("columns", (), allowed=f"some of {', '.join(self.grid.columns)}")
        self.grid.of(chosen).require_small(use="counts of all combinations", instead="ask about fewer columns")
        return self.model.counts(chosen)

    def answer(self, columns: Iterable[str]) -> Answer:
        """The expected count of every combination of some columns, with error bars at 95 % where the columns were
        measured together; of other combinations nothing is known, and the bar is NULL."""
        told = self.counts(columns)
        chosen = self.grid.ordered(columns)
        axes = [axis for axis in self.axes if axis.name in chosen]
        found = known(self.measured, chosen, self.grid)
        bars = [None] * told.size if found is None else found.cell_bars(told).ravel().tolist()
        labels = product(*([axis.label(place) for place in range(axis.size)] for axis in axes))
        keys = zip(*labels, strict=True)
        return Answer(
            (
                *(AnswerColumn(axis.name, key, kind=TEXT, is_key=True) for axis, key in zip(axes, keys, strict=True)),
                AnswerColumn("count", tuple(told.ravel().tolist()), tuple(bars), REAL),
            ),
            charge="nothing",
            receipt=self.source.receipt,
            notes=(FREE,),
        )

    def report(self) -> SyntheticReport:
        """What the table is worth, and what it must not be used for; made of noisy measurements alone."""
        return report(self.model, self.measured, self.groups, charge=self.source.charge)

    def evaluate(
        self,
        rows: Frame,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        groups: Iterable[Iterable[str]] | None = None,
        key: str | None = None,
        fresh: bool = False,
    ) -> Evaluation:
        """How wrong it is, measured on the private rows with noise; charged like everything else. `groups` are the
        groups of columns to measure: all of one and two columns and those it was made for, unless others are named."""
        chosen = self.evaluated(groups)
        binned = carried(rows, self.axes, self.rows_of_unit)
        fit = Fit(binned.source, self.axes, chosen, Settings(), binned.charge(Offer(epsilon, share)))
        comparison = compared(fit, self.model, chosen, rows=self.size)
        return Evaluation(binned.session.buy(comparison, text=f"EVALUATE {binned.text}", key=key, fresh=fresh))

    def evaluated(self, groups: Iterable[Iterable[str]] | None = None) -> tuple[Columns, ...]:
        """The groups of columns that an evaluation measures."""
        grid = self.grid
        asked = [*combinations(grid.columns, 1), *combinations(grid.columns, 2), *self.groups]
        chosen = tuple(dict.fromkeys(asked if groups is None else map(grid.ordered, groups)))
        if not chosen or not all(chosen):
            raise InvalidParameter("groups", chosen, allowed="one or more groups of columns")
        return chosen

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write it into a file, for anybody: it holds noisy marginals and what they cost, as JSON."""
        saved.save(path, KIND, self.facts())

    @classmethod
    def load(cls, path: str | Path) -> SyntheticTable:
        """What was saved; a file that is damaged or of another kind is refused. Nothing in it is run."""
        return saved.load(path, KIND, cls.from_facts)

    def facts(self) -> dict[str, Any]:
        """It as JSON has it."""
        return {
            "axes": saved.axes_facts(self.axes),
            "groups": [list(group) for group in self.groups],
            "impossible": list(self.constraints.impossible),
            "total": self.constraints.total,
            "rows_of_unit": self.rows_of_unit,
            "measured": saved.measured_facts(self.measured),
            "source": saved.source_text(self.source),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> SyntheticTable:
        """The table that facts say."""
        axes = saved.axes_from(facts["axes"])
        grid = grid_of({axis.name: axis for axis in axes})
        measured = saved.measured_from(facts["measured"], grid)
        constraints = Constraints.declared(axes, facts["impossible"], facts["total"], largest=LARGEST_MODEL)
        groups = tuple(saved.columns_from(group, grid) for group in facts["groups"])
        source = saved.source_from(facts["source"], measured)
        return cls(axes, groups, measured, source, constraints, whole(1, rows=facts["rows_of_unit"]))


def _kind(domain: Domain) -> Kind:
    """The kind of a column's values: numbers in steps of other than 1 are real numbers, as they are declared."""
    return REAL if isinstance(domain, Numeric) and domain.step != 1 else of_domain(domain)
