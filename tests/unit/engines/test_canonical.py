"""An import makes a code of every raw value, and nobody's rows are dropped."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from dalenius.engines.hashing import group_hash
from dalenius.engines.reference.canonical import canonical, import_rows, owners, unit_code
from dalenius.errors import DataMismatch
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.tables import ContributionBounds, EachRow, ForeignKey, Protection, Table, Unit, UnitColumn
from dalenius.query.types import Bool, Category, Date, Domain, Int, Real, Text, Timestamp

OSLO = dt.timezone(dt.timedelta(hours=1))
CASES: list[tuple[Domain, Any, Any]] = [
    (Int(0, 9), None, None),
    (Int(0, 9), 12, 9),
    (Int(0, 9), -(2**70), 0),
    (Int(0, 9), math.nan, None),
    (Int(0, 9), math.inf, 9),
    (Int(0, 9), True, None),
    (Int(0, 9), "7 apples", None),
    (Real(-1, 1, step="0.25"), -math.inf, -4),
    (Real(-1, 1, step="0.25"), -0.0, 0),
    (Real(-1, 1, step="0.25"), 5e-324, 0),
    (Real(-1, 1, step="0.25"), 1e308, 4),
    (Real(-1, 1, step="0.25"), 0.125, 1),
    (Real(-1, 1, step="0.25"), -0.125, 0),
    (Real(0, 9, step="0.01"), Decimal("2.675"), 268),
    (Bool(), True, True),
    (Bool(), 1, None),
    (Category("Oslo", "é"), "Oslo", "Oslo"),
    (Category("Oslo", "é"), "oslo", None),
    (Category("Oslo", "é"), "e\u0301", "é"),
    (Text(), "e\u0301", "é"),
    (Text(), "", ""),
    (Text(), "a\0b", None),
    (Text(), "\ud800", None),
    (Text(), 3, None),
    (Date("2024-01-01", "2024-12-31"), dt.date(9999, 12, 31), 20088),
    (Date("2024-01-01", "2024-12-31"), dt.datetime(2024, 1, 2, 23, 59), 19724),
    (Date("2024-01-01", "2024-12-31"), "soon", None),
    (Timestamp("1970-01-01", "1970-01-02"), dt.datetime(1970, 1, 1, 0, 0, 0, 5), 5),
    (Timestamp("1970-01-01", "1970-01-02"), dt.datetime(1970, 1, 1, 1, 0, 0, 5, tzinfo=OSLO), 5),
    (Date("1960-01-01", "1970-12-31"), dt.datetime(1970, 1, 1, 0, 59, tzinfo=OSLO), -1),
    (Timestamp("0001-01-01", "1970-01-02"), dt.datetime(1, 1, 1, tzinfo=OSLO), -62_135_596_800_000_000),
    (Timestamp("1970-01-01", "1970-01-02"), dt.date(1970, 1, 2), 86_400_000_000),
]


@pytest.mark.parametrize(("domain", "raw", "code"), CASES, ids=repr)
def test_every_raw_value_becomes_a_code_or_null(domain: Domain, raw: Any, code: Any) -> None:
    found = canonical(domain, raw)
    assert (type(found), found) == (type(code), code)


def test_units_with_different_ids_stay_apart() -> None:
    ids = [unit_code(raw) for raw in (1, "1", "01", "1 ", "é", "E\u0301")]
    assert len(set(ids)) == len(ids)
    assert unit_code("é") == unit_code("e\u0301")


def test_a_null_unit_is_dropped() -> None:
    table = _table("t", UnitColumn("who"))
    raw = {"t": [{"who": None, "x": 1}, {"who": math.nan, "x": 2}, {"who": "a", "x": 3}]}
    assert [(row.unit, row.values) for row in import_rows(table, raw, {"t": table})] == [("a", {"x": 3})]


RAW = {
    "orders": [{"id": 7, "who": "a"}, {"id": 7, "who": "b"}, {"id": 7, "who": "b"}, {"id": None, "who": "c"}],
    "lines": [{"order": 7, "x": 1}, {"order": 8, "x": 2}, {"order": None, "x": 3}],
}


def test_along_a_key_path_a_row_belongs_to_one_of_the_units_that_state_its_key() -> None:
    orders, lines = _table("orders", UnitColumn("who")), _table("lines", ForeignKey("order", "orders", "id"))
    tables = {"orders": replace(orders, keys=("id",), claims=(("id", 1),)), "lines": lines}
    first = min("ab", key=lambda unit: group_hash(unit, (7,)))
    assert owners(lines, RAW, tables) == [first, None, None]


def test_a_unique_key_that_two_units_state_is_refused() -> None:
    orders, lines = _table("orders", UnitColumn("who")), _table("lines", ForeignKey("order", "orders", "id"))
    with pytest.raises(DataMismatch, match="some values of the key 'id', which is declared unique, are stated by more"):
        owners(lines, RAW, {"orders": orders, "lines": lines})
    alone = {**RAW, "orders": RAW["orders"][1:]}
    assert owners(lines, alone, {"orders": orders, "lines": lines}) == ["b", None, None]


def test_each_row_can_be_a_unit_and_leaves_the_ids_of_others_alone() -> None:
    table = _table("t", EachRow())
    rows = [{"x": 1}, {"x": 2}, {"x": 1}, {"x": None}]
    ids = set(owners(table, {"t": rows}, {"t": table}))
    assert len(ids) == 4
    for gone in range(4):
        left = owners(table, {"t": rows[:gone] + rows[gone + 1 :]}, {"t": table})
        assert len(ids - set(left)) == 1


def _table(name: str, unit: Unit) -> Table:
    return Table(
        name, (("x", Int(0, 9)),), Protection("people", unit, AddRemove(), ContributionBounds(rows=1, groups=1))
    )
