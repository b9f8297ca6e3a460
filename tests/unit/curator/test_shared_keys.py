"""Keys of paths are unique, or several units may state them: what an owner declares, and what then can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from dalenius.curator.databases import Database
from dalenius.curator.folder import sections
from dalenius.engines.conformance.comparing import totals_of
from dalenius.errors import DaleniusError, DataMismatch, InvalidParameter, QueryRefused, WorkStopped
from dalenius.privacy.exact import unseal
from dalenius.query.pricing.measurements import lower
from dalenius.query.tables import Claims
from placed import as_reader, load, parquet, postgres, run
from spark_servers import session

MOST = dl.Most(rows=1, groups=1)
ORDERS = pa.table({"person": [1, 2, 2, 3], "order_id": [10, 10, 11, 12]})
ITEMS = pa.table({"order_id": [10, 11, 12], "price": [1, 2, 3], "kind": ["a", "b", "a"], "name": ["x", "y", "z"]})
COLUMNS = {"price": dl.Int(0, 9), "kind": dl.Category("a", "b"), "name": dl.Text()}
NUMBERS = count(1)


def shop(
    keys: Any, path: Path | None = None, *, orders: Any = ORDERS, items: Any = ITEMS, **population: Any
) -> Database:
    db = dl.create(path) if path else dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=1000, delta="1e-6"), **population)
    db.add_table("orders", orders, population="people", unit="person", most=MOST, columns={}, keys=keys)
    db.add_table("items", items, population="people", unit="order_id -> orders.person", most=MOST, columns=COLUMNS)
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
    db.add_table("bills", ITEMS, population="people", unit=path, most=MOST, columns=columns,
                 keys={"price": "unique", "order_id": 3})  # fmt: skip
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
                 most=MOST, columns={"city": dl.Category("a", "b")})  # fmt: skip
    db.partition("visits.city", ["a", "b"])
    inside = "SELECT COUNT(*) AS n FROM visits WHERE city = 'a'"
    assert db.sql(inside).cost(epsilon=1).blocks
    assert not db.sql("SELECT COUNT(*) AS n FROM items i WHERE i.person IN (SELECT person FROM visits WHERE city = 'a')"
                      ).cost(epsilon=1).blocks  # fmt: skip
    assert len(db.sql("SELECT kind, COUNT(*) AS n FROM items GROUP BY kind").rehearse()) == 3
    with pytest.raises(InvalidParameter, match="cut by another table than items"):
        shop({"order_id": 2}).partition("items.kind", ["a", "b"])


# ---- rows that stay


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


KEPT = {
    "ALTER TABLE {} ADD PRIMARY KEY (order_id)": True,
    "ALTER TABLE {} ADD UNIQUE (order_id) DEFERRABLE": True,
    "CREATE UNIQUE INDEX ON {} (order_id) INCLUDE (person)": True,
    "CREATE UNIQUE INDEX ON {} (order_id, person)": False,
    "CREATE UNIQUE INDEX ON {} (order_id) WHERE person > 1": False,
    "CREATE UNIQUE INDEX ON {} ((order_id + person))": False,
    "CREATE INDEX ON {} (order_id)": False,
    "ALTER TABLE {0} ADD PRIMARY KEY (order_id); CREATE TABLE {0}_heirs () INHERITS ({0})": False,
}


@pytest.mark.parametrize("statement", KEPT)
def test_a_key_in_postgresql_is_unique_only_if_the_database_keeps_it_so(server: str, statement: str) -> None:
    schema = f"kept_{next(NUMBERS)}"
    for name, rows in (("orders", ORDERS.slice(1)), ("items", ITEMS)):
        load(server, schema, name, rows)
    run(server, statement.format(f"{schema}.orders"))
    places = {name: (as_reader(server), f"{schema}.{name}") for name in ("orders", "items")}
    if KEPT[statement]:
        db = shop(["order_id"], **places)
        assert db.sql("SELECT COUNT(*) AS n FROM items").run(epsilon=1)
        return
    with pytest.raises(DataMismatch) as refused:
        shop(["order_id"], **places)
    assert refused.value.problem == (
        "the key 'order_id' is declared unique, and no constraint or index of the database keeps its column unique by "
        "itself"
    )
    assert shop({"order_id": 2}, **places).sql("SELECT COUNT(*) AS n FROM items").run(epsilon=1)


def test_a_key_that_is_no_longer_kept_unique_stops_questions(server: str) -> None:
    schema = f"kept_{next(NUMBERS)}"
    for name, rows in (("orders", ORDERS.slice(1)), ("items", ITEMS)):
        load(server, schema, name, rows)
    run(server, f"ALTER TABLE {schema}.orders ADD CONSTRAINT kept UNIQUE (order_id)")
    db = shop(
        ["order_id"], orders=(as_reader(server), f"{schema}.orders"), items=(as_reader(server), f"{schema}.items")
    )
    run(server, f"ALTER TABLE {schema}.orders DROP CONSTRAINT kept")
    with pytest.raises(WorkStopped):
        db.sql("SELECT COUNT(*) AS n FROM items").run(epsilon=1)
    with pytest.raises(QueryRefused, match="no longer has it as it was declared"):
        db.sql("SELECT SUM(price) AS n FROM items").run(epsilon=1)


def test_a_text_that_a_database_takes_for_another_key_is_no_key(server: str) -> None:
    """Else somebody could state the victim's key, written with other characters, beside the constraint."""
    schema = f"kept_{next(NUMBERS)}"
    load(server, schema, "orders", pa.table({"person": [1, 2], "order_id": ["\u00e9", "e\u0301"]}))
    load(server, schema, "items", pa.table({**{name: ITEMS[name] for name in ("price", "kind", "name")},
                                            "order_id": ["\u00e9", "e\u0301", "f"]}))  # fmt: skip
    run(server, f"ALTER TABLE {schema}.orders ADD PRIMARY KEY (order_id)")
    db = shop(
        ["order_id"], orders=(as_reader(server), f"{schema}.orders"), items=(as_reader(server), f"{schema}.items")
    )
    (step,) = lower(db.sql("SELECT COUNT(DISTINCT person) AS n, COUNT(*) AS m FROM items").question).passes
    assert totals_of(unseal(db._curator.engine.run(step))) == {(): (1, 1)}


def test_the_owner_of_rows_that_stay_is_told_how_many_keys_are_shared(server: str) -> None:
    schema = f"kept_{next(NUMBERS)}"
    for name, rows in (("orders", ORDERS), ("items", ITEMS)):
        load(server, schema, name, rows)
    places = {name: (as_reader(server), f"{schema}.{name}") for name in ("orders", "items")}
    db = shop({"order_id": 1}, **places)
    assert db.remarks("orders") == [
        "more than one unit states 1 values of the key 'order_id'; each belongs to one of them",
        "units state 1 values of the key 'order_id' beyond the 1 of each that count",
    ]
    run(server, f"DELETE FROM {schema}.orders WHERE person = 2")
    assert db.remarks("orders") == []


def test_spark_keeps_no_key_unique(tmp_path: Path) -> None:
    places = parquet(tmp_path, {"orders": ORDERS.slice(1), "items": ITEMS})
    stay = {name: (session(), str(place)) for name, place in places.items()}
    with pytest.raises(DataMismatch) as refused:
        shop(["order_id"], **stay)
    assert refused.value.problem == (
        "the key 'order_id' is declared unique, and nothing here keeps rows that change from having equal keys"
    )
    assert "Say how many different ones of a unit count, as in keys={'order_id': 5}" in str(refused.value)


def test_the_column_that_names_the_unit_is_unique_by_itself(server: str) -> None:
    schema = f"kept_{next(NUMBERS)}"
    load(server, schema, "orders", ORDERS)
    load(server, schema, "notes", pa.table({"who": [1, 2, 2], "x": [1, 2, 3]}))
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=9))
    common: dict[str, Any] = {"population": "people", "most": MOST}
    db.add_table(
        "orders", (as_reader(server), f"{schema}.orders"), unit="person", columns={}, keys=["person"], **common
    )
    db.add_table("notes", (as_reader(server), f"{schema}.notes"), unit=dl.Via("who", "orders", key="person"),
                 columns={"x": dl.Int(0, 9)}, **common)  # fmt: skip
    assert db.sql("SELECT COUNT(*) AS n FROM notes").question.relation.steps == 1
