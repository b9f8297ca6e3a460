"""What there is to compare with: scikit-learn without privacy, and AdaSSP as it was published."""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import Any

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

VERSION = sklearn.__version__
Data = dict[str, np.ndarray]
Tell = Callable[[], Any]


def classes(data: Data, _: object, __: object) -> Tell:
    model = LogisticRegression(max_iter=1000).fit(data["adult"], data["adult_target"])
    return lambda: model.decision_function(data["adult_test"])


def trees(data: Data, _: object, __: object) -> Tell:
    model = HistGradientBoostingClassifier().fit(data["adult"], data["adult_target"])
    return lambda: model.decision_function(data["adult_test"])


def bayes(data: Data, _: object, __: object) -> Tell:
    model = GaussianNB().fit(data["adult"], data["adult_target"])
    return lambda: model.predict_proba(data["adult_test"])[:, 1] - 0.5


def income(data: Data, _: object, __: object) -> Tell:
    model = LinearRegression().fit(data["acs"], data["acs_target"])
    return lambda: model.predict(data["acs_test"])


def clusters(data: Data, _: object, __: object) -> Tell:
    model = KMeans(8, n_init=10).fit(data["points"])
    return lambda: model.cluster_centers_


def adassp(data: Data, epsilon: float, delta: str) -> Tell:
    """AdaSSP with its published constants and NumPy's noise.

    Reference: Wang 2018 (arXiv:1803.02596), Algorithm 2.
    """
    lower, upper = data["income_bounds"].tolist()
    rows = np.hstack([data["acs"], np.ones((len(data["acs"]), 1))])
    target = (data["acs_target"] - lower) / (upper - lower)
    longest, width, chance = float(data["acs_norm"]) ** 2 + 1, rows.shape[1], np.random.default_rng()
    part, unlikely, failing = epsilon / 3, log(6 / float(delta)), 0.05
    unit = sqrt(unlikely) * longest / part
    products = rows.T @ rows
    least = np.linalg.eigvalsh(products)[0] + unit * chance.normal() - unlikely * longest / part
    ridge = max(0.0, sqrt(width * log(2 * width**2 / failing)) * unit - max(least, 0.0))
    noise = np.triu(chance.normal(size=(width, width)))
    noisy = products + unit * (noise + np.triu(noise, 1).T)
    side = rows.T @ target + unit / sqrt(longest) * chance.normal(size=width)
    weights = np.linalg.solve(noisy + ridge * np.eye(width), side)
    others = np.hstack([data["acs_test"], np.ones((len(data["acs_test"]), 1))])
    return lambda: np.clip(others @ weights, 0, 1) * (upper - lower) + lower


TASKS = {
    "classes": classes,
    "trees": trees,
    "bayes": bayes,
    "income": income,
    "adassp": adassp,
    "clusters": clusters,
}
