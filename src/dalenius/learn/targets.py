"""Numbers to predict: scaled by declared bounds to a public grid.

Labels: declared, never read from the data, unless they are public anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from dalenius.errors import InvalidParameter
from dalenius.learn.encoding import Scale
from dalenius.learn.models import PrivateModel
from dalenius.learn.rows import ONE, Entries, Integers
from dalenius.learn.terms import ClampedLine, offsets
from dalenius.query.types import Number
from dalenius.tabular.columns import BinnedColumn


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

    def _meaning(self, target: BinnedColumn | None) -> Integers | None:
        if target is None or not isinstance(target.domain, Number):
            raise InvalidParameter("y", target.name if target else None, allowed="the name of a column of numbers")
        lower, upper = target.domain.lower, max(target.domain.upper, target.domain.lower + 1)
        step = target.domain.step
        self._target_scale = Scale(np.array([float(lower * step)]), np.array([float(upper * step)]))
        self._target_line = ClampedLine.over(target, lower, upper)
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


PUBLIC = "public"


class PrivateClassifier(ClassifierMixin, PrivateModel):
    """An estimator of labels.

    `classes` are the labels, declared; `"public"` says that those which occur are public knowledge anyway. A row with
    another label is left out.
    """

    classes: Any
    _points = 1

    def _checked(self, X: Any, y: Any) -> tuple[NDArray[np.float64], Integers]:  # noqa: N803
        features, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_ = np.unique(
            labels if isinstance(self.classes, str) and self.classes == PUBLIC else self._listed()
        )
        if len(self.classes_) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")
        places = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        known = self.classes_[places] == labels
        return features[known], places[known]

    def _listed(self) -> NDArray[Any]:
        if self.classes is None or isinstance(self.classes, str):
            raise InvalidParameter(
                "classes", self.classes, allowed="declared, such as classes=(0, 1), or 'public' if everybody knows them"
            )
        return np.asarray(self.classes)

    def _meaning(self, target: BinnedColumn | None) -> Integers | None:
        if target is None:
            raise InvalidParameter("y", None, allowed="the name of the column to learn")
        codes = [code for code in target.cut.codes() if code is not None]
        if len(codes) < 2:
            raise InvalidParameter("y", target.name, allowed="a column with two values or more")
        self.classes_ = np.array([target.cut.decode(code) for code in codes])
        return np.arange(len(codes))

    def _merits(self, entries: Entries) -> Integers:
        """1 for each entry that gets its own label."""
        return np.asarray(self._labels(entries) == entries.target, dtype=np.int64)

    def _labels(self, entries: Entries) -> Integers:
        """The place of the label that each entry gets, computed exactly, from its own features alone."""
        raise NotImplementedError


def best_places(scores: Integers) -> Integers:
    """The place of the label with the best score; of one score, that of two labels, whether it is above 0."""
    return np.asarray((scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1))
