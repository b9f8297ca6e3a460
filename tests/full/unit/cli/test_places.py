"""Commands about tables that stay in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from clinics import visits
from command_line import run
from dalenius.cli.proposals import fields_elsewhere
from placed import as_reader, load, postgres

PEOPLE = ("--population", "patients", "--unit", "patient_id", "--max-rows", "3", "--max-groups", "1")


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with postgres() as url:
        load(url, "records", "visits", visits(patients=400).append_column("note-2", pa.array(["canary"] * 1200)))
        yield f"{as_reader(url)}#records.visits"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "clinic"
    assert run("init", made, "--population", "patients", "--epsilon", "5", "--delta", "1e-9").code == 0
    return made


def filled_in(folder: Path) -> None:
    file = folder / "catalog.toml"
    text = file.read_text().replace('lower = "?", upper = "?", step = "?"', 'lower = 0, upper = 5000, step = "0.01"')
    for kind, bounds in (("Int", "lower = 0, upper = 120"), ("Date", "lower = 2024-01-01, upper = 2026-12-31")):
        text = text.replace(f'type = "{kind}", lower = "?", upper = "?"', f'type = "{kind}", {bounds}')
    file.write_text(text)


def test_a_table_elsewhere_is_proposed_from_its_schema_filled_in_and_asked(folder: Path, place: str) -> None:
    secret = place.replace("reader@", "reader:hushhush@")
    done = run("add-table", folder, "visits", secret, *PEOPLE)
    assert done.code == 0, done.err
    assert done.out.rstrip().endswith(f"update-table {folder} visits")
    text = (folder / "catalog.toml").read_text()
    assert f'source = ["{place.partition("#")[0]}", "records.visits"]' in text
    assert 'cost = {type = "Real", lower = "?", upper = "?", step = "?", nullable = false}' in text
    assert 'rename = {note_2 = "note-2"}' in text
    assert not any(word in text + done.out + done.err for word in ("canary", "hushhush", "Oslo"))
    assert run("update-table", folder, "visits").code == 2
    filled_in(folder)
    done = run("update-table", folder, "visits")
    assert done.code == 0, done.err
    assert "are moved to the nearest one" in done.out
    done = run("ask", folder, "SELECT COUNT(*) AS n FROM visits", "--epsilon", "1", "--json", "--yes")
    assert done.code == 0, done.err
    assert '"records"."visits"' in run("explain", folder, "SELECT COUNT(*) AS n FROM visits").out
    done = run("update-table", folder, "visits", "--json")
    assert done.json["version"] == 2


def test_bounds_are_suggested_where_the_rows_stay(folder: Path, place: str) -> None:
    done = run("add-table", folder, "visits", place, *PEOPLE, "--suggest-bounds", "--epsilon", "2", "--yes", "--json")
    assert done.code == 0, done.err
    assert done.json["bounds"]["age"] is not None
    assert "%" in done.json["charged"]


@pytest.mark.parametrize("odd", ["postgresql://reader:hush#hush@h/c#t", "postgresql://reader:hush@h/c"])
def test_an_address_that_is_none_is_refused_and_not_repeated(folder: Path, odd: str) -> None:
    done = run("add-table", folder, "visits", odd, *PEOPLE)
    assert done.code == 2
    assert "hush" not in done.out + done.err


def test_words_for_no_value_are_for_files(folder: Path, place: str) -> None:
    assert run("add-table", folder, "visits", place, *PEOPLE, "--nulls", "NA").code == 2


def test_a_table_without_a_place_wants_a_file(folder: Path, place: str) -> None:
    done = run("update-table", folder, "visits")
    assert done.code == 2


def test_a_role_that_may_do_more_is_remarked_upon(folder: Path, place: str) -> None:
    owner = place.replace("reader@", "dalenius@")
    assert run("add-table", folder, "visits", owner, *PEOPLE).code == 0
    filled_in(folder)
    done = run("update-table", folder, "visits")
    assert "superuser" in done.err


def test_types_of_engines_are_proposed_as_ours() -> None:
    types = {
        "Bool": ["boolean"],
        "Int": ["smallint", "integer", "bigint", "int", "tinyint"],
        "Real": ["numeric", "numeric(10,2)", "decimal(10,2)", "double precision", "real", "float", "double"],
        "Date": ["date"],
        "Timestamp": ["timestamp without time zone", "timestamp with time zone", "timestamp", "timestamp_ntz"],
        "Text": ["text", "character varying", "character varying(20)", "string", "varchar(3)", "uuid"],
        None: ["bytea", "point", "array<int>", "interval", "struct<a:int>", "integer[]"],
    }
    for wanted, names in types.items():
        found = fields_elsewhere({f"c{place}": name for place, name in enumerate(names)})
        assert {field.type for field in found} == {wanted}
