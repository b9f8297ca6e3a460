"""catalog.toml: what is declared comes back as it was, and what people wrote around it stays."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogs import catalogs
from dalenius.accounting.budget import Budget
from dalenius.catalog import catalog_file
from dalenius.catalog import toml_schema as sections
from dalenius.catalog.catalog import Catalog
from dalenius.catalog.catalog_file import CatalogFile, content
from dalenius.errors import InvalidParameter
from dalenius.query.tables import ContributionBounds, ForeignKey
from dalenius.query.types import Category, Int, Real

HAND_WRITTEN = """\
# ours; do not touch
[database]
format = 1
ledger = "00112233445566778899aabbccddeeff"   # its name


[populations.patients]   # everybody who came since 2020
epsilon = 3
delta = 1e-9  # agreed with the board

[tables]

  [tables.visits]
  population = "patients"
  unit = "patient_id"
  max_rows = 20   # see minutes
  max_groups = 5

  [tables.visits.columns]
  # years, not months
  age = { type = "Int", lower = 0, upper = 120 }
  cost = { type = "Real", lower = 0, upper = "5e3", step = 0.01 }
  city = { type = "Category", values = ["Oslo",
     "Bergen" ] }  # more later
  day = { type = "Date", upper = 2026-12-31, lower = "2024-01-01" }

[grants]
ana = { tables = ["visits"], share = 0.25 }
"""
VISITS = {
    "population": "patients",
    "unit": "patient_id",
    "most": ContributionBounds(rows=1, groups=1),
    "public": False,
    "size": None,
}


@pytest.fixture
def file(tmp_path: Path) -> CatalogFile:
    found = CatalogFile(tmp_path)
    found.begin("ab" * 16)
    return found


def by_hand(file: CatalogFile) -> Catalog:
    file.path.write_text(HAND_WRITTEN, encoding="utf-8")
    return file.read().catalog


# ---- round trips


@given(catalogs())
@settings(max_examples=settings.default.max_examples // 3)
def test_every_declaration_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, made: Catalog) -> None:
    file = CatalogFile(tmp_path_factory.mktemp("folder"))
    file.begin("ab" * 16)
    file.write(Catalog(), made)
    assert file.read().catalog == made
    assert file.read().ledger == "ab" * 16


@given(catalogs(), catalogs())
@settings(max_examples=settings.default.max_examples // 5)
def test_any_catalog_is_changed_into_any_other(
    tmp_path_factory: pytest.TempPathFactory, first: Catalog, second: Catalog
) -> None:
    file = CatalogFile(tmp_path_factory.mktemp("folder"))
    file.begin("ab" * 16)
    for before, after in ((Catalog(), first), (first, second), (second, Catalog())):
        file.write(before, after)
        assert file.read().catalog == after


def test_the_tests_above_notice_a_bound_that_gets_lost(file: CatalogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalenius.catalog.declarations.number", lambda value: int(value))
    found = Catalog().with_population("patients", budget=Budget(1), neighbours="add_remove")
    found = found.with_table("visits", columns={"x": Real("0.5", 9, step="0.5")}, **VISITS)
    with pytest.raises(InvalidParameter):
        file.write(Catalog(), found)
    assert file.read().catalog == Catalog()


def test_a_path_by_the_column_that_names_the_unit_is_told_from_one_to_the_unit(file: CatalogFile) -> None:
    found = Catalog().with_population("patients", budget=Budget(1), neighbours="add_remove")
    found = found.with_table("visits", columns={}, keys=["no", "patient_id"], **VISITS)
    for name, unit in (("one", ForeignKey("no", "visits", "no")), ("two", ForeignKey("no", "visits", "patient_id"))):
        found = found.with_table(name, columns={"x": Int(0, 1)}, **{**VISITS, "unit": unit})
    file.write(Catalog(), found)
    assert file.read().catalog == found


# ---- what people wrote


def test_what_people_write_is_read(file: CatalogFile) -> None:
    found = by_hand(file)
    assert found.populations["patients"].budget == Budget(3, "1e-9")
    assert dict(found.tables["visits"].columns)["cost"] == Real(0, 5000, step="0.01").or_null(False)
    assert dict(found.tables["visits"].columns)["city"] == Category("Oslo", "Bergen").or_null(True)
    assert found.grants["ana"].shares[0][1] * 4 == 1


CHANGES: dict[str, Callable[[Catalog], Catalog]] = {
    "population": lambda found: found.with_population("others", budget=Budget(1), neighbours="replace"),
    "table": lambda found: found.with_table("more", columns={"x": Int(0, 1)}, **VISITS),
    "grant": lambda found: found.with_grant("ben", tables=["visits"], share=None),
    "other terms": lambda found: found.with_grant("ana", tables=["visits"], share=None, pays_for_replays=True),
    "nothing": lambda found: found,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_leaves_all_other_lines_as_they_are(file: CatalogFile, change: str) -> None:
    before = by_hand(file)
    after = CHANGES[change](before)
    file.write(before, after)
    text = file.path.read_text(encoding="utf-8")
    kept = [line for line in HAND_WRITTEN.splitlines() if not line.startswith("ana")]
    written = iter(text.splitlines())
    assert [line for line in kept if line not in written] == []  # in this order
    assert file.read().catalog == after


def test_the_test_above_notices_a_file_that_is_written_anew(file: CatalogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_file.tomlkit, "parse", lambda text: catalog_file.tomlkit.item(tomllib.loads(text)))
    monkeypatch.setattr(catalog_file.tomlkit, "dumps", lambda document: document.as_string())
    with pytest.raises(AssertionError):
        test_a_change_leaves_all_other_lines_as_they_are(file, "grant")


def test_what_is_taken_away_is_gone_and_the_rest_stays(file: CatalogFile) -> None:
    before = by_hand(file)
    file.write(before, before.without_grant("ana"))
    assert file.read().catalog == before.without_grant("ana")
    text = file.path.read_text(encoding="utf-8")
    assert "ana" not in text
    assert "# see minutes" in text


def test_a_change_by_hand_in_between_is_not_overwritten(file: CatalogFile) -> None:
    before = by_hand(file)
    file.path.write_text(HAND_WRITTEN.replace("0.25", "0.5"), encoding="utf-8")
    with pytest.raises(InvalidParameter, match="Try again"):
        file.write(before, before.without_grant("ana"))
    assert "0.5" in file.path.read_text(encoding="utf-8")


# ---- mistakes

MISTAKES = {
    "epsilon = 3": ("epsylon = 3", 'line 8.*populations.patients.*"?epsylon'),
    "max_rows = ": ("moax_rows = ", "line 16.*tables.visits"),
    "lower = 0, upper = 120": ("lower = 0, uper = 120", "line 21.*tables.visits.columns.age.*uper"),
    'type = "Int"': ('type = "Integer"', "line 21.*Int, Real"),
    "upper = 120": ("upper = -1", "tables.visits.columns.age"),
    "rows = 20": ("rows = 0", "max_rows.*line 16.*tables.visits"),
    "share = 0.25": ("share = 25", "line 28.*grants.ana"),
    '["visits"], ': ('["visit"], ', "line 28.*grants.ana"),
    'population = "patients"': ('population = "people"', "line 14.*tables.visits"),
    "[grants]": ("[grant]", "catalog.toml.*grant"),
    "format = 1": ("format = 2", "format.*line 3"),
    "ledger =": ("leger =", "database"),
    '"00112233': ('"../../33', "(?s)ledger.*line 4.*32 hexadecimal digits"),
    'unit = "patient_id"': ('unit = "a b"', "tables.visits"),
    "delta = 1e-9": ("delta = 2", "populations.patients"),
    '"Oslo",': ("7,", "tables.visits.columns.city"),
    "epsilon = 3\n": ("epsilon = 3\nepsilon = 4\n", "TOML"),
}


@pytest.mark.parametrize("right", MISTAKES)
def test_a_mistake_is_refused_and_its_place_is_named(right: str) -> None:
    wrong, place = MISTAKES[right]
    text = HAND_WRITTEN.replace(right, wrong, 1)
    assert text != HAND_WRITTEN
    with pytest.raises(InvalidParameter, match=f"(?s){place}"):
        content(text)
    content(HAND_WRITTEN)


@given(st.data())
def test_a_line_less_is_read_or_refused_and_never_an_accident(data: st.DataObject) -> None:
    lines = HAND_WRITTEN.splitlines(keepends=True)
    place = data.draw(st.integers(0, len(lines) - 1))
    cut = data.draw(st.integers(0, len(lines[place])))
    with suppress(InvalidParameter):
        content("".join([*lines[:place], lines[place][:cut], *lines[place + 1 :]]))


def test_a_file_that_is_no_text_is_refused(file: CatalogFile) -> None:
    file.path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidParameter, match="UTF-8"):
        file.read()
    file.path.unlink()
    for look in (file.read, file.signature):
        with pytest.raises(InvalidParameter, match="Put it back"):
            look()


# ---- what is still to be filled in


@pytest.mark.parametrize("right", ["lower = 0, upper = 120", "groups = 5", '"patient_id"', "step = 0.01", '"Int"'])
def test_a_question_mark_makes_a_draft_that_lists_what_is_missing(right: str) -> None:
    name, _, value = right.rpartition("= ") if "=" in right else ("", "", right)
    text = HAND_WRITTEN.replace(right, f'{name}= "?"' if name else '"?"', 1)
    found = content(text).catalog
    assert "visits" not in found.tables
    (missing,) = found.drafts["visits"].missing
    assert missing in ("columns.age.upper", "max_groups", "unit", "columns.cost.step", "columns.age.type")
    assert missing in str(found.drafts["visits"])
    assert found.grants["ana"].tables == ("visits",)
    assert value != missing


def test_a_question_mark_may_be_a_value() -> None:
    found = content(HAND_WRITTEN.replace('"Oslo"', '"?"')).catalog
    assert dict(found.tables["visits"].columns)["city"] == Category("?", "Bergen").or_null(True)


def test_a_table_whose_path_leads_to_a_draft_is_one_too() -> None:
    lines = '[tables.lines]\npopulation = "patients"\nunit = "id -> visits.id"\nmax_rows = 1\n'
    text = HAND_WRITTEN.replace("rows = 20", 'rows = "?"') + lines + '[tables.lines.columns]\nx = { type = "Bool" }\n'
    found = content(text).catalog
    assert set(found.drafts) == {"visits", "lines"}
    assert "visits" in str(found.drafts["lines"])


def test_declarations_that_are_the_same_are_written_the_same() -> None:
    assert sections.plain(content(HAND_WRITTEN).catalog)["tables"]["visits"]["columns"]["cost"] == {
        "type": "Real", "lower": 0, "upper": 5000, "step": "0.01",
    }  # fmt: skip


@pytest.mark.parametrize(
    "value", ["[" * 3000 + "]" * 3000, "{a=" * 3000 + "1" + "}" * 3000, "9" * 5000, "-" + "9" * 4301]
)
def test_a_catalog_that_python_itself_does_not_read_is_refused_in_our_words(value: str) -> None:
    with pytest.raises(InvalidParameter, match=r"catalog.toml is 'not readable'.*nested less deeply"):
        content(f"[tables.visits.columns.age]\ntype = 'Int'\nlower = 0\nupper = {value}\n")
