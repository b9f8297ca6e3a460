"""The dear tests of `unit/learn/test_linear_classifiers.py`."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

from dalenius.learn.linear.classifiers import LinearClassifier
from tests.unit.learn.test_linear_classifiers import MODELS

TWICE = "two fits draw fresh noise, so they are not equal: there is no seed"

EXPECTED = {
    "check_classifier_data_not_an_array": TWICE,
    "check_supervised_y_2d": TWICE,
    "check_fit_idempotent": TWICE,
    "check_methods_sample_order_invariance": TWICE,
    "check_methods_subset_invariance": TWICE,
    "check_sample_weights_invariance": TWICE,
    "check_classifiers_train": "accuracy under noise on few rows",
    "check_classifiers_classes": "accuracy under noise on few rows",
    "check_classifiers_one_label": "accuracy under noise on few rows",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("method", ["objective", "gradient"])
@pytest.mark.parametrize("model", MODELS)
def test_estimators_keep_the_conventions(model: type[LinearClassifier], method: str) -> None:
    estimator = model(epsilon=100, delta="1e-3", bounds=(-10, 10), classes="public", method=method)
    results = check_estimator(estimator, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed.keys() <= EXPECTED.keys(), failed
    assert len(results) > 40
