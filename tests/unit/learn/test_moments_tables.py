"""Estimators that are made of sums, on private tables: charged, in the units of columns, alike for neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from clinics import clinic, visits
from costs import cases
from dalenius.checks.replay.replaying import replay
from dalenius.engines.engine import Statements
from dalenius.errors import InvalidParameter
from dalenius.learn.clusters.kmeans import KMeans
from dalenius.learn.engine_rows import EngineRows
from dalenius.learn.models import PrivateModel
from dalenius.learn.moments.averages import MeanEstimator, StandardScaler
from dalenius.learn.moments.bayes import BernoulliNB, CategoricalNB, GaussianNB
from dalenius.learn.moments.covariances import PCA, Covariance
from dalenius.learn.moments.regression import LinearRegression, Ridge
from dalenius.learn.tables import Training
from dalenius.privacy.exact import unseal
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.session.databases import Database
from dalenius.session.executor import allowance, measured

PLANS: dict[str, tuple[PrivateModel, str | None, list[str]]] = {
    "linear": (LinearRegression(), "cost", ["age", "city"]),
    "ridge": (Ridge(), "age", ["cost", "day"]),
    "mean": (MeanEstimator(), None, ["age", "cost", "day", "city"]),
    "scaler": (StandardScaler(epsilon=1), None, ["age", "cost"]),
    "covariance": (Covariance(), None, ["age", "city"]),
    "components": (PCA(2), None, ["age", "cost", "day"]),
    "gaussian": (GaussianNB(), "city", ["age", "cost"]),
    "bernoulli": (BernoulliNB(), "age", ["city"]),
    "categorical": (CategoricalNB(), "age", ["city"]),
    "clusters": (KMeans(3), None, ["age", "cost"]),
    "clusters of texts": (KMeans(2, method="lloyd"), None, ["age", "city"]),
}


def large(patients: int = 2000) -> Database:
    return clinic(dl.Budget(epsilon=2000, delta="1e-9"), data=visits(patients=patients, each=1))


def odd() -> pa.Table:
    """One more patient, with many rows of what no column declares."""
    base = visits(patients=40, each=2)
    rows = 300
    more = {
        "patient_id": [40] * rows,
        "age": [10**9 if row % 2 else -5 for row in range(rows)],
        "city": ["Rome" if row % 3 else "Oslo" for row in range(rows)],
        "cost": [[float("inf"), float("-inf"), 1e300, -1.0][row % 4] for row in range(rows)],
        "day": [base["day"][0].as_py()] * rows,
        "icd": ["x"] * rows,
    }
    return pa.concat_tables([base, pa.table(more, schema=base.schema)])


def running(training: Training) -> Any:
    relations = {
        table.protection.population: table.protection.neighbours
        for table in training.question.relation.tables
        if table.protection
    }

    def run(db: Database) -> Any:
        with allowance(training, relations) as paid:
            learnt = measured(training, Statements(db._principal.curator.engine), paid)
            return {name: array.tolist() for name, array in learnt.items()}

    return run


@cases("plan", PLANS.values(), ids=PLANS, fast=1)
def test_neighbours_are_treated_alike(plan: tuple[PrivateModel, str | None, list[str]]) -> None:
    model, target, columns = plan
    with clinic(data=visits(patients=40, each=2)) as before, clinic(data=odd()) as after:
        _, training = model._planned(before.table("visits"), target, columns=columns)
        found = replay(running(training), before, after, charged=list(training.charge.values()))
        assert found.error is None
        assert found.passed, found.findings


def test_rows_of_one_patient_that_count_for_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_one_row(self: EngineRows, **norms: Any) -> Sensitivity:
        return Sensitivity(**norms).under(self.neighbours)

    monkeypatch.setattr(EngineRows, "change", of_one_row)
    with clinic(data=visits(patients=40, each=2)) as before, clinic(data=odd()) as after:
        _, training = LinearRegression()._planned(before.table("visits"), "cost", columns=["age", "city"])
        found = replay(running(training), before, after)
        assert "sensitivity" in {finding.kind for finding in found.findings}


@cases("plan", PLANS.values(), ids=PLANS, fast=2)
def test_no_row_leaves_the_engine(plan: tuple[PrivateModel, str | None, list[str]]) -> None:
    """What comes back has a size that public keys decide, whatever the number of rows."""
    model, target, columns = plan
    found = []
    for patients in (30, 3000):
        with clinic(data=visits(patients=patients, each=1)) as db:
            _, training = model._planned(db.table("visits"), target, columns=columns)
            engine, sizes = db._principal.curator.engine, []

            def look(step: Any, engine: Any = engine, sizes: list[int] = sizes) -> Any:
                cells = engine.run(step)
                sizes.append(len(unseal(cells).totals[0]))
                return cells

            for part in training._sums or ():
                training.engine_rows(look).ready(part)
            found.append((sizes, [step.child.keys for step in training.passes]))
    assert all(max(sizes) <= 121 * 4 for sizes, _ in found)
    assert all("x" not in key for _, steps in found for keys in steps for key in keys)


def test_a_number_is_predicted_in_its_own_units() -> None:
    with large() as db:
        model = LinearRegression(epsilon=500).fit(db.table("visits"), "cost", columns=["age", "city"])
        assert 0 < db.spent()["patients"].share < 1
    rows = visits(patients=2000, each=1)
    ages = np.array(rows["age"].to_pylist())
    slope, start = np.polyfit(ages, rows["cost"].to_numpy(), 1)
    assert model.predict(rows) == pytest.approx(slope * ages + start, abs=20)


def test_means_are_told_in_the_units_of_the_columns() -> None:
    with large() as db:
        columns = ["age", "city"]
        mean = MeanEstimator(epsilon=500).fit(db.table("visits"), columns=columns)
        spread = Covariance(epsilon=500).fit(db.table("visits"), columns=columns)
    assert mean.encoder_.names == ["age", "city=Oslo", "city=Bergen", "city=Tromsø", "city=NULL"]
    assert mean.mean_ == pytest.approx([49.5, 1 / 3, 1 / 3, 1 / 3, 0], abs=0.2)
    assert mean.count_ == pytest.approx(2000, abs=20)
    assert spread.location_ == pytest.approx([49.5, 1 / 3, 1 / 3, 1 / 3, 0], abs=0.2)
    assert np.sqrt(spread.covariance_[0, 0]) == pytest.approx(28.9, abs=0.5)


def test_texts_are_categories_and_numbers_are_refused() -> None:
    with large() as db:
        model = CategoricalNB(epsilon=500).fit(db.table("visits"), "age", columns=["city"], bins={"age": 2})
        likely = model.predict_proba({"city": ["Oslo", "Rome"]})
        assert likely.sum(axis=1) == pytest.approx([1, 1])
        assert np.exp(model.feature_log_prob_[0]).sum(axis=1) == pytest.approx(1)
        with pytest.raises(InvalidParameter, match="age"):
            CategoricalNB(epsilon=1).fit(db.table("visits"), "city", columns=["age"])
        with pytest.raises(InvalidParameter, match="column of numbers"):
            LinearRegression(epsilon=1).fit(db.table("visits"), "city", columns=["age"])
