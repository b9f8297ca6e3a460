"""Logistic regression and the support vector machine as scikit-learn sees them, and how well they learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.learn.linear.classifiers import METHODS, LinearClassifier, LinearSVC, LogisticRegression, method_of

MODELS: tuple[type[LinearClassifier], ...] = (LogisticRegression, LinearSVC)


def two_groups(count: int = 4000, *, labels: int = 2, seed: int = 1) -> tuple[Any, Any]:
    draws = np.random.default_rng(seed)
    target = draws.integers(0, labels, count)
    middles = np.array([[0.3, -0.3], [-0.3, 0.3], [0.4, 0.4]])
    return np.clip(middles[target] + draws.normal(scale=0.2, size=(count, 2)), -1, 1), target


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("model", MODELS)
def test_two_groups_are_told_apart(model: type[LinearClassifier], method: str, delta: Any) -> None:
    features, target = two_groups()
    fitted = model(epsilon=5, delta=delta, bounds=(-1, 1), classes=(0, 1), method=method).fit(features, target)
    assert fitted.score(*two_groups(seed=2)) > 0.95


@pytest.mark.parametrize("method", METHODS)
def test_three_groups_are_told_apart(method: str) -> None:
    features, target = two_groups(6000, labels=3)
    names = np.array(["a", "b", "c"])
    model = LogisticRegression(epsilon=10, delta="1e-6", bounds=(-1, 1), classes=("a", "b", "c"), method=method)
    model.fit(features, names[target])
    test, expected = two_groups(labels=3, seed=2)
    assert (model.predict(test) == names[expected]).mean() > 0.8
    chances = model.predict_proba(test)
    assert chances.shape == (4000, 3)
    assert np.allclose(chances.sum(axis=1), 1)


def test_shuffled_labels_are_not_learnt() -> None:
    """The twin: what the tests above see comes from the labels."""
    features, target = two_groups()
    shuffled = np.random.default_rng(5).permutation(target)
    fitted = LogisticRegression(epsilon=5, bounds=(-1, 1), classes=(0, 1)).fit(features, shuffled)
    assert fitted.score(*two_groups(seed=2)) < 0.95 or np.abs(fitted.coef_).max() < 1


def test_probabilities_are_about_right_at_a_large_epsilon() -> None:
    draws = np.random.default_rng(3)
    features = draws.uniform(-1, 1, (20_000, 2))
    chance = 1 / (1 + np.exp(-3 * features[:, 0] + 1))
    target = (draws.uniform(size=20_000) < chance).astype(int)
    model = LogisticRegression(epsilon=50, delta="1e-6", bounds=(-1, 1), classes=(0, 1)).fit(features, target)
    assert np.abs(model.predict_proba(features)[:, 1] - chance).mean() < 0.05


def test_places_are_those_of_the_labels_that_are_predicted() -> None:
    features, target = two_groups()
    model = LogisticRegression(epsilon=5, bounds=(-1, 1), classes=(0, 1)).fit(features, target)
    entries = model._entries(features, target)
    assert (model._labels(entries) == model.predict(features)).mean() > 0.999


def test_batches_learn_too_and_only_for_gradients() -> None:
    features, target = two_groups()
    facts: dict[str, Any] = {"epsilon": 5, "bounds": (-1, 1), "classes": (0, 1), "batch": 0.2}
    model = LogisticRegression(delta="1e-6", method="gradient", **facts).fit(features, target)
    assert model.score(*two_groups(seed=2)) > 0.95
    with pytest.raises(InvalidParameter, match="batch"):
        LogisticRegression(delta="1e-6", **facts).fit(features, target)
    with pytest.raises(InvalidParameter, match="batch"):
        LogisticRegression(method="gradient", **facts).fit(features, target)


def test_auto_goes_by_public_facts_alone() -> None:
    assert method_of("auto", pure=True, width=10) == method_of("auto", pure=False, width=10) == "objective"
    assert method_of("auto", pure=False, width=5000) == "gradient"
    assert method_of("auto", pure=True, width=5000) == "objective"
    with pytest.raises(InvalidParameter, match="method"):
        method_of("newton", pure=True, width=10)


def test_bounds_and_classes_are_declared() -> None:
    features, target = two_groups(20)
    with pytest.raises(InvalidParameter, match="bounds"):
        LogisticRegression(epsilon=1, classes=(0, 1)).fit(features, target)
    with pytest.raises(InvalidParameter, match="classes"):
        LogisticRegression(epsilon=1, bounds=(-1, 1)).fit(features, target)
