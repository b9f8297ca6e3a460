"""Keys of paths are unique, or several units may state them: what an owner declares, and what then can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from dalenius.catalog import toml_schema as sections
from dalenius.errors import DaleniusError, DataMismatch, InvalidParameter, QueryRefused
from dalenius.query.tables import Claims, ContributionBounds
from dalenius.session.databases import Database

MOST = ContributionBounds(rows=1, groups=1)
ORDERS = pa.table({"person": [1, 2, 2, 3], "order_id": [10, 10, 11, 12]})
ITEMS = pa.table({"order_id": [10, 11, 12], "price": [1, 2, 3], "kind": ["a", "b", "a"], "name": ["x", "y", "z"]})
COLUMNS = {"price": dl.Int(0, 9), "kind": dl.Category("a", "b"), "name": dl.Text()}


def shop(
    keys: Any, path: Path | None = None, *, orders: Any = ORDERS, items: Any = ITEMS, **population: Any
) -> Database:
    db = dl.create(path) if path else dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=1000, delta="1e-6"), **population)
    db.add_table(
        "orders",
        orders,
        population="people",
        unit="person",
        max_rows=MOST.rows,
        max_groups=MOST.groups,
        columns={},
        keys=keys,
    )
    db.add_table(
        "items",
        items,
        population="people",
        unit="order_id -> orders.person",
        max_rows=MOST.rows,
        max_groups=MOST.groups,
        columns=COLUMNS,
    )
    return db


# ---- what is declared


def test_keys_are_unique_or_so_many_of_a_unit_count() -> None:
    with pytest.raises(DataMismatch, match="stated by more than one unit \\(1 of them, by 2 units\\)"):
        shop(["order_id"])
    db = shop({"order_id": 2})
    assert db.catalog.table("orders").claims == (("order_id", 2),)
    assert db.remarks("orders") == [
        "more than one unit states 1 values of the key 'order_id'; each belongs to one of them"
    ]
    alone = shop({"order_id": "unique"}, orders=ORDERS.slice(1))
    assert (alone.catalog.table("orders").keys, alone.catalog.table("orders").claims) == (("order_id",), ())
    assert alone.remarks("orders") == []


@pytest.mark.parametrize("most", [0, -1, True, "5", 1.0, None, 10**7])
def test_a_number_of_keys_that_means_nothing_is_refused(most: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"keys\.order_id"):
        shop({"order_id": most})


def test_the_number_stands_in_the_catalog_and_never_changes(tmp_path: Path) -> None:
    with shop({"order_id": 2}, tmp_path / "shop"):
        pass
    written = (tmp_path / "shop" / "catalog.toml").read_text()
    assert "order_id = 2" in written
    with dl.open(tmp_path / "shop") as db:
        assert db.catalog.table("items").protection.claims == (Claims("orders", "order_id", 2),)  # type: ignore[union-attr]
        assert db.sql("SELECT COUNT(*) AS n FROM items").run(epsilon=1)
    for other in ("order_id = 3", 'order_id = "unique"'):
        (tmp_path / "shop" / "catalog.toml").write_text(written.replace("order_id = 2", other))
        with pytest.raises(DaleniusError, match=r"2 of each unit count of orders\.order_id, as before"):
            dl.open(tmp_path / "shop")
    (tmp_path / "shop" / "catalog.toml").write_text(written)
    with dl.open(tmp_path / "shop") as db:
        assert db.sql("SELECT COUNT(*) AS n FROM items").run(epsilon=1)


def test_sections_of_a_catalog_with_keys_of_both_kinds_are_read_as_they_were_written() -> None:
    db = shop({"order_id": 2})
    columns = {"price": dl.Int(0, 9)}
    path = "order_id -> orders.person"
    db.add_table(
        "bills",
        ITEMS,
        population="people",
        unit=path,
        max_rows=MOST.rows,
        max_groups=MOST.groups,
        columns=columns,
        keys={"price": "unique", "order_id": 3},
    )
    written = sections.plain(db.catalog)
    assert written["tables"]["orders"]["keys"] == {"order_id": 2}
    assert written["tables"]["bills"]["keys"] == {"price": "unique", "order_id": 3}
    assert sections.catalog(written).tables == {
        name: type(table)(**{**vars_of(table), "version": 1}) for name, table in db.catalog.tables.items()
    }


def vars_of(table: Any) -> dict[str, Any]:
    return {name: getattr(table, name) for name in type(table).__dataclass_fields__}


# ---- what is asked


def test_the_derivation_says_how_many_units_one_unit_touches_and_names_no_table_on_the_way() -> None:
    db = shop({"order_id": 2})
    db.grant("ana", tables=["items"])
    me = db.as_analyst("ana")
    told = me.sql("SELECT COUNT(*) AS n FROM items").explain()
    assert "Of each unit the first 2 count, and of the units that state a key the first owns it" in told
    assert "one unit changes what it and at most 2 others own, which is as if 5 units came or went" in told
    assert "stability 5" in told
    assert "changes by at most l1 5" in told
    shown = f"{me.tables()} {me.sql('SELECT COUNT(*) AS n FROM items').run(epsilon=1).card}"
    assert "one unit changes what up to 2 others have" in shown
    assert not any("orders" in text for text in (told, shown))


def test_a_question_that_is_no_sum_over_people_is_refused_for_nothing() -> None:
    db = shop({"order_id": 2})
    with pytest.raises(QueryRefused) as refused:
        db.sql("SELECT MEDIAN(price) AS m FROM items").run(epsilon=1)
    assert "quantiles of price" in str(refused.value)
    assert refused.value.rule == (
        "units find their rows by keys that several may state, so that one unit changes what up to 2 others have, and "
        "only counts, sums, averages and the like of public groups are made private for so many at once"
    )
    assert refused.value.instead == (
        "Ask for these, as with WHERE key IN ('a', 'b') or a Category to group by; or ask the owner to declare the key "
        "unique, or to give the table a unit column of its own."
    )
    assert not db.history()
    unique = shop(["order_id"], orders=ORDERS.slice(1))
    assert unique.sql("SELECT MEDIAN(price) AS m FROM items").run(epsilon=1)


def test_a_rehearsal_and_a_question_about_a_block_count_for_everybody() -> None:
    db = shop({"order_id": 2})
    db.add_table("visits", pa.table({"person": [1, 2], "city": ["a", "b"]}), population="people", unit="person",
                 max_rows=MOST.rows, max_groups=MOST.groups, columns={"city": dl.Category("a", "b")})  # fmt: skip
    db.partition("visits.city", ["a", "b"])
    inside = "SELECT COUNT(*) AS n FROM visits WHERE city = 'a'"
    assert db.sql(inside).cost(epsilon=1).blocks
    assert not db.sql("SELECT COUNT(*) AS n FROM items i WHERE i.person IN (SELECT person FROM visits WHERE city = 'a')"
                      ).cost(epsilon=1).blocks  # fmt: skip
    assert len(db.sql("SELECT kind, COUNT(*) AS n FROM items GROUP BY kind").rehearse()) == 3
    with pytest.raises(InvalidParameter, match="cut by another table than items"):
        shop({"order_id": 2}).partition("items.kind", ["a", "b"])
