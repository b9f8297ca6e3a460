"""Estimators on arrays, with the least prices that they can be fitted for."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from sklearn.base import clone

from dalenius.accounting.allowance import Allowance
from dalenius.learn import (
    PCA,
    BernoulliNB,
    CategoricalNB,
    Covariance,
    GaussianNB,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    KMeans,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MeanEstimator,
    PrivateGridSearch,
    QuantileEstimator,
    Ridge,
    StandardScaler,
)
from dalenius.learn.budgets import Guarantee, relation
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.randomness.entropy import Entropy
from whole_prices import ORDER, Case

FEATURES = np.random.default_rng(2).uniform(0, 1, (60, 2))
TARGET = np.arange(60) % 2
NUMBERS: dict[str, Any] = {"bounds": (0, 1), "target_bounds": (0, 1)}
LABELS: dict[str, Any] = {"bounds": (0, 1), "classes": (0, 1, 2)}
MODELS = {
    "sums": Ridge(**NUMBERS),
    "tilted": Ridge(**NUMBERS, method="objective"),
    "adassp": LinearRegression(**NUMBERS, method="adassp"),
    "objective": LogisticRegression(**LABELS),
    "many classes": LogisticRegression(bounds=(0, 1), classes=range(150)),
    "output": LinearSVC(**LABELS, method="output"),
    "gradient": LogisticRegression(**LABELS, method="gradient"),
    "batches": LogisticRegression(**LABELS, method="gradient", batch=0.5),
    "normal": GaussianNB(**LABELS),
    "on and off": BernoulliNB(classes=(0, 1, 2)),
    "categories": CategoricalNB(classes=(0, 1, 2), categories=2),
    "trees": GradientBoostingClassifier(**LABELS),
    "trees of numbers": GradientBoostingRegressor(**NUMBERS),
    "seeded": KMeans(3, bounds=(0, 1)),
    "lloyd": KMeans(3, bounds=(0, 1), method="lloyd"),
    "components": PCA(bounds=(0, 1)),
    "covariances": Covariance(bounds=(0, 1)),
    "means": MeanEstimator(bounds=(0, 1)),
    "scales": StandardScaler(epsilon=1, bounds=(0, 1)),
    "paid bounds": StandardScaler(epsilon=1, bounds="paid"),
    "quantiles": QuantileEstimator(np.arange(1, 40) / 40, bounds=(0, 1)),
    "search": PrivateGridSearch(Ridge(**NUMBERS), {"alpha": [1.0, 2.0, 3.0]}),
}


def least_price(name: str, order: Fraction | None) -> int:
    if name == "search":
        return ceil(Fraction(3 * (200 if order is None else 667) * 5, 4))  # 4/5 of it are divided by 3
    model = clone(MODELS[name])
    model.n_features_in_, model.classes_ = 2, np.arange(150 if name == "many classes" else 3)
    return int(model._least_units(pure=order is None))


def _case(name: str) -> Case:
    def fitted(paid: Allowance, entropy: Entropy) -> object:
        model = clone(MODELS[name])
        model.guarantee_ = Guarantee("", "")
        return model._fitted(FEATURES, TARGET, BudgetPart(paid), entropy)

    slow = name == "many classes"
    orders = tuple(order for order in (None, ORDER) if (order is None or not slow) and (order or name not in _DELTA))
    return Case(fitted, lambda order: least_price(name, order), relation("add_remove"), orders)


_DELTA = ("adassp", "batches")
"""Those that need a delta."""
MODEL_CASES = {name: _case(name) for name in MODELS}
