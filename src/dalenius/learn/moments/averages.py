"""Means with error bars, and the scaler that means and deviations make.

The units in which a released sum of features is told: those of the columns, where these are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin

from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import Guarantee, relation
from dalenius.learn.encoding import Scale
from dalenius.learn.engine_rows import Columns, Sum
from dalenius.learn.models import Learnt, PrivateModel, PrivateTransformer, Tick
from dalenius.learn.moments.found_bounds import PAID, Unbounded, found_bounds
from dalenius.learn.moments.sums import Squares, Sums, parts, released, squares, sums
from dalenius.learn.rows import ONE, Integers, Summable
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.query.frames.frames import Frame
from dalenius.query.types import Number
from dalenius.randomness.entropy import Entropy
from dalenius.tabular.columns import BinnedColumn

Floats = NDArray[np.float64]


def units(model: PrivateModel) -> tuple[Floats, Floats]:
    """For each feature, what 0 and what 1 (counted from there) stand for."""
    encoder = getattr(model, "encoder_", None)
    if encoder is None:
        return model._scale.centre, model._scale.size
    pairs = [pair for axis in encoder.axes for pair in _of_column(axis)]
    return np.array([centre for centre, _ in pairs]), np.array([size for _, size in pairs])


def _of_column(axis: BinnedColumn) -> list[tuple[float, float]]:
    """A number from the middle of its range; a date and an indicator as they are encoded."""
    if not isinstance(axis.domain, Number):
        return [(0.0, 1.0)] * (1 if hasattr(axis.domain, "lower") else axis.size)
    lower, upper, step = axis.domain.lower, axis.domain.upper, axis.domain.step
    return [(float((lower + upper) * step / 2), float(max(1, upper - lower) * step / 2))]


BAR = 2.2
"""How many standard deviations of its noise a released sum is off at most, 19 times out of 20: 2.12 where the noise is
Laplace, 1.96 where it is Gaussian."""


class MeanEstimator(PrivateModel):
    """The mean of every column.

    `mean_` with `mean_error_`, and `count_` with `count_error_`: what noise moves them by at most, 19 times out of 20.
    In a private table a NULL counts as the middle of its column's range.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        norm: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.norm, self.neighbours = bounds, norm, neighbours

    def _sums(self, columns: Columns) -> Sequence[Sum]:
        return [Sums()]

    def _learn(self, rows: Summable, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        rows.ready(Sums())
        paid = parts(budget_part, {"count": Fraction(1, 5), "sums": Fraction(4, 5)})
        count = released(rows.count(), 1, budget_part, paid["count"], entropy)
        total = released(sums(rows), ONE, budget_part, paid["sums"], entropy)
        return {
            "count": count.value,
            "sums": total.value,
            "deviations": np.array([count.deviation, total.deviation]),
        }

    def _keep(self, learnt: Learnt) -> None:
        centre, size = units(self)
        noisy_count, noisy_sum = learnt["deviations"]
        self.count_ = max(1.0, float(learnt["count"][0]))
        self.count_error_ = BAR * float(noisy_count)
        scaled = np.clip(learnt["sums"] / self.count_, -1.0, 1.0)
        self.mean_ = scaled * size + centre
        self.mean_error_ = BAR * size * np.sqrt(noisy_sum**2 + (scaled * noisy_count) ** 2) / self.count_


class StandardScaler(OneToOneFeatureMixin, PrivateTransformer, PrivateModel):
    """Moves every column to the middle and divides by its size.

    With neither `epsilon` nor `budget`, by the declared bounds alone, which become -1 and 1: that costs nothing. With
    one of them, by the mean and the standard deviation of the rows, which are paid for. `bounds="paid"` is for arrays
    whose bounds nobody can declare: they are found for a quarter of the price, around values between ±10^12 that many
    rows have. `bounds_` are those that values are moved to.
    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        norm: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.norm, self.neighbours = bounds, norm, neighbours

    def fit(self, X: ArrayLike | Frame, y: Any = None, **how: Any) -> Self:  # noqa: N803
        """Learn from rows where there is a budget for it; else from the bounds alone."""
        if isinstance(X, Frame):
            return super().fit(X, **how)
        if self.epsilon is not None or self.budget is not None:
            return super().fit(X, None, **how)
        if self._finds_bounds:
            raise InvalidParameter("epsilon", None, allowed="a number, or a ready budget: paid bounds have a price")
        self.__dict__.pop("encoder_", None)  # of an earlier fit on a table
        features, _ = self._checked(X, None)
        self._scale = Scale.declared(self.bounds, features.shape[1])
        self.guarantee_ = Guarantee("epsilon = 0", str(relation(self.neighbours)), "made of declared bounds alone")
        lower, upper = self._scale.lower, self._scale.upper
        return self._made({"mean": (lower + upper) / 2, "scale": (upper - lower) / 2})

    def _sums(self, columns: Columns) -> Sequence[Sum]:
        return [Sums(), Squares()]

    @property
    def _finds_bounds(self) -> bool:
        return isinstance(self.bounds, str) and self.bounds == PAID

    def _rows(self, features: NDArray[np.float64], target: Integers) -> Any:
        return (
            Unbounded.of(features, relation(self.neighbours)) if self._finds_bounds else super()._rows(features, target)
        )

    def _learn(
        self, rows: Summable | Unbounded, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None
    ) -> Learnt:
        if isinstance(rows, Summable):
            return self._moments(rows, budget_part, entropy)
        self._scale = found_bounds(rows, budget_part, entropy)
        moments = self._moments(rows.within(self._scale, self._norm_squared()), budget_part, entropy)
        return {**moments, "lower": self._scale.lower, "upper": self._scale.upper}

    def _moments(self, rows: Summable, budget_part: BudgetPart, entropy: Entropy) -> dict[str, NDArray[np.float64]]:
        """The mean and the standard deviation of every column."""
        rows.ready(Sums(), Squares())
        paid = parts(budget_part, {"count": Fraction(1, 10), "sums": Fraction(9, 20), "squares": Fraction(9, 20)})
        count = max(1.0, released(rows.count(), 1, budget_part, paid["count"], entropy).number)
        total = released(sums(rows), ONE, budget_part, paid["sums"], entropy)
        spread = released(squares(rows), ONE**2, budget_part, paid["squares"], entropy)
        mean = np.clip(total.value / count, -1.0, 1.0)
        variance = np.clip(spread.value / count - mean**2, max(spread.deviation / count, 1 / ONE**2), 1.0)
        return {"mean": self._scale.restored(mean), "scale": np.sqrt(variance) * self._scale.size}

    def _keep(self, learnt: Learnt) -> None:
        if "lower" in learnt:
            self._scale = Scale(learnt["lower"], learnt["upper"])
        self.bounds_ = self._scale.lower, self._scale.upper
        self.mean_, self.scale_ = learnt["mean"], learnt["scale"]
        self.var_ = self.scale_**2

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Rows, moved and divided; what lies outside the bounds is moved to them first."""
        kept = np.clip(self._features(X), self._scale.lower, self._scale.upper)
        return np.asarray((kept - self.mean_) / self.scale_)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The way back."""
        return np.asarray(self._features(X) * self.scale_ + self.mean_)
