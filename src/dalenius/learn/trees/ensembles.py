"""Boosted trees with scikit-learn's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from dalenius.errors import InvalidParameter
from dalenius.learn.encoding import Floats, Scale
from dalenius.learn.losses_tabulated import WEIGHT, on_grid
from dalenius.learn.models import Learnt, PrivateModel, Tick
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows
from dalenius.learn.tables import middle
from dalenius.learn.targets import PrivateClassifier, PrivateRegressor, best_places
from dalenius.learn.trees.boosting import Boosting, BoostingLoss, Labels, SquaredLoss, added, boost
from dalenius.learn.trees.cells import ChoiceCells, Layout
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.query.types import Number
from dalenius.randomness.entropy import Entropy
from dalenius.tabular.columns import BinnedColumn


class AdditiveTrees(PrivateModel):
    """Scores that are sums of one score for each feature, learnt by boosting small trees of one feature each.

    `groups` lists the columns that are indicators of one thing each, so that of a list at most one is set: this makes
    the noise smaller, since a row then counts once for the whole list. On a private table texts are grouped already.
    `shapes_` has, for each feature, the score of each of its cells; `intercept_` is added to them. The cells are those
    of `layout_`: 256 of equal width between the declared bounds of a number, one for each column of a group, and one
    more for rows that have none of them.
    """

    norm = None
    groups: Any

    @property
    def layout_(self) -> Layout:
        """The features and their cells, from declared facts alone."""
        return Layout.of(self._scale, self.groups, getattr(self, "encoder_", None))

    def _loss(self) -> BoostingLoss:
        raise NotImplementedError

    def _learn(self, rows: SealedRows, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        layout = self.layout_
        plan = Boosting.usual(len(layout), pure=budget_part.pure)
        made = boost(rows, layout, self._loss(), plan, budget_part, entropy, tick)
        return {"scores": made.scores, "intercept": made.intercept, "counts": made.counts}

    def _keep(self, learnt: Learnt) -> None:
        layout, scores, counts = self.layout_, learnt["scores"], np.maximum(learnt["counts"], 0.0)
        means = [_mean(scores[part], counts[part]) for part in layout.parts]
        self.shapes_ = [scores[part] - mean for part, mean in zip(layout.parts, means, strict=True)]
        self.intercept_ = learnt["intercept"] + np.sum(means, axis=0)

    def edges(self, feature: int) -> Floats | list[int]:
        """Where the cells of a feature begin and end, in the units of the rows; of a group, its columns."""
        found = self.layout_.features[feature]
        if isinstance(found, ChoiceCells):
            return list(found.columns)
        lower, upper = self._scale.lower[found.column], self._scale.upper[found.column]
        return np.linspace(lower, upper, found.size + 1)

    def _scores(self, X: ArrayLike) -> Floats:  # noqa: N803
        features = self._features(X)
        places = self.layout_.indices(np.rint(self._scale.scaled(features) * ONE))
        return np.asarray(np.concatenate(self.shapes_)[places].sum(axis=1) + self.intercept_)

    def _whole_scores(self, entries: Entries) -> Integers:
        """The scores of entries in steps of 1 / WEIGHT, each from its own features alone."""
        scores, intercept = on_grid(self.learnt_["scores"]), on_grid(self.learnt_["intercept"])
        return added(scores, intercept, self.layout_.indices(entries.features))


class GradientBoostingClassifier(PrivateClassifier, AdditiveTrees):
    """Boosted trees that tell labels apart: one sum of scores for two labels, else one for each label against the rest.

    Guarantee: that of the budget; every measurement is drawn from it.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        groups: Any = None,
        classes: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.groups, self.classes, self.neighbours = bounds, groups, classes, neighbours

    def _loss(self) -> Labels:
        return Labels(1 if len(self.classes_) == 2 else len(self.classes_))

    def _labels(self, entries: Entries) -> Integers:
        return best_places(self._whole_scores(entries))

    def decision_function(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The score of each row, and of each label where there are more than two."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The label of each row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The probability of each label for each row."""
        scores = self.decision_function(X)
        odds = self._loss().slope.odds(scores)
        positive = odds / (1 + odds)
        if positive.ndim == 1:
            return np.stack([1 - positive, positive], axis=1)
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))


class GradientBoostingRegressor(PrivateRegressor, AdditiveTrees):
    """Boosted trees that estimate a number.

    `target_bounds` are the least and the largest target, declared; others are moved to them. On a private table they
    are those of the column.

    Guarantee: that of the budget; every measurement is drawn from it.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        target_bounds: Any = None,
        groups: Any = None,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.target_bounds, self.groups, self.neighbours = bounds, target_bounds, groups, neighbours

    def _checked(self, X: Any, y: Any) -> tuple[NDArray[np.float64], Integers]:  # noqa: N803
        features, target = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._target_scale = Scale.declared(self.target_bounds, 1, what="target_bounds")
        return features, self._target_steps(target)

    def _target_steps(self, values: ArrayLike) -> Integers:
        """Targets in whole steps of the grid."""
        scaled = self._target_scale.scaled(np.asarray(values, dtype=np.float64)[:, None])[:, 0]
        return np.rint(scaled * ONE).astype(np.int64)

    def _meaning(self, target: BinnedColumn | None) -> Integers | None:
        if target is None or not isinstance(target.domain, Number):
            raise InvalidParameter("y", target and target.name, allowed="the name of a column of numbers")
        step, domain = target.domain.step, target.domain
        self._target_scale = Scale.declared((float(domain.lower * step), float(domain.upper * step)), 1, what="y")
        values = [middle(target, place) for place in range(target.size)]
        return self._target_steps([float(value * step) for value in values if value is not None])

    def _loss(self) -> SquaredLoss:
        return SquaredLoss()

    def _numbers(self, entries: Entries) -> Integers:
        return (self._whole_scores(entries)[:, 0] + WEIGHT // (2 * ONE)) // (WEIGHT // ONE)

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The number that each row is expected to have."""
        scores, scale = self._scores(X), self._target_scale
        return np.asarray(np.clip(scale.restored(scores), scale.lower, scale.upper)[:, 0])


def _mean(scores: Floats, counts: Floats) -> Floats:
    """The mean score of a feature, over as many rows as noisy counts tell."""
    return np.asarray(counts @ scores / max(counts.sum(), 1.0))
