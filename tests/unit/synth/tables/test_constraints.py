"""What is declared impossible never shows, a declared number of rows is honoured, and neither looks at data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from clinics import COLUMNS, add_visits, visits
from costs import cases
from dalenius.accounting.budget import Budget
from dalenius.checks.replay.replaying import replay
from dalenius.engines.engine import Statements
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.types import Real
from dalenius.randomness.entropy import system_entropy
from dalenius.session.databases import Database, create
from dalenius.session.executor import allowance, measured
from dalenius.session.offers import Offer
from dalenius.synth.inference import sampling
from dalenius.synth.tables import constraints
from dalenius.synth.tables.adaptive import Settings
from dalenius.synth.tables.constraints import Constraints
from dalenius.synth.tables.fits import Fit
from dalenius.synth.tables.synthesizer import Synthesizer
from dalenius.tabular.counts import SealedCounts

NEVER = ("age < 20 AND city = 'Oslo'", "cost >= 2000 AND city <> 'Bergen'")
BINS = {"age": "10", "cost": "500"}
FREE = Synthesizer(columns=["age", "city", "cost"], bins=BINS, order=2)
BOUND = Synthesizer(columns=["age", "city", "cost"], bins=BINS, order=2, impossible=NEVER, total=1200)


def clinic(data: pa.Table | None = None) -> Database:
    """A clinic whose costs are rounded to tens."""
    database = create()
    database.add_population("patients", budget=Budget(epsilon=3, delta="1e-9"))
    add_visits(database, "visits", data, columns=COLUMNS | {"cost": Real(0, 5000, step="10")})
    return database


@pytest.fixture
def db() -> Iterator[Database]:
    with clinic() as database:
        yield database


def forbidden(rows: pa.Table) -> int:
    """How many rows break a declaration, counted by hand."""
    listed = rows.to_pylist()
    young = sum(row["age"] < 20 and row["city"] == "Oslo" for row in listed)
    dear = sum(row["cost"] >= 2000 and row["city"] not in ("Bergen", None) for row in listed)
    return young + dear


def test_sampled_rows_show_nothing_that_was_declared_impossible(db: Database) -> None:
    table = BOUND.fit(db.table("visits"), epsilon=1)
    assert forbidden(table.sample(5000)) == 0
    assert table.counts(["age", "city"])[:2, 0].max() == 0
    assert table.model.counts(["age", "city", "cost"])[:, [0, 2], 4:].max() == 0


def test_without_the_declaration_such_rows_are_sampled(db: Database) -> None:
    assert forbidden(FREE.fit(db.table("visits"), epsilon=1).sample(5000)) > 0


def test_the_test_above_notices_a_model_that_forgets_a_declaration(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = constraints.fit
    monkeypatch.setattr(constraints, "fit", lambda *given, **how: real(*given, **how | {"possible": None}))
    with pytest.raises(AssertionError):
        test_sampled_rows_show_nothing_that_was_declared_impossible(db)


def test_what_was_declared_is_kept_to_in_every_round(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    real = constraints.fit

    def watched(*given: Any, **how: Any) -> Any:
        found.append(real(*given, **how))
        return found[-1]

    monkeypatch.setattr(constraints, "fit", watched)
    BOUND.fit(db.table("visits"), epsilon=1)
    assert len(found) > 2
    assert {model.total for model in found} == {1200.0}
    assert max(model.counts(["age", "city"])[:2, 0].max() for model in found) == 0


def test_a_declared_number_of_rows_is_honoured(db: Database) -> None:
    table = BOUND.fit(db.table("visits"), epsilon="0.4")
    assert table.size == len(table.sample()) == 1200
    assert table.counts(["city"]).sum() == pytest.approx(1200)
    assert table.report().rows == 1200
    assert FREE.fit(db.table("visits"), epsilon="0.4").model.total != 1200


def test_other_constraints_are_another_request(db: Database) -> None:
    BOUND.fit(db.table("visits"), epsilon="0.4")
    spent = db.spent()["patients"].share
    assert BOUND.fit(db.table("visits"), epsilon="0.4").source.replayed
    assert db.spent()["patients"].share == spent
    FREE.fit(db.table("visits"), epsilon="0.4")
    assert db.spent()["patients"].share == 2 * spent


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({"impossible": ["age >= 0"]}, "at least one row possible"),
        ({"impossible": ["1 = 1"]}, "at least one row possible"),
        ({"impossible": ["age >= 50", "age < 50 AND cost >= 1000", "cost < 1000"]}, "at least one row possible"),
        ({"impossible": ["age < 15"]}, "a part of the bin"),
        ({"impossible": ["weight > 3"]}, "weight"),
        ({"impossible": ["day >= '2025-01-01'"]}, "day"),
        ({"impossible": "age < 20"}, "a list of SQL conditions"),
        ({"impossible": [3]}, "a list of SQL conditions"),
        ({"impossible": ["age < 20; DROP TABLE visits"]}, "nothing was read"),
        ({"impossible": ["age < cost"]}, "a part of the bin"),
        ({"impossible": ["age < 20 AND city = 'Oslo'"], "settings": Settings(largest=200)}, "at most 10"),
        ({"total": 0}, "total"),
        ({"total": 2.5}, "total"),
    ],
)
def test_what_cannot_be_declared_is_refused_before_anything_is_charged(
    db: Database, stated: dict[str, Any], told: str
) -> None:
    made = Synthesizer(columns=["age", "city", "cost"], bins=BINS, order=2, **stated)
    with pytest.raises((QueryRefused, InvalidParameter, ValueError), match=told):
        made.fit(db.table("visits"), epsilon=1)
    assert db.spent()["patients"].share == 0


def test_a_condition_that_is_true_for_nothing_changes_nothing(db: Database) -> None:
    made = Synthesizer(columns=["age", "city"], bins=BINS, impossible=["1 = 2", "age < 0"])
    assert len(made.fit(db.table("visits"), epsilon=1).sample(100)) == 100


def test_children_of_known_columns_keep_to_declarations(db: Database) -> None:
    """Rows that are completed from some columns show nothing impossible either."""
    table = BOUND.fit(db.table("visits"), epsilon=1)
    cities = np.zeros(500, dtype=np.int64)
    rows = sampling.rows_given(table.model.beliefs, {"city": cities}, system_entropy())
    assert rows[:, 0].min() >= 2
    assert rows[:, 2].max() < 4


# ---- neighbours


def fit_of(db: Database, synthesizer: Synthesizer) -> Fit:
    return synthesizer._fit(synthesizer._binned(db.table("visits")), Offer(epsilon=1))


def shown(db: Database) -> Any:
    fit = fit_of(db, BOUND)
    with allowance(fit, {"patients": AddRemove()}) as paid:
        return [(part.columns, part.counts.tolist()) for part in measured(fit, Statements(db._curator.engine), paid)]


def grown(**row: Any) -> pa.Table:
    """The visits, with forty of one more patient, among them many that were declared impossible."""
    data = visits(patients=60)
    extra = {"patient_id": 10**6, "city": "Oslo", "day": dt.date(2024, 5, 5), "icd": "A", "age": 5}
    rows = [{**extra, "cost": 99.0 * visit, **row} for visit in range(40)]
    return pa.concat_tables([data, pa.Table.from_pylist(rows, schema=data.schema)])


STRANGERS: dict[str, dict[str, Any]] = {
    "impossible rows": {},
    "a category that nobody had": {"city": "Atlantis"},
    "extreme values": {"age": 10**9, "cost": 1e300},
}


@cases("stranger", STRANGERS, fast=1)
def test_one_patient_more_changes_no_call_and_no_value_further_than_declared(stranger: str) -> None:
    """Neither forty rows more nor rows that cannot be change what the total or the possible cells are."""
    with clinic(data=visits(patients=60)) as one, clinic(data=grown(**STRANGERS[stranger])) as other:
        found = replay(shown, one, other, charged=list(fit_of(one, BOUND).charge.values()))
    assert not found.findings
    assert len(found.calls) > 4


def test_the_test_above_notices_a_total_that_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    totals: list[int] = []
    real = SealedCounts.computed

    def leaky(self: SealedCounts, function: Any, **how: Any) -> Any:
        def counted(crowd: Any) -> Any:
            totals.append(int(crowd.marginal(("city",)).sum()))
            return function(crowd)

        return real(self, counted, **how)

    monkeypatch.setattr(SealedCounts, "computed", leaky)
    fitted = constraints.fit
    monkeypatch.setattr(
        constraints, "fit", lambda *given, **how: fitted(*given, **how | {"total": float((totals or [1200])[-1])})
    )
    with pytest.raises(AssertionError):
        test_one_patient_more_changes_no_call_and_no_value_further_than_declared("impossible rows")


def test_possible_cells_are_those_that_no_condition_rules_out(db: Database) -> None:
    axes = BOUND._binned(db.table("visits")).axes
    stated = Constraints.declared(axes, NEVER, None, largest=10**6)
    grid = BOUND._binned(db.table("visits")).grid
    whole = stated.possible(grid.columns)
    by_hand = np.ones(grid.shape())
    by_hand[:2, 0, :] = 0
    by_hand[:, [0, 2], 4:] = 0
    assert (whole == by_hand).all()
    assert stated.possible(("age", "cost")).all()
    assert stated.together == (("age", "city"), ("city", "cost"))
