"""A database in a folder: it is opened again as it was, and what contradicts its ledger is refused."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from clinics import add_visits, clinic, visits
from costs import cases
from dalenius.catalog import places as files
from dalenius.catalog.catalog_file import CatalogFile
from dalenius.catalog.folder import found
from dalenius.catalog.places import Places, state_folder
from dalenius.errors import BudgetExceeded, InvalidParameter, LedgerRefused, QueryRefused, UnknownName
from dalenius.session.databases import Database

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    db = clinic(dl.Budget(1), data=visits(patients=20), path=tmp_path / "clinic")
    db.grant("ana", tables=["visits"], share="25%")
    db.close()
    return tmp_path / "clinic"


def edit(place: Path, old: str, new: str) -> None:
    """Change the catalog by hand."""
    text = (place / "catalog.toml").read_text(encoding="utf-8")
    assert old in text
    (place / "catalog.toml").write_text(text.replace(old, new), encoding="utf-8")


def spent(db: Database) -> Fraction:
    return db.spent()["patients"].share


# ---- made and opened


def test_a_database_is_opened_again_as_it_was(tmp_path: Path) -> None:
    db = dl.create(tmp_path / "clinic")
    db.add_population("patients", budget=dl.Budget(1), purpose="research", retires="2090-01-01")
    add_visits(db, "visits", size=60)
    db.add_table("cities", visits(9).select(["city"]), public=True, columns={"city": dl.Text()})
    db.add_study("ageing", population="patients", share="50%", reserve="10%", start="2020-01-01", end="2091-01-01")
    db.grant("ana", tables=["visits"], share="25%", study="ageing", rate=dl.Rate(9, 60), until="2090-01-01")
    answer = db.as_analyst("ana").sql(COUNT).run(share="10%")
    before, catalog, told = spent(db), db._curator.catalog, db.tables()
    db.close()
    with dl.open(tmp_path / "clinic") as again:
        assert (spent(again), again._curator.catalog, again.tables()) == (before, catalog, told)
        replayed = again.as_analyst("ana").sql(COUNT).run(share="10%")
        assert replayed.to_arrow() == answer.to_arrow()
        assert spent(again) == before
        with pytest.raises(BudgetExceeded):
            again.sql(COUNT).run(share="99%")


def test_a_folder_in_use_is_opened_and_a_new_one_made(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"dl\.open"):
        dl.create(place)
    for wrong in (tmp_path / "nothing", tmp_path):
        with pytest.raises(InvalidParameter, match=r"dl\.create"):
            dl.open(wrong)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other.txt").write_text("mine")
    for used in (tmp_path / "full", tmp_path / "full" / "other.txt"):
        with pytest.raises(InvalidParameter, match="empty folder"):
            dl.create(used)
    assert (tmp_path / "full" / "other.txt").read_text() == "mine"


def test_a_catalog_that_was_taken_away_does_not_make_the_budget_new(place: Path) -> None:
    (place / "catalog.toml").unlink()
    with pytest.raises(InvalidParameter, match=r"bring catalog\.toml back"):
        dl.open(place)
    with pytest.raises(InvalidParameter, match="empty folder"):
        dl.create(place)


def test_only_the_owner_reads_anything(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        (tmp_path / "clinic").mkdir(mode=0o777)
        places = (tmp_path / "clinic", tmp_path / "other")
        for path in places:
            db = clinic(data=visits(3), path=path)
            db.sql(COUNT).run(share="1%")
            _require_private(path)
            db.close()
        dl.create(tmp_path / "deep" / "er" / "third", mark=tmp_path / "marks" / "deep" / "mark.sqlite").close()
        _require_private(tmp_path / "deep")
        _require_private(tmp_path / "marks")
        _require_private(state_folder() / "marks")
    finally:
        os.umask(before)


def _require_private(place: Path) -> None:
    for path in (place, *place.rglob("*")):
        allowed = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == allowed, path.name


def test_the_check_above_notices_an_open_file(tmp_path: Path) -> None:
    clinic(data=visits(3), path=tmp_path / "clinic").close()
    (tmp_path / "clinic" / "catalog.toml").chmod(0o644)
    with pytest.raises(AssertionError):
        _require_private(tmp_path / "clinic")


# ---- marks and secrets


def test_a_folder_without_its_mark_is_refused(place: Path) -> None:
    name = found(place).file.read().ledger
    mark = state_folder() / "marks" / f"{name}.sqlite"
    assert mark.exists()
    mark.unlink()
    with pytest.raises(LedgerRefused, match="mark"):
        dl.open(place)


def test_an_older_copy_of_the_ledger_is_refused(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place, tmp_path / "copy")
    with dl.open(place) as db:
        db.sql(COUNT).run(share="10%")
    with pytest.raises(LedgerRefused, match="shorter"):
        dl.open(tmp_path / "copy")


def test_a_mark_lies_where_the_owner_says_and_may_be_moved(tmp_path: Path) -> None:
    first, second = tmp_path / "mark.sqlite", tmp_path / "moved.sqlite"
    dl.create(tmp_path / "clinic", mark=first).close()
    dl.open(tmp_path / "clinic").close()
    assert first.exists()
    first.rename(second)
    with pytest.raises(LedgerRefused):
        dl.open(tmp_path / "clinic")
    dl.open(tmp_path / "clinic", mark=second).close()
    dl.open(tmp_path / "clinic").close()


def test_a_mark_inside_the_folder_is_none(tmp_path: Path) -> None:
    for mark in (tmp_path / "clinic" / "mark", tmp_path / "clinic" / ".." / "clinic" / "m", 7):
        with pytest.raises(InvalidParameter, match="mark"):
            dl.create(tmp_path / "clinic", mark=mark)  # type: ignore[arg-type]
    dl.create(tmp_path / "clinic").close()  # nothing was left behind


def test_the_usual_place_of_a_mark_is_refused_inside_the_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "clinic"))
    with pytest.raises(InvalidParameter, match='mark is "inside'):
        dl.create(tmp_path / "clinic")
    assert [path.name for path in (tmp_path / "clinic").iterdir()] == ["catalog.lock"]


@pytest.mark.parametrize("mark", ["{place}/mark", "{place}/../clinic/mark", "mark.sqlite"])
def test_a_mark_that_was_moved_into_the_folder_by_hand_is_refused(place: Path, mark: str) -> None:
    (place / "secrets.toml").write_text(f"mark = '{mark.format(place=place)}'", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="outside") as refusal:
        dl.open(place)
    assert str(place) not in str(refusal.value)


def test_the_ledger_of_another_database_is_no_mark(place: Path, tmp_path: Path) -> None:
    """What is written into it would be a change of that ledger."""
    with pytest.raises(InvalidParameter, match="marks alone"):
        dl.create(tmp_path / "other", mark=place / "ledger.sqlite")
    dl.open(place).close()
    shared = tmp_path / "shared.mark"
    with dl.create(tmp_path / "one", mark=shared), dl.create(tmp_path / "two", mark=shared):
        pass
    dl.open(tmp_path / "one").close()


def test_the_catalog_of_one_database_does_not_fit_the_ledger_of_another(place: Path, tmp_path: Path) -> None:
    dl.create(tmp_path / "other", mark=tmp_path / "mark.sqlite").close()
    shutil.copy(tmp_path / "other" / "catalog.toml", place / "catalog.toml")
    with pytest.raises(LedgerRefused, match="another database"):
        dl.open(place)


def test_a_ledger_of_another_name_is_refused_and_leaves_no_mark(place: Path) -> None:
    marks = state_folder() / "marks"
    before = sorted(path.name for path in marks.iterdir())
    catalog = place / "catalog.toml"
    text = re.sub('ledger = "[0-9a-f]{32}"', f'ledger = "{"0" * 32}"', catalog.read_text(encoding="utf-8"))
    catalog.write_text(text, encoding="utf-8")
    with pytest.raises(LedgerRefused, match="another database"):
        dl.open(place)
    assert sorted(path.name for path in marks.iterdir()) == before


def test_a_mark_that_cannot_be_made_is_refused_without_its_place(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere" / "mark.sqlite")
    with pytest.raises(InvalidParameter, match="out of reach") as refusal:
        dl.create(tmp_path / "clinic", mark=tmp_path / "gone")
    assert str(tmp_path) not in str(refusal.value)
    dl.create(tmp_path / "clinic", mark=tmp_path / "mark.sqlite").close()  # nothing was left behind


def test_places_are_kept_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://eva:hunter2@127.0.0.1:1/nowhere"
    for where in ({"ledger": url}, {"mark": url}):
        with pytest.raises(InvalidParameter) as refusal:
            dl.create(tmp_path / "clinic", **where)  # type: ignore[arg-type]
        for text in (str(refusal.value), repr(refusal.value), repr(Places(**where)), str(refusal.value.__context__)):
            assert "hunter2" not in text
    dl.create(tmp_path / "clinic").close()
    for wrong in ("mysql://x", "file.sqlite", 3):
        with pytest.raises(InvalidParameter, match="postgresql"):
            dl.create(tmp_path / "other", ledger=wrong)  # type: ignore[arg-type]
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert state_folder() == Path.home() / ".local" / "state" / "dalenius"


def test_secrets_that_cannot_be_read_are_not_repeated(place: Path) -> None:
    for text in ("mark = hunter2", 'marc = "hunter2"', "mark = 7", "\xff"):
        (place / "secrets.toml").write_text(text, encoding="latin-1")
        with pytest.raises(InvalidParameter, match=r"secrets\.toml") as refusal:
            dl.open(place)
        assert "hunter2" not in str(refusal.value)


def test_in_memory_nothing_has_a_place() -> None:
    for where in ({"mark": "x"}, {"ledger": "postgresql://x"}):
        with pytest.raises(InvalidParameter, match="path"):
            dl.create(**where)  # type: ignore[arg-type]


# ---- what contradicts the ledger

CONTRADICTIONS = {
    "budget": ('epsilon = "1"', 'epsilon = "2"', "epsilon = 1.*never change"),
    "delta": ('epsilon = "1"', 'epsilon = "1"\ndelta = "1e-9"', "never change"),
    "neighbours": ('neighbours = "add_remove"', 'neighbours = "replace"', "add_remove.*never change"),
    "other people": ('[tables.visits]\npopulation = "patients"\n',
                     '[populations.others]\nepsilon = 9\n\n[tables.visits]\npopulation = "others"\n', "never moves"),
    "public": ('population = "patients"\nunit = "patient_id"\nmax_rows = 3\nmax_groups = 1', "public = true",
               "never moves"),
    "blocks": ("[tables.visits]", '[populations.patients.partition]\ntable = "visits"\ncolumn = "city"\n'
               'values = ["Oslo"]\n\n[tables.visits]', r"db\.partition"),
    "spelling": ("[tables.visits", "[tables.Visits", "spelled 'visits'"),
    "ledger": ('ledger = "', 'ledger = "../', "32 hexadecimal digits"),
}  # fmt: skip


@cases("what", CONTRADICTIONS, fast=3)
def test_what_contradicts_the_ledger_is_refused_until_it_is_put_back(place: Path, what: str) -> None:
    old, new, words = CONTRADICTIONS[what]
    text = (place / "catalog.toml").read_text(encoding="utf-8")
    if what == "spelling":
        edit(place, '["visits"]', '["Visits"]')
    edit(place, old, new)
    with pytest.raises((InvalidParameter, LedgerRefused), match=f"(?s){words}"):
        dl.open(place)
    (place / "catalog.toml").write_text(text, encoding="utf-8")
    with dl.open(place) as db:
        db.sql(COUNT).run(share="10%")


def test_a_population_that_was_taken_out_and_put_back_has_spent_what_it_had(tmp_path: Path) -> None:
    db = clinic(dl.Budget(1), data=visits(3), path=tmp_path / "clinic")
    db.sql(COUNT).run(share="60%")
    text = (tmp_path / "clinic" / "catalog.toml").read_text(encoding="utf-8")
    (tmp_path / "clinic" / "catalog.toml").write_text(text.split("[populations")[0], encoding="utf-8")
    assert db.tables() == {}
    db.add_population("patients", budget=dl.Budget(1))
    add_visits(db, "visits", visits(3))
    with pytest.raises(BudgetExceeded):
        db.sql(COUNT).run(share="60%")
    assert db._curator.catalog.table("visits").version == 2
    (tmp_path / "clinic" / "catalog.toml").write_text(text.split("[populations")[0], encoding="utf-8")
    with pytest.raises(InvalidParameter, match="never change"):
        db.add_population("patients", budget=dl.Budget(2))
    db.close()


def test_blocks_are_made_once_and_come_from_the_ledger(tmp_path: Path) -> None:
    db = clinic(dl.Budget(1), data=visits(9), path=tmp_path / "clinic")
    db.partition("city", ["Oslo", "Bergen"])
    made = db._curator.catalog.population("patients").partition
    db.close()
    assert "[populations.patients.partition]" in (tmp_path / "clinic" / "catalog.toml").read_text(encoding="utf-8")
    with dl.open(tmp_path / "clinic") as again:
        assert again._curator.catalog.population("patients").partition == made
        text = "SELECT COUNT(*) AS n FROM visits WHERE city = "
        for city in ("Oslo", "Bergen"):
            again.sql(f"{text}'{city}'").run(share="60%")
        assert Fraction(1, 2) < spent(again) <= Fraction(6, 10)
    edit(tmp_path / "clinic", '["Oslo", "Bergen"]', '["Oslo"]')
    with pytest.raises(InvalidParameter, match="never change"):
        dl.open(tmp_path / "clinic")


# ---- edits by hand


def test_a_table_that_is_declared_otherwise_waits_until_it_is_updated(place: Path) -> None:
    edit(place, "upper = 120", "upper = 99")
    with dl.open(place) as db:
        assert "declared otherwise" in db.tables()["visits"]
        assert "declared" not in db.as_analyst("ana").tables()["visits"]
        for session, words in ((db, "otherwise than when its rows were imported"), (db.as_analyst("ana"), "owner")):
            for ask in (lambda session=session: session.sql(COUNT), lambda session=session: session.table("Visits")):
                with pytest.raises(QueryRefused, match=words) as refusal:
                    ask()
                assert not isinstance(refusal.value, UnknownName)
        db.update_table("visits", visits(5))
        assert db.as_analyst("ana").sql(COUNT).run(share="1%")


def test_most_is_part_of_the_declaration(place: Path) -> None:
    edit(place, "rows = 3", "rows = 4")
    with dl.open(place) as db, pytest.raises(QueryRefused, match="declared otherwise"):
        db.sql(COUNT)


def test_what_does_not_touch_the_rows_needs_no_update(place: Path) -> None:
    edit(place, "[tables.visits]\n", "[tables.visits]\nsize = 60  # as published\nnulls = ['NA']\n")
    with dl.open(place) as db:
        assert "about 60 rows" in db.tables()["visits"]
        db.sql(COUNT).run(share="1%")


def test_a_running_database_sees_what_is_edited(place: Path) -> None:
    with dl.open(place) as db:
        ana = db.as_analyst("ana")
        asked = ana.sql(COUNT)
        edit(place, 'share = "25%"', 'share = "1%"')
        assert ana.left()["patients"].share == Fraction(1, 100)
        with pytest.raises(BudgetExceeded):
            asked.run(share="2%")
        edit(place, '[grants.ana]\ntables = ["visits"]\nshare = "1%"', "")
        for late in (lambda: asked.run(share="1%"), lambda: ana.sql(COUNT), lambda: ana.table("visits")):
            with pytest.raises(UnknownName):
                late()
        assert spent(db) == 0
        with pytest.raises(InvalidParameter, match="granted"):
            db.as_analyst("ana")


def test_a_mistake_is_shown_to_the_owner_alone(place: Path) -> None:
    with dl.open(place) as db:
        ana = db.as_analyst("ana")
        asked = ana.sql(COUNT)
        edit(place, "upper = 120", "uper = 120")
        with pytest.raises(InvalidParameter, match=r"line \d+, tables\.visits\.columns\.age"):
            db.sql(COUNT)
        for ask in (lambda: ana.sql(COUNT), ana.tables, lambda: asked.run(share="1%")):
            with pytest.raises(QueryRefused, match="owner") as refusal:
                ask()
            assert "age" not in str(refusal.value)
        edit(place, "uper = 120", "upper = 120")
        ana.sql(COUNT).run(share="1%")


def test_a_reserve_ends_with_its_study(place: Path) -> None:
    with dl.open(place) as db:
        db.add_study("ageing", population="patients", share="80%", reserve="80%")
        with pytest.raises(BudgetExceeded):
            db.sql(COUNT).run(share="30%")
        text = (place / "catalog.toml").read_text(encoding="utf-8")
        start = text.index("[studies.ageing]")
        end = text.find("\n[", start)
        (place / "catalog.toml").write_text(text[:start] + (text[end:] if end > 0 else ""), encoding="utf-8")
        db.sql(COUNT).run(share="30%")


# ---- drafts


def test_a_draft_is_filled_in_by_hand_and_then_imported(place: Path) -> None:
    with dl.open(place) as db:
        missing = db.draft_table(
            "work", columns={"hours": "Int", "team": "Category", "paid": dl.Bool()}, population="patients", keys=["id"]
        )
        assert missing == ("unit", "max_rows", "columns.hours.lower", "columns.hours.upper",
                           "columns.team.values")  # fmt: skip
        data = visits(4).select(["patient_id", "age", "city"]).rename_columns(["id", "hours", "team"])
        data = data.append_column("paid", [[True] * 12])
        for work in (lambda: db.update_table("work", data), lambda: db.sql("SELECT COUNT(*) FROM work")):
            with pytest.raises((InvalidParameter, QueryRefused), match=r"columns\.hours\.lower"):
                work()
        with pytest.raises(InvalidParameter, match="new"):
            db.draft_table("Work", columns={"x": "Int"})
        edit(place, 'lower = "?", upper = "?"', "lower = 0, upper = 99")
        edit(place, 'values = "?"', 'values = ["Oslo"]')
        edit(place, 'max_rows = "?"', "max_rows = 3\nmax_groups = 1")
        edit(place, 'unit = "?"', 'unit = "id"')
        assert "no rows were imported yet" in db.tables()["work"]
        db.update_table("work", data)
        db.sql("SELECT AVG(hours) AS h FROM work").run(share="1%")


def test_a_draft_is_declared_in_python_or_taken_away(place: Path) -> None:
    with dl.open(place) as db:
        db.draft_table("more", columns={"x": "Int"})
        db.draft_table("gone", columns={"x": "Int"}, public=True)
        db.remove_table("gone")
        add_visits(db, "more", visits(3))
        assert set(db.tables()) == {"visits", "more"}
        text = (place / "catalog.toml").read_text(encoding="utf-8")
        assert '= "?"' not in text
        assert "gone" not in text
        for wrong in ({"x": "Integer"}, {"select": "Int"}, {"x": 7}):
            with pytest.raises(InvalidParameter):
                db.draft_table("wrong", columns=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="folder"):
        dl.create().draft_table("x", columns={"x": "Int"})


# ---- auditors, and files that fail


def test_an_auditor_reads_the_ledger_and_nothing_else(place: Path) -> None:
    with dl.open(place) as db:
        db.sql(COUNT).run(share="10%")
        auditor = db.as_auditor()
        assert [receipt.who for receipt in auditor.history()] == ["owner"]
        assert [entry.number for entry in auditor.entries()] == list(range(1, len(list(auditor.entries())) + 1))
        assert auditor.verify().sound
        assert db.verify().problems == ()
        assert not {"sql", "table", "grant", "log", "update_table"} & set(dir(auditor))


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_catalog_that_cannot_be_written_stays_whole(place: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "no room")

    file, text = CatalogFile(place), (place / "catalog.toml").read_bytes()
    before = file.read().catalog
    with dl.open(place) as db:
        with monkeypatch.context() as broken:
            broken.setattr(*((files.os, "fsync") if step == "fsync" else (files.Path, "replace")), fail)
            with pytest.raises(OSError, match="no room"):
                file.write(before, before.without_grant("ana"))
        assert file.path.read_bytes() == text
        assert [path.name for path in place.iterdir() if path.name.endswith(".new")] == []
        db.revoke("ana")
    assert b"grants.ana" not in (place / "catalog.toml").read_bytes()


def test_rows_that_are_lost_are_told_before_anything_is_charged(place: Path) -> None:
    (place / "tables.duckdb").unlink()
    with dl.open(place) as db:
        with pytest.raises(QueryRefused, match=r"not in tables\.duckdb"):
            db.sql(COUNT)
        db.update_table("visits", visits(3))
        db.sql(COUNT).run(share="1%")
        assert db._curator.catalog.table("visits").version == 2


def test_a_file_of_tables_that_is_damaged_is_told(place: Path) -> None:
    (place / "tables.duckdb").write_bytes(b"nonsense" * 999)
    with pytest.raises(dl.errors.DataMismatch, match=r"tables\.duckdb"):
        dl.open(place)


OWNERS: dict[str, Callable[[Database], object]] = {
    "population": lambda db: db.add_population("patients", budget=dl.Budget(1)),
    "table": lambda db: add_visits(db, "visits"),
    "grant": lambda db: db.grant("ana", tables=["nothing"]),
    "revoke": lambda db: db.revoke("nobody"),
    "study": lambda db: db.add_study("s", population="nobody", share="1%"),
    "rows": lambda db: db.update_table("visits", visits(3).rename_columns(list("abcdef"))),
    "remove": lambda db: db.remove_table("nothing"),
}


@pytest.mark.parametrize("what", OWNERS)
def test_what_is_refused_changes_neither_catalog_nor_ledger(place: Path, what: str) -> None:
    with dl.open(place) as db:
        before = (place / "catalog.toml").read_bytes(), len(list(db.as_auditor().entries())), db.tables()
        with pytest.raises(dl.errors.DaleniusError):
            OWNERS[what](db)
        assert ((place / "catalog.toml").read_bytes(), len(list(db.as_auditor().entries())), db.tables()) == before
