"""What cannot be learnt is refused before anything is read or charged, and prices are those that were stated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dalenius as dl
from clinics import clinic
from dalenius.errors import InvalidParameter
from dalenius.learn import (
    PCA,
    BernoulliNB,
    CategoricalNB,
    Covariance,
    GradientBoostingRegressor,
    KMeans,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MeanEstimator,
    PrivateGridSearch,
    QuantileEstimator,
    Ridge,
)
from dalenius.session.databases import Database

ROWS = np.random.default_rng(0).uniform(0, 1, (20, 2))
LABELS = np.arange(20) % 2


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with clinic(dl.Budget(epsilon=100, delta="1e-9")) as database:
        yield database


REFUSED: dict[str, tuple[Any, str | None, list[str]]] = {
    "a method": (LogisticRegression(method="newton"), "city", ["age"]),
    "batches of another method": (LinearSVC(batch=0.5), "city", ["age"]),
    "batches of more than all rows": (LogisticRegression(method="gradient", batch=7), "city", ["age"]),
    "batches of units with several rows": (LogisticRegression(method="gradient", batch=0.5), "city", ["age"]),
    "a penalty below 0": (Ridge(-1), "cost", ["age"]),
    "more components than features": (PCA(3), None, ["age", "cost"]),
    "no smoothing": (BernoulliNB(alpha=0), "age", ["city"]),
    "smoothing that is no number": (CategoricalNB(alpha=float("nan")), "age", ["city"]),
    "a target of means": (MeanEstimator(), "age", ["cost"]),
    "a target of covariances": (Covariance(), "age", ["cost"]),
    "a target of clusters": (KMeans(2), "age", ["cost"]),
    "no clusters": (KMeans(0), None, ["cost"]),
    "a budget that is none": (MeanEstimator(budget=1), None, ["cost"]),
    "a target of quantiles": (QuantileEstimator(), "age", ["cost"]),
    "quantiles of texts": (QuantileEstimator(), None, ["age", "city"]),
    "quantiles in no order": (QuantileEstimator((0.5, 0.2)), None, ["age"]),
    "quantiles beyond 1": (QuantileEstimator((0.5, 2)), None, ["age"]),
    "steps beside those of the catalog": (QuantileEstimator(step=1), None, ["age"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_on_a_private_table_costs_nothing(db: Database, name: str) -> None:
    model, target, columns = REFUSED[name]
    spent = db.spent()["patients"].share
    with pytest.raises(InvalidParameter, match="nothing was run or charged"):
        model.fit(db.table("visits"), target, columns=columns)
    assert db.spent()["patients"].share == spent


@pytest.mark.parametrize(
    ("base", "grid", "said"),
    [
        (LogisticRegression(), {"norm": [0.5, 1.0]}, "the catalog declares it"),
        (LogisticRegression(classes=(0, 1)), {"method": ["output", "objective"]}, "the catalog declares it"),
        (LogisticRegression(), {"method": ["output", "guessing"]}, "method"),
        (LogisticRegression(), {"method": ["output"]}, "1 candidates"),
        (MeanEstimator(), {"norm": [0.5, 1.0]}, "a private classifier or regressor"),
    ],
)
def test_choices_that_cannot_be_made_on_a_private_table_cost_nothing(
    db: Database, base: Any, grid: dict[str, list[Any]], said: str
) -> None:
    spent = db.spent()["patients"].share
    with pytest.raises(InvalidParameter, match=said):
        PrivateGridSearch(base, grid).fit(db.table("visits"), "city")
    assert db.spent()["patients"].share == spent


@pytest.mark.parametrize("y", [LABELS, LABELS.tolist(), 3, b"city"])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearRegression(), MeanEstimator(), QuantileEstimator()])
def test_labels_beside_a_private_table_are_refused_in_words(db: Database, model: Any, y: Any) -> None:
    """Its rows have no order that labels of somebody else could follow."""
    spent = db.spent()["patients"].share
    with pytest.raises(InvalidParameter, match=r"the name of the column to learn.*nothing was run or charged"):
        model.fit(db.table("visits"), y)
    assert db.spent()["patients"].share == spent


def test_quantiles_of_a_private_table_are_read_in_its_own_steps(db: Database) -> None:
    with pytest.raises(InvalidParameter, match=r"bins.*left out.*nothing was run or charged"):
        QuantileEstimator().fit(db.table("visits"), columns=["cost"], bins={"cost": 3})


def test_a_ready_budget_is_what_a_fit_on_a_private_table_costs(db: Database) -> None:
    """Not what epsilon would be if nobody had said anything."""
    ready = MeanEstimator(budget=dl.Budget("0.1", "1e-9")).cost(db.table("visits"), columns=["age"])
    said = MeanEstimator(epsilon="0.1").cost(db.table("visits"), columns=["age"])
    usual = MeanEstimator().cost(db.table("visits"), columns=["age"])
    assert ready.shares == said.shares
    assert ready.shares["patients"] < usual.shares["patients"] / 50


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_batches_without_a_price_are_refused(neighbours: str) -> None:
    """Where there is no delta, and where rows are replaced."""
    settings: dict[str, Any] = {"bounds": (0, 1), "classes": (0, 1), "method": "gradient", "batch": 0.5}
    delta = None if neighbours == "add_remove" else "1e-6"
    with pytest.raises(InvalidParameter, match="batch"):
        LogisticRegression(neighbours=neighbours, delta=delta, **settings).fit(ROWS, LABELS)


@pytest.mark.parametrize("bounds", [(1e308, 1.7e308), (-1.7e308, 1.7e308), (0, 5e-324), (0, np.inf), (1, 0)])
def test_bounds_beyond_what_floats_can_scale_are_refused(bounds: tuple[float, float]) -> None:
    for model in (MeanEstimator(bounds=bounds), KMeans(2, bounds=bounds), QuantileEstimator(bounds=bounds)):
        with pytest.raises(InvalidParameter, match="bounds"):
            model.fit(ROWS)
    for kind in (LinearRegression, GradientBoostingRegressor):
        with pytest.raises(InvalidParameter, match="target_bounds"):
            kind(bounds=(0, 1), target_bounds=bounds).fit(ROWS, ROWS[:, 0])


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_bounds_of_all_other_sizes_are_fine(size: float) -> None:
    means = MeanEstimator(epsilon=1000, bounds=(-size, size)).fit(np.full((50, 2), size / 2)).mean_
    assert means / size == pytest.approx([0.5, 0.5], abs=0.1)
    fitted = LinearRegression(bounds=(-size, size), target_bounds=(0, size)).fit(ROWS * size, ROWS[:, 0] * size)
    assert np.isfinite(fitted.predict(ROWS * size)).all()


def test_the_best_of_several_models_states_what_all_of_them_lost() -> None:
    base = LogisticRegression(epsilon=1, bounds=(0, 1), classes=(0, 1))
    search = PrivateGridSearch(base, {"norm": [0.5, 1.0]}).fit(ROWS, LABELS)
    assert search.best_estimator_.guarantee_ == search.guarantee_
    assert search.guarantee_.loss == "epsilon = 1"
