"""Choosing among settings, at a price: every candidate is fitted for a part of the budget, and so is the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from dalenius.accounting.allocation import split_amount
from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter
from dalenius.learn.budgets import Guarantee, budget_of, rectangle_of, relation
from dalenius.learn.labels import PrivateClassifier
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.purse import Purse
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import Neighbours
from dalenius.privacy.numbers import inside_unit
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.frames.frames import Frame
from dalenius.randomness.entropy import Entropy, fresh_entropy

MOST = 100
"""How many candidates may be tried."""


class PrivateGridSearch(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """The best of several settings of a private classifier, by how many rows it gets right.

    `grid` lists the values to try for each parameter, as scikit-learn's own search does. Every candidate is fitted to
    all rows for an equal part of the estimator's budget; the part `choosing` pays for the choice, by the exponential
    mechanism on the number of rows that each gets right.

    Guarantee: fits and choice compose within the budget. A row changes the number of right rows of each candidate by at
    most 1: which rows a fitted model gets right is computed exactly, for each row by itself.
    """

    def __init__(self, estimator: PrivateClassifier, grid: Mapping[str, Sequence[Any]], *, choosing: Any = 0.2) -> None:
        self.estimator, self.grid, self.choosing = estimator, grid, choosing

    def fit(self, X: ArrayLike | Frame, y: ArrayLike | str) -> Self:  # noqa: N803
        """Fit all candidates, and choose one."""
        if isinstance(X, Frame):
            raise InvalidParameter("X", "a private table", allowed="arrays: choices are made among those")
        settings, last = self._settings(), inside_unit(choosing=self.choosing)
        base = self.estimator
        if not isinstance(base, PrivateClassifier) or type(base)._labels is PrivateClassifier._labels:
            raise InvalidParameter("estimator", type(base).__name__, allowed="a private linear classifier")
        budget, hidden = budget_of(base.epsilon, base.delta, base.budget), relation(base.neighbours)
        each = (1 - last) / len(settings)
        *parts, choosing = split_amount(rectangle_of(budget).cap, [*[each] * len(settings), last])
        entropy, models = fresh_entropy(), list[PrivateClassifier]()
        for setting, part in zip(settings, parts, strict=True):
            model = clone(base).set_params(**setting)
            with Allowance(part, neighbours=hidden) as allowance:
                models.append(model._fitted(X, y, Purse(allowance), entropy))
        with Allowance(choosing, neighbours=hidden) as allowance:
            self.best_index_ = _best(models, X, y, hidden, allowance, entropy)
        self.best_params_, self.best_estimator_ = settings[self.best_index_], models[self.best_index_]
        self.classes_, self.n_features_in_ = self.best_estimator_.classes_, self.best_estimator_.n_features_in_
        self.guarantee_ = Guarantee(str(budget), str(hidden), f"{len(models)} candidates and the choice among them")
        self.best_estimator_.guarantee_ = self.guarantee_  # all candidates were paid for to know which is best
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The labels that the chosen model predicts."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    def _settings(self) -> list[dict[str, Any]]:
        found = list(ParameterGrid(self.grid))
        if not 2 <= len(found) <= MOST:
            raise InvalidParameter("grid", f"{len(found)} candidates", allowed=f"2 to {MOST}")
        if paid := {"epsilon", "delta", "budget", "neighbours"} & {name for each in found for name in each}:
            raise InvalidParameter("grid", sorted(paid)[0], allowed="settings that do not change the budget")
        return found


def _best(
    models: Sequence[PrivateClassifier],
    X: Any,  # noqa: N803
    y: Any,
    hidden: Neighbours,
    allowance: Allowance,
    entropy: Entropy,
) -> int:
    """The place of the model that gets most rows right, chosen for the whole allowance."""
    change = Sensitivity(linf=hidden.add_remove_steps, neighbours=hidden)
    rows = Exact((X, y), sensitivity=change, neighbours=hidden)
    right = rows.map(lambda both: [model._right(*both) for model in models], sensitivity=change)
    purse = Purse(allowance)
    return int(measure(purse.choice(purse.equal(1), change), right, allowance, entropy))
