"""The dear tests of `unit/catalog/test_shared_keys.py`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from dalenius.engines.conformance.comparing import totals_of
from dalenius.errors import DataMismatch, QueryRefused, WorkStopped
from dalenius.measuring.measurements import lower
from dalenius.privacy.exact import unseal
from placed import as_reader, load, parquet, postgres, run
from spark_servers import session
from tests.unit.catalog.test_shared_keys import ITEMS, MOST, ORDERS, shop


def test_spark_keeps_no_key_unique(tmp_path: Path) -> None:
    places = parquet(tmp_path, {"orders": ORDERS.slice(1), "items": ITEMS})
    stay = {name: (session(), str(place)) for name, place in places.items()}
    with pytest.raises(DataMismatch) as refused:
        shop(["order_id"], **stay)
    assert refused.value.problem == (
        "the key 'order_id' is declared unique, and nothing here keeps rows that change from having equal keys"
    )
    assert "Say how many different ones of a unit count, as in keys={'order_id': 5}" in str(refused.value)


NUMBERS = count(1)


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


def test_the_column_that_names_the_unit_is_unique_by_itself(server: str) -> None:
    schema = f"kept_{next(NUMBERS)}"
    load(server, schema, "orders", ORDERS)
    load(server, schema, "notes", pa.table({"who": [1, 2, 2], "x": [1, 2, 3]}))
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon=9))
    common: dict[str, Any] = {"population": "people", "max_rows": MOST.rows, "max_groups": MOST.groups}
    db.add_table(
        "orders", (as_reader(server), f"{schema}.orders"), unit="person", columns={}, keys=["person"], **common
    )
    db.add_table("notes", (as_reader(server), f"{schema}.notes"), unit=dl.ForeignKey("who", "orders", key="person"),
                 columns={"x": dl.Int(0, 9)}, **common)  # fmt: skip
    assert db.sql("SELECT COUNT(*) AS n FROM notes").question.relation.steps == 1
