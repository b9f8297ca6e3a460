"""Fits at very low prices: noise is wide, no number is too large for it, and what cannot be paid for is said before."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from costs import cases
from dalenius.accounting.allowance import Allowance
from dalenius.accounting.amounts import Charge
from dalenius.errors import InvalidParameter, WorkStopped
from dalenius.learn import (
    BernoulliNB,
    LinearSVC,
    LogisticRegression,
    PrivateGridSearch,
    Ridge,
)
from dalenius.learn.budgets import relation
from dalenius.learn.linear import objective
from dalenius.learn.linear import objective as vectors
from dalenius.learn.linear.losses_piecewise import Bend, Curve, Huber
from dalenius.learn.linear.objective import normal_vector, spherical_vector
from dalenius.learn.losses_tabulated import Slope
from dalenius.learn.rows import ONE, Entries, SealedRows, sealed
from dalenius.mechanisms.budget_parts import BudgetPart
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.privacy.exact import unseal
from dalenius.randomness.entropy import system_entropy
from dalenius.session.databases import Database

LOW = ["1e-3", "1e-4", "1e-5"]
ORDER = Fraction(21, 10)  # that of a population with a budget of (50, 1e-9)
CURVES: dict[str, Curve] = {
    "logistic": Bend(Slope(steepest=0.5)),
    "hinge": Bend(Slope("hinge")),
    "residuals": Huber(),
}


def trial(delta: str | None = "1e-9", count: int = 3000) -> Database:
    draws = np.random.default_rng(0)
    age, dose = draws.integers(20, 90, count), draws.integers(0, 5, count)
    well = np.where(age / 90 + dose / 10 + draws.normal(0, 0.1, count) > 0.9, "well", "ill")
    sex = ["f", "m"] * (count // 2)
    db = dl.create()
    db.add_population("patients", budget=dl.Budget(50, delta) if delta else dl.Budget(50), least_share="1e-15")
    db.add_table(
        "trial",
        pa.table(
            {
                "patient": range(count),
                "age": age,
                "dose": dose,
                "cost": draws.normal(50, 10, count),
                "outcome": well,
                "sex": sex,
            }
        ),
        population="patients",
        unit="patient",
        max_rows=1,
        max_groups=1,
        columns={
            "age": dl.Int(0, 120),
            "dose": dl.Int(0, 5),
            "cost": dl.Real(0, 100, step="0.01"),
            "outcome": dl.Category("ill", "well"),
            "sex": dl.Category("f", "m"),
        },
    )
    return db


@pytest.fixture(scope="module", params=["1e-9", None])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    with trial(request.param) as database:
        yield database


def fits(db: Database, epsilon: str) -> None:
    rows = db.table("trial")
    LogisticRegression(epsilon=epsilon).fit(rows, "outcome")
    LinearSVC(epsilon=epsilon).fit(rows, "outcome")
    LogisticRegression(epsilon=epsilon, method="output").fit(rows, "outcome")
    Ridge(epsilon=epsilon, method="objective").fit(rows, "cost")
    PrivateGridSearch(LinearSVC(epsilon=epsilon), {"method": ["objective", "output"]}).fit(rows, "outcome")


@cases("epsilon", LOW, fast=1)
def test_fits_on_tables_end_at_low_prices(db: Database, epsilon: str) -> None:
    fits(db, epsilon)


def test_fits_on_tables_end_at_prices_of_a_few_units(db: Database) -> None:
    rows = db.table("trial")
    LogisticRegression(epsilon="1e-6").fit(rows, "outcome")
    LinearSVC(epsilon="1e-6").fit(rows, "outcome")
    Ridge(epsilon="1e-6", method="objective").fit(rows, "cost")


def test_the_tests_above_notice_tilts_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: tilts that are cut off where they do not fit, which is a fit that was charged and has no answer."""
    whole = vectors.normal_vector
    monkeypatch.setattr(objective, "normal_vector", lambda *given: whole(*given).astype(np.int64))
    with trial() as db, pytest.raises(WorkStopped):
        fits(db, LOW[0])


@pytest.mark.parametrize("delta", [None, "1e-9"])
@pytest.mark.parametrize("epsilon", [*LOW, "1e-6", "1e-9"])
def test_fits_on_arrays_end_at_low_prices(epsilon: str, delta: str | None) -> None:
    features = np.random.default_rng(1).uniform(0, 1, (500, 2))
    target = (features[:, 0] > 0.5).astype(int)
    how: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "bounds": (0, 1)}
    for kind in (LogisticRegression, LinearSVC):
        for method in ("objective", "output"):
            found = kind(**how, classes=(0, 1), method=method).fit(features, target)
            assert found.coef_.dtype == np.float64
            assert np.isfinite(found.coef_).all()
    found = Ridge(**how, alpha=1e300, target_bounds=(0, 1), method="objective").fit(features, target)
    assert np.isfinite(found.coef_).all()


def test_vectors_hold_numbers_beyond_64_bits_to_the_last_digit() -> None:
    for drawn in (
        normal_vector(Fraction(2**200), 6, system_entropy()),
        spherical_vector(Fraction(2**100), 6, system_entropy()),
    ):
        assert all(type(each) is int for each in drawn.tolist())
        assert max(abs(each) for each in drawn.tolist()) > 2**64
        assert any(each % 2**40 for each in drawn.tolist())


def extreme(kind: int) -> SealedRows:
    """Rows of one kind, on the corners of what is declared, or none at all."""
    features = np.repeat(np.array([[[ONE, ONE]], [[-ONE, ONE]], [[0, ONE]]])[kind % 3], 40 * (kind < 3), axis=0)
    target = np.full(len(features), ONE if kind == 2 else 1)
    counts = np.full(len(features), 2**14)
    return sealed(Entries(features.astype(np.int16), target, counts), 2 * ONE**2, relation("add_remove"))


@cases("name", CURVES, fast=1)
@pytest.mark.parametrize("order", [None, ORDER, Fraction(40)])
def test_a_minimum_is_found_at_every_price_whatever_the_rows_are(name: str, order: Fraction | None) -> None:
    label = None if name == "residuals" else 1
    for price in (Fraction(1, 10**power) for power in (1, 3, 6, 9, 14)):
        for kind in range(4):
            rows = extreme(kind)
            mechanism = objective.calibrated(
                rows, CURVES[name], label, price=price, order=order, count=40 * 2**14, penalties=(0.0, 1e300)
            )
            assert len(mechanism.release(unseal(objective.counted(rows)), system_entropy())) == rows.width


@cases("name", CURVES, fast=1)
@pytest.mark.parametrize("order", [None, ORDER, Fraction(40)])
@pytest.mark.parametrize("most", [1, 30])
def test_no_tilt_that_occurs_makes_weights_too_large(name: str, order: Fraction | None, most: int) -> None:
    """The ridge fits the tilt that is drawn, which at low prices is far wider than that of a Gaussian release."""
    features = np.zeros((1, 900), dtype=np.int16)
    entries = Entries(features, np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64))
    rows = sealed(entries, 1, relation("add_remove"), most=most)  # so short that the tilt needs more than they do
    for price in (Fraction(1, 10**power) for power in (0, 2, 4, 8, 12)):
        made = objective.calibrated(rows, CURVES[name], None, price=price, order=order)
        pure = isinstance(made.noise, DiscreteLaplace)
        longest = made.spread * (2 * 900 + 40) if pure else Fraction(float(made.spread) ** 0.5) * (2 * 30 + 12)
        assert longest / made.ridge <= 2**12 + 1
        loss = made.loss(sensitivity=objective.counted(rows).sensitivity)
        assert (loss.renyi(order) if order else loss.epsilon) <= price  # type: ignore[union-attr]


# ---- what cannot be paid for, or not be learnt, is refused before it is charged

SEARCHED = {"method": ["objective", "output"]}
REFUSED = {
    "no feature": (LogisticRegression(), "outcome", ["outcome"], "columns"),
    "no price": (Ridge(epsilon="1e-6"), "cost", None, "price"),
    "no price to search for": (PrivateGridSearch(Ridge(epsilon="1e-5"), {"alpha": [1.0] * 20}), "cost", None, "price"),
    "nothing to choose by": (PrivateGridSearch(LinearSVC(), SEARCHED, choosing="1e-30"), "outcome", None, "choosing"),
    "nothing but a choice": (
        PrivateGridSearch(LinearSVC(), SEARCHED, choosing="0.9999999999999999999999"), "outcome", None, "choosing"
    ),
    "edges of what is on": (BernoulliNB(binarize=1), "outcome", ["outcome", "sex"], "binarize"),
    "words for edges": (BernoulliNB(binarize="x"), "outcome", ["outcome", "sex"], "binarize"),
}  # fmt: skip


@cases("name", REFUSED, fast=1)
def test_what_public_facts_rule_out_is_refused_before_it_is_charged(name: str) -> None:
    model, target, columns, named = REFUSED[name]
    with trial(count=50) as db:
        for method in (model.fit, model.cost):
            with pytest.raises(InvalidParameter) as refused:
                method(db.table("trial"), target, columns=columns)
            assert refused.value.name == named
        assert db.spent()["patients"].share == 0


def test_a_purse_that_is_too_empty_does_not_say_that_nothing_was_charged() -> None:
    little = Allowance(Charge(divergence=3, order=None), neighbours=relation("add_remove"))
    with little as allowance, pytest.raises(InvalidParameter, match="stays charged"):
        BudgetPart(allowance).equal(4)
