"""Public constraints: combinations of values that are declared never to occur, and a number of rows that is known.

They are declared, never looked up: the model keeps to them whatever the data hold, and they cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole
from dalenius.session.answers.contents import NoisyMarginal
from dalenius.synth.inference.beliefs import Array, Beliefs, spread
from dalenius.synth.inference.calibration import IMPOSSIBLE, Calibration
from dalenius.synth.inference.fitting import Fitted, fit, total_of
from dalenius.synth.inference.sampling import Codes
from dalenius.synth.inference.trees import clique_tree
from dalenius.synth.tables.choosing import MOST_ROWS
from dalenius.tabular.columns import BinnedColumn, grid_of
from dalenius.tabular.domains import CellDomain, Columns
from dalenius.tabular.predicates import Condition

_PULL = 0.25
"""Cells that independence expects to hold fewer people than this part of the noise's deviation are mostly left to it.
Chosen on the tables salary, titanic and acs, where a half and twice as much are about as good."""
_GAP_PER_CELL = 0.05
_STEPS = 600


@dataclass(frozen=True)
class Constraints:
    """SQL conditions over the axes that are true for no row, and the number of rows; none of both unless stated."""

    axes: tuple[BinnedColumn, ...] = ()
    impossible: tuple[str, ...] = ()
    total: int | None = None

    @classmethod
    def declared(
        cls, axes: Sequence[BinnedColumn], impossible: Sequence[str], total: int | None, *, largest: int
    ) -> Constraints:
        """Checked: the conditions leave something possible, and a model that keeps to them has at most `largest`
        numbers."""
        if isinstance(impossible, str) or not all(isinstance(text, str) for text in impossible):
            raise InvalidParameter("impossible", impossible, allowed="a list of SQL conditions, such as ['age < 15']")
        rows = None if total is None else whole(1, total=total)
        if rows is not None and rows > MOST_ROWS:
            raise InvalidParameter("total", rows, allowed=f"at most {MOST_ROWS}")
        found = cls(tuple(axes) if impossible else (), tuple(impossible), rows)
        if impossible:
            found._require_small(largest)
            found._require_something_possible()
        return found

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(Condition.read(text, self.axes) for text in self.impossible)

    @property
    def together(self) -> tuple[Columns, ...]:
        """The groups of columns that some condition speaks of: a model must hold each in one place."""
        return tuple(dict.fromkeys(condition.columns for condition in self.conditions))

    def possible(self, columns: Columns) -> Array:
        """For some columns: 1 where a combination can occur, and 0 where a condition on them alone rules it out."""
        sizes = {axis.name: axis.size for axis in self.axes}
        found = np.ones([sizes[name] for name in columns])
        for condition in self.conditions:
            if set(condition.columns) <= set(columns):
                found *= spread((~condition.true).astype(np.float64), condition.columns, columns)
        return found

    def fit(self, grid: CellDomain, measured: Sequence[NoisyMarginal], *, start: Fitted | None = None) -> Fitted:
        """The model that fits noisy marginals best among those that keep to the constraints, drawn a little towards
        independent columns so that it fits less of the noise."""
        rows = total_of(measured) if self.total is None else float(self.total)
        return fit(
            grid,
            measured,
            total=rows,
            start=start,
            possible=self.possible if self.impossible else None,
            together=self.together,
            pull=_PULL * rows / min(part.deviation for part in measured),
            gap=_GAP_PER_CELL * sum(part.counts.size for part in measured),
            steps=_STEPS,
        )

    def broken(self, places: Codes) -> NDArray[np.bool_]:
        """Which rows, given by their places on the axes, are declared impossible."""
        names = [axis.name for axis in self.axes]
        found = np.zeros(len(places), dtype=bool)
        for condition in self.conditions:
            found |= condition.true[tuple(places[:, names.index(name)] for name in condition.columns)]
        return found

    def anything(self) -> Beliefs:
        """Every possible row alike."""
        return Calibration(self._grid, clique_tree(self.together, self._grid), [], self.possible).beliefs(np.zeros(0))

    @property
    def _grid(self) -> CellDomain:
        return grid_of({axis.name: axis for axis in self.axes})

    def _require_small(self, largest: int) -> None:
        cells = clique_tree(self.together, self._grid).cells(self._grid)
        if cells > largest:
            raise InvalidParameter(
                "impossible",
                f"conditions that join columns with {cells} combinations of values",
                allowed=f"at most {largest}",
                hint="Give fewer bins, or conditions on fewer columns.",
            )

    def _require_something_possible(self) -> None:
        grid = self._grid
        tree = Calibration(grid, clique_tree(self.together, grid), [], self.possible)
        if tree.greatest(np.zeros(0)) < IMPOSSIBLE / 2:
            raise InvalidParameter(
                "impossible", list(self.impossible), allowed="conditions that leave at least one row possible"
            )


UNCONSTRAINED = Constraints()
