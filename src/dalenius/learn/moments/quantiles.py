"""Quantiles of columns on a public grid, with scikit-learn's interface."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.encoding import Scale
from dalenius.learn.models import Learnt, PrivateModel, Tick
from dalenius.learn.rows import Entries, Integers, Rows
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Purse
from dalenius.mechanisms.quantiles import PrivateQuantiles, ValueCounts
from dalenius.privacy.numbers import probability
from dalenius.privacy.reals import ball, lower, precise
from dalenius.query.frames.frames import Frame
from dalenius.randomness.entropy import Entropy

_TALLIED = 1 << 24  # a grid of fewer points is counted in an array


class QuantileEstimator(PrivateModel):
    """Quantiles of every column.

    `step` is how finely values are rounded, one number or one for each column; if it is left out, the power of ten that
    fits a million to ten million times between `bounds`. Where data are multiples of a public unit, such as whole
    euros, say so: many equal values are found better than values close to each other. `quantiles_` has a row for each
    of `quantiles`.

    Guarantee: the price is shared by all columns; see `PrivateQuantiles` for that of one.
    """

    norm = None

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

    def fit(self, X: ArrayLike | Frame, y: Any = None, **how: Any) -> Self:  # noqa: N803
        """Learn from rows, and lose no more than the budget."""
        if isinstance(X, Frame):
            raise InvalidParameter("X", "a private table", allowed="arrays; of a table, ask for QUANTILE in SQL")
        return super().fit(X, None, **how)

    def _entries(self, features: NDArray[np.float64], target: Integers) -> Entries:
        """Rows as codes of the grid: 0 for the lower bound, and 1 more for every step."""
        self._scale = Scale.declared(self.bounds, features.shape[1])
        kept = np.clip(features, self._scale.lower, self._scale.upper)
        codes = np.minimum(np.rint((kept - self._scale.lower) / self._steps()), self._last()).astype(np.int64)
        return Entries(codes, target, np.ones(len(codes), dtype=np.int64))  # type: ignore[arg-type]

    def _steps(self) -> NDArray[np.float64]:
        """The size of a step, for each column."""
        wide = self._scale.upper - self._scale.lower
        try:
            steps = np.broadcast_to(_fine(wide) if self.step is None else np.asarray(self.step, float), wide.shape)
        except (TypeError, ValueError):
            steps = np.zeros_like(wide)
        if not (np.isfinite(steps).all() and (steps > 0).all() and (wide / steps < 2**40).all()):
            raise InvalidParameter("step", self.step, allowed=f"a number above 0, or {len(wide)} of them")
        return steps

    def _last(self) -> int:
        """The last code of the grid, that of the column with the most steps."""
        wide = self._scale.upper - self._scale.lower
        return int(np.ceil(wide / self._steps()).max())

    def _targets(self) -> tuple[Fraction, ...]:
        try:
            return tuple(probability(quantile=Fraction(str(each))) for each in self.quantiles)
        except (TypeError, ValueError):
            raise InvalidParameter(
                "quantiles", self.quantiles, allowed="numbers from 0 to 1, in rising order"
            ) from None

    def _learn(self, rows: Rows, purse: Purse, entropy: Entropy, tick: Tick | None) -> Learnt:
        last = self._last()
        exact = rows.entries.map(
            lambda entries: _by_column(entries, last), sensitivity=rows.change(l2_squared=rows.width, l1=rows.width)
        )
        mechanism = self._mechanism(rows, purse)
        found = measure(mechanism, exact, purse.allowance, entropy)
        return {"codes": np.array([[quantile.value for quantile in column] for column in found], dtype=np.float64).T}

    def _mechanism(self, rows: Rows, purse: Purse) -> PrivateQuantiles:
        """The steepest weights that the purse affords: every choice has the range that its part buys."""
        targets = self._targets()
        part = purse.equal(rows.width * len(targets).bit_length())
        reach = rows.most * rows.neighbours.add_remove_steps
        return PrivateQuantiles(
            targets=targets,
            lower=0,
            upper=self._last(),
            rate=_range(part, purse.pure) / reach,
            neighbours=rows.neighbours,
            rows=rows.most,
            groups=rows.width,
        )

    def _keep(self, learnt: Learnt) -> None:
        found = learnt["codes"] * self._steps() + self._scale.lower
        self.quantiles_ = np.minimum(found, self._scale.upper)


def _fine(wide: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each range, the power of ten that fits into it a million times or more, but less than ten million times."""
    exponents = [int(f"{each:e}".split("e")[1]) for each in wide]
    return np.array([float(f"1e{exponent - 6}") for exponent in exponents])


def _by_column(entries: Entries, last: int) -> list[ValueCounts]:
    columns = [ValueCounts(column, entries.counts) for column in entries.features.T]
    return [_tallied(column, last) for column in columns] if last < _TALLIED else columns


def _tallied(column: ValueCounts, last: int) -> ValueCounts:
    """The same values, each once."""
    counts = np.zeros(last + 1, dtype=np.int64)
    np.add.at(counts, column.values, column.counts)
    points = np.flatnonzero(counts)
    return ValueCounts(points, counts[points])


def _range(part: Fraction, pure: bool) -> Fraction:
    """The range of a choice that costs a part: itself where epsilon is counted, else sqrt(8 part), rounded down."""
    if pure:
        return part
    with precise():
        return lower((8 * ball(part)).sqrt()).limit_denominator(10**18) * (1 - Fraction(1, 10**12))
