"""Private evaluations of synthetic tables: right up to stated noise, paid for, and alike for all neighbours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from checks import SeededEntropy
from clinics import COLUMNS, add_visits, clinic, visits
from costs import cases
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.checks.replay.replaying import replay
from dalenius.engines.engine import Statements
from dalenius.errors import BudgetExceeded, InvalidParameter, UnknownName
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.door import measure
from dalenius.privacy.neighbours import AddRemove
from dalenius.query import rows
from dalenius.session.databases import Database
from dalenius.session.executor import allowance, measured
from dalenius.session.offers import Offer
from dalenius.synth.tables import evaluating
from dalenius.synth.tables.adaptive import Settings
from dalenius.synth.tables.evaluating import Comparison, carried, compared, distances, distances_change
from dalenius.synth.tables.fits import Fit
from dalenius.synth.tables.synthesizer import Synthesizer
from dalenius.synth.tables.tables import SyntheticTable
from dalenius.tabular.counts import SealedCounts
from dalenius.tabular.domains import CellDomain

SMALL = Synthesizer(columns=["age", "city", "cost"], bins={"age": "20", "cost": "100"}, order=2)


@pytest.fixture
def db() -> Iterator[Database]:
    with clinic() as database:
        yield database


def fitted(db: Database, epsilon: str = "0.2") -> SyntheticTable:
    return SMALL.fit(db.table("visits"), epsilon=epsilon)


def test_an_evaluation_is_charged_once_and_then_had_for_nothing(db: Database) -> None:
    table = fitted(db)
    before = db.spent()["patients"].share
    first = table.evaluate(db.table("visits"), epsilon="0.2")
    spent = db.spent()["patients"].share
    assert spent == 2 * before
    again = table.evaluate(db.table("visits"), epsilon="0.2")
    assert again.answer.replayed
    assert again.errors == first.errors
    assert db.spent()["patients"].share == spent
    other = fitted(db, "0.1").evaluate(db.table("visits"), epsilon="0.2")
    assert not other.answer.replayed, "another model is another request"
    with pytest.raises(BudgetExceeded):
        table.evaluate(db.table("visits"), epsilon=3)


def test_the_errors_are_the_true_ones_up_to_the_bars() -> None:
    """The truth is counted here by hand, cell by cell."""
    with clinic(dl.Budget(epsilon=200, delta="1e-9")) as db:
        table = fitted(db, "0.5")
        found = table.evaluate(db.table("visits"), epsilon=100, groups=[["city"], ["age", "city"]])
    rows = visits().to_pylist()
    cities = {"Oslo": 0, "Bergen": 1, "Tromsø": 2, None: 3}
    true = np.zeros((7, 4))
    for row in rows:
        true[row["age"] // 20, cities[row["city"]]] += 1
    for columns, counts in ((("city",), true.sum(axis=0)), (("age", "city"), true)):
        error = np.abs(table.counts(columns) - counts).sum() / table.size
        assert error > 5 * found.bar, "large enough to be seen"
        assert abs(found.errors[columns] - error) < 3 * found.bar
    assert [column.name for column in found.table] == ["columns combined", "groups", "mean error"]
    assert "measured on the data with noise" in str(found)
    assert "mean error" in found._repr_html_()


def test_all_groups_of_one_and_two_columns_and_those_of_the_table_are_measured(db: Database) -> None:
    made = Synthesizer(columns=["age", "city", "cost"], bins={"age": "20", "cost": "500"}, order=3)
    found = made.fit(db.table("visits"), epsilon=1).evaluate(db.table("visits"), epsilon=1)
    assert sorted(map(len, found.errors)) == [1, 1, 1, 2, 2, 2, 3]
    assert found.table[1].values == (3, 3, 1)


@pytest.mark.parametrize("pure", [True, False])
def test_bars_cover_the_noise_in_95_of_100_cases(pure: bool) -> None:
    """4,000 draws; fewer than 0.93 covered would happen by chance less than once in 10^6 runs."""
    grid = CellDomain({"a": 2, "b": 3})
    rows = SealedCounts.from_rows(grid, [[0, 1], [1, 2], [1, 1]], neighbours=AddRemove())
    groups = (("a",), ("b",))
    told = tuple(np.zeros(grid.shape(group), dtype=np.int64) for group in groups)
    change = distances_change(rows, groups)
    exact = rows.computed(lambda crowd: distances(crowd, groups, told), sensitivity=change)
    entropy, inside = SeededEntropy(3), 0
    for _ in range(2000):
        paid = Allowance(Charge(divergence=10**15, order=None if pure else Fraction(8)), neighbours=AddRemove())
        noise = BudgetPart(paid).noise(BudgetPart(paid).left, change)
        noisy = measure(noise, exact, paid, entropy)
        inside += sum(abs(int(number) - 3000) <= evaluating._bar(noise) for number in noisy)
    assert 0.93 <= inside / 4000 <= 0.97


def test_axes_are_found_again_whatever_the_bins() -> None:
    made = (
        Synthesizer(),
        Synthesizer(bins={"age": 200, "cost": "12.5", "day": 5}),
        Synthesizer(bins={"age": 3, "cost": "2.5", "day": "7"}),
        Synthesizer(bins={"cost": 5000, "day": 2000}),
    )
    with clinic() as db:
        for synthesizer in made:
            axes = synthesizer._binned(db.table("visits")).axes
            assert carried(db.table("visits"), axes, 1).axes == axes


def test_what_cannot_be_evaluated_is_refused_before_anything_is_charged(db: Database) -> None:
    add_visits(db, "others", columns=COLUMNS | {"age": dl.Int(0, 199)})
    add_visits(db, "fewer", columns={"age": dl.Int(0, 120)})
    table = fitted(db)
    spent = db.spent()
    for name, groups, told in (
        ("others", None, "was made of"),
        ("fewer", None, "city"),
        ("visits", [], "one or more"),
        ("visits", [[]], "one or more"),
        ("visits", [["weight"]], "weight"),
    ):
        with pytest.raises((InvalidParameter, UnknownName), match=told):
            table.evaluate(db.table(name), epsilon=1, groups=groups)
    assert db.spent() == spent


def test_a_pure_budget_buys_an_evaluation_with_wider_bars() -> None:
    with clinic(dl.Budget(epsilon=2)) as db:
        table = fitted(db)
        found = table.evaluate(db.table("visits"), epsilon=1)
        assert db.spent()["patients"].share == Fraction(6, 10)
    scale = 6 * 3  # each of six distances moves by three rows at most
    assert found.bar * table.size == pytest.approx(2.9957 * scale, rel=0.001)


# ---- neighbours

GROUPS = (("age",), ("city",), ("city", "cost"))


def comparison(db: Database, table: SyntheticTable) -> Comparison:
    found = carried(db.table("visits"), table.axes, table.rows_of_unit)
    fit = Fit(found.source, found.axes, GROUPS, Settings(), found.charge(Offer(epsilon=1)))
    return compared(fit, table.model, GROUPS, rows=table.size)


def grown(data: pa.Table, **row: Any) -> pa.Table:
    """The visits, with forty of one more patient, all over the place."""
    extra = {"patient_id": 10**6, "city": "Oslo", "day": dt.date(2024, 5, 5), "icd": "A"}
    rows = [{**extra, "age": 3 * visit, "cost": 99.0 * visit, **row} for visit in range(40)]
    return pa.concat_tables([data, pa.Table.from_pylist(rows, schema=data.schema)])


STRANGERS: dict[str, dict[str, Any]] = {
    "an ordinary patient": {},
    "a category that nobody had": {"city": "Atlantis"},
    "extreme values": {"age": 10**9, "cost": 1e300},
}


@cases("neighbours", ["add_remove", "replace"], fast=1)
@pytest.mark.parametrize("stranger", STRANGERS)
def test_one_patient_more_changes_no_call_and_no_value_further_than_declared(stranger: str, neighbours: str) -> None:
    data = visits(patients=60)
    before = data if neighbours == "add_remove" else grown(data, city="Bergen", age=3, cost=10.0)
    with (
        clinic(data=before, neighbours=neighbours) as one,
        clinic(data=grown(data, **STRANGERS[stranger]), neighbours=neighbours) as other,
    ):
        table = fitted(one)

        def run(db: Database) -> Any:
            price = comparison(db, table)
            with allowance(price, {"patients": db._curator.catalog.population("patients").neighbours}) as paid:
                return measured(price, Statements(db._curator.engine), paid)

        found = replay(run, one, other, charged=list(comparison(one, table).charge.values()))
    assert not found.findings
    assert len(found.calls) == 1


def test_the_test_above_notices_a_sensitivity_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    real = evaluating.distances_change

    def halved(rows: SealedCounts, groups: Any) -> Any:
        found = real(rows, groups)
        return dl.privacy.Sensitivity(l1=found.l1 / 2, l2_squared=found.l2_squared / 4, linf=found.linf / 2)

    monkeypatch.setattr(evaluating, "distances_change", halved)
    with pytest.raises(AssertionError):
        test_one_patient_more_changes_no_call_and_no_value_further_than_declared("an ordinary patient", "add_remove")


def test_the_test_above_notices_rows_that_are_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LimitPerUnit", lambda child, most: child)
    with pytest.raises(AssertionError):
        test_one_patient_more_changes_no_call_and_no_value_further_than_declared("an ordinary patient", "add_remove")
