"""The commands, end to end on a folder: declare, fill in, import, grant, ask, refuse, show, verify."""

from __future__ import annotations

import csv
import io
import shutil
import sqlite3
import tomllib
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import dalenius as dl
from command_line import Done, run
from costs import cases
from dalenius.cli.commands import questions

COUNT = "SELECT city, COUNT(*) AS visits FROM visits GROUP BY city"
CITIES = ("Oslo", "Bergen", "Tromsø")
CANARY = "canary-7f3a"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database `empty`, the same with a table and an analyst `clinic`, and their marks in `state`."""
    place = tmp_path_factory.mktemp("made")
    rows = [f"{i % 2000},{i % 90},{CITIES[i % 3]},{i % 1600 / 4},{CANARY}" for i in range(6000)]
    data = place / "visits.csv"
    data.write_text("\n".join(["patient-id,age,city,cost,note", *rows]) + "\n", encoding="utf-8")
    terms = ("--population", "patients", "--epsilon", 3, "--delta", "1e-9", "--purpose", "care")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        for folder in (place / "empty", place / "clinic"):
            assert run("init", folder, *terms).code == 0
        assert proposed(place / "clinic", data).code == 0
        fill_in(place / "clinic")
        assert run("update-table", place / "clinic", "visits", data).code == 0
        assert run("grant", place / "clinic", "ana", "--tables", "visits", "--share", "50%").code == 0
    return place


@pytest.fixture(autouse=True)
def copied(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has copies of its own, with their marks."""
    place = tmp_path / "copied"
    shutil.copytree(made, place)
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    for name in ("DALENIUS_TOKEN", "DALENIUS_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def data(copied: Path) -> Path:
    """Six thousand visits of two thousand patients."""
    return copied / "visits.csv"


@pytest.fixture
def empty(copied: Path) -> Path:
    """A database with a population and no table."""
    return copied / "empty"


@pytest.fixture
def clinic(copied: Path) -> Path:
    """A database with a table, and an analyst who may spend half."""
    return copied / "clinic"


def proposed(folder: Path, data: Path, *more: object, given: str = "", person: bool = False) -> Done:
    types = ("--type", "age=Int", "--type", "city=Category", "--type", "cost=Real", "--type", "note=Text")
    terms = ("--population", "patients", "--unit", "patient-id", "--max-rows", 3, "--max-groups", 3)
    return run("add-table", folder, "visits", data, *terms, *types, *more, given=given, person=person)


def fill_in(folder: Path) -> None:
    """What the owner does in an editor."""
    path = folder / "catalog.toml"
    text = path.read_text(encoding="utf-8")
    cities = "[" + ", ".join(f'"{city}"' for city in CITIES) + "]"
    text = text.replace('type = "Int", lower = "?", upper = "?"', 'type = "Int", lower = 0, upper = 120')
    text = text.replace('lower = "?", upper = "?", step = "?"', 'lower = 0, upper = 500, step = "0.01"')
    path.write_text(text.replace('values = "?"', f"values = {cities}"), encoding="utf-8")


# ---- the owner


def test_a_table_is_proposed_filled_in_imported_and_asked(empty: Path, data: Path) -> None:
    done = proposed(empty, data)
    assert done.code == 0, done.err
    for place in ("age.lower", "age.upper", "city.values", "cost.step"):
        assert f"tables.visits.columns.{place}" in done.out
    assert f"update-table {empty} visits" in done.out
    early = run("ask", empty, COUNT, "--epsilon", "0.5")
    assert early.code == 2
    assert run("update-table", empty, "visits", data).code == 2
    fill_in(empty)
    assert proposed(empty, data).code == 0  # the same command again imports
    assert run("ask", empty, COUNT, "--epsilon", "0.5").code == 0


def test_what_is_proposed_says_nothing_about_the_rows(empty: Path, data: Path) -> None:
    proposed(empty, data)
    text = (empty / "catalog.toml").read_text(encoding="utf-8")
    assert CANARY not in text
    assert "Oslo" not in text
    assert 'patient_id = "patient-id"' in text


def test_a_csv_file_has_no_types_so_that_none_is_proposed(empty: Path, data: Path) -> None:
    done = run("add-table", empty, "visits", data, "--json")
    assert "tables.visits.columns.age.type" in done.json["missing"]
    assert "tables.visits.population" in done.json["missing"]
    assert "tables.visits.max_rows" in done.json["missing"]
    assert run("update-table", empty, "visits", data).code == 2


def test_suggested_bounds_are_charged_and_friendly_and_only_proposed(empty: Path, data: Path) -> None:
    done = proposed(empty, data, "--suggest-bounds", "--epsilon", "2", "--yes", "--json")
    assert done.code == 0, done.err
    assert "patients" in done.json["charged"]
    text = (empty / "catalog.toml").read_text(encoding="utf-8")
    assert "estimated from noisy counts" in text
    assert "provisional" not in text
    assert "lower = 0, upper = 200" in text
    assert done.json["bounds"]["age"] == ["0", "200"]
    assert "tables.visits.columns.city.values" in done.json["missing"]
    assert "tables.visits.columns.age.lower" not in done.json["missing"]
    spent = run("ledger", empty, "--json").json
    assert len(spent["charges"]) == 2
    assert run("ask", empty, COUNT, "--epsilon", "0.1").code == 2


def test_bounds_are_not_suggested_before_it_is_said_whose_rows_these_are(empty: Path, data: Path) -> None:
    done = run("add-table", empty, "visits", data, "--suggest-bounds", "--epsilon", "1", "--population", "patients")
    assert done.code == 2
    assert "--unit" in done.err
    assert run("ledger", empty, "--json").json["charges"] == []
    assert "visits" not in (empty / "catalog.toml").read_text()


def test_a_public_table_has_no_population(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("city,region\nOslo,east\n")
    assert run("add-table", empty, "cities", tmp_path / "cities.csv", "--public", "--unit", "city").code == 2
    types = ("--type", "city=Text", "--type", "region=Text")
    assert (
        run("add-table", empty, "cities", tmp_path / "cities.csv", "--public", *types, "--json").json["missing"] == []
    )
    assert run("update-table", empty, "cities", tmp_path / "cities.csv").code == 0
    assert run("tables", empty, "--json").json["tables"]["cities"]["about"].startswith("public")


def test_init_refuses_a_folder_in_use_and_a_budget_without_people(clinic: Path, tmp_path: Path) -> None:
    assert run("init", clinic).code == 2
    assert run("init", tmp_path / "other", "--epsilon", 1).code == 2
    assert run("init", tmp_path / "other", "--population", "p", "--epsilon", "none").code == 2
    assert not (tmp_path / "other").exists()


def test_a_second_population_a_study_and_a_grant_inside_it(clinic: Path) -> None:
    assert run("add-population", clinic, "staff", "--epsilon", 1).code == 0
    assert run("study", clinic, "sleep", "--population", "patients", "--share", "20%", "--reserve", "10%").code == 0
    terms = ("--study", "sleep", "--most-epsilon", "0.5", "--rate", "2/3600", "--until", "2099-01-01")
    assert run("grant", clinic, "bo", "--tables", "visits", "--share", "10%", *terms).code == 0
    assert run("ask", clinic, COUNT, "--epsilon", "0.6", "--as", "bo").code == 2
    for count, code in enumerate((0, 0, 2)):
        assert run("ask", clinic, COUNT, "--epsilon", f"0.{count + 1}", "--as", "bo").code == code
    assert run("grant", clinic, "bo", "--tables", "visits", "--rate", "often").code == 2


def test_who_was_revoked_asks_no_more(clinic: Path) -> None:
    assert run("revoke", clinic, "ana").code == 0
    assert run("ask", clinic, COUNT, "--epsilon", "0.1", "--as", "ana").code == 2


def test_a_token_is_shown_once_on_standard_output_alone(clinic: Path) -> None:
    done = run("token", clinic, "ana", "--days", 30)
    assert done.code == 0, done.err
    token = done.out.strip()
    assert token.startswith("dal_")
    assert token not in done.err
    for path in clinic.iterdir():
        assert token.encode() not in path.read_bytes()
    assert run("token", clinic, "eva", "--role", "auditor", "--json").json["role"] == "auditor"


# ---- asking


def test_an_answer_is_a_table_with_bars_or_json_csv_arrow_and_a_chart(clinic: Path, tmp_path: Path) -> None:
    asked = ("ask", clinic, COUNT, "--epsilon", "1", "--as", "ana")
    plain = run(*asked)
    assert plain.code == 0, plain.err
    assert "visits ±" in plain.out
    facts = run(*asked, "--json").json
    assert [column["name"] for column in facts["answer"]["columns"]] == ["city", "visits"]
    rows = list(csv.reader(io.StringIO(run(*asked, "--csv").out)))
    assert rows[0] == ["city", "visits", "visits ±"]
    values = facts["answer"]["columns"][1]["values"]
    assert [int(row[1]) for row in rows[1:]] == values
    done = run(*asked, "--arrow", tmp_path / "a.arrow", "--chart")
    assert "█" in done.out
    with pa.OSFile(str(tmp_path / "a.arrow")) as file:
        assert pa.ipc.open_file(file).read_all()["visits"].to_pylist() == values
    assert len(run("ledger", clinic, "--json").json["charges"]) == 1  # asked once, replayed four times


def test_a_person_sees_price_and_error_first_and_may_decline(clinic: Path) -> None:
    asked = ("ask", clinic, COUNT, "--epsilon", "0.3", "--as", "ana")
    declined = run(*asked, person=True, given="n\n")
    assert declined.code == 2
    assert "visits: ±" in declined.err
    assert "would be left" in declined.err
    assert declined.out == ""
    assert run("ledger", clinic, "--json").json["charges"] == []
    assert "visits ±" in run(*asked, person=True, given="y\n").out
    assert "[y/N]" not in run(*asked, "--yes", person=True).err


def test_an_error_is_turned_into_a_price(clinic: Path) -> None:
    cost = run("cost", clinic, COUNT, "--error", "60 at 90%", "--as", "ana", "--json").json
    assert cost["affordable"]
    assert float(cost["expected_error"]["visits"]["fixed"]) <= 60
    assert cost["expected_error"]["visits"]["level"] == "9/10"
    assert run("ask", clinic, COUNT, "--error", "visits=60", "--as", "ana").code == 0
    assert run("ask", clinic, COUNT, "--error", "visits=60", "--error", "30").code == 2
    assert run("ask", clinic, COUNT, "--error", "nothing=60").code == 2


def test_looking_is_free(clinic: Path) -> None:
    assert "would be left" in run("cost", clinic, COUNT, "--share", "1%", "--as", "ana").out
    assert "nothing was read or spent" in run("cost", clinic, COUNT, "--epsilon", "2.9").out
    assert "patients" in run("explain", clinic, COUNT).out
    assert "derivation" in run("explain", clinic, COUNT, "--json").json
    assert "visits ±" in run("rehearse", clinic, COUNT).out
    assert run("explain", clinic, "-", given=COUNT).code == 0
    assert run("ledger", clinic, "--json").json["charges"] == []


def test_the_same_key_is_charged_once_and_fresh_pays_again(clinic: Path) -> None:
    asked = ("ask", clinic, COUNT, "--epsilon", "0.1", "--json")
    first = run(*asked, "--key", "one").json
    assert run(*asked, "--key", "one").json["answer"] == first["answer"]
    assert run(*asked, "--fresh").json["answer"]["receipt"] != first["answer"]["receipt"]
    assert len(run("ledger", clinic, "--json").json["charges"]) == 2


@cases(
    ("code", "words"),
    [
        (3, (COUNT, "--epsilon", "2.9", "--as", "ana")),
        (3, (COUNT, "--share", "60%", "--as", "ana")),
        (2, ("SELECT * FROM visits", "--epsilon", "0.1")),
        (2, ("SELECT patient_id FROM visits", "--epsilon", "0.1")),
        (2, ("DROP TABLE visits", "--epsilon", "0.1")),
        (2, (COUNT, "--epsilon", "-1")),
        (2, (COUNT, "--epsilon", "nan")),
        (2, (COUNT, "--epsilon", "0.1", "--as", "nobody")),
        (2, (COUNT, "--epsilon", "0.1", "--weight", "visits")),
        (2, (COUNT, "--epsilon", "0.1", "--max-groups", "3")),
        (2, ("SELECT COUNT(*) AS n FROM elsewhere", "--epsilon", "0.1")),
    ],
    fast=6,
)
def test_refusals_have_their_exit_code_and_charge_nothing(clinic: Path, code: int, words: tuple[str, ...]) -> None:
    done = run("ask", clinic, *words)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("dalenius: ")
    assert CANARY not in done.err
    assert run("ledger", clinic, "--json").json["charges"] == []


ODD = ("", "nan", "-0", "1e999", "1/0", "±", "9" * 400, "1\x00", "a=b=c", "'; --")


@cases("option", ["--epsilon", "--share", "--error", "--level", "--weight", "--as"], fast=1)
def test_odd_values_are_understood_or_refused_in_one_form(clinic: Path, option: str) -> None:
    price = () if option in ("--epsilon", "--share", "--error") else ("--share", "1%")
    for odd in ODD:
        done = run("cost", clinic, COUNT, *price, f"{option}={odd}")
        assert done.code in (0, 2), (odd, done)
        assert done.err.startswith("dalenius: " if done.code else "")


@cases("odd", [*ODD, "SELECT", "SELECT (" * 50, "SELECT 1", "\ud800"], fast=6)
def test_odd_questions_are_refused_in_one_form(clinic: Path, odd: str) -> None:
    done = run("ask", clinic, "-", "--share", "1%", given=odd)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("dalenius: ")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    for words in (("tables",), ("ledger",), ("check", "ledger"), ("registry",), ("ask", COUNT, "--epsilon", "1")):
        place = (words[0], tmp_path / "none", *words[1:]) if words[0] != "check" else ("check", "ledger", tmp_path)
        done = run(*place)
        assert done.code == 2, done.err
        assert done.err.startswith("dalenius: ")


# ---- the records


def test_the_ledger_is_shown_and_verified(clinic: Path) -> None:
    run("ask", clinic, COUNT, "--epsilon", "0.5", "--as", "ana")
    shown = run("ledger", clinic).out
    assert "patients / ana" in shown
    assert "1 charge in all" in shown
    verified = run("ledger", clinic, "verify", "--json")
    assert verified.code == 0
    assert verified.json["sound"]
    assert set(verified.json["spent"]) >= {"patients", "patients / ana"}
    assert run("check", "ledger", clinic).code == 0
    assert run("ledger", "verify", clinic, "--json").json == verified.json
    assert run("ledger", clinic, "forget").code == 2
    entries = run("ledger", clinic, "entries", "--json").json["entries"]
    assert [entry["number"] for entry in entries] == list(range(1, verified.json["entries"] + 1))
    assert CANARY not in str(entries)


def test_a_changed_ledger_ends_with_5_wherever_it_is_used(clinic: Path) -> None:
    run("ask", clinic, COUNT, "--epsilon", "0.5")
    with sqlite3.connect(clinic / "ledger.sqlite") as rows:
        for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            rows.execute(f"DROP TRIGGER {name}")
        rows.execute("UPDATE entries SET body = replace(body, 'owner', 'nobody')")
    rows.close()
    assert run("check", "ledger", clinic).code == 5
    assert run("ledger", clinic, "verify", "--json").json["problems"]
    assert run("ask", clinic, COUNT, "--epsilon", "0.1").code == 5
    assert run("ledger", clinic, "reconcile", "--yes").code == 5


def test_a_restored_backup_is_refused_until_it_is_reconciled_upwards(clinic: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    shutil.copytree(clinic, backup)
    assert run("ask", clinic, COUNT, "--epsilon", "1").code == 0
    spent = run("ledger", clinic, "verify", "--json").json["spent"]["patients"]
    shutil.rmtree(clinic)
    shutil.copytree(backup, clinic)
    assert run("tables", clinic).code == 5
    assert run("ledger", clinic, "verify").code == 5
    assert run("ledger", clinic, "reconcile").code == 2  # nobody said yes
    assert run("ledger", clinic, "reconcile", person=True, given="n\n").code == 2
    assert run("ledger", clinic, "reconcile", "--yes").code == 0
    after = run("ledger", clinic, "verify", "--json")
    assert after.code == 0
    assert after.json["spent"]["patients"][0] >= spent[0]
    assert run("tables", clinic).code == 0


def test_the_registry_and_the_card_can_be_published(clinic: Path, tmp_path: Path) -> None:
    receipt = run("ask", clinic, COUNT, "--epsilon", "0.5", "--json").json["answer"]["receipt"]
    assert "patients" in run("registry", clinic).out
    assert "care" in str(run("registry", clinic, "--json").json)
    assert "patients" in run("registry", clinic, "--csv").out
    assert run("registry", clinic, "--html", tmp_path / "registry.html").code == 0
    assert "<html" in (tmp_path / "registry.html").read_text(encoding="utf-8")
    assert "patients" in run("card", clinic, receipt).out
    assert run("card", clinic, receipt, "--json").json
    assert run("card", clinic, "nothing").code == 2
    assert run("replays", clinic, "--as", "ana", "--json").json["replays"][0]["receipt"] == receipt
    shares = run("replays", clinic, "--as", "ana", "--json").json["replays"][0]["shares"]
    assert shares == {"patients": run("ledger", clinic, "--json").json["charges"][0]["charges"][0]["share"]}
    assert "replayed" in run("replays", clinic, receipt, "--as", "ana").out
    assert run("replays", clinic, "nothing").code == 2
    assert CANARY not in (tmp_path / "registry.html").read_text(encoding="utf-8")


def test_replays_are_listed_also_after_a_population_was_taken_out(clinic: Path) -> None:
    run("ask", clinic, COUNT, "--epsilon", "0.5")
    path = clinic / "catalog.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("[populations")], encoding="utf-8")
    assert run("replays", clinic, "--json").json["replays"] == []


# ---- what a newcomer stumbled over


def test_where_no_count_stands_out_the_owner_is_told_that_it_was_charged(empty: Path, data: Path) -> None:
    done = proposed(empty, data, "--suggest-bounds", "--epsilon", "0.004", "--yes")
    assert "age: no count stood out of the noise; this was charged all the same" in done.out
    assert len(run("ledger", empty, "--json").json["charges"]) == 2


def test_options_that_contradict_a_declaration_are_refused(clinic: Path, data: Path) -> None:
    for option, value, declared in (
        ("--max-rows", 5, "3, as visits is declared"),
        ("--population", "staff", "patients"),
        ("--unit", "city", "patient_id"),
        ("--type", "age=Real", "age=Int"),
        ("--rename", "age=cost", "age=age"),
        ("--nulls", "NA", "[]"),
    ):
        done = run("add-table", clinic, "visits", data, option, value)
        assert done.code == 2, option
        assert declared in done.err
        assert "catalog.toml" in done.err
    for flag in ("--public", "--suggest-bounds"):
        assert run("add-table", clinic, "visits", data, flag).code == 2
    assert proposed(clinic, data, "--rename", "patient_id=patient-id").code == 0


def test_a_unit_that_the_file_has_not_is_refused_with_the_columns_that_it_has(empty: Path, data: Path) -> None:
    for unit in ("pid", "pid -> others.id"):
        done = run("add-table", empty, "visits", data, "--unit", unit)
        assert done.code == 2
        assert "patient-id, age, city, cost, note" in done.err
    assert "visits" not in (empty / "catalog.toml").read_text()


def test_a_draft_says_of_every_column_whether_values_may_be_missing(empty: Path, data: Path) -> None:
    assert "nullable" in proposed(empty, data).out
    columns = tomllib.loads((empty / "catalog.toml").read_text())["tables"]["visits"]["columns"]
    assert {name: facts["nullable"] for name, facts in columns.items()} == {
        "age": False, "city": True, "cost": False, "note": True}  # fmt: skip


def test_names_and_words_for_no_value_are_written_into_the_catalog(empty: Path, data: Path) -> None:
    done = proposed(empty, data, "--rename", "person=patient-id", "--nulls", "NA", "--nulls", "-")
    assert done.code == 0, done.err
    table = tomllib.loads((empty / "catalog.toml").read_text())["tables"]["visits"]
    assert (table["unit"], table["rename"], table["nulls"]) == ("person", {"person": "patient-id"}, ["NA", "-"])
    assert run("add-table", empty, "other", data, "--rename", "person=pid").code == 2
    assert run("add-table", empty, "other", data, "--rename", "age=city").code == 2


def test_an_import_says_its_version_and_what_became_of_odd_values(clinic: Path, data: Path) -> None:
    done = run("update-table", clinic, "visits", data)
    assert "version 2" in done.out
    assert "became NULL" in done.out


def test_a_table_is_removed_and_its_spending_stays(clinic: Path) -> None:
    run("ask", clinic, COUNT, "--epsilon", "0.5")
    spent = run("ledger", clinic, "verify", "--json").json["spent"]["patients"]
    assert run("remove-table", clinic, "visits", person=True, given="n\n").code == 2
    assert run("remove-table", clinic, "visits", "--yes").code == 0
    assert run("tables", clinic, "--json").json["tables"] == {}
    assert run("ledger", clinic, "verify", "--json").json["spent"]["patients"] == spent
    assert run("remove-table", clinic, "visits", "--yes").code == 2


def test_what_cannot_be_undone_wants_a_yes_where_nobody_can_be_asked(clinic: Path, empty: Path, data: Path) -> None:
    def unanswered(*words: object) -> bool:
        done = run(*words, given="y\n")
        return done.code == 2 and "Say --yes" in done.err

    before, entries = (clinic / "catalog.toml").read_bytes(), run("ledger", clinic, "entries").out
    assert unanswered("remove-table", clinic, "visits")
    assert unanswered("partition", clinic, "visits.city", "Oslo")
    assert unanswered("ledger", clinic, "reconcile")
    assert (clinic / "catalog.toml").read_bytes() == before
    assert run("ledger", clinic, "entries").out == entries
    words = ("--population", "patients", "--unit", "each row", "--type", "age=Int", "--suggest-bounds", "--epsilon", 1)
    assert unanswered("add-table", empty, "rows", data, *words)
    assert run("ledger", empty, "--json").json["charges"] == []


@pytest.mark.parametrize("option", ["--plot", "--arrow"])
def test_a_file_that_cannot_be_written_is_refused_before_the_charge(clinic: Path, option: str) -> None:
    names = {"--plot": ("b.jpg", "none/b.svg"), "--arrow": ("none/b.arrow", ".")}[option]
    for name in names:
        done = run("ask", clinic, COUNT, "--epsilon", "0.2", option, clinic / name)
        assert (done.code, done.out) == (2, "")
        assert "nothing was run or charged" in done.err
    assert run("ledger", clinic, "--json").json["charges"] == []


def test_an_answer_that_was_paid_for_is_shown_also_where_its_file_fails(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "a.arrow")

    monkeypatch.setattr(questions, "_write_arrow", full)
    done = run("ask", clinic, COUNT, "--epsilon", "0.2", "--arrow", tmp_path / "a.arrow")
    assert done.code == 4
    assert "visits ±" in done.out
    assert "nothing was" not in done.err
    receipt = run("ledger", clinic, "--json").json["charges"][0]["receipt"]
    assert f"dalenius replays {clinic} {receipt}" in done.err


def test_terms_of_a_study_stay_until_they_are_taken_back(clinic: Path) -> None:
    declared = ("study", clinic, "sleep", "--population", "patients", "--json", "--share")
    terms = {"reserve": "10%", "end": "2099-01-01", "purpose": "sleep of nurses"}
    run(*declared, "20%", *(word for name, value in terms.items() for word in (f"--{name}", value)))
    again = run(*declared, "30%").json
    assert again["share"] == "30%"
    assert {name: again[name] for name in terms} == terms
    assert run(*declared, "30%", "--reserve", "none").json["reserve"] is None
    assert "until 2099-01-01; for sleep of nurses" in run(*(word for word in declared if word != "--json"), "30%").out


def test_the_ledger_says_who_spent_what_for_which_question_also_of_the_revoked(clinic: Path) -> None:
    run("ask", clinic, COUNT, "--epsilon", "0.5", "--as", "ana")
    run("revoke", clinic, "ana")
    shown = run("ledger", clinic).out
    assert "patients / ana (revoked)" in shown
    assert "SELECT city, COUNT(*)" in shown
    facts = run("ledger", clinic, "--json").json
    ana = next(each for each in facts["accounts"] if each["account"] == "patients / ana")
    (charge,) = facts["charges"]
    assert ana["state"] == "revoked"
    assert Fraction(ana["spent"]) == Fraction(charge["charges"][0]["share"]) > 0
    assert charge["asked"] == COUNT


def test_what_was_taken_over_from_a_lost_copy_is_shown_as_such(clinic: Path, tmp_path: Path) -> None:
    shutil.copytree(clinic, tmp_path / "backup")
    run("ask", clinic, COUNT, "--epsilon", "1", "--as", "ana")
    shutil.rmtree(clinic)
    shutil.copytree(tmp_path / "backup", clinic)
    assert run("ledger", clinic, "reconcile", "--yes").code == 0
    assert "taken over from a lost copy" in run("ledger", clinic).out
    (charge,) = run("ledger", clinic, "--json").json["charges"]
    assert charge["receipt"] is None


def test_grants_and_holders_of_tokens_are_listed_without_a_token(clinic: Path) -> None:
    token = run("token", clinic, "ana").out.strip()
    run("grant", clinic, "bo", "--tables", "visits", "--rate", "2/3600", "--until", "2099-01-01")
    done = run("grants", clinic)
    assert "ana may ask about visits; up to 50% of the budget of patients; 1000/3600" in done.out
    assert "bo may ask about visits; up to 100% of the budget of patients; 2/3600" in done.out
    assert "ana holds a token as analyst until" in done.out
    assert token not in done.out
    facts = run("grants", clinic, "--json").json
    assert facts["grants"][0]["shares"] == {"patients": "1/2"}
    assert set(facts["tokens"][0]) == {"who", "role", "expires"}
    assert run("revoke", clinic, "ana", "--tokens-only").code == 0
    after = run("grants", clinic, "--json").json
    assert after == {"grants": facts["grants"], "tokens": []}


def test_a_token_goes_into_a_new_file_that_nobody_else_reads(clinic: Path, tmp_path: Path) -> None:
    out = tmp_path / "ana.token"
    done = run("token", clinic, "ana", "--out", out)
    assert done.code == 0, done.err
    assert out.stat().st_mode & 0o777 == 0o600
    token = out.read_text().strip()
    assert token.startswith("dal_")
    assert token not in done.out + done.err
    assert run("token", clinic, "ana", "--out", out).code == 2
    assert out.read_text().strip() == token
    assert len(run("grants", clinic, "--json").json["tokens"]) == 1  # none was issued for nothing


def test_a_token_for_somebody_without_a_grant_warns(clinic: Path) -> None:
    assert "nothing is granted to zoe" in run("token", clinic, "zoe").err
    assert "nothing is granted" not in run("token", clinic, "ana").err
    assert "nothing is granted" not in run("token", clinic, "eva", "--role", "auditor").err


def test_a_population_is_cut_into_blocks_once(clinic: Path, tmp_path: Path) -> None:
    rows = "\n".join(f"{n},{n % 2}" for n in range(50))
    (tmp_path / "sites.csv").write_text(f"patient_id,site\n{rows}\n")
    declared = ("--population", "patients", "--unit", "patient_id", "--max-rows", 1, "--max-groups", 1)
    run("add-table", clinic, "sites", tmp_path / "sites.csv", *declared, "--type", "site=Int")
    catalog = clinic / "catalog.toml"
    catalog.write_text(catalog.read_text().replace('lower = "?", upper = "?"', "lower = 0, upper = 9"))
    assert run("update-table", clinic, "sites", tmp_path / "sites.csv").code == 0
    cut = ("partition", clinic, "sites.site")
    assert run(*cut, "north", "--yes").code == 2
    assert run(*cut, 0, 1, person=True, given="n\n").code == 2
    assert run(*cut, 0, 1, "--yes").code == 0
    assert run(*cut, 0, 2, "--yes").code == 2
    inside = run("cost", clinic, "SELECT COUNT(*) AS n FROM sites WHERE site = 0", "--share", "1%").out
    assert "inside the block" in inside


def test_the_card_of_a_study_is_shown(clinic: Path) -> None:
    run("study", clinic, "sleep", "--population", "patients", "--share", "20%")
    assert "Study sleep" in run("study-card", clinic, "sleep").out
    assert run("study-card", clinic, "sleep", "--json").json["releases"] == []
    assert run("study-card", clinic, "nothing").code == 2


@pytest.mark.parametrize("command", ["ledger", "grants", "init"])
def test_what_works_on_a_folder_alone_says_so(command: str) -> None:
    done = run(command, "http://127.0.0.1:9")
    assert done.code == 2
    assert "does not work over a server" in done.err


def test_an_address_without_its_beginning_is_told_apart_from_a_folder() -> None:
    done = run("ask", "localhost:8771", COUNT, "--epsilon", "1")
    assert done.code == 2
    assert "write http://localhost:8771" in done.err


def test_a_budget_that_promises_little_wants_a_yes(clinic: Path, tmp_path: Path) -> None:
    for number, terms in enumerate((("--epsilon", 30), ("--epsilon", 1, "--delta", "0.5"))):
        folder = tmp_path / f"weak{number}"
        words = ("init", folder, "--population", "people", *terms)
        for done in (run(*words), run(*words, person=True, given="n\n")):
            assert done.code == 2
            assert "never changes" in done.err
            assert not folder.exists()
        assert run(*words, person=True, given="y\n").code == 0
        assert run("add-population", clinic, f"weak{number}", *terms).code == 2
        assert run("add-population", clinic, f"weak{number}", *terms, "--yes").code == 0
    assert run("init", tmp_path / "fine", "--population", "people", "--epsilon", 10, "--delta", "1e-5").code == 0


def test_an_error_has_a_ceiling(clinic: Path) -> None:
    asked = ("ask", clinic, COUNT, "--error", "60 at 95%", "--at-most")
    dear = run(*asked, "0.001%")
    assert dear.code == 2
    assert "% of patients" in dear.err
    assert run("ledger", clinic, "--json").json["charges"] == []
    assert run(*asked, "90%").code == 0


def test_half_a_contribution_bound_is_told_which_option_is_missing(clinic: Path) -> None:
    assert run("cost", clinic, COUNT, "--share", "1%", "--max-rows", 2).code == 0
    done = run("cost", clinic, COUNT, "--share", "1%", "--max-groups", 2)
    assert done.code == 2
    assert done.err.startswith("dalenius: --max-rows ")


def test_a_price_that_is_too_high_says_what_is_left_and_what_n_is(clinic: Path) -> None:
    asked = ("cost", clinic, "SELECT AVG(age) AS age FROM visits", "--as", "ana", "--share")
    assert "more than is left, which is 50%" in run(*asked, "60%").out
    assert "--size N" in run(*asked, "1%").out
    assert "--size N" not in run(*asked, "1%", "--size", "100").out


def test_bounds_are_suggested_also_where_each_row_is_a_unit(empty: Path, data: Path) -> None:
    words = ("--population", "patients", "--unit", "each row", "--type", "age=Int", "--suggest-bounds", "--epsilon", 1)
    done = run("add-table", empty, "rows", data, *words, "--yes", "--json")
    assert done.code == 0, done.err
    assert done.json["bounds"] == {"age": ["0", "200"]}


def test_a_question_shows_itself_and_that_nobody_paid_for_it(clinic: Path) -> None:
    with dl.open(clinic) as db:
        assert repr(db.sql(COUNT)).startswith(f"<{COUNT}; not paid for")


def test_declaring_a_study_again_in_python_keeps_its_terms(clinic: Path) -> None:
    with dl.open(clinic) as db:
        db.add_study("sleep", population="patients", share="20%", reserve="10%", end="2099-01-01", purpose="naps")
        db.add_study("sleep", population="patients", share="30%")
        kept = db.catalog.studies["sleep"]
        assert (kept.share, kept.reserve, kept.purpose) == (Fraction(3, 10), Fraction(1, 10), "naps")
        db.add_study("sleep", population="patients", share="30%", reserve="none", end="none", purpose="none")
        bare = db.catalog.studies["sleep"]
        assert (bare.reserve, bare.end, bare.purpose) == (None, None, "")
