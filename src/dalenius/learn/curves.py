"""How good a model gets for its price: accuracy against epsilon, measured on data that is public or synthetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import train_test_split

from dalenius.errors import InvalidParameter
from dalenius.lazy import optional
from dalenius.learn.models import PrivateModel, require_arrays
from dalenius.privacy.numbers import Number, positive, whole
from dalenius.session.answers.charts import Chart, drawn

EPSILONS = ("0.1", "0.3", "1", "3", "10")


@dataclass(frozen=True)
class LearningCurve:
    """For each epsilon, the mean score on rows that were held out, and how far it varied from run to run."""

    epsilons: tuple[str, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    runs: int

    def __str__(self) -> str:
        lines = [f"{'epsilon':>8}  score (mean of {self.runs})"]
        for epsilon, mean, deviation in zip(self.epsilons, self.means, self.deviations, strict=True):
            lines.append(f"{epsilon:>8}  {mean:.4f} ± {deviation:.4f}")
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, path: str | Path | None = None) -> Chart:
        """The curve, also written to `path` (.svg or .png) if there is one. Needs the extra `plot`."""
        figure = optional("matplotlib.figure", function="LearningCurve.plot", extra="plot").Figure(
            figsize=(6, 4), layout="constrained"
        )
        axes = figure.subplots()
        sizes = [float(positive(epsilon=epsilon)) for epsilon in self.epsilons]
        axes.errorbar(sizes, self.means, yerr=self.deviations, marker="o", capsize=3, color="#27566b")
        axes.set_xscale("log")
        axes.set_xlabel("epsilon")
        axes.set_ylabel("score on rows held out")
        return drawn(figure, path)


def learning_curve(
    model: PrivateModel,
    X: ArrayLike,  # noqa: N803
    y: ArrayLike | None = None,
    *,
    epsilons: Sequence[Number] = EPSILONS,
    runs: int = 3,
) -> LearningCurve:
    """Fit a model anew for every epsilon, on two thirds of rows that are public or synthetic, and score the others.

    It fits many times and shows exact scores: on private rows it would give them away, so none are taken from a
    curator. The score is the model's own: the share of right labels, R^2 of numbers, the cost of clusters with its
    sign turned. What predicts nothing has none.
    """
    if not isinstance(model, PrivateModel):
        raise InvalidParameter("model", type(model).__name__, allowed="a private estimator")
    require_arrays(X, "learning_curve")
    if not hasattr(model, "score"):
        kind = type(model).__name__
        raise InvalidParameter("model", kind, allowed="one with a score: a classifier, a regressor or KMeans")
    if y is None and (is_classifier(model) or is_regressor(model)):
        raise InvalidParameter("y", None, allowed="labels or numbers, one for each row, which the model is to learn")
    parts = train_test_split(X, test_size=1 / 3) if y is None else train_test_split(X, y, test_size=1 / 3)
    train, test = (parts[:1], parts[1:]) if y is None else ((parts[0], parts[2]), (parts[1], parts[3]))
    scores = [
        [model._for(epsilon).fit(*train).score(*test) for _ in range(whole(1, runs=runs))] for epsilon in epsilons
    ]
    return LearningCurve(
        tuple(map(str, epsilons)),
        tuple(float(np.mean(each)) for each in scores),
        tuple(float(np.std(each)) for each in scores),
        runs,
    )
