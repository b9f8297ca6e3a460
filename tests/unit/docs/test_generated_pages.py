"""The generated pages are complete and up to date."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dalenius
from dalenius import textbook
from dalenius.query.sql.names import AGGREGATES

ROOT = Path(__file__).resolve().parents[3]
SPEC = ROOT.parent / "shared" / "SPEC.md"


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


generate = load_generator()
CODE, TESTS = generate.code_places(), generate.test_places()
ROWS = [row for group in generate.rows().values() for row in group if row != "title"]
THERE = [row for row in ROWS if CODE[row]]


@pytest.mark.parametrize("row", THERE)
def test_every_row_with_code_has_a_test(row: str) -> None:
    assert TESTS[row], f"no test is marked pytest.mark.textbook({row!r})"


def test_no_docstring_or_mark_names_an_unknown_row() -> None:
    assert {row for row in CODE if CODE[row]} <= set(ROWS)
    assert {row for row in TESTS if TESTS[row]} <= set(THERE)


def hidden() -> list[str]:
    """Rows with code that no public path leads to."""
    paths = generate.public_paths()
    return [row for row in THERE if not any(place.name in paths for place in CODE[row])]


def test_every_row_with_code_can_be_imported() -> None:
    assert hidden() == []


def test_the_test_above_notices_a_room_that_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textbook, "__all__", ["learning", "pricing", "privacy"])
    assert {"S9.2", "S9.9", "S9.10", "S10.1"} <= set(hidden())


def test_public_paths_lead_through_listed_names_to_what_they_are_said_to_be() -> None:
    for place, path in generate.public_paths().items():
        found: object = dalenius
        for name in path.split(".")[1:]:
            found, within = getattr(found, name), found
            if isinstance(within, ModuleType) and within is not dalenius:
                assert name in within.__all__, path
            elif within is dalenius:
                assert name in within.__all__ or hasattr(found, "__all__"), path
        assert not any(part.startswith("_") for part in path.split("."))
        assert place.split(".")[-1] == getattr(found, "__name__", place.split(".")[-1])


def test_rows_without_code_are_listed_by_name() -> None:
    listed = (ROOT / "docs" / "textbook.md").read_text().partition("## Not there yet")[2]
    assert re.findall(r"\((S\d+\.\d+)\)", listed) == [row for row in ROWS if row not in THERE]


@pytest.mark.skipif(not SPEC.exists(), reason="the rows' source is not beside the project")
def test_the_rows_are_all_rows() -> None:
    assert re.findall(r"^\|(S\d+\.\d+)\|", SPEC.read_text(), re.MULTILINE) == ROWS


@pytest.mark.parametrize("page", generate.PAGES)
def test_pages_are_up_to_date(page: str) -> None:
    assert (ROOT / "docs" / page).read_text() == generate.PAGES[page](), "run `make docs`"


def test_every_aggregate_is_on_the_page() -> None:
    page = (ROOT / "docs" / "functions.md").read_text()
    assert [name for name in AGGREGATES if f"`{name.upper()}" not in page] == []
