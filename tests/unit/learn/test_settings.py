"""Two fits are the same request only if all their settings are: nothing else may be had for nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from clinics import clinic
from costs import cases
from dalenius.accounting.budget import Budget
from dalenius.learn import PrivateGridSearch, QuantileEstimator, Ridge
from dalenius.learn.budgets import exactly

LONG = np.linspace(0.0005, 0.9995, 1999)
MOVED = np.where(np.arange(1999) == 900, (LONG[899] + LONG[900]) / 2, LONG)
APART: list[tuple[Any, Any]] = [
    (np.array([0.1000000001, 0.9]), np.array([0.1000000002, 0.9])),
    (LONG, MOVED),
    ([LONG], [MOVED]),
    ({"a": LONG}, {"a": MOVED}),
    ({1: 2}, {"1": 2}),
    (np.array([LONG, None], dtype=object), np.array([MOVED, None], dtype=object)),
    (np.float64(0.1), np.nextafter(0.1, 1)),
    (np.float32(0.1), np.float64(0.1)),
    (np.array([1, 2]), np.array([1.0, 2.0])),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array(["a"]), np.array(["b"])),
    (0.1, Decimal("0.1")),
    (Fraction(1, 3), Fraction(1, 4)),
    (1, True),
    (1, "1"),
    ({0.1}, {0.2}),
    (Budget(1), Budget(2)),
    (QuantileEstimator(LONG), QuantileEstimator(MOVED)),
]


@pytest.mark.parametrize("place", range(len(APART)))
def test_settings_that_differ_are_written_differently(place: int) -> None:
    one, other = APART[place]
    assert repr(exactly(one)) != repr(exactly(other))
    assert repr(exactly(one)) == repr(exactly(one))


def test_plain_settings_are_written_as_they_are() -> None:
    for value in (1, 0.1, "text", None, True, (1, (2.0, "a")), [1, [2]]):
        assert exactly(value) == value
        assert type(exactly(value)) is type(value)


@cases("place", [0, 1], fast=1)
def test_quantiles_that_differ_in_the_tenth_digit_or_in_the_middle_are_another_fit(place: int) -> None:
    with clinic() as db:
        one, other = (QuantileEstimator(each, epsilon="0.1") for each in APART[place])
        one.fit(db.table("visits"), columns=["age"])
        spent = db.spent()["patients"].share
        one.fit(db.table("visits"), columns=["age"])
        assert db.spent()["patients"].share == spent
        other.fit(db.table("visits"), columns=["age"])
        assert db.spent()["patients"].share == 2 * spent


def test_a_search_is_another_one_with_another_share_for_choosing() -> None:
    def named(choosing: Any) -> Any:
        return PrivateGridSearch(Ridge(), {"alpha": [1.0, 2.0]}, choosing=choosing)._terms()

    assert named(0.2) == named("0.2") == named(np.float64(0.2))
    assert named(0.2) != named("0.2000000000000000001")
