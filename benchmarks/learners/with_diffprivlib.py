"""The tasks, by diffprivlib: all of it is pure, so delta is not used."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from diffprivlib import tools
from diffprivlib.models import GaussianNB, KMeans, LinearRegression, LogisticRegression, RandomForestClassifier

VERSION = version("diffprivlib")
Data = dict[str, np.ndarray]
Tell = Callable[[], Any]


def classes(data: Data, epsilon: float, _: object) -> Tell:
    model = LogisticRegression(epsilon=epsilon, data_norm=float(data["adult_norm"]))
    model.fit(data["adult"], data["adult_target"])
    return lambda: model.decision_function(data["adult_test"])


def trees(data: Data, epsilon: float, _: object) -> Tell:
    model = RandomForestClassifier(epsilon=epsilon, bounds=(0, 1), classes=[0, 1])
    model.fit(data["adult"], data["adult_target"])
    return lambda: model.predict_proba(data["adult_test"])[:, 1] - 0.5


def bayes(data: Data, epsilon: float, _: object) -> Tell:
    model = GaussianNB(epsilon=epsilon, bounds=(0, 1)).fit(data["adult"], data["adult_target"])
    return lambda: model.predict_proba(data["adult_test"])[:, 1] - 0.5


def income(data: Data, epsilon: float, _: object) -> Tell:
    bounds = tuple(map(float, data["income_bounds"]))
    model = LinearRegression(epsilon=epsilon, bounds_X=(0, 1), bounds_y=bounds)
    model.fit(data["acs"], data["acs_target"])
    return lambda: model.predict(data["acs_test"])


def deciles(data: Data, epsilon: float, _: object) -> Tell:
    values, bounds = data["exact_income"], tuple(map(float, data["exact_bounds"]))
    found = [tools.quantile(values, tenth / 10, epsilon=epsilon / 9, bounds=bounds) for tenth in range(1, 10)]
    return lambda: found


def clusters(data: Data, epsilon: float, _: object) -> Tell:
    model = KMeans(8, epsilon=epsilon, bounds=(0, 1)).fit(data["points"])
    return lambda: model.cluster_centers_


def median(data: Data, epsilon: float, _: object) -> Tell:
    place, bounds = int(data["run"]) % len(data["amounts"]), tuple(map(float, data["amount_bounds"]))
    found = tools.median(data["amounts"][place], epsilon=epsilon, bounds=bounds)
    return lambda: [place, found]


TASKS = {
    "classes": classes,
    "trees": trees,
    "bayes": bayes,
    "income": income,
    "deciles": deciles,
    "clusters": clusters,
    "median": median,
}
