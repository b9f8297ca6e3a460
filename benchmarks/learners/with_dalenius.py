"""The tasks, by our own estimators as they come: bounds are declared, and nothing else is set."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np

from dalenius.learn import (
    GaussianNB,
    GradientBoostingClassifier,
    KMeans,
    LinearRegression,
    LogisticRegression,
    QuantileEstimator,
)

VERSION = version("dalenius")
Data = dict[str, np.ndarray]
Tell = Callable[[], Any]


def classes(data: Data, epsilon: float, delta: str | None) -> Tell:
    norm = float(data["adult_norm"])
    model = LogisticRegression(epsilon=epsilon, delta=delta, bounds=(0, 1), classes=(0, 1), norm=norm)
    model.fit(data["adult"], data["adult_target"])
    return lambda: model.decision_function(data["adult_test"])


def trees(data: Data, epsilon: float, delta: str | None) -> Tell:
    groups = np.split(np.arange(data["adult"].shape[1]), data["adult_starts"])[1:]
    model = GradientBoostingClassifier(epsilon=epsilon, delta=delta, bounds=(0, 1), classes=(0, 1), groups=groups)
    model.fit(data["adult"], data["adult_target"])
    return lambda: model.decision_function(data["adult_test"])


def bayes(data: Data, epsilon: float, delta: str | None) -> Tell:
    model = GaussianNB(epsilon=epsilon, delta=delta, bounds=(0, 1), classes=(0, 1))
    model.fit(data["adult"], data["adult_target"])
    return lambda: model.predict_proba(data["adult_test"])[:, 1] - 0.5


def income(data: Data, epsilon: float, delta: str | None) -> Tell:
    bounds, norm = tuple(data["income_bounds"]), float(data["acs_norm"])
    model = LinearRegression(epsilon=epsilon, delta=delta, bounds=(0, 1), target_bounds=bounds, norm=norm)
    model.fit(data["acs"], data["acs_target"])
    return lambda: model.predict(data["acs_test"])


def deciles(data: Data, epsilon: float, delta: str | None) -> Tell:
    bounds, targets = tuple(data["exact_bounds"]), [f"0.{tenth}" for tenth in range(1, 10)]
    model = QuantileEstimator(targets, step=1, epsilon=epsilon, delta=delta, bounds=bounds)
    model.fit(data["exact_income"][:, None])
    return lambda: model.quantiles_[:, 0]


def alone(data: Data, epsilon: float, delta: str | None) -> Tell:
    """Every decile by itself, for a ninth of the price."""
    bounds, part = tuple(data["exact_bounds"]), Fraction(str(epsilon)) / 9
    models = [QuantileEstimator([f"0.{tenth}"], step=1, epsilon=part, bounds=bounds) for tenth in range(1, 10)]
    found = [model.fit(data["exact_income"][:, None]).quantiles_[0, 0] for model in models]
    return lambda: found


def clusters(data: Data, epsilon: float, delta: str | None) -> Tell:
    model = KMeans(8, epsilon=epsilon, delta=delta, bounds=(0, 1)).fit(data["points"])
    return lambda: model.cluster_centers_


def lloyd(data: Data, epsilon: float, delta: str | None) -> Tell:
    model = KMeans(8, epsilon=epsilon, delta=delta, bounds=(0, 1), method="lloyd").fit(data["points"])
    return lambda: model.cluster_centers_


def median(data: Data, epsilon: float, delta: str | None) -> Tell:
    place, bounds = int(data["run"]) % len(data["amounts"]), tuple(data["amount_bounds"])
    model = QuantileEstimator(step=0.01, epsilon=epsilon, delta=delta, bounds=bounds)
    model.fit(data["amounts"][place][:, None])
    return lambda: [place, model.quantiles_[0, 0]]


TASKS = {
    "classes": classes,
    "trees": trees,
    "bayes": bayes,
    "income": income,
    "deciles": deciles,
    "alone": alone,
    "clusters": clusters,
    "lloyd": lloyd,
    "median": median,
}
