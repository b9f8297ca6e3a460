"""Synthetic tables of a private database: paid for once, through the one door, and alike for all neighbours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from clinics import CITIES, clinic, visits
from costs import cases
from dalenius.checks.replay.replaying import replay
from dalenius.engines.engine import Statements
from dalenius.errors import BudgetExceeded, InvalidParameter, QueryRefused
from dalenius.query import rows
from dalenius.session.databases import Database
from dalenius.session.executor import allowance, measured
from dalenius.session.offers import Offer
from dalenius.synth.tables import adaptive, choosing
from dalenius.synth.tables.fits import Fit
from dalenius.synth.tables.synthesizer import Synthesizer

SMALL = Synthesizer(columns=["age", "city", "cost"], bins={"age": 5, "cost": 4}, order=2)


@pytest.fixture
def db() -> Iterator[Database]:
    with clinic() as database:
        yield database


def test_a_fit_is_charged_once_and_then_had_for_nothing(db: Database) -> None:
    cost = SMALL.cost(db.table("visits"), epsilon=1)
    assert db.spent()["patients"].share == 0
    first = SMALL.fit(db.table("visits"), epsilon=1)
    spent = db.spent()["patients"].share
    assert spent == pytest.approx(float(cost.shares["patients"]), abs=1e-9)
    again = SMALL.fit(db.table("visits"), epsilon=1)
    assert again.source.replayed
    assert db.spent()["patients"].share == spent
    assert [part.counts.tolist() for part in again.measured] == [part.counts.tolist() for part in first.measured]
    SMALL.fit(db.table("visits"), epsilon=1, fresh=True)
    assert db.spent()["patients"].share == 2 * spent


def test_what_the_budget_does_not_hold_is_refused_and_nothing_charged(db: Database) -> None:
    SMALL.fit(db.table("visits"), share="60%")
    spent = db.spent()
    with pytest.raises(BudgetExceeded):
        SMALL.fit(db.table("visits"), share="50%")
    assert db.spent() == spent


def test_few_rows_are_told_before_they_are_paid_for(db: Database) -> None:
    note = SMALL.cost(db.table("visits"), epsilon="0.01").note
    assert "single columns" in note
    bar = SMALL.planned(SMALL._binned(db.table("visits")), _bought(db, "0.01")).first_bar
    assert f"± {bar} rows" in note
    assert f"takes {100 * bar}" in note
    with pytest.raises(InvalidParameter, match=f"more than {bar} rows"):
        replace(SMALL, total=bar).fit(db.table("visits"), epsilon="0.01")
    assert db.spent()["patients"].share == 0
    replace(SMALL, total=bar + 1).cost(db.table("visits"), epsilon="0.01")


def _bought(db: Database, epsilon: str) -> Any:
    return SMALL._binned(db.table("visits")).charge(Offer(epsilon))


def test_rows_have_the_declared_columns_and_lie_in_their_ranges(db: Database) -> None:
    table = Synthesizer(order=2).fit(db.table("visits"), epsilon=1)
    rows = table.sample(200)
    assert rows.column_names == ["age", "city", "cost", "day"], "icd has no declared values"
    assert len(rows) == 200
    frame = rows.to_pydict()
    assert all(0 <= age <= 120 for age in frame["age"])
    assert set(frame["city"]) <= {*CITIES, None}
    assert all(0 <= cost <= 5000 for cost in frame["cost"])
    assert all(dt.date(2024, 1, 1) <= day <= dt.date(2026, 12, 31) for day in frame["day"])


def test_a_large_table_is_learnt(db: Database) -> None:
    """Ages and cities go together in the data; at a large epsilon the synthetic rows show it."""
    with clinic(dl.Budget(epsilon=50, delta="1e-9"), data=visits(patients=3000, each=1)) as large:
        table = Synthesizer(columns=["city", "cost"], bins={"cost": "100"}, order=2, rows=1).fit(
            large.table("visits"), epsilon=50
        )
        assert abs(table.size - 3000) < 60
        counts = table.counts(["city", "cost"])[:, :5]
        assert counts.shape == (4, 5)
        assert np.abs(counts[:3] - 200).max() < 30
        answer = table.answer(["city"])
        assert answer.names == ("city", "count")
        assert all(bar is not None and bar > 0 for bar in answer["count ±"])


def test_bars_are_unknown_where_columns_were_not_measured_together(db: Database) -> None:
    table = Synthesizer(columns=["age", "city", "cost"], groups=[["age"], ["city"], ["cost"]]).fit(
        db.table("visits"), epsilon=1
    )
    assert set(table.answer(["age", "city"])["count ±"]) == {None}
    assert None not in table.answer(["age"])["count ±"]


def test_the_report_says_what_is_known_and_what_it_is_not_for(db: Database) -> None:
    report = SMALL.fit(db.table("visits"), epsilon=1).report()
    assert {len(line.columns) for line in report.lines} == {1, 2}
    assert all(line.measured for line in report.lines if len(line.columns) == 1)
    text = str(report)
    assert "measured together" in text
    assert "Do not look for single people" in text
    assert "columns combined" in report._repr_html_()
    assert report.plot().svg.startswith("<?xml")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: Synthesizer(columns=["age", "icd"]), "catalog.toml"),
        (lambda: Synthesizer(columns=[]), "one or more"),
        (lambda: Synthesizer(columns=["age", "age"]), "each named once"),
        (lambda: Synthesizer(columns=["weight"]), "weight"),
        (lambda: Synthesizer(columns=["cost"], bins={"cost": 20_000}), "bins"),
        (lambda: Synthesizer(groups=[["age", "weight"]]), "weight"),
        (lambda: Synthesizer(order=0), "order"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything_is_charged(db: Database, made: Any, told: str) -> None:
    with pytest.raises((QueryRefused, InvalidParameter, dl.errors.UnknownName), match=told):
        made().fit(db.table("visits"), epsilon=1)
    assert db.spent()["patients"].share == 0


# ---- neighbours


def fit_of(db: Database, synthesizer: Synthesizer, epsilon: int = 1) -> Fit:
    return synthesizer._fit(synthesizer._binned(db.table("visits")), Offer(epsilon=epsilon))


def runner(synthesizer: Synthesizer, neighbours: str) -> Any:
    """What a fit shows of a database: the noisy marginals, and the model that they make."""

    def run(db: Database) -> Any:
        fit = fit_of(db, synthesizer)
        relation = db._curator.catalog.population("patients").neighbours
        with allowance(fit, {"patients": relation}) as paid:
            found = measured(fit, Statements(db._curator.engine), paid)
        return [(part.columns, part.counts.tolist(), part.deviation) for part in found]

    return run


def grown(data: pa.Table, **row: Any) -> pa.Table:
    """The visits, with forty of one more patient, all over the place."""
    extra = {"patient_id": 10**6, "city": "Oslo", "day": dt.date(2024, 5, 5), "icd": "A"}
    rows = [{**extra, "age": 3 * visit, "cost": 99.0 * visit, **row} for visit in range(40)]
    return pa.concat_tables([data, pa.Table.from_pylist(rows, schema=data.schema)])


STRANGERS: dict[str, dict[str, Any]] = {
    "an ordinary patient": {},
    "a category that nobody had": {"city": "Atlantis"},
    "extreme values": {"age": 10**9, "cost": 1e300},
    "no city": {"city": None},
    "a day outside": {"day": dt.date(1900, 1, 1)},
}


@cases("neighbours", ["add_remove", "replace"], fast=1)
@pytest.mark.parametrize("stranger", STRANGERS)
def test_one_patient_more_changes_no_call_no_parameter_and_no_value_further_than_declared(
    stranger: str, neighbours: str
) -> None:
    """Forty rows of a patient, of which three are counted; the schema and support of what comes out are equal."""
    data = visits(patients=60)
    before = data if neighbours == "add_remove" else grown(data)
    with (
        clinic(data=before, neighbours=neighbours) as one,
        clinic(data=grown(data, **STRANGERS[stranger]), neighbours=neighbours) as other,
    ):
        fit = fit_of(one, SMALL)
        found = replay(runner(SMALL, neighbours), one, other, charged=list(fit.charge.values()))
    assert not found.findings
    assert len(found.calls) > 6


def test_the_test_above_notices_bins_that_come_from_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    real = choosing.scores

    def leaky(crowd: Any, groups: Any, *more: Any) -> list[int]:
        found = real(crowd, groups, *more)
        return [score * (1 + int(crowd.marginal(("city",)).sum())) for score in found]

    monkeypatch.setattr(adaptive, "scores", leaky)
    with pytest.raises(AssertionError):
        test_one_patient_more_changes_no_call_no_parameter_and_no_value_further_than_declared(
            "an ordinary patient", "add_remove"
        )


def test_the_test_above_notices_rows_that_are_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LimitPerUnit", lambda child, most: child)
    with pytest.raises(AssertionError):
        test_one_patient_more_changes_no_call_no_parameter_and_no_value_further_than_declared(
            "an ordinary patient", "add_remove"
        )


def test_a_pure_budget_buys_laplace_noise_and_pure_choices() -> None:
    with clinic(dl.Budget(epsilon=2)) as db:
        table = SMALL.fit(db.table("visits"), epsilon=1)
        assert len(table.measured) >= 3
        assert db.spent()["patients"].share == Fraction(1, 2)
