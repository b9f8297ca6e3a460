"""A synthetic table: a model of the rows that gives new rows and answers questions, at no further price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pyarrow as pa

from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.columns import Column, arrow_array
from dalenius.curator.asking.prices import Offer
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, whole
from dalenius.query.estimates.kinds import REAL, TEXT, Kind, of_domain
from dalenius.query.frames.frames import Frame
from dalenius.query.types import Domain
from dalenius.query.types import Number as Numeric
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.release.axes import Axis, grid_of
from dalenius.release.grid import Columns, Grid
from dalenius.release.inference.fitting import Fitted, Measured
from dalenius.release.inference.sampling import Codes, rows
from dalenius.release.inference.tables import Array
from dalenius.release.measured import from_answer
from dalenius.release.synthetic import saved
from dalenius.release.synthetic.adaptive import LARGEST_MODEL, Settings
from dalenius.release.synthetic.bars import known
from dalenius.release.synthetic.charging import charged
from dalenius.release.synthetic.constraints import UNCONSTRAINED, Constraints
from dalenius.release.synthetic.evaluating import Evaluation, carried, compared, shown_as
from dalenius.release.synthetic.fits import Fit
from dalenius.release.synthetic.reports import Report, report

KIND = "dalenius synthetic table"
FREE = "From a synthetic table: made of noisy marginals that were paid for before, at no further price."


@dataclass(frozen=True)
class SyntheticTable:
    """Made of noisy marginals alone: whatever is done with it costs nothing more and tells nothing more.

    `sample` gives rows with the declared columns, `answer` the expected counts of combinations of columns with error
    bars, `report` says what it is good for.
    """

    axes: tuple[Axis, ...]
    groups: tuple[Columns, ...]
    measured: tuple[Measured, ...]
    source: Answer
    constraints: Constraints = UNCONSTRAINED
    rows_of_unit: int = 1
    """How many rows of one unit were counted."""

    @classmethod
    def from_answer(cls, answer: Answer, fit: Fit) -> SyntheticTable:
        """The table that noisy marginals make, as `Synthesizer.fit` bought them."""
        grid = grid_of({axis.name: axis for axis in fit.axes})
        measured = tuple(from_answer(answer, grid))
        return cls(fit.axes, fit.groups, measured, answer, fit.settings.constraints, fit.question.most.rows)

    @property
    def grid(self) -> Grid:
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
                *(Column(axis.name, key, kind=TEXT, is_key=True) for axis, key in zip(axes, keys, strict=True)),
                Column("count", tuple(told.ravel().tolist()), tuple(bars), REAL),
            ),
            charge="nothing",
            receipt=self.source.receipt,
            notes=(FREE,),
        )

    def report(self) -> Report:
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
        carrier = carried(rows, self.axes, self.rows_of_unit)
        fit = Fit(carrier.question, self.axes, chosen, Settings(), charged(carrier, Offer(epsilon, share)))
        finished, text = shown_as(chosen, self.size), f"EVALUATE {carrier.text}"
        comparison = compared(fit, self.model, chosen)
        return Evaluation(carrier.asked.buy(comparison, finished, text=text, key=key, fresh=fresh))

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
