"""The dear tests of `unit/catalog/test_folder_versions.py`."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dalenius as dl
from clinics import add_visits
from dalenius.errors import BudgetExceeded
from tests.unit.catalog.test_folder_versions import COUNT, SMALL, versions


@pytest.mark.textbook("S18.1")
def test_a_hundred_versions_bring_no_fresh_budget() -> None:
    db = dl.create()
    db.add_population("patients", budget=dl.Budget(1))
    add_visits(db, "visits", SMALL, columns={"age": dl.Int(0, 120)})
    db.sql(COUNT).run(share="60%")
    for _ in range(100):
        db.update_table("visits", SMALL)
    assert versions(db) == list(range(1, 102))
    assert Fraction(1, 2) < db.spent()["patients"].share <= Fraction(6, 10)
    with pytest.raises(BudgetExceeded):
        db.sql(COUNT).run(share="60%")
    db.sql(COUNT).run(share="30%")
    db.close()
