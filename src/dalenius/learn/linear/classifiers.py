"""Linear classifiers with scikit-learn's interface.

The ways to learn weights, each at the expense of a whole budget part: by objective, output or gradient perturbation.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InvalidParameter
from dalenius.learn.linear import batches, objective, output
from dalenius.learn.linear.conditioning import FeatureShape
from dalenius.learn.linear.gradient import Descent, Weights, descended
from dalenius.learn.linear.losses_piecewise import Bend
from dalenius.learn.losses_tabulated import HEAVIEST, WEIGHT, Slope, on_grid
from dalenius.learn.models import Learnt, Tick
from dalenius.learn.rows import ONE, Entries, Integers, SealedRows, product
from dalenius.learn.targets import PrivateClassifier, best_places
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.randomness.entropy import Entropy

METHODS = ("objective", "output", "gradient")
_MANY = 1000
_COUNTING = Fraction(1, 100)  # the share of a budget part that finds out how many rows there are
_SPREADING = Fraction(1, 20)  # and the share that finds out how their features spread


def method_of(name: str, *, pure: bool, width: int) -> str:
    """The method that a parameter names. `auto` goes by the budget and the number of features alone: a tilted objective
    is paid for once, but looking for its minimum takes a time that grows with the cube of the features; where they are
    many and the budget is not pure, noisy gradients do, whose sum the Rényi curve makes cheap."""
    if name == "auto":
        return "gradient" if width > _MANY and not pure else "objective"
    if name not in METHODS:
        raise InvalidParameter("method", name, allowed="'auto', 'objective', 'output' or 'gradient'")
    return name


def require(name: str, batch: float | None, *, pure: bool, width: int, most: int, neighbours: Neighbours) -> None:
    """Refuse a method, and batches, that no rows can be learnt by; by public facts, before anything is charged."""
    method = method_of(name, pure=pure, width=width)
    if batch is None:
        return
    if method != "gradient":
        raise InvalidParameter("batch", batch, allowed="None, or a share of the rows with method='gradient'")
    batches.rate_of(batch)
    if pure or most > 1 or not isinstance(neighbours, AddRemove):
        allowed = "None, unless there is a delta and neighbours differ by one row, added or removed"
        raise InvalidParameter("batch", batch, allowed=allowed)


def learnt_weights(
    method: str,
    rows: SealedRows,
    labels: int,
    slope: Slope,
    budget_part: BudgetPart,
    entropy: Entropy,
    tick: Tick | None = None,
    batch: float | None = None,
) -> Weights:
    """Weights of a score for each of the labels 1, 2, ... against all others; for more than one score, the labels
    0, 1, ... against all others."""
    if batch is not None:
        return batches.descended(rows, labels, slope, Descent(), batch, budget_part, entropy, tick)
    if method == "gradient":
        return descended(rows, labels, slope, Descent(), budget_part, entropy, tick)
    by_label = _by_objective if method == "objective" else _by_output
    shape = FeatureShape.of(rows, budget_part, counting=_COUNTING, spreading=_SPREADING, entropy=entropy)
    return shape.original(
        by_label(shape, shape.centred(rows), _places(labels), Bend(slope), budget_part, entropy, tick)
    )


def _places(labels: int) -> range:
    return range(1, 2) if labels == 1 else range(labels)


def _by_objective(
    shape: FeatureShape,
    rows: SealedRows,
    places: range,
    bend: Bend,
    budget_part: BudgetPart,
    entropy: Entropy,
    tick: Tick | None,
) -> Weights:
    """Every label pays the same share of the budget part."""
    order = budget_part.allowance.left.order
    price = budget_part.equal(len(places)) * (order or 1)
    found = []
    for place in places:
        mechanism = objective.calibrated(rows, bend, place, price=price, order=order, count=shape.count)
        found.append(measure(mechanism, objective.counted(rows), budget_part.allowance, entropy))
        if tick:
            tick(100 * len(found) / len(places))
    return objective.weights_of(np.stack(found, axis=1))


def _by_output(
    shape: FeatureShape,
    rows: SealedRows,
    places: range,
    bend: Bend,
    budget_part: BudgetPart,
    entropy: Entropy,
    tick: Tick | None,
) -> Weights:
    """The ridge fits the noisy count of the rows; every label pays the same share of the budget part."""
    part = budget_part.equal(len(places))
    ridge = output.fitting_ridge(rows, bend, int(shape.count), price=part, pure=budget_part.pure)
    found = []
    for place in places:
        exact = output.minimum(rows, bend, place, ridge)
        noise = output.noise(exact.sensitivity, part, pure=budget_part.pure, neighbours=rows.neighbours)
        found.append(measure(noise, exact, budget_part.allowance, entropy))
        if tick:
            tick(100 * len(found) / len(places))
    return objective.weights_of(np.stack(found, axis=1))


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

    def _learn(self, rows: SealedRows, budget_part: BudgetPart, entropy: Entropy, tick: Tick | None) -> Learnt:
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        method = method_of(self.method, pure=budget_part.pure, width=rows.width)
        return {"weights": learnt_weights(method, rows, scores, self._slope, budget_part, entropy, tick, self.batch)}

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
    Textbook: S14.6, S14.7, S14.8.
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
    """The linear support vector machine, with a hinge that is rounded off at its corner.

    Textbook: S14.6, S14.7, S14.8.
    """

    _slope = Slope("hinge", steepest=1.0)
