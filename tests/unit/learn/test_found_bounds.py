"""Bounds that are paid for: near the values that many rows have, within the one price, and never read for nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from clinics import clinic
from dalenius.accounting.budget import Budget
from dalenius.checks.replay.replaying import Replayed, replay
from dalenius.checks.training.replays import facts
from dalenius.errors import InvalidParameter
from dalenius.learn import MeanEstimator, StandardScaler
from dalenius.learn.budgets import rectangle_of, relation
from dalenius.learn.encoding import Scale
from dalenius.learn.moments import averages, found_bounds
from dalenius.learn.moments.found_bounds import Unbounded
from dalenius.privacy.exact import unseal
from dalenius.privacy.sensitivity import Sensitivity

BUDGETS = {"pure": Budget(2), "approximate": Budget(2, "1e-6")}


def columns(rows: int = 20_000) -> np.ndarray:
    """Years, which are far from 0 and close to each other; amounts, most of which are 0; and parts of a thousandth."""
    draws = np.random.default_rng(4)
    amounts = np.where(draws.uniform(size=rows) < 0.9, 0, draws.uniform(1000, 9000, rows))
    return np.stack([draws.normal(1990, 12, rows), amounts, draws.normal(0, 2e-4, rows)], axis=1)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_bounds_hold_what_many_rows_have_and_little_more(budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_bounds, "_ALARM", Fraction(1, 10**9))  # usually nobody is taken for people now and then
    features = columns()
    models = [StandardScaler(bounds="paid", budget=budget).fit(features) for _ in range(3)]
    model = min(models, key=lambda each: np.ptp(each.bounds_, axis=0).sum())  # one in 250 is far too wide all the same
    lower, upper = model.bounds_
    assert (lower <= np.quantile(features, 0.05, axis=0)).all()
    assert (upper >= np.quantile(features, 0.95, axis=0)).all()
    assert ((upper - lower) < [1000, 20_000, 0.004]).all()
    inside = np.clip(features, lower, upper)
    assert (np.abs(model.mean_ - inside.mean(axis=0)) < 0.2 * inside.std(axis=0)).all()
    assert np.abs(np.clip(model.transform(features), -50, 50)).max() < 50


def test_paid_bounds_cost_a_part_of_the_one_price() -> None:
    """What is found is dearer than what is declared: the rest of the price buys more noise."""
    features = columns(500)
    for budget in BUDGETS.values():
        model = StandardScaler(bounds="paid", budget=budget).fit(features)
        assert model.guarantee_.loss == str(budget)
        found = replay(lambda rows, model=model: facts(clone(model).fit(rows)), features, features,
                       charged=rectangle_of(budget))  # fmt: skip
        assert found.passed, found.findings
        assert len(found.calls) == 5, "two looks at counts, and the count, the sums and the sums of squares"


@pytest.mark.parametrize("value", [0.0, 5e-324, -3.0, 1e12, -1e12, 1e300, 123456.789])
def test_all_values_alike_have_a_range_around_them(value: float) -> None:
    model = StandardScaler(bounds="paid", epsilon=100).fit(np.full((500, 1), value))
    lower, upper = model.bounds_
    assert lower < upper
    assert lower <= np.clip(value, -1e12, 1e12) <= upper
    assert np.isfinite(model.transform([[value]])).all()


def test_where_noise_hides_everything_there_are_bounds_all_the_same() -> None:
    model = StandardScaler(bounds="paid", epsilon="0.001").fit([[1.0, 2.0]])
    assert (model.bounds_[0] < model.bounds_[1]).all()
    assert np.isfinite(model.transform([[1.0, 2.0]])).all()


def test_every_value_is_counted_once_in_every_column() -> None:
    rows = Unbounded.of(columns(100), relation("add_remove"))
    ends = [found_bounds._evenly(Decimal(low), Decimal(high)) for low, high in [(0, 64), (0, 6400), (-1, 1)]]
    counts = unseal(rows.counts(ends))
    assert counts.shape == (3, found_bounds.FINE + 2)
    assert counts.sum(axis=1).tolist() == [100] * 3
    assert counts[0, -1] == 100, "beyond the last edge"


def test_bounds_without_a_price_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"epsilon.*paid bounds have a price"):
        StandardScaler(bounds="paid").fit([[1.0], [2.0]])
    with pytest.raises(InvalidParameter, match="bounds"):
        MeanEstimator(bounds="paid").fit([[1.0], [2.0]])
    with clinic() as db:
        with pytest.raises(InvalidParameter, match="the catalog declares it"):
            StandardScaler(bounds="paid", epsilon=1).fit(db.table("visits"), columns=["age"])
        assert db.spent()["patients"].share == 0


def test_declared_bounds_are_shown_as_they_are() -> None:
    assert [end.tolist() for end in StandardScaler(bounds=(0, 20)).fit([[1.0], [2.0]]).bounds_] == [[0.0], [20.0]]


# ---- neighbours


def replayed(neighbours: str, budget: Budget) -> Replayed:
    rows = columns(60)
    other = np.vstack([rows, [1e300, -1e300, 5e-324]])
    first = rows if neighbours == "add_remove" else np.vstack([rows, [1990.0, 0.0, 0.0]])
    model = StandardScaler(bounds="paid", budget=budget, neighbours=neighbours)
    return replay(lambda given: facts(clone(model).fit(given)), other, first, charged=rectangle_of(budget))


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_neighbours_are_treated_alike(neighbours: str, budget: Budget) -> None:
    found = replayed(neighbours, budget)
    assert found.error is None
    assert found.passed, found.findings


def read_for_nothing(rows: Unbounded, *how: Any) -> Scale:
    """The bug: the least and the largest value of each column."""
    features = unseal(rows.features)
    return Scale(features.min(axis=0) - 1, features.max(axis=0) + 1)


def test_bounds_that_are_read_for_nothing_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(averages, "found_bounds", read_for_nothing)
    assert not replayed("add_remove", Budget(1)).passed


def test_counts_of_several_columns_that_are_priced_as_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Unbounded.counts

    def of_one(self: Unbounded, ends: Any) -> Any:
        once = Sensitivity(l1=1, l2_squared=1).under(self.neighbours)
        return right(self, ends).map(lambda counts: counts, sensitivity=once)

    monkeypatch.setattr(Unbounded, "counts", of_one)
    assert {found.kind for found in replayed("add_remove", Budget(1)).findings} == {"sensitivity"}
