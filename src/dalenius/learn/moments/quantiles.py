"""Quantiles of columns on a public grid, with scikit-learn's interface.

Values of columns on public grids, sealed: what quantiles are found from, of arrays and of private tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import relation
from dalenius.learn.encoding import Scale
from dalenius.learn.models import Learnt, PrivateModel, Tick
from dalenius.learn.rows import Integers
from dalenius.learn.tables import Training, chosen
from dalenius.learn.terms import column
from dalenius.measuring.explain import theorem
from dalenius.measuring.measurements import listed_change
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles, ValueCounts
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import probability
from dalenius.privacy.reals import ball, lower, precise
from dalenius.query.frames.frames import Frame
from dalenius.query.keys import key_tuples
from dalenius.query.plan.passes import Cells, RunPass, Values
from dalenius.query.plan.relations import Bound, Clamp, Project
from dalenius.query.types import Number, Ranged
from dalenius.randomness.entropy import Entropy
from dalenius.session.cards.cards import CardMeasurement
from dalenius.tabular.binned_rows import BinnedRows, Bins
from dalenius.tabular.columns import BinnedColumn

if TYPE_CHECKING:
    from dalenius.learn.models import Learnt

_TALLIED = 1 << 24  # a grid of fewer points is counted in an array


@dataclass(frozen=True)
class Ranks:
    """The sealed values of some columns, and the public grid of each: its first and its last code.

    One unit has at most `most` values of a column.
    """

    columns: tuple[Exact[list[ValueCounts]], ...]
    grids: tuple[tuple[int, int], ...]
    neighbours: Neighbours
    most: int = 1

    @classmethod
    def of_codes(cls, codes: Integers, last: Sequence[int], neighbours: Neighbours) -> Ranks:
        """Those of arrays, where a row is a unit: codes from 0 to the last one of each column."""
        change = listed_change(neighbours, groups=1, rows=1)
        sealed = [Exact(values, sensitivity=change, neighbours=neighbours) for values in codes.T]
        tallied = [
            values.map(partial(_tallied, last=end), sensitivity=change)
            for values, end in zip(sealed, last, strict=True)
        ]
        return cls(tuple(tallied), tuple((0, end) for end in last), neighbours)


def _tallied(values: Integers, *, last: int) -> list[ValueCounts]:
    """How often each value occurs; where the grid is fine, values as they come."""
    if last >= _TALLIED:
        return [ValueCounts(values, np.ones_like(values))]
    counts = np.bincount(values, minlength=last + 1)
    points = np.flatnonzero(counts)
    return [ValueCounts(points, counts[points])]


class RankTraining(Training):
    """A fit that needs the values of every column by itself, in the steps that the catalog declares. NULL is none."""

    @property
    def steps(self) -> tuple[CardMeasurement, ...]:
        change = f"{self.question.most.rows} values of one unit"
        return tuple(
            CardMeasurement(f"quantiles of {axis.name}", change, PrivateQuantiles.__name__, theorem(PrivateQuantiles),
                 "a choice among all values", "an equal part of the price")
            for axis in self.encoder.axes
        )  # fmt: skip

    @property
    def passes(self) -> tuple[Values, ...]:
        """How often each value of a column occurs.

        Of a unit at most `most.rows` values of a column count, evenly spaced among those that it has.
        """
        relation, found = self.question.relation, []
        for name, axis in zip(self._names, self.encoder.axes, strict=True):
            lower, upper = grid(axis)
            bounded = Clamp(Project(relation, ((name, column(relation, name)),)), ((name, lower, upper),))
            found.append(Values(Bound(bounded, (), self.question.most.rows, None), name))
        return tuple(found)

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> Learnt:
        return self.model._learn(self.ranks(run_pass), BudgetPart(allowance), entropy, self.tick)

    def ranks(self, run_pass: RunPass) -> Ranks:
        """The sealed values of the columns."""
        hidden, most = self.question.relation.neighbours, self.question.most.rows
        change = listed_change(hidden, groups=1, rows=most)
        columns = tuple(run_pass(step).map(_listed, sensitivity=change) for step in self.passes)
        return Ranks(columns, tuple(map(grid, self.encoder.axes)), hidden, most)

    @property
    def _names(self) -> list[str]:
        return list(self.question.columns)


def _listed(cells: Cells) -> list[ValueCounts]:
    codes, (counts,) = cells.keys[-1], cells.totals
    if pa.types.is_integer(codes.type):
        return [ValueCounts(np.asarray(codes), counts)]
    return [ValueCounts(np.array([code for (code,) in key_tuples([codes], len(counts))], dtype=object), counts)]


def grid(axis: BinnedColumn) -> tuple[int, int]:
    """The first and the last code of a column."""
    assert isinstance(axis.domain, Ranged)
    return axis.domain.lower, axis.domain.upper


def ranked(rows: Frame, y: Any, columns: Sequence[str] | None, bins: Bins) -> tuple[BinnedRows, BinnedColumn | None]:
    """The rows of a private table over numbers and dates, each value as it is."""
    if bins:
        raise InvalidParameter("bins", dict(bins), allowed="left out: values are read in the steps of their columns")
    known, target = chosen(rows, y, columns, {})
    ordered = [axis.name for axis in known.axes if isinstance(axis.domain, Ranged)]
    others = [axis.name for axis in known.axes if axis.name not in ordered]
    if not ordered or (columns is not None and others):
        raise InvalidParameter("columns", ", ".join(others), allowed="numbers and dates, which have an order")
    return known.rows.binned(ordered, {}).uncut(), target


Floats = NDArray[np.float64]


class QuantileEstimator(PrivateModel):
    """Quantiles of every column.

    `step` is how finely values are rounded, one number or one for each column; if it is left out, the power of ten that
    fits a million to ten million times between `bounds`. Where data are multiples of a public unit, such as whole
    euros, say so: many equal values are found better than values close to each other. `quantiles_` has a row for each
    of `quantiles`.

    Of a private table, values are read in the steps that the catalog declares, NULL is left out, and a unit counts with
    as many values as the table declares, evenly spaced among those that it has. Quantiles of dates are dates.

    Guarantee: the price is shared equally by all columns; see `PrivateQuantiles` for that of one.
    """

    norm = None
    _training = RankTraining

    def __init__(
        self,
        quantiles: Any = (0.5,),
        *,
        step: Any = None,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.quantiles, self.step = quantiles, step
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.neighbours = bounds, neighbours

    def _require(self, *, pure: bool, most: int, neighbours: Neighbours) -> None:
        self._targets()

    def _least_units(self, *, pure: bool) -> int:
        return self.n_features_in_ * len(self._targets()).bit_length()

    def _chosen(
        self, rows: Frame, y: Any, columns: Sequence[str] | None, bins: Bins
    ) -> tuple[BinnedRows, BinnedColumn | None]:
        return ranked(rows, y, columns, bins)

    def _rows(self, features: Floats, target: Integers) -> Any:
        """Rows as codes of the grid: 0 for the lower bound, and 1 more for every step."""
        self._scale = Scale.declared(self.bounds, features.shape[1])
        steps, last = self._steps(), self._last()
        kept = np.clip(features, self._scale.lower, self._scale.upper)
        codes = np.minimum(np.rint((kept - self._scale.lower) / steps), last).astype(np.int64)
        return Ranks.of_codes(codes, last.tolist(), relation(self.neighbours))

    def _steps(self) -> Floats:
        """The size of a step, for each column."""
        wide = self._scale.upper - self._scale.lower
        try:
            steps = np.broadcast_to(_fine(wide) if self.step is None else np.asarray(self.step, float), wide.shape)
        except (TypeError, ValueError):
            steps = np.zeros_like(wide)
        if not (np.isfinite(steps).all() and (steps > 0).all() and (wide / steps < 2**40).all()):
            raise InvalidParameter("step", self.step, allowed=f"a number above 0, or {len(wide)} of them")
        return steps

    def _last(self) -> Integers:
        """The last code of the grid, for each column."""
        return np.ceil((self._scale.upper - self._scale.lower) / self._steps()).astype(np.int64)

    def _targets(self) -> tuple[Fraction, ...]:
        try:
            targets = tuple(probability(quantile=Fraction(str(each))) for each in self.quantiles)
        except (TypeError, ValueError):
            targets = ()
        if not targets or any(left >= right for left, right in pairwise(targets)):
            raise InvalidParameter("quantiles", self.quantiles, allowed="numbers from 0 to 1, in rising order")
        return targets

    def _learn(self, rows: Ranks, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        part, found = budget_part.equal(len(rows.columns) * len(self._targets()).bit_length()), []
        for values, ends in zip(rows.columns, rows.grids, strict=True):
            mechanism = self._mechanism(rows, ends, _range(part, budget_part.pure))
            ((*quantiles,),) = measure(mechanism, values, budget_part.allowance, entropy)
            found.append([float(quantile.value) for quantile in quantiles])
            if tick:
                tick(100 * len(found) / len(rows.columns))
        return {"codes": np.array(found).T}

    def _mechanism(self, rows: Ranks, ends: tuple[int, int], width: Fraction) -> PrivateQuantiles:
        """The steepest weights where every choice has a range of this width."""
        reach = rows.most * rows.neighbours.add_remove_steps
        return PrivateQuantiles(
            targets=self._targets(),
            lower=ends[0],
            upper=ends[1],
            rate=width / reach,
            neighbours=rows.neighbours,
            rows=rows.most,
        )

    def _keep(self, learnt: Learnt) -> None:
        encoder = getattr(self, "encoder_", None)
        if encoder is not None:
            columns = [_values(axis, codes) for axis, codes in zip(encoder.axes, learnt["codes"].T, strict=True)]
            self.quantiles_ = np.stack(columns, axis=1)
            return
        found = learnt["codes"] * self._steps() + self._scale.lower
        self.quantiles_ = np.minimum(found, self._scale.upper)


def _values(axis: BinnedColumn, codes: Floats) -> NDArray[Any]:
    """What codes of a column stand for: numbers as floats, dates as they are."""
    lower, upper = grid(axis)
    found = [axis.domain.decode(max(lower, min(int(code), upper))) for code in codes]
    return np.array(found, dtype=float if isinstance(axis.domain, Number) else object)


def _fine(wide: Floats) -> Floats:
    """For each range, the power of ten that fits into it a million times or more, but less than ten million times."""
    exponents = [int(f"{each:e}".split("e")[1]) for each in wide]
    return np.array([float(f"1e{exponent - 6}") for exponent in exponents])


def _range(part: Fraction, pure: bool) -> Fraction:
    """The range of a choice that costs a part: itself where epsilon is counted, else sqrt(8 part), rounded down."""
    if pure:
        return part
    with precise():
        return lower((8 * ball(part)).sqrt()).limit_denominator(10**18) * (1 - Fraction(1, 10**12))
