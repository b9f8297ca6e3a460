"""Estimators with scikit-learn's interface that pay for what they learn. Needs the extra `learn`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalenius.errors import MissingExtra
from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.learn.clusters.kmeans import KMeans as KMeans
    from dalenius.learn.curves import learning_curve as learning_curve
    from dalenius.learn.linear.classifiers import LinearSVC as LinearSVC
    from dalenius.learn.linear.classifiers import LogisticRegression as LogisticRegression
    from dalenius.learn.moments.averages import MeanEstimator as MeanEstimator
    from dalenius.learn.moments.averages import StandardScaler as StandardScaler
    from dalenius.learn.moments.bayes import BernoulliNB as BernoulliNB
    from dalenius.learn.moments.bayes import CategoricalNB as CategoricalNB
    from dalenius.learn.moments.bayes import GaussianNB as GaussianNB
    from dalenius.learn.moments.covariances import PCA as PCA
    from dalenius.learn.moments.covariances import Covariance as Covariance
    from dalenius.learn.moments.quantiles import QuantileEstimator as QuantileEstimator
    from dalenius.learn.moments.regression import LinearRegression as LinearRegression
    from dalenius.learn.moments.regression import Ridge as Ridge
    from dalenius.learn.saving import load as load
    from dalenius.learn.selection import PrivateGridSearch as PrivateGridSearch
    from dalenius.learn.totals import total as total
    from dalenius.learn.trees.ensembles import GradientBoostingClassifier as GradientBoostingClassifier
    from dalenius.learn.trees.ensembles import GradientBoostingRegressor as GradientBoostingRegressor

_HOMES = {
    "BernoulliNB": "moments.bayes",
    "CategoricalNB": "moments.bayes",
    "Covariance": "moments.covariances",
    "GaussianNB": "moments.bayes",
    "GradientBoostingClassifier": "trees.ensembles",
    "GradientBoostingRegressor": "trees.ensembles",
    "KMeans": "clusters.kmeans",
    "LinearRegression": "moments.regression",
    "LinearSVC": "linear.classifiers",
    "LogisticRegression": "linear.classifiers",
    "MeanEstimator": "moments.averages",
    "PCA": "moments.covariances",
    "PrivateGridSearch": "selection",
    "QuantileEstimator": "moments.quantiles",
    "Ridge": "moments.regression",
    "StandardScaler": "moments.averages",
    "learning_curve": "curves",
    "load": "saving",
    "total": "totals",
}
__all__ = sorted(_HOMES)
_load, __dir__ = names(__name__, _HOMES)


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("sklearn"):
            raise
    raise MissingExtra(f"learn.{name}", package="scikit-learn", extra="learn")
