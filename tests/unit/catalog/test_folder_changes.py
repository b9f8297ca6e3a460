"""Changes that fail, are made by hand, or meet a damaged file: what was promised holds, and what is gone is gone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from clinics import CITIES, add_visits, clinic, visits
from dalenius.catalog import places as files
from dalenius.engines.duckdb.connection import File, TablesInUse
from dalenius.errors import DataMismatch, InvalidParameter, QueryRefused
from dalenius.session.databases import Database

COUNT = "SELECT COUNT(*) AS n FROM visits"
SMALL = visits(patients=6)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    db = clinic(dl.Budget(1), data=SMALL, path=tmp_path / "clinic")
    db.grant("ana", tables=["visits"], share="25%")
    db.close()
    return tmp_path / "clinic"


def edit(place: Path, *changes: tuple[str, str]) -> None:
    """Change the catalog by hand."""
    text = (place / "catalog.toml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (place / "catalog.toml").write_text(text, encoding="utf-8")


def stored(db: Database) -> set[str]:
    """The snapshots in the file."""
    with db._curator.engine.imported._file.reading() as connection:  # type: ignore[attr-defined]
        found = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'rows'").fetchall()
    return {name for (name,) in found}


# ---- what never changes


def test_a_table_keeps_its_unit_for_ever(place: Path) -> None:
    """With other units nobody could tell who was in which block, or who bore what."""
    edit(place, ('unit = "patient_id"', 'unit = "visit_id"'))
    with pytest.raises(InvalidParameter, match=r"unit of visits.*patient_id, as before"):
        dl.open(place)
    edit(place, ('unit = "visit_id"', 'unit = "patient_id"'))
    with dl.open(place) as db:
        db.remove_table("visits")
        with pytest.raises(InvalidParameter, match="unit of visits"):
            add_visits(db, "visits", SMALL, unit="visit_id")
        add_visits(db, "visits", SMALL)


def test_a_population_that_was_taken_out_stays_in_the_registry(place: Path) -> None:
    with dl.open(place) as db:
        db.sql(COUNT).run(share="60%")
        before = db.registry()["patients"]
    edit(place, ("patients", "people"), ("visits", "visits2"))
    with dl.open(place) as db:
        found = db.registry()
        assert [each.name for each in found.populations] == ["patients", "people"]
        gone = found["patients"]
        assert (gone.spent, gone.releases, gone.epsilon) == (before.spent, 1, before.epsilon)
        assert (before.removed, gone.removed, found["people"].removed) == (False, True, False)
        assert "removed" in str(found)
        assert "removed from the catalog" in found.to_html()
        assert found.to_csv().splitlines()[1].endswith("yes")
        assert str(db.as_auditor().registry()["patients"]) == str(gone)


# ---- changes that fail


def test_where_the_catalog_cannot_be_written_the_ledger_keeps_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "no room")

    with dl.open(place) as db:
        entries = len(list(db.ledger.entries()))
        with monkeypatch.context() as broken:
            broken.setattr(files.os, "fsync", full)
            with pytest.raises(OSError, match="no room"):
                db.add_population("staff", budget=dl.Budget(1))
        assert len(list(db.ledger.entries())) == entries
        db.add_population("staff", budget=dl.Budget(2))
        assert db.catalog.population("staff").budget == dl.Budget(2)


def damaged(place: Path, db: Database) -> None:
    """Tables that can be read no more, and a catalog that is read anew."""
    db._curator.engine.imported._file._forget_reader()  # type: ignore[attr-defined]
    (place / "tables.duckdb").write_bytes(b"x" * 5000)
    os.utime(place / "catalog.toml")


def busy(place: Path, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that another process keeps."""

    @contextmanager
    def kept(file: File) -> Iterator[Any]:
        raise TablesInUse
        yield

    monkeypatch.setattr(File, "reading", kept)
    os.utime(place / "catalog.toml")


@pytest.mark.parametrize("how", ["damaged", "busy"])
def test_an_analyst_learns_nothing_from_tables_that_cannot_be_read(
    place: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with dl.open(place) as db:
        db.add_table("secret", SMALL.select(["age"]), public=True, columns={"age": dl.Int(0, 120)})
        db.partition("visits.city", CITIES[:2])
    with dl.open(place) as db, monkeypatch.context() as broken:
        ana = db.as_analyst("ana")
        damaged(place, db) if how == "damaged" else busy(place, db, broken)
        for ask in (ana.tables, ana.left, lambda: ana.sql(COUNT)):
            with pytest.raises(QueryRefused, match="owner is changing it") as refusal:
                ask()
            assert refusal.value.__cause__ is refusal.value.__context__ is None
            assert not [word for word in ("secret", "duckdb", str(place)) if word in str(refusal.value)]
        with pytest.raises(
            DataMismatch, match=r"tables\.duckdb cannot be opened|another process keeps the tables open"
        ):
            db.tables()


def test_figures_that_cannot_be_counted_are_told_in_our_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with dl.create() as db:
        monkeypatch.setattr(File, "reading", lambda file: (_ for _ in ()).throw(OSError("a path")))
        with pytest.raises(DataMismatch, match="cannot be opened"):
            db.add_table("cities", SMALL.select(["city"]), public=True, columns={"city": dl.Text()})


# ---- rows that are gone


@pytest.mark.parametrize("folder", [False, True])
def test_the_rows_of_a_removed_table_are_dropped_at_once(tmp_path: Path, folder: bool) -> None:
    with clinic(data=SMALL, path=tmp_path / "clinic" if folder else None) as db:
        add_visits(db, "other", SMALL)
        db.update_table("visits", SMALL)
        db.remove_table("other")
        assert stored(db) == {"visits@1", "visits@2"}  # a question that was paid for may still need the first
        db.sql(COUNT).run(share="1%")
        add_visits(db, "other", SMALL)
        assert db.catalog.table("other").version == 2


def test_rows_that_another_process_keeps_are_dropped_with_the_next_import(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def kept(file: File) -> Iterator[Any]:
        raise TablesInUse
        yield

    with dl.open(place) as db:
        add_visits(db, "other", SMALL)
        with monkeypatch.context() as busy:
            busy.setattr(File, "writing", kept)
            db.remove_table("other")
        assert "other@1" in stored(db)
        db.update_table("visits", SMALL)
        assert stored(db) == {"visits@1", "visits@2"}


def test_rows_of_a_table_that_is_a_draft_for_a_while_stay(place: Path) -> None:
    with dl.open(place) as db:
        add_visits(db, "other", SMALL)
        edit(place, ("upper = 120", 'upper = "?"'))
        assert "not declared in full" in db.tables()["other"]
        db.add_table("cities", SMALL.select(["city"]), public=True, columns={"city": dl.Text()})
        edit(place, ('upper = "?"', "upper = 120"))
        assert db.sql(COUNT.replace("visits", "other")).run(share="1%")


# ---- drafts


def test_a_draft_may_be_half_filled_in(place: Path) -> None:
    with dl.open(place) as db:
        columns = {"age": {"type": "Int", "lower": 0, "upper": "?"}, "city": {"type": "?"}, "icd": dl.Text()}
        missing = db.draft_table("more", columns=columns, population="patients", max_rows=5)
        assert set(missing) == {"unit", "columns.age.upper", "columns.city.type"}
        text = (place / "catalog.toml").read_text(encoding="utf-8")
        assert 'age = {type = "Int", lower = 0, upper = "?"}' in text
        assert Fraction(db.left()["patients"].share) == 1
