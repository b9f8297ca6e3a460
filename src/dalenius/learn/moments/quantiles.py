"""Quantiles of columns on a public grid, with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import relation
from dalenius.learn.encoding import Scale
from dalenius.learn.models import Learnt, PrivateModel, Tick
from dalenius.learn.moments.ranks import Ranks, RankTraining, grid, ranked
from dalenius.learn.rows import Integers
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Purse
from dalenius.mechanisms.quantiles import PrivateQuantiles
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import probability
from dalenius.privacy.reals import ball, lower, precise
from dalenius.query.frames.frames import Frame
from dalenius.query.types import Number
from dalenius.randomness.entropy import Entropy
from dalenius.release.axes import Axis
from dalenius.release.carrier import Bins, Carrier

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

    def _carried(self, rows: Frame, y: Any, columns: Sequence[str] | None, bins: Bins) -> tuple[Carrier, Axis | None]:
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

    def _learn(self, rows: Ranks, purse: Purse, entropy: Entropy, tick: Tick | None) -> Learnt:
        part, found = purse.equal(len(rows.columns) * len(self._targets()).bit_length()), []
        for column, ends in zip(rows.columns, rows.grids, strict=True):
            mechanism = self._mechanism(rows, ends, _range(part, purse.pure))
            ((*quantiles,),) = measure(mechanism, column, purse.allowance, entropy)
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


def _values(axis: Axis, codes: Floats) -> NDArray[Any]:
    """What codes of a column stand for: numbers as floats, dates as they are."""
    lower, upper = grid(axis)
    found = [axis.domain.shown(max(lower, min(int(code), upper))) for code in codes]
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
