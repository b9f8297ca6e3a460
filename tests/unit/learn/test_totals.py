"""A pipeline of paid steps says what all of them lose together."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model, preprocessing
from sklearn.compose import make_column_transformer
from sklearn.pipeline import FeatureUnion, make_pipeline

import dalenius as dl
from clinics import clinic
from dalenius.accounting.conversion import renyi_to_epsilon
from dalenius.errors import InvalidParameter
from dalenius.learn import PCA, LinearRegression, MeanEstimator, PrivateGridSearch, StandardScaler, load, total
from dalenius.learn.budgets import rectangle_of

DRAWS = np.random.default_rng(5)
ROWS, TARGET = DRAWS.uniform(0, 10, (60, 3)), DRAWS.uniform(0, 1, 60)


def regression(**paid: Any) -> LinearRegression:
    return LinearRegression(bounds=(-2, 2), target_bounds=(0, 1), **paid)


def test_pure_steps_add_up() -> None:
    steps = make_pipeline(StandardScaler(bounds=(0, 10), epsilon="0.1"), regression(epsilon="0.2")).fit(ROWS, TARGET)
    found = total(steps)
    assert found.loss == "epsilon = 0.3"
    assert found.neighbours == steps[-1].guarantee_.neighbours
    assert found.note == "2 of 2 steps were paid for"


def test_steps_with_a_delta_compose_better_than_their_epsilons_add_up() -> None:
    steps = make_pipeline(
        StandardScaler(bounds=(0, 10), epsilon=1, delta="1e-6"), regression(epsilon=1, delta="1e-6")
    ).fit(ROWS, TARGET)
    found = total(steps)
    cap = rectangle_of(dl.Budget(1, "1e-6"))
    sure = renyi_to_epsilon(divergence=2 * cap.divergence * Fraction(1, 10**15), alpha=cap.order or 0, delta="2e-6")
    told = float(found.loss.split(",")[0].removeprefix("epsilon = "))
    assert "delta = 0.000002" in found.loss
    assert told == pytest.approx(float(sure), rel=1e-4)
    assert 1 < told < 1.7


def test_different_orders_lose_no_more_than_their_sum() -> None:
    axes = PCA(2, bounds=(-2, 2), epsilon=3, delta="1e-9")
    last = regression(epsilon="0.01", delta="1e-5")
    steps = make_pipeline(StandardScaler(bounds=(0, 10), epsilon="0.1"), axes, last).fit(ROWS, TARGET)
    told = float(total(steps).loss.split(",")[0].removeprefix("epsilon = "))
    alone = renyi_to_epsilon(
        divergence=axes.guarantee_.amount.divergence * Fraction(1, 10**15),
        alpha=axes.guarantee_.amount.order,
        delta="0.000010001",
    )
    assert float(alone) < told <= 3.111, "a larger delta needs less epsilon for the same noise"
    assert "delta = 0.000010001" in total(steps).loss


def test_what_is_free_adds_nothing_and_what_learns_nothing_is_fine() -> None:
    free = StandardScaler(bounds=(0, 10))
    steps = make_pipeline("passthrough", preprocessing.Normalizer(), free, regression(epsilon=1)).fit(ROWS, TARGET)
    assert total(steps).loss == "epsilon = 1"
    assert total(steps).note == "1 of 2 steps were paid for"
    assert total(free).loss == "epsilon = 0"


def test_unions_columns_and_searches_are_looked_into() -> None:
    both = FeatureUnion([("a", StandardScaler(bounds=(0, 10), epsilon=1)), ("b", PCA(1, bounds=(0, 10), epsilon=2))])
    assert total(both.fit(ROWS)).loss == "epsilon = 3"
    columns = make_column_transformer((StandardScaler(bounds=(0, 10), epsilon=1), [0]), remainder="passthrough")
    assert total(columns.fit(ROWS)).loss == "epsilon = 1"
    search = PrivateGridSearch(regression(epsilon=1), {"norm": [0.5, 1.0]})
    assert total(search.fit(ROWS, TARGET)).loss == "epsilon = 1"


@pytest.mark.parametrize(
    "steps",
    [
        make_pipeline(preprocessing.StandardScaler(), regression(epsilon=1)).fit(ROWS, TARGET),
        make_pipeline(StandardScaler(bounds=(0, 10), epsilon=1), linear_model.LinearRegression()).fit(ROWS, TARGET),
        make_pipeline(StandardScaler(bounds=(0, 10), epsilon=1), regression(epsilon=1)),
        regression(epsilon=1),
        make_pipeline("passthrough"),
        "pipeline",
        3,
    ],
    ids=["a scaler that reads", "a model that reads", "not fitted", "not fitted alone", "nothing", "text", "number"],
)
def test_where_a_step_promises_nothing_there_is_no_total(steps: Any) -> None:
    with pytest.raises(InvalidParameter, match="fitted"):
        total(steps)


def test_steps_that_hide_different_things_have_no_total() -> None:
    models = [MeanEstimator(bounds=(0, 10), neighbours=each).fit(ROWS) for each in ("add_remove", "replace")]
    with pytest.raises(InvalidParameter, match="different"):
        total(*models)
    assert total(models[0], models[0]).loss == "epsilon = 2"


def test_settings_that_were_changed_after_a_fit_change_no_total() -> None:
    model = MeanEstimator(bounds=(0, 10), epsilon=1).fit(ROWS)
    assert total(model.set_params(epsilon="0.001")).loss == "epsilon = 1"


def test_a_loaded_model_has_the_same_total(tmp_path: Path) -> None:
    model = MeanEstimator(bounds=(0, 10), epsilon=1, delta="1e-6").fit(ROWS)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.guarantee_ == model.guarantee_
    assert total(again) == total(model)


def test_fits_of_a_private_table_add_up_as_its_ledger_does() -> None:
    with clinic() as db:
        rows = db.table("visits")
        models = [each.fit(rows, columns=["age"]) for each in (MeanEstimator(epsilon=1), PCA(1, epsilon=1))]
        first, second = (each.guarantee_.amount for each in models)
        assert first is not None
        assert second is not None
        assert total(*models).loss == str(first + second)
        assert db.spent()["patients"].amount == first + second


def test_what_is_replayed_is_not_said_to_be_charged_again() -> None:
    with clinic() as db:
        first, again = (MeanEstimator(epsilon=1).fit(db.table("visits"), columns=["age"]) for _ in range(2))
        assert first.guarantee_.note.startswith("charged: ")
        assert again.guarantee_.note.startswith("charged before, and replayed for nothing: ")
        assert again.guarantee_.amount == first.guarantee_.amount, "what is known of the rows is the same"


def test_a_refused_fit_promises_nothing() -> None:
    model = regression(epsilon=1)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((3, 3), np.nan), TARGET[:3])
    with pytest.raises(InvalidParameter):
        total(model)
