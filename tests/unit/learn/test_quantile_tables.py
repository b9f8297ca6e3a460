"""Quantiles of private tables: charged, in the steps of the catalog, alike for neighbours, and found as of arrays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from checks import SeededEntropy
from clinics import clinic, visits
from dalenius.checks.replay.replaying import replay
from dalenius.checks.training.replays import facts
from dalenius.learn import QuantileEstimator, load
from dalenius.learn.budgets import allowance_of
from dalenius.learn.moments import quantiles as ranks
from dalenius.learn.moments.quantiles import Ranks, RankTraining
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.session.databases import Database

SHARES = (0.1, 0.5, 0.9)
FINE = ["age", "cost"]


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with clinic(dl.Budget(epsilon=2000, delta="1e-9"), data=visits(patients=2000, each=1)) as database:
        yield database


def odd(rows: int = 300) -> pa.Table:
    """Forty patients and one more, with many rows of what no column declares."""
    base = visits(patients=40, each=2)
    more = {
        "patient_id": [40] * rows,
        "age": [10**9 if row % 2 else -5 for row in range(rows)],
        "city": ["Rome"] * rows,
        "cost": [[float("inf"), float("-inf"), 1e300, -1.0][row % 4] for row in range(rows)],
        "day": [dt.date(1900, 1, 1)] * rows,
        "icd": ["x"] * rows,
    }
    return pa.concat_tables([base, pa.table(more, schema=base.schema)])


def fitted(db: Database, **how: Any) -> QuantileEstimator:
    return QuantileEstimator(SHARES, epsilon=1).fit(db.table("visits"), columns=["age", "cost", "day"], **how)


def test_a_fit_is_charged_once_and_then_had_for_nothing() -> None:
    with clinic() as db:
        cost: Any = QuantileEstimator(SHARES, epsilon=1).cost(db.table("visits"), columns=["age", "cost", "day"])
        assert db.spent()["patients"].share == 0
        first = fitted(db)
        spent = db.spent()["patients"].share
        assert spent == pytest.approx(float(cost.shares["patients"]), abs=1e-9)
        assert fitted(db).learnt_["codes"].tolist() == first.learnt_["codes"].tolist()
        assert db.spent()["patients"].share == spent
        fitted(db, fresh=True)
        assert db.spent()["patients"].share == 2 * spent
        assert "receipt" in str(first.card())


def test_quantiles_are_those_of_the_values_in_their_own_units(db: Database) -> None:
    model = QuantileEstimator(SHARES, epsilon=200).fit(db.table("visits"), columns=["age", "cost", "day"])
    rows = visits(patients=2000, each=1)
    assert model.quantiles_.shape == (3, 3)
    ages, costs = (np.quantile(rows[name].to_numpy(), SHARES) for name in FINE)
    assert model.quantiles_[:, 0].astype(float) == pytest.approx(ages, abs=2)
    assert model.quantiles_[:, 1].astype(float) == pytest.approx(costs, abs=8)
    assert all(isinstance(day, dt.date) for day in model.quantiles_[:, 2])
    middle = sorted(rows["day"].to_pylist())[1000]
    assert abs(model.quantiles_[1, 2] - middle).days < 8


def test_numbers_alone_are_floats_and_columns_with_an_order_are_taken_unless_named(db: Database) -> None:
    assert QuantileEstimator().fit(db.table("visits"), columns=FINE).quantiles_.dtype == np.float64
    assert QuantileEstimator().fit(db.table("visits")).encoder_.names == ["age", "cost", "day"]


def test_missing_values_are_left_out() -> None:
    rows = {"id": range(3000), "wage": [None if each % 3 else 10.0 for each in range(3000)]}
    with dl.create() as db:
        db.add_population("people", budget=dl.Budget(epsilon=10))
        db.add_table("wages", pa.table(rows), population="people", unit="id", max_rows=1, max_groups=1,
                     columns={"wage": dl.Real(0, 100, step="0.5", nullable=True)})  # fmt: skip
        assert QuantileEstimator(SHARES, epsilon=5).fit(db.table("wages")).quantiles_.tolist() == [[10.0]] * 3


def test_a_saved_model_is_the_same_again(db: Database, tmp_path: Path) -> None:
    """Also of a column with more values than a table of them would hold."""
    model = QuantileEstimator(SHARES).fit(db.table("visits"), columns=["cost", "day"])
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").quantiles_.tolist() == model.quantiles_.tolist()  # type: ignore[attr-defined]


def test_of_equal_values_a_table_and_an_array_have_the_same_quantiles(db: Database) -> None:
    """The same choices at the same price: only where values come from differs."""
    model = QuantileEstimator(SHARES)
    _, training = model._planned(db.table("visits"), None, columns=FINE)
    assert isinstance(training, RankTraining)
    of_table = training.ranks(db._principal.curator.engine.run)
    rows = visits(patients=2000, each=1)
    codes = np.stack([rows["age"].to_numpy(), np.rint(rows["cost"].to_numpy() * 100).astype(np.int64)], axis=1)
    of_array = replace(Ranks.of_codes(codes, [120, 500_000], of_table.neighbours), most=of_table.most)
    assert of_table.grids == of_array.grids
    for budget in (dl.Budget(1), dl.Budget(1, "1e-6")):
        found = []
        for each in (of_table, of_array):
            with allowance_of(budget, each.neighbours) as allowance:
                found.append(model._learn(each, BudgetPart(allowance), SeededEntropy(7), None)["codes"].tolist())
        assert found[0] == found[1]


# ---- neighbours


def replayed(relation: str) -> Any:
    budget = dl.Budget(epsilon=100, delta="1e-9")

    def run(db: Database) -> dict[str, Any]:
        return facts(QuantileEstimator(SHARES).fit(db.table("visits"), columns=["age", "cost", "day"], fresh=True))

    before = visits(patients=40, each=2)
    if relation == "replace":
        before = visits(patients=41, each=2)
    with (
        clinic(budget, data=before, neighbours=relation) as one,
        clinic(budget, data=odd(), neighbours=relation) as two,
    ):
        _, training = QuantileEstimator(SHARES)._planned(one.table("visits"), None, columns=["age", "cost", "day"])
        return replay(run, two, one, charged=list(training.charge.values()))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_neighbours_are_treated_alike(relation: str) -> None:
    found = replayed(relation)
    assert found.error is None
    assert found.passed, found.findings
    assert len(found.calls) == 3, "one for each column"


def test_several_values_of_a_patient_that_are_priced_as_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right, change = RankTraining.ranks, ranks.listed_change
    monkeypatch.setattr(RankTraining, "ranks", lambda self, look: replace(right(self, look), most=1))
    assert "WorkStopped" in str(replayed("add_remove").error), "the mechanism does not hold for so many values"
    monkeypatch.setattr(ranks, "listed_change", lambda hidden, **how: change(hidden, groups=1, rows=1))
    assert {found.kind for found in replayed("add_remove").findings} == {"sensitivity"}
