"""Penalties beyond all measure hold every weight at 0, and drown nothing else."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinics import clinic
from dalenius.errors import InvalidParameter
from dalenius.learn import BernoulliNB, CategoricalNB, PrivateGridSearch, Ridge, load
from dalenius.learn.linear.batches import rate_of
from dalenius.learn.losses_tabulated import HEAVIEST, WEIGHT, on_grid

DRAWS = np.random.default_rng(3)
X = DRAWS.uniform(0, 1, (3000, 2))
Y = 0.6 * X[:, 0] + 0.2


def ridge(alpha: Any, method: str = "sums", **how: Any) -> Ridge:
    return Ridge(alpha, epsilon=50, delta="1e-6", bounds=(0, 1), target_bounds=(0, 1), method=method, **how)


@pytest.mark.parametrize("method", ["sums", "objective", "adassp"])
@pytest.mark.parametrize("alpha", [1e12, 1e160, 1e300])
def test_a_large_penalty_leaves_the_mean_alone(method: str, alpha: float) -> None:
    found = ridge(alpha, method).fit(X, Y)
    assert np.abs(found.coef_).max() < 0.01
    assert found.intercept_ == pytest.approx(Y.mean(), abs=0.05)


@pytest.mark.parametrize("method", ["sums", "objective", "adassp"])
def test_the_test_above_notices_weights_that_are_left(method: str) -> None:
    """The twin: a penalty of the usual size."""
    assert np.abs(ridge(1.0, method).fit(X, Y).coef_).max() > 0.4


def test_penalties_of_tiny_bounds_are_numbers() -> None:
    for alpha in (0, 1.0, 1e200):
        model = Ridge(alpha, epsilon=50, bounds=(0, 1e-80), target_bounds=(0, 1)).fit(X * 1e-80, Y)
        assert np.isfinite(model.learnt_["weights"]).all()


@pytest.mark.parametrize("method", ["sums", "objective"])
def test_a_large_penalty_is_fitted_on_a_table(method: str) -> None:
    with clinic() as db:
        found = Ridge(1e300, epsilon=1, method=method).fit(db.table("visits"), "cost", columns=["age"])
        assert np.isfinite(found.coef_).all()


def test_what_is_no_number_has_a_fixed_place_on_the_grid_of_weights() -> None:
    steps = on_grid(np.array([np.nan, np.inf, -np.inf, 1.0, -1e300]))
    assert steps.tolist() == [0, HEAVIEST * WEIGHT, -HEAVIEST * WEIGHT, WEIGHT, -HEAVIEST * WEIGHT]


NUMBERS = [1, 1.0, np.int64(1), np.uint8(1), np.float32(1), np.float64(1), Fraction(1)]


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: type(value).__name__)
def test_numbers_of_every_kind_are_settings(value: Any, tmp_path: Path) -> None:
    for method in ("sums", "objective", "adassp"):
        ridge(value, method).fit(X[:50], Y[:50])
    on, label = (X[:50] > 0.5).astype(int), (Y[:50] > 0.5).astype(int)
    made = BernoulliNB(alpha=value, binarize=np.float32(0.5), epsilon=1, classes=(0, 1)).fit(on, label)
    made.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").get_params()["alpha"] == 1
    CategoricalNB(alpha=value, epsilon=1, classes=(0, 1), categories=2).fit(on, label)
    assert rate_of(value) == 1


@pytest.mark.parametrize(
    "value", [True, np.True_, "1", None, np.nan, -1, np.array([1.0]), 1j, 10**400], ids=lambda value: str(value)[:9]
)
def test_what_is_no_number_is_no_setting(value: Any) -> None:
    with clinic() as db:
        for model, target, column in ((Ridge(value), "cost", "age"), (BernoulliNB(alpha=value), "city", "age")):
            with pytest.raises(InvalidParameter) as refused:
                model.fit(db.table("visits"), target, columns=[column])
            assert refused.value.name == "alpha"
        assert db.spent()["patients"].share == 0


def test_a_search_takes_what_arange_gives() -> None:
    grid = {"alpha": np.arange(1, 4)}
    how: dict[str, Any] = {"epsilon": 5, "bounds": (0, 1), "target_bounds": (0, 1)}
    assert PrivateGridSearch(Ridge(**how), grid).fit(X, Y).best_params_["alpha"] in (1, 2, 3)
