"""Linear classifiers with scikit-learn's interface."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.learn.exact_sums import product
from dalenius.learn.labels import PrivateClassifier, best_places
from dalenius.learn.linear.gradient import Descent
from dalenius.learn.linear.methods import learnt_weights, method_of, require
from dalenius.learn.models import Learnt, Tick
from dalenius.learn.rows import ONE, Entries, Integers, Rows
from dalenius.learn.slopes import HEAVIEST, WEIGHT, Slope, on_grid
from dalenius.mechanisms.purse import Purse
from dalenius.privacy.neighbours import Neighbours
from dalenius.randomness.entropy import Entropy


class LinearClassifier(PrivateClassifier):
    """Scores that are sums of weighted features, one for each class against all others, or one for two classes.

    `method` says how weights are learnt: `"objective"` (the minimum of a randomly tilted objective), `"output"` (the
    minimum with noise), `"gradient"` (noisy gradient descent), or `"auto"`: objective, unless features are many.
    `batch` is the expected share of the rows in each gradient; without it all rows are.
    """

    _intercept = 1
    _slope: Slope
    method: Any
    batch: Any

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        budget: Any = None,
        bounds: Any = None,
        norm: Any = None,
        classes: Any = None,
        neighbours: str = "add_remove",
        method: str = "auto",
        batch: float | None = None,
    ) -> None:
        self.epsilon, self.delta, self.budget = epsilon, delta, budget
        self.bounds, self.norm, self.classes, self.neighbours = bounds, norm, classes, neighbours
        self.method, self.batch = method, batch

    def _require(self, *, pure: bool, most: int, neighbours: Neighbours) -> None:
        width = self.n_features_in_ + self._intercept
        require(self.method, self.batch, pure=pure, width=width, most=most, neighbours=neighbours)

    def _least_units(self, *, pure: bool) -> int:
        plan = Descent()
        steps = ceil(plan.steps / (1 - plan.counting - plan.spreading))
        return max(super()._least_units(pure=pure), steps, 2 * len(self.classes_))

    def _learn(self, rows: Rows, purse: Purse, entropy: Entropy, tick: Tick | None) -> Learnt:
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        method = method_of(self.method, pure=purse.pure, width=rows.width)
        return {"weights": learnt_weights(method, rows, scores, self._slope, purse, entropy, tick, self.batch)}

    def _keep(self, learnt: Learnt) -> None:
        weights = learnt["weights"]
        scaled = weights[:-1] / self._scale.size[:, None]
        self.coef_ = scaled.T
        self.intercept_ = weights[-1] - self._scale.centre @ scaled

    def _labels(self, entries: Entries) -> Integers:
        weights = on_grid(self.learnt_["weights"])
        return best_places(product(entries.features, weights, largest=ONE * HEAVIEST * WEIGHT))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803 - the name that everybody uses
        """The score of each row, and of each class where there are more than two."""
        features = self._features(X)
        scores = np.clip(features, self._scale.lower, self._scale.upper) @ self.coef_.T + self.intercept_
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The label of each row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])


class LogisticRegression(LinearClassifier):
    """Logistic regression, with a loss that is no steeper than 1/2.

    A wrong row pulls at the weights with half the strength of the usual loss, so half the noise hides it; the best
    score still tells the probability.
    """

    _slope = Slope("logistic", steepest=0.5)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class for each row."""
        odds = self._slope.odds(self.decision_function(X))
        positive = odds / (1 + odds)
        if positive.ndim == 1:
            return np.stack([1 - positive, positive], axis=1)
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))


class LinearSVC(LinearClassifier):
    """The linear support vector machine, with a hinge that is rounded off at its corner."""

    _slope = Slope("hinge", steepest=1.0)
