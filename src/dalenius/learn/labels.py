"""Labels: declared, never read from the data, unless they are public anyway."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from dalenius.errors import InvalidParameter
from dalenius.learn.models import PrivateModel
from dalenius.learn.rows import Entries, Integers
from dalenius.release.axes import Axis

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
                "classes", self.classes, allowed="declared, such as classes=(0, 1), or 'public' if all know them anyway"
            )
        return np.asarray(self.classes)

    def _meaning(self, target: Axis | None) -> Integers | None:
        if target is None:
            raise InvalidParameter("y", None, allowed="the name of the column to learn")
        codes = [code for code in target.cut.codes() if code is not None]
        if len(codes) < 2:
            raise InvalidParameter("y", target.name, allowed="a column with two values or more")
        self.classes_ = np.array([target.cut.shown(code) for code in codes])
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
