"""What a model makes of private rows is not shown, and what it knew of other rows is forgotten when it is fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dalenius as dl
from clinics import clinic
from dalenius import learn
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.learn import PCA, KMeans, LogisticRegression, MeanEstimator, PrivateGridSearch, Ridge, StandardScaler
from dalenius.session.databases import Database

ROWS = pd.DataFrame({"a": np.arange(20) / 20, "b": np.arange(20) / 40})
LABELS = np.arange(20) % 2


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with clinic(dl.Budget(epsilon=1000, delta="1e-9")) as database:
        yield database


def on_arrays() -> dict[str, Any]:
    labels = LogisticRegression(bounds=(0, 1), classes=(0, 1))
    return {
        "labels": labels.fit(ROWS, LABELS),
        "numbers": Ridge(bounds=(0, 1), target_bounds=(0, 1)).fit(ROWS, LABELS),
        "clusters": KMeans(2, bounds=(0, 1)).fit(ROWS),
        "scales": StandardScaler(bounds=(0, 1)).fit(ROWS),
        "components": PCA(bounds=(0, 1)).fit(ROWS),
        "search": PrivateGridSearch(labels, {"norm": [0.5, 1.0]}).fit(ROWS, LABELS),
    }


def on_tables(db: Database) -> dict[str, Any]:
    rows, labels = db.table("visits"), LogisticRegression()
    return {
        "labels": labels.fit(rows, "city", columns=["age"]),
        "numbers": Ridge().fit(rows, "cost", columns=["age"]),
        "clusters": KMeans(2).fit(rows, columns=["age"]),
        "scales": StandardScaler(epsilon=1).fit(rows, columns=["age"]),
        "components": PCA().fit(rows, columns=["age"]),
        "search": PrivateGridSearch(labels, {"method": ["objective", "output"]}).fit(rows, "city", columns=["age"]),
    }


ASKED = ("predict", "predict_proba", "decision_function", "transform", "inverse_transform", "score")


@pytest.mark.parametrize("tables", [True, False])
def test_nothing_exact_is_given_of_private_rows(db: Database, tables: bool) -> None:
    made = on_tables(db) if tables else on_arrays()
    spent = db.spent()["patients"].share
    for name, model in made.items():
        for method in ASKED:
            if hasattr(model, method):
                target = ["city"] if method == "score" and name in ("labels", "numbers", "search") else []
                with pytest.raises(QueryRefused, match="nothing was read or spent"):
                    getattr(model, method)(db.table("visits"), *target)
    assert db.spent()["patients"].share == spent


def test_the_features_of_private_rows_are_not_given(db: Database) -> None:
    model = MeanEstimator().fit(db.table("visits"), columns=["age"])
    with pytest.raises(QueryRefused, match="private rows"):
        model.encoder_.transform(db.table("visits"))


def test_a_fit_on_a_table_forgets_the_names_of_an_earlier_one(db: Database) -> None:
    model = MeanEstimator(bounds=(0, 1)).fit(ROWS)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    model.set_params(bounds=None).fit(db.table("visits"), columns=["age", "cost"])
    assert not hasattr(model, "feature_names_in_")
    assert model.encoder_.names == ["age", "cost"]


@pytest.mark.parametrize("epsilon", [None, 1])
def test_a_scaler_of_arrays_forgets_the_columns_of_a_table(db: Database, epsilon: int | None) -> None:
    model = StandardScaler(epsilon=1).fit(db.table("visits"), columns=["age", "cost"])
    model.set_params(epsilon=epsilon, bounds=(0, 1)).fit(ROWS)
    assert not hasattr(model, "encoder_")
    assert model.transform(ROWS).shape == (20, 2)


def test_bounds_in_arrays_are_refused_with_a_table_like_others(db: Database) -> None:
    with pytest.raises(InvalidParameter, match="the catalog declares it"):
        MeanEstimator(bounds=np.array([[0, 1], [0, 1]])).fit(db.table("visits"), columns=["age"])


def test_all_names_are_imported_at_once() -> None:
    found: dict[str, Any] = {}
    exec("from dalenius.learn import *", found)
    assert learn.__all__ == dir(learn)
    assert set(learn.__all__) <= set(found)
    assert found["Ridge"] is Ridge
