"""Values of columns on public grids, sealed: what quantiles are found from, of arrays and of private tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dalenius.accounting.allowance import Allowance
from dalenius.curator.cards.cards import Step
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import hidden_in
from dalenius.learn.rows import Integers
from dalenius.learn.tables import Training, carried
from dalenius.learn.terms import column
from dalenius.mechanisms.purse import Purse
from dalenius.mechanisms.quantiles import PrivateQuantiles, ValueCounts
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.query.cells import Cells, Look
from dalenius.query.frames.frames import Frame
from dalenius.query.keys import key_tuples
from dalenius.query.plan.passes import Values
from dalenius.query.plan.relations import Bound, Clamp, Project
from dalenius.query.pricing.explain import theorem
from dalenius.query.pricing.measurements import listed_change
from dalenius.query.types import Ranged
from dalenius.randomness.entropy import Entropy
from dalenius.release.axes import Axis
from dalenius.release.carrier import Bins, Carrier

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
    def steps(self) -> tuple[Step, ...]:
        change = f"{self.question.most.rows} values of one unit"
        return tuple(
            Step(f"quantiles of {axis.name}", change, PrivateQuantiles.__name__, theorem(PrivateQuantiles),
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

    def run(self, look: Look, allowance: Allowance, entropy: Entropy) -> Learnt:
        return self.model._learn(self.ranks(look), Purse(allowance), entropy, self.tick)

    def ranks(self, look: Look) -> Ranks:
        """The sealed values of the columns."""
        hidden, most = hidden_in(self.question), self.question.most.rows
        change = listed_change(hidden, groups=1, rows=most)
        columns = tuple(look(step).map(_listed, sensitivity=change) for step in self.passes)
        return Ranks(columns, tuple(map(grid, self.encoder.axes)), hidden, most)

    @property
    def _names(self) -> list[str]:
        return [statistic.columns[0] for statistic in self.question.statistics]


def _listed(cells: Cells) -> list[ValueCounts]:
    codes, (counts,) = cells.keys[-1], cells.totals
    if pa.types.is_integer(codes.type):
        return [ValueCounts(np.asarray(codes), counts)]
    return [ValueCounts(np.array([code for (code,) in key_tuples([codes], len(counts))], dtype=object), counts)]


def grid(axis: Axis) -> tuple[int, int]:
    """The first and the last code of a column."""
    assert isinstance(axis.domain, Ranged)
    return axis.domain.lower, axis.domain.upper


def ranked(rows: Frame, y: Any, columns: Sequence[str] | None, bins: Bins) -> tuple[Carrier, Axis | None]:
    """The rows of a private table over numbers and dates, each value as it is."""
    if bins:
        raise InvalidParameter("bins", dict(bins), allowed="left out: values are read in the steps of their columns")
    known, target = carried(rows, y, columns, {})
    ordered = [axis.name for axis in known.axes if isinstance(axis.domain, Ranged)]
    others = [axis.name for axis in known.axes if axis.name not in ordered]
    if not ordered or (columns is not None and others):
        raise InvalidParameter("columns", ", ".join(others), allowed="numbers and dates, which have an order")
    return Carrier.uncut(rows, columns=ordered, bins={}), target
