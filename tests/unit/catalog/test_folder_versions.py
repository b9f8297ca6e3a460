"""Data that changes: new versions, the same people, the same budget, whatever is imported, removed or lost."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from clinics import add_visits, clinic, visits
from dalenius.errors import BudgetExceeded, DataMismatch, InvalidParameter, QueryRefused
from dalenius.session.databases import Database

COUNT = "SELECT COUNT(*) AS n FROM visits"
SMALL = visits(patients=4)


def versions(db: Database, table: str = "visits") -> list[int]:
    """All versions that were ever written down."""
    return [facts["version"] for facts in db._curator.ledger.records("table") if facts["table"] == table]


def stored(db: Database) -> set[str]:
    """The snapshots in the file."""
    with db._curator.engine.imported._file.reading() as connection:  # type: ignore[attr-defined]
        found = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'rows'").fetchall()
    return {name for (name,) in found}


def test_the_test_above_notices_a_budget_for_each_version() -> None:
    """With a population for the new version there is a new budget: the same question is paid for."""
    db = clinic(dl.Budget(1), data=SMALL)
    db.sql(COUNT).run(share="60%")
    db.add_population("fresh", budget=dl.Budget(1))
    add_visits(db, "again", SMALL, population="fresh")
    db.sql("SELECT COUNT(*) AS n FROM again").run(share="60%")
    db.close()


def test_an_answer_is_replayed_for_its_own_version_alone(tmp_path: Path) -> None:
    db = clinic(dl.Budget(3), data=SMALL, path=tmp_path / "clinic")
    first = db.sql(COUNT).run(share="10%")
    db.update_table("visits", visits(patients=400))
    second = db.sql(COUNT).run(share="10%")
    assert second.receipt != first.receipt
    assert second["n"][0] > 600
    db.close()
    with dl.open(tmp_path / "clinic") as again:
        assert again.sql(COUNT).run(share="10%").receipt == second.receipt


def test_a_table_that_was_removed_comes_back_as_the_next_version(tmp_path: Path) -> None:
    db = clinic(dl.Budget(1), data=SMALL, path=tmp_path / "clinic")
    answer = db.sql(COUNT).run(share="60%")
    for _ in range(2):
        db.remove_table("visits")
        assert db.tables() == {}
        add_visits(db, "visits", SMALL)
    assert versions(db) == [1, 2, 3]
    with pytest.raises(BudgetExceeded):
        db.sql(COUNT).run(share="60%")
    assert db.sql(COUNT).run(share="10%").receipt != answer.receipt
    db.close()


def test_a_name_never_moves_to_other_people(tmp_path: Path) -> None:
    for path in (None, tmp_path / "clinic"):
        db = clinic(data=SMALL, path=path)
        db.add_population("others", budget=dl.Budget(9))
        db.remove_table("visits")
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("visits", {"population": "others"}),
            ("visits", {"population": None, "unit": None, "max_rows": None, "public": True}),
            ("Visits", {}),
        ]
        for name, changes in wrong:
            with pytest.raises(InvalidParameter):
                add_visits(db, name, SMALL, **changes)
        add_visits(db, "visits", SMALL)
        db.close()


# ---- crashes


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("known", [False, True])
def test_what_a_crash_leaves_behind_is_replaced_by_the_next_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """The rows are in the file and the ledger does not know them."""

    def killed(*_: Any) -> None:
        raise Killed

    db = clinic(data=SMALL, path=tmp_path / "clinic")
    with monkeypatch.context() as dying:
        dying.setattr(type(db._curator.ledger), "record", killed)
        work = db.update_table if known else functools.partial(add_visits, db)
        with pytest.raises(Killed):
            work("visits" if known else "other", visits(patients=400))
    db.close()
    name = "visits" if known else "other"
    with dl.open(tmp_path / "clinic") as again:
        assert f"{name}@{2 if known else 1}" in stored(again)
        assert again._curator.catalog.table("visits").version == 1
        if not known:
            assert "no rows were imported yet" in again.tables()["other"]
        again.update_table(name, visits(patients=100))
        assert versions(again, name) == ([1, 2] if known else [1])
        (value,) = again.sql(f"SELECT COUNT(*) AS n FROM {name}").run(epsilon=3)["n"]
        assert abs(value - 300) < 150


def test_an_import_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    db = clinic(data=SMALL, path=tmp_path / "clinic")
    for _ in range(2):
        with pytest.raises(DataMismatch):
            db.update_table("visits", SMALL.drop_columns(["age"]))
    assert versions(db) == [1]
    db.sql(COUNT).run(share="1%")
    db.update_table("visits", SMALL)
    assert versions(db) == [1, 2]
    db.close()


def test_rows_of_earlier_versions_go_with_the_next_import() -> None:
    """The one before stays: a question that was paid for may still need it."""
    db = clinic(data=SMALL)
    for _ in range(4):
        db.update_table("visits", SMALL)
    assert stored(db) == {"visits@4", "visits@5"}
    add_visits(db, "other", SMALL)
    assert stored(db) == {"visits@5", "other@1"}
    db.sql("SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd").run(share="1%")
    db.close()


# ---- paths


def shop(path: Path | None = None) -> Database:
    """Orders of customers, lines of orders, and notes on lines."""
    db = dl.create(path)
    db.add_population("people", budget=dl.Budget(3))
    common: dict[str, Any] = {"population": "people", "max_rows": 9, "max_groups": 1}
    db.add_table("orders", ORDERS, unit="customer", columns={}, keys=["id"], **common)
    db.add_table("items", ITEMS, unit="order_id -> orders.id", columns={"x": dl.Int(0, 9)}, keys=["no"], **common)
    db.add_table("notes", NOTES, unit=dl.ForeignKey("item", "items", key="no"), columns={"x": dl.Int(0, 9)}, **common)
    return db


ORDERS = pa.table({"id": [1, 2], "customer": [7, 8]})
ITEMS = pa.table({"no": [1, 2], "order_id": [1, 2], "x": [3, 4]})
NOTES = pa.table({"item": [1, 2], "x": [3, 4]})


def askable(db: Database) -> list[str]:
    return [name for name, about in db.tables().items() if not about.startswith("cannot be asked")]


def test_tables_along_a_path_are_updated_from_its_end(tmp_path: Path) -> None:
    shop(tmp_path / "shop").close()
    with dl.open(tmp_path / "shop") as db:
        assert askable(db) == ["orders", "items", "notes"]
        db.update_table("orders", ORDERS)
        assert askable(db) == ["orders"]
        with pytest.raises(QueryRefused, match=r"orders.*update it too"):
            db.sql("SELECT COUNT(*) AS n FROM items")
        db.update_table("items", ITEMS)
        assert askable(db) == ["orders", "items"]
        db.update_table("notes", NOTES)
        assert askable(db) == ["orders", "items", "notes"]
        db.sql("SELECT COUNT(*) AS n FROM notes").run(share="1%")


def test_an_analyst_does_not_learn_the_name_of_a_table_on_the_path() -> None:
    db = shop()
    db.grant("ana", tables=["items"])
    db.update_table("orders", ORDERS)
    with pytest.raises(QueryRefused) as refusal:
        db.as_analyst("ana").sql("SELECT COUNT(*) AS n FROM items")
    assert "orders" not in str(refusal.value) + str(db.as_analyst("ana").tables())
    db.close()


def test_a_path_is_known_after_the_folder_was_opened_again(tmp_path: Path) -> None:
    shop(tmp_path / "shop").close()
    with dl.open(tmp_path / "shop") as db:
        db.update_table("items", ITEMS)
        db.update_table("notes", pa.table({"item": [1, 2, 3], "x": [1, 2, 3]}))
        db.sql("SELECT SUM(x) AS n FROM notes").run(share="1%")


# ---- what is known of a table


def test_figures_of_public_tables_come_from_the_ledger(tmp_path: Path) -> None:
    db = clinic(data=SMALL, path=tmp_path / "clinic")
    db.add_table("pub", pa.table({"n": [1, 1, 2]}), public=True, columns={"n": dl.Int(0, 10)})
    table = db._curator.catalog.table("pub")
    db.close()
    with dl.open(tmp_path / "clinic") as again:
        assert again._curator.catalog.table("pub") == table
        assert (table.rows, table.repeats) == (3, (("n", 2),))


def test_how_ids_are_told_apart_stays(tmp_path: Path) -> None:
    clinic(data=SMALL, path=tmp_path / "clinic").close()
    named = pa.table({"patient_id": ["a", "b"], "age": [1, 2]})
    with dl.open(tmp_path / "clinic") as db:
        with pytest.raises(DataMismatch, match="whole numbers"):
            add_visits(db, "others", named, columns={"age": dl.Int(0, 9)})
        add_visits(db, "others", named.set_column(0, "patient_id", [["1", "2"]]), columns={"age": dl.Int(0, 9)})


def test_nothing_about_private_rows_is_written_down(tmp_path: Path) -> None:
    """The ledger's records are the same for any rows."""
    seen = set()
    for number, data in enumerate((visits(patients=4), visits(patients=50), visits(patients=0))):
        db = clinic(data=data, path=tmp_path / str(number))
        seen.add(str(db._curator.ledger.records("table")))
        db.close()
    assert len(seen) == 1
    assert "'rows': None" in seen.pop()
