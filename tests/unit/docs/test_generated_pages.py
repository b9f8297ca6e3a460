"""The generated pages are complete and up to date."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


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


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_code_and_a_test(row: str) -> None:
    assert CODE[row], f"no docstring in src says `Textbook: {row}.`"
    assert TESTS[row], f"no test is marked pytest.mark.textbook({row!r})"


def test_no_docstring_or_mark_names_an_unknown_row() -> None:
    assert {row for row in (*CODE, *TESTS) if CODE[row] or TESTS[row]} <= set(ROWS)


@pytest.mark.parametrize("page", generate.PAGES)
def test_pages_are_up_to_date(page: str) -> None:
    assert (ROOT / "docs" / page).read_text() == generate.PAGES[page](), "run `make docs`"
