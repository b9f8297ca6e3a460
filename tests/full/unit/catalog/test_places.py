"""Tables that stay in PostgreSQL beside imported ones: declared, asked, moved and refused like any other."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dalenius as dl
from clinics import COLUMNS, add_visits, visits
from dalenius.engines import several
from dalenius.engines.conformance import checking
from dalenius.engines.several import Engines
from dalenius.errors import DataMismatch, EngineUnfit, InvalidParameter, MissingExtra, QueryRefused, WorkStopped
from dalenius.measuring.measurements import lower
from dalenius.privacy.exact import unseal
from dalenius.session.databases import Database
from placed import as_reader, load, postgres, run

NUMBERS = count(1)
COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_CITY = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
SMALL = visits(patients=40)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture
def schema(server: str) -> str:
    """A schema of its own with a table of visits."""
    name = f"records_{next(NUMBERS)}"
    load(server, name, "visits", SMALL)
    return name


@pytest.fixture
def source(server: str, schema: str) -> tuple[str, str]:
    return as_reader(server), f"{schema}.visits"


def people(path: Path | None = None) -> Database:
    db = dl.create(path)
    db.add_population("patients", budget=dl.Budget(epsilon=3, delta="1e-9"))
    return db


@pytest.fixture
def db(source: tuple[str, str], tmp_path: Path) -> Iterator[Database]:
    with people(tmp_path / "clinic") as made:
        add_visits(made, "visits", source)
        yield made


def exact(db: Database, sql: str) -> list[int]:
    return [int(unseal(db._curator.engine.run(step)).totals[0].sum()) for step in lower(db.sql(sql).question).passes]


def catalog(db: Database) -> Path:
    assert db._curator.folder is not None
    return db._curator.folder.path / "catalog.toml"


# ---- asking


def test_a_table_that_stays_is_asked_like_an_imported_one(db: Database) -> None:
    add_visits(db, "copy", SMALL)
    assert exact(db, COUNT) == exact(db, "SELECT COUNT(*) AS n FROM copy") == [120]
    here, there = db.sql("SELECT COUNT(*) AS n FROM copy").cost(epsilon=1), db.sql(COUNT).cost(epsilon=1)
    assert (here.amounts, here.shares) == (there.amounts, there.shares)
    answer = db.sql(BY_CITY).run(epsilon=1)
    assert len(answer) == 4
    assert db.sql(BY_CITY).run(epsilon=1) == answer
    assert db.sql(BY_CITY).rehearse()


def test_a_table_that_stays_survives_closing(db: Database, tmp_path: Path) -> None:
    db.close()
    with dl.open(tmp_path / "clinic") as again:
        assert exact(again, COUNT) == [120]
        assert again.catalog.table("visits").version == 1


def test_rows_may_change_under_one_version(db: Database, server: str, schema: str) -> None:
    before = db.sql(COUNT).run(share="1%")
    load(server, schema, "visits", visits(patients=10))
    assert exact(db, COUNT) == [30]
    assert db.sql(COUNT).run(share="1%").receipt == before.receipt  # a replay: the version is the same
    assert db.sql(COUNT).run(share="1%", fresh=True).receipt != before.receipt
    db.update_table("visits")
    assert db.catalog.table("visits").version == 2
    assert db.sql(COUNT).run(share="1%").receipt != before.receipt
    assert db.spent()["patients"].share > 0


def test_a_question_over_two_places_is_refused_and_costs_nothing(db: Database) -> None:
    db.add_table("cities", pa.table({"city": ["Oslo", "Bergen"], "region": ["east", "west"]}), public=True,
                 columns={"city": COLUMNS["city"], "region": dl.Category("east", "west")})  # fmt: skip
    asked = db.sql("SELECT region, COUNT(*) AS n FROM visits JOIN cities USING (city) GROUP BY region")
    for ask in (lambda: asked.run(epsilon=1), asked.explain):
        with pytest.raises(QueryRefused, match="cities and visits: these tables lie in two places"):
            ask()
    assert db.spent()["patients"].share == 0
    assert len(asked.rehearse()) == 3


def test_a_public_table_joins_where_it_stays(db: Database, server: str, schema: str) -> None:
    load(server, schema, "cities", pa.table({"city": ["Oslo", "Bergen"], "region": ["east", "west"]}))
    db.add_table("cities", (as_reader(server), f"{schema}.cities"), public=True,
                 columns={"city": COLUMNS["city"], "region": dl.Category("east", "west")})  # fmt: skip
    assert db.catalog.table("cities").rows == 2
    assert exact(db, "SELECT COUNT(*) AS n FROM visits JOIN cities USING (city)") == [81]


def test_a_public_table_that_grew_gives_no_unit_more_than_was_priced(server: str, schema: str) -> None:
    """How many groups a row reaches was counted; what came since counts for nothing until the table is updated."""
    load(server, schema, "falls", pa.table({"kind": ["a"]}))
    load(server, schema, "kinds", pa.table({"kind": ["a"], "ward": [1]}))
    place, ward = as_reader(server), dl.Int(1, 50)
    with people() as db:
        kinds = dl.Category("a", "b")
        db.add_table(
            "falls", (place, f"{schema}.falls"), population="patients", unit=dl.EachRow(), columns={"kind": kinds}
        )
        db.add_table("kinds", (place, f"{schema}.kinds"), public=True, columns={"kind": kinds, "ward": ward})
        sql = "SELECT ward, COUNT(*) AS n FROM falls JOIN kinds USING (kind) GROUP BY ward"
        assert exact(db, sql) == [1]
        run(server, f"INSERT INTO {schema}.kinds SELECT 'a', n FROM generate_series(2, 50) n")
        assert exact(db, sql) == [1]
        db.update_table("kinds")
        assert db.sql(sql).question.relation.rows_of_unit == 50


def test_the_test_above_notices_a_join_that_takes_all(
    server: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dalenius.engines.sql.live import LiveDialect

    monkeypatch.setattr(LiveDialect, "changing", False)
    with pytest.raises(AssertionError):
        test_a_public_table_that_grew_gives_no_unit_more_than_was_priced(server, schema)


# ---- declaring


def test_the_catalog_says_where_a_table_stays(db: Database, source: tuple[str, str]) -> None:
    assert f'source = ["{source[0]}", "{source[1]}"]' in catalog(db).read_text()
    place = db.catalog.table("visits").place
    assert place is not None
    assert (place.address, place.table) == source


def test_comments_stay_and_a_declared_table_is_taken_over_by_update(source: tuple[str, str], tmp_path: Path) -> None:
    with people(tmp_path / "clinic") as db:
        text = catalog(db).read_text() + (
            "# of the hospital\n[tables.visits]\n"
            f'source = ["{source[0]}", "{source[1]}"]  # a view\npopulation = "patients"\nunit = "patient_id"\n'
            'max_rows = 3\nmax_groups = 1\n[tables.visits.columns]\nage = { type = "Int", lower = 0, upper = 120 }\n'
        )
        catalog(db).write_text(text)
        with pytest.raises(QueryRefused, match="no rows were imported yet"):
            db.sql(COUNT)
        db.update_table("visits")
        assert exact(db, COUNT) == [120]
        assert catalog(db).read_text() == text


def test_names_of_columns_may_differ(server: str, schema: str) -> None:
    load(server, schema, "odd", SMALL.rename_columns(["Patient", "age;", 'ci"ty', "cost", "day", "icd"]))
    with people() as db:
        rename = {"patient_id": "Patient", "age": "age;", "city": 'ci"ty'}
        add_visits(db, "visits", (as_reader(server), f"{schema}.odd"), rename=rename)
        assert exact(db, "SELECT COUNT(*) AS n FROM visits WHERE age >= 0") == [120]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('source = ["nowhere", "visits"]', r"source in catalog.toml, line \d+, tables.visits"),
        ('source = "postgresql://h/clinic"', "a list such as"),
        ('source = ["postgresql://reader:hush@h/clinic", "visits"]', "without its password"),
        ('source = ["postgres://h/clinic", "visits"]', "written as"),
        ('source = ["postgresql://h/clinic", "visits"]\nnulls = ["NA"]', "nulls"),
    ],
)
def test_a_wrong_source_is_refused_with_its_line(db: Database, line: str, problem: str) -> None:
    lines = catalog(db).read_text().splitlines()
    catalog(db).write_text("\n".join(line if each.startswith("source") else each for each in lines) + "\n")
    with pytest.raises(InvalidParameter, match=problem) as refused:
        db.refresh()
    assert "hush" not in str(refused.value)


def test_another_place_in_the_catalog_waits_for_an_update(db: Database, source: tuple[str, str]) -> None:
    catalog(db).write_text(catalog(db).read_text().replace(source[1], "other.visits"))
    with pytest.raises(QueryRefused, match="declared otherwise"):
        db.sql(COUNT)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"nulls": ["NA"]}, "nulls"),
        ({"columns": {"absent": dl.Int(0, 9)}}, "no column 'absent'"),
        ({"columns": {"day": dl.Int(0, 9)}}, "holds date"),
        ({"unit": "cost", "columns": {"age": dl.Int(0, 120)}}, "names nobody"),
    ],
)
def test_what_does_not_fit_is_refused(db: Database, source: tuple[str, str], changes: Any, problem: str) -> None:
    with pytest.raises((InvalidParameter, DataMismatch), match=problem):
        add_visits(db, "more", source, **changes)
    assert "more" not in db.tables()
    assert exact(db, COUNT) == [120]


def test_a_table_that_is_not_there_is_refused(db: Database, source: tuple[str, str]) -> None:
    with pytest.raises(DataMismatch, match="no table of this name"):
        add_visits(db, "more", (source[0], "nowhere.visits"))


def test_a_draft_names_its_place(source: tuple[str, str], tmp_path: Path) -> None:
    with people(tmp_path / "clinic") as db:
        with_password = (source[0].replace("reader@", "reader:hushhush@"), source[1])
        db.draft_table("visits", source=with_password, columns={"age": "Int"}, population="patients", unit="patient_id")
        text = catalog(db).read_text()
        assert "hushhush" not in text
        catalog(db).write_text(
            text.replace('lower = "?"', "lower = 0").replace('upper = "?"', "upper = 120").replace('"?"', "1")
        )
        db.update_table("visits")
        assert exact(db, COUNT) == [40]


# ---- moving


def test_a_table_moves_and_its_budget_carries_on(db: Database, source: tuple[str, str]) -> None:
    db.sql(COUNT).run(share="5%")
    db.update_table("visits", visits(patients=7))
    assert exact(db, COUNT) == [21]
    assert "source" not in catalog(db).read_text()
    with pytest.raises(InvalidParameter, match="source"):
        db.update_table("visits")
    db.update_table("visits", source)
    assert exact(db, COUNT) == [120]
    assert db.catalog.table("visits").version == 3
    assert db.spent()["patients"].share > 0


def test_a_path_leads_through_a_table_of_the_same_place(server: str, schema: str) -> None:
    load(server, schema, "labs", pa.table({"visit": [1, 1, 2, 9], "value": [1, 2, 3, 4]}))
    load(server, schema, "keyed", pa.table({"patient_id": [5, 6], "visit": [1, 2]}))
    run(server, f"ALTER TABLE {schema}.keyed ADD PRIMARY KEY (visit)")
    place = as_reader(server)
    keyed = {
        "population": "patients",
        "unit": "patient_id",
        "max_rows": 9,
        "max_groups": 1,
        "keys": ["visit"],
        "columns": {},
    }
    labs = {"population": "patients", "unit": "visit -> keyed.patient_id", "max_rows": 9, "max_groups": 1,
            "columns": {"value": dl.Int(0, 9)}}  # fmt: skip
    with people() as db:
        db.add_table("keyed", (place, f"{schema}.keyed"), **keyed)
        with pytest.raises(DataMismatch, match="no private table 'keyed'"):
            db.add_table("labs", pa.table({"visit": [1], "value": [1]}), **labs)
        db.add_table("labs", (place, f"{schema}.labs"), **labs)
        assert exact(db, "SELECT COUNT(*) AS n FROM labs") == [3]
        db.update_table("keyed", pa.table({"patient_id": [5], "visit": [1]}))
        with pytest.raises(QueryRefused, match="were replaced since"):
            db.sql("SELECT COUNT(*) AS n FROM labs")
        with pytest.raises(DataMismatch, match="in this place"):
            db.update_table("labs")
        db.update_table("labs", pa.table({"visit": [1], "value": [1]}))
        assert exact(db, "SELECT COUNT(*) AS n FROM labs") == [1]


def test_removing_a_table_forgets_the_password_of_its_place(source: tuple[str, str], tmp_path: Path) -> None:
    secrets = tmp_path / "clinic" / "secrets.toml"
    with people(tmp_path / "clinic") as db:
        for name in ("visits", "more"):
            add_visits(db, name, (source[0].replace("reader@", "reader:hushhush@"), source[1]))
        db.remove_table("more")
        assert "hushhush" in secrets.read_text()
        db.remove_table("visits")
        assert "hushhush" not in secrets.read_text()


# ---- blocks


def test_a_population_with_a_table_elsewhere_has_no_blocks(db: Database) -> None:
    add_visits(db, "copy", SMALL)
    with pytest.raises(InvalidParameter, match="visits is not"):
        db.partition("copy.city", ["Oslo"])


def test_a_population_with_blocks_takes_no_table_elsewhere(source: tuple[str, str], tmp_path: Path) -> None:
    with people(tmp_path / "clinic") as db:
        add_visits(db, "visits", SMALL)
        db.partition("visits.city", ["Oslo", "Bergen"])
        for attempt in (lambda: add_visits(db, "more", source), lambda: db.update_table("visits", source)):
            with pytest.raises(InvalidParameter, match="its population has blocks"):
                attempt()
        assert list(db.sql(f"{COUNT} WHERE city = 'Oslo'").cost(share="1%").blocks) == ["patients"]


# ---- secrets


def test_a_password_goes_into_secrets_and_nowhere_else(source: tuple[str, str], tmp_path: Path) -> None:
    place = tmp_path / "clinic"
    with people(place) as db:
        add_visits(db, "visits", (source[0].replace("reader@", "reader:hushhush@"), source[1]))
        db.grant("ana", tables=["visits"])
        answer = db.sql(COUNT).run(share="1%")
        said = [repr(db), repr(db.catalog), str(db.sql(COUNT).explain()), answer.derivation, str(answer.card),
                str(list(db.log)), repr(db._curator.engine), str(db.history())]  # fmt: skip
        with pytest.raises(DataMismatch) as refused:
            add_visits(db, "more", f"{source[0].replace('reader@', 'reader:hushhush@')}#nowhere.visits")
        said += [str(refused.value), str(list(db.log))]
    assert not any("hushhush" in text for text in said)
    holders = [file.name for file in place.iterdir() if b"hushhush" in file.read_bytes()]
    assert holders == ["secrets.toml"]
    assert stat.S_IMODE((place / "secrets.toml").stat().st_mode) == 0o600
    with dl.open(place) as db:
        assert exact(db, COUNT) == [120]
        assert db._curator.folder is not None
        assert db._curator.folder.password(source[0]) == "hushhush"


def test_the_place_of_mark_and_ledger_stays_beside_passwords(source: tuple[str, str], tmp_path: Path) -> None:
    mark, moved = tmp_path / "mark.sqlite", tmp_path / "moved.sqlite"
    with dl.create(tmp_path / "clinic", mark=mark) as db:
        db.add_population("patients", budget=dl.Budget(epsilon=3, delta="1e-9"))
        add_visits(db, "visits", (source[0].replace("reader@", "reader:hushhush@"), source[1]))
    mark.rename(moved)
    with dl.open(tmp_path / "clinic", mark=moved) as db:
        assert exact(db, COUNT) == [120]
    text = (tmp_path / "clinic" / "secrets.toml").read_text()
    assert str(moved) in text
    assert "hushhush" in text


def test_an_analyst_sees_neither_address_nor_names_of_the_place(db: Database, source: tuple[str, str]) -> None:
    db.grant("ana", tables=["visits"])
    ana, schema = db.as_analyst("ana"), source[1].split(".")[0]
    answer = ana.sql(COUNT).run(share="1%")
    owner = db.sql(f"{COUNT} WHERE age > 3").run(share="1%")
    said = [str(ana.sql(COUNT).explain()), answer.derivation, str(answer.card), str(ana.tables()), owner.derivation,
            str(ana.columns("visits")), str(ana.card(owner.receipt)), str(ana.registry())]  # fmt: skip
    assert not any(schema in text or "reader" in text or "127.0.0.1" in text for text in said)
    assert '"visits" s' in said[0]
    assert f'"{schema}"."visits" s' in db.sql(COUNT).explain()


def test_a_card_says_that_rows_may_change(db: Database) -> None:
    add_visits(db, "copy", SMALL)
    there, here = (db.sql(f"SELECT COUNT(*) AS n FROM {name}").run(share="1%").card for name in ("visits", "copy"))
    assert there is not None
    assert here is not None
    assert any("its rows may change at any time" in line for line in there.unprotected)
    assert not any("may change" in line for line in here.unprotected)


def test_the_role_that_may_do_more_is_remarked_upon(server: str, schema: str) -> None:
    with people() as db:
        add_visits(db, "visits", (server, f"{schema}.visits"))
        assert "superuser" in db.remarks("visits")[0]
        add_visits(db, "more", (as_reader(server), f"{schema}.visits"))
        assert db.remarks("more") == []


# ---- what goes wrong


def test_a_place_out_of_reach_refuses_questions_and_nothing_else(db: Database, server: str, schema: str) -> None:
    db.grant("ana", tables=["visits"])
    add_visits(db, "copy", SMALL)
    run(server, f"ALTER TABLE {schema}.visits RENAME TO gone")
    db.close()
    with dl.open(db._curator.folder.path) as again:  # type: ignore[union-attr]
        ana = again.as_analyst("ana")
        for _ in range(3):
            with pytest.raises(QueryRefused, match="cannot be reached") as refused:
                ana.sql(COUNT).run(share="1%")
        assert schema not in str(refused.value)
        assert again.spent()["patients"].share == 0
        assert len([failure for failure in again.log if schema in failure.details]) == 1
        assert exact(again, "SELECT COUNT(*) AS n FROM copy") == [120]
        run(server, f"ALTER TABLE {schema}.gone RENAME TO visits")
        assert ana.sql(COUNT).run(share="1%")


def test_types_that_change_stop_a_question_and_the_next_one_is_written_anew(
    db: Database, server: str, schema: str
) -> None:
    assert exact(db, f"{COUNT} WHERE age >= 0") == [120]
    run(server, f"ALTER TABLE {schema}.visits ALTER age TYPE double precision")
    with pytest.raises(WorkStopped):
        exact(db, COUNT)
    assert exact(db, f"{COUNT} WHERE age >= 0") == [120]
    run(server, f"ALTER TABLE {schema}.visits ALTER age TYPE text")
    with pytest.raises(WorkStopped):
        db.sql(COUNT).run(share="1%")
    with pytest.raises(QueryRefused, match="no longer has it"):
        db.sql(COUNT).run(share="1%", fresh=True)


def test_an_engine_that_differs_is_refused(
    db: Database, source: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ["lower(text) differs"]
    monkeypatch.setattr(several, "_FIT", set())
    monkeypatch.setattr(several, "_UNFIT", {})
    monkeypatch.setattr(checking, "quick_check", lambda engine: found.pop() if found else None)
    db.close()
    with dl.open(db._curator.folder.path) as again:  # type: ignore[union-attr]
        again.grant("ana", tables=["visits"])
        for ask in (again.sql(COUNT).explain, lambda: again.as_analyst("ana").sql(COUNT).run(share="1%")):
            with pytest.raises(EngineUnfit, match="lower\\(text\\) differs") as refused:
                ask()
            assert source[0] not in str(refused.value)
        with pytest.raises(EngineUnfit):
            add_visits(again, "more", source)
        assert again.spent()["patients"].share == 0
        monkeypatch.setattr(several, "_AGAIN", 0.0)  # some time later, when it was put right
        assert exact(again, COUNT) == [120]


def test_an_engine_is_checked_once_in_a_process(source: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(several, "_FIT", set())
    monkeypatch.setattr(checking, "quick_check", seen.append)
    for _ in range(2):
        with people() as db:
            add_visits(db, "visits", source)
            engines = db._curator.engine
            assert isinstance(engines, Engines)
            assert seen[0] not in engines._live.values()
    assert len(seen) == 1


def test_a_server_that_is_down_is_not_unfit(source: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    port = source[0].rpartition(":")[2].partition("/")[0]
    with people() as db, pytest.raises(DataMismatch, match="cannot be reached"):
        add_visits(db, "visits", (source[0].replace(port, "1"), source[1]))


def test_a_role_that_may_make_no_temporary_tables_is_enough(
    server: str, source: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(several, "_FIT", set())
    run(server, "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    try:
        with people() as db:
            add_visits(db, "visits", source)
            assert exact(db, COUNT) == [120]
    finally:
        run(server, "GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
    assert {source[0]} == several._FIT


def test_a_missing_package_is_named(source: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "_FIT", {source[0]})
    error = ImportError("no", name="psycopg")

    def absent(module: str) -> Any:
        raise error

    monkeypatch.setattr(several, "import_module", absent)
    with people() as db, pytest.raises(MissingExtra, match=r"dalenius\[postgres\]"):
        add_visits(db, "visits", source)


def test_columns_of_a_source_are_told_without_a_look_at_rows(db: Database, source: tuple[str, str]) -> None:
    assert db.source_columns(source)["cost"] == "double precision"
    assert list(db.source_columns(f"{source[0]}#{source[1]}")) == SMALL.column_names
    with pytest.raises(InvalidParameter):
        db.source_columns("visits.parquet")
