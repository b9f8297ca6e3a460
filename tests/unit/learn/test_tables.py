"""Fits on private tables: charged through the one door, alike for all neighbours, and kept as plain files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from clinics import CITIES, clinic, visits
from costs import cases
from dalenius.checks.replay.replaying import replay
from dalenius.engines.engine import Statements
from dalenius.errors import BudgetExceeded, DamagedAnswer, InvalidParameter
from dalenius.learn import PCA, KMeans, LogisticRegression, StandardScaler, load
from dalenius.learn.rows import ONE
from dalenius.learn.tables import Encoder, Training
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.encoding import decoded, encoded
from dalenius.session.databases import Database
from dalenius.session.executor import allowance, measured

FEATURES = ["age", "cost"]


@pytest.fixture
def db() -> Iterator[Database]:
    with clinic() as database:
        yield database


def model(**settings: Any) -> LogisticRegression:
    return LogisticRegression(epsilon=1, **settings)


def planned(db: Database, columns: list[str] = FEATURES, **settings: Any) -> Training:
    return model(**settings)._planned(db.table("visits"), "city", columns=columns)[1]


def test_a_fit_is_charged_once_and_then_had_for_nothing(db: Database) -> None:
    cost = model().cost(db.table("visits"), "city", columns=FEATURES)
    assert db.spent()["patients"].share == 0
    first = model().fit(db.table("visits"), "city", columns=FEATURES)
    spent = db.spent()["patients"].share
    assert spent == pytest.approx(float(cost.shares["patients"]), abs=1e-9)
    again = model().fit(db.table("visits"), "city", columns=FEATURES)
    assert db.spent()["patients"].share == spent
    assert np.array_equal(first.coef_, again.coef_)
    model().fit(db.table("visits"), "city", columns=FEATURES, fresh=True)
    assert db.spent()["patients"].share == 2 * spent


def test_other_settings_are_another_fit(db: Database) -> None:
    model().fit(db.table("visits"), "city", columns=FEATURES)
    spent = db.spent()["patients"].share
    model().fit(db.table("visits"), "city", columns=["age"])
    assert db.spent()["patients"].share == 2 * spent


def test_what_the_budget_does_not_hold_is_refused_and_nothing_charged(db: Database) -> None:
    model().fit(db.table("visits"), "city", columns=FEATURES, share="60%")
    spent = db.spent()
    with pytest.raises(BudgetExceeded):
        model().fit(db.table("visits"), "city", columns=FEATURES, share="50%")
    assert db.spent() == spent


@pytest.mark.parametrize("target", [None, "nothing", "icd", 3])
def test_a_target_must_be_a_declared_column(db: Database, target: Any) -> None:
    with pytest.raises(dl.DaleniusError):
        model().fit(db.table("visits"), target, columns=FEATURES)
    assert db.spent()["patients"].share == 0


def test_labels_and_features_come_from_the_catalog(db: Database) -> None:
    fitted = model().fit(db.table("visits"), "city")
    assert list(fitted.classes_) == list(CITIES), "NULL is no label"
    assert fitted.encoder_.names == ["age", "cost", "day"], "icd has no declared values"
    table = pa.table({"age": [30, 60, 400], "cost": [1.0, 5.0, -1.0], "day": ["2024-01-01"] * 3})
    assert set(fitted.predict(table)) <= set(CITIES)
    assert fitted.encoder_.transform(table)[:, 0].tolist() == pytest.approx([-0.5, 0, 1], abs=0.01)
    with pytest.raises(InvalidParameter, match="age"):
        fitted.predict(table.set_column(0, "age", pa.array([30, None, 40])))
    with pytest.raises(InvalidParameter, match="day"):
        fitted.predict(table.drop_columns(["day"]))


def test_texts_become_indicators_and_what_is_not_listed_counts_as_null(db: Database) -> None:
    binned = model()._planned(db.table("visits"), "city", columns=["age"])[0]
    encoder = Encoder((binned.axes[-1],))
    assert encoder.names == [*(f"city={city}" for city in CITIES), "city=NULL"]
    assert encoder.transform({"city": ["Bergen", "Rome", None]}).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    assert encoder.norm_squared == ONE**2


def test_what_was_learnt_is_stored_exactly() -> None:
    learnt = {"weights": np.array([[1 / 3, -2.5e-300], [1e300, 0.0]]), "count": np.array([7])}
    with clinic() as db:
        training = planned(db)
        again = training.decode(decoded(encoded(training.encode(learnt))))
        with pytest.raises(DamagedAnswer, match="arrays that were learnt"):
            training.decode(Answer((AnswerColumn("number", (1.0,)),)))
    assert list(again) == list(learnt)
    assert all(np.array_equal(learnt[name], again[name]) for name in learnt)


def poisoned(rows: int) -> pa.Table:
    """A patient with many rows, of which some hold what no column declares."""
    base = visits(patients=40, each=2)
    odd = pa.table(
        {
            "patient_id": pa.array([40] * rows, pa.int64()),
            "age": pa.array([10**9 if row % 2 else -5 for row in range(rows)], pa.int64()),
            "city": pa.array(["Rome" if row % 3 else "Oslo" for row in range(rows)], pa.string()),
            "cost": pa.array([[1e300, -1e300, 0.004, -1.0][row % 4] for row in range(rows)], pa.float64()),
            "day": pa.array([base["day"][0].as_py()] * rows, pa.date32()),
            "icd": pa.array(["x"] * rows, pa.string()),
        }
    )
    return pa.concat_tables([base, odd])


@cases("rows", [1, 500], fast=1)
@pytest.mark.parametrize(("method", "least"), [("objective", 5), ("output", 5), ("gradient", 10)])
def test_neighbours_are_treated_alike(rows: int, method: str, least: int) -> None:
    with clinic(data=visits(patients=40, each=2)) as before, clinic(data=poisoned(rows)) as after:
        training = planned(before, method=method)
        found = replay(_running(training), before, after, charged=list(training.charge.values()))
        assert found.passed, found.findings
        assert len(found.calls) >= least


def test_a_row_that_counts_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with clinic(data=visits(patients=40, each=2)) as before, clinic(data=poisoned(500)) as after:
        training = planned(before)
        right = Training.rows
        monkeypatch.setattr(Training, "rows", lambda self, cells: _claiming_one(right(self, cells)))
        found = replay(_running(training), before, after, charged=list(training.charge.values()))
        assert {each.kind for each in found.findings} == {"sensitivity"}


@pytest.mark.parametrize(
    "settings", [{"delta": 0}, {"budget": dl.Budget(1)}, {"norm": 1.0}, {"bounds": (0, 1)}, {"neighbours": "replace"}]
)
def test_settings_that_the_catalog_contradicts_are_refused(db: Database, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="left out"):
        model(**settings).fit(db.table("visits"), "city", columns=FEATURES)
    assert db.spent()["patients"].share == 0


def test_rows_of_a_table_are_never_shown_in_another_form(db: Database) -> None:
    for call in (PCA().fit_transform, StandardScaler(epsilon=1).fit_transform, KMeans(2).fit_predict):
        with pytest.raises(InvalidParameter, match="arrays with"):
            call(db.table("visits"), columns=FEATURES)
    with pytest.raises(InvalidParameter, match="percent"):
        model().fit(db.table("visits"), "city", columns=FEATURES, progress="yes")  # type: ignore[arg-type]
    assert db.spent()["patients"].share == 0


def test_a_fit_promises_what_is_known_of_it_at_the_order_that_the_ledger_counts(db: Database) -> None:
    fitted = model(method="gradient").fit(db.table("visits"), "city", columns=FEATURES)
    assert "Rényi divergence" in fitted.guarantee_.loss
    assert "of order" in fitted.guarantee_.loss
    assert "rho" not in str(fitted.card())


def test_a_model_is_saved_and_loaded(db: Database, tmp_path: Path) -> None:
    fitted = model().fit(db.table("visits"), "city", columns=FEATURES)
    fitted.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    table = pa.table({"age": [20, 80], "cost": [10.0, 4000.0]})
    assert np.array_equal(again.predict_proba(table), fitted.predict_proba(table))
    assert str(again.card()) == str(fitted.card())
    assert "receipt" in str(fitted.card())
    written = (tmp_path / "model.json").read_text()
    (tmp_path / "model.json").write_text(written.replace('"width": 2', '"width": 3'))
    with pytest.raises(InvalidParameter, match="damaged"):
        load(tmp_path / "model.json")


def _running(training: Training) -> Any:
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


def _claiming_one(rows: Any) -> Any:
    return type(rows)(rows.entries, rows.width, rows.norm_squared, most=1)
