"""Conditions in SQL: the cells for which they are true, and no other."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dalenius as dl
from dalenius.errors import NotUnderstood, QueryRefused, UnknownName
from dalenius.query.types import Number
from dalenius.tabular.columns import BinnedColumn
from dalenius.tabular.predicates import Condition, predicates

CITY = dl.Category("Oslo", "Bergen")
AXES = [
    BinnedColumn("age", dl.Int(0, 19), Number(False, 0, 3, Fraction(5))),
    BinnedColumn("city", CITY, CITY),
    BinnedColumn("ill", dl.Bool(), dl.Bool()),
]


def cells(text: str) -> set[tuple[str, ...]]:
    """The bins for which a condition is true, by their labels."""
    found = Condition.read(text, AXES)
    used = [axis for axis in AXES if axis.name in found.columns]
    return {
        tuple(axis.label(int(place)) for axis, place in zip(used, at, strict=True))
        for at in zip(*found.true.nonzero(), strict=True)
    }


def test_a_condition_is_true_for_the_bins_that_it_says() -> None:
    assert cells("age >= 10") == {("10",), ("15",)}
    assert cells("age BETWEEN 5 AND 9 AND city = 'Oslo'") == {("5", "Oslo")}
    assert cells("city IS NULL") == {("NULL",)}
    assert cells("city <> 'Oslo'") == {("Bergen",)}, "NULL is neither"
    assert cells("NOT ill") == {("False",)}


def test_all_cells_of_the_grid_get_a_weight() -> None:
    asked = predicates(AXES, ["ill", "age < 5 OR age >= 15", "1 = 1"])
    assert asked.grid.sizes == {"age": 4, "city": 3, "ill": 2}
    assert asked.matrix.sum(axis=1).tolist() == [12, 12, 24]
    assert asked.title(0) == "ill"


def test_a_condition_that_cuts_a_bin_is_refused() -> None:
    with pytest.raises(QueryRefused, match="a part of the bin age from 10 only"):
        Condition.read("age >= 12", AXES)


@pytest.mark.parametrize(
    "text",
    [
        "age > 5 GROUP BY city",
        "age > 5 HAVING COUNT(*) > 3",
        "age > 5 LIMIT 1",
        "age > 5 ORDER BY 1",
        "age > 5; DROP TABLE rows",
        "age IN (SELECT age FROM rows)",
        "COUNT(*) > 3",
        "age > 5) OR (1 = 1",
        "",
    ],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises((QueryRefused, NotUnderstood)):
        Condition.read(text, AXES)


def test_unknown_columns_are_told() -> None:
    with pytest.raises(UnknownName):
        Condition.read("weight > 5", AXES)


def test_a_condition_over_too_many_values_is_refused() -> None:
    wide = [BinnedColumn(name, dl.Int(0, 9999), Number(False, 0, 9, Fraction(1000))) for name in ("x", "y")]
    with pytest.raises(QueryRefused, match="combinations of values"):
        Condition.read("x > y", wide)
