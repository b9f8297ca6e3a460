"""Numbers to predict: scaled by declared bounds to a public grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from dalenius.errors import InvalidParameter
from dalenius.learn.encoding import Scale
from dalenius.learn.lines import Line, offsets
from dalenius.learn.models import PrivateModel
from dalenius.learn.rows import ONE, Entries, Integers
from dalenius.query.types import Number
from dalenius.release.axes import Axis


class PrivateRegressor(RegressorMixin, PrivateModel):
    """An estimator of a number that lies in `target_bounds`, declared; what lies outside is moved to them."""

    target_bounds: Any
    _points = ONE**2

    def _checked(self, X: Any, y: Any) -> tuple[NDArray[np.float64], Integers]:  # noqa: N803
        features, target = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._target_scale = Scale.declared(self.target_bounds, 1, what="target_bounds")
        kept = np.clip(np.asarray(target, dtype=np.float64), self._target_scale.lower, self._target_scale.upper)
        steps = np.rint((kept - self._target_centre) / self._target_half * ONE)
        return features, np.clip(steps, -ONE, ONE).astype(np.int64)

    def _meaning(self, target: Axis | None) -> Integers | None:
        if target is None or not isinstance(target.domain, Number):
            raise InvalidParameter("y", target.name if target else None, allowed="the name of a column of numbers")
        lower, upper = target.domain.lower, max(target.domain.upper, target.domain.lower + 1)
        step = target.domain.step
        self._target_scale = Scale(np.array([float(lower * step)]), np.array([float(upper * step)]))
        self._target_line = Line.over(target, lower, upper)
        return self._target_line.at(offsets(target))

    def _merits(self, entries: Entries) -> Integers:
        """1 less the square of what is left unexplained, in steps of 1 / ONE^2; of more than 1, so much is counted."""
        left = np.clip(self._numbers(entries), -ONE, ONE) - np.clip(entries.target, -ONE, ONE)
        return np.asarray(ONE**2 - np.minimum(np.abs(left), ONE) ** 2)

    def _numbers(self, entries: Entries) -> Integers:
        """What is predicted for each entry, in steps of the target's grid, from its own features alone."""
        raise NotImplementedError

    @property
    def _target_centre(self) -> float:
        """The target that is 0 on the grid: the middle of its bounds, so that no target is far from it."""
        return float(self._target_scale.lower[0] + self._target_scale.upper[0]) / 2

    @property
    def _target_half(self) -> float:
        """What is 1 on the grid, counted from the middle."""
        return float(self._target_scale.upper[0] - self._target_scale.lower[0]) / 2
