"""Errors of the library, in the words of a shell."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from command_line import run
from dalenius.cli.wording import in_shell_words

SOURCES = Path(__file__).resolve().parents[3] / "src" / "dalenius"


@pytest.mark.parametrize(
    ("said", "shell"),
    [
        ("make one with dl.create.", "make one with `dalenius init clinic`."),
        ("go on with it by dl.open.", "go on with it."),
        ("Import its rows with update_table.", "Import its rows with `dalenius update-table`."),
        ("Declare it with add_population first.", "Declare it with `dalenius add-population` first."),
        ("can still be had: see replays().", "can still be had: see `dalenius replays clinic`."),
        ("run `dalenius ledger FOLDER reconcile` to", "run `dalenius ledger clinic reconcile` to"),
        ("Say insecure=True where", "Say --insecure where"),
        ("Declare it nullable=True.", "Declare it nullable = true in catalog.toml."),
        ("Pass max_rows=... with", "Pass --max-rows N with"),
        ("such as max_rows=20, max_groups=5", "such as --max-rows 20 --max-groups 5"),
        ("max_rows is 0, but", "--max-rows is 0, but"),
        ("lower max_rows or max_groups, or ask", "lower --max-rows or --max-groups, or ask"),
        ("max_rows: no such column. Known: max_rows.", "max_rows: no such column. Known: max_rows."),
        ("Fill in tables.visits.max_rows in catalog.toml.", "Fill in tables.visits.max_rows in catalog.toml."),
        ("one of unit, max_rows, max_groups in catalog.toml", "one of unit, max_rows, max_groups in catalog.toml"),
        ("level is Fraction(19, 20), but", "level is 19/20, but"),
        ("is datetime.date(2027, 1, 31), but", "is 2027-01-31, but"),
        ("is datetime.datetime(2027, 1, 31, 0, 0, tzinfo=datetime.timezone.utc), but", "is 2027-01-31, but"),
        ("epsilon='0.4' would still fit.", "--epsilon 0.4 would still fit."),
        ("exactly one of epsilon=, share=, error=; nothing", "exactly one of --epsilon, --share, --error; nothing"),
        ("add rename={'new_name': 'hours-week'}.", "add --rename 'new_name=hours-week'."),
        ("as in keys={'order_id': 5}: each", "as in keys = { order_id = 5 } in catalog.toml: each"),
        ("token is None, but it must be in a file", "token is missing, but it must be in a file"),
        ("epsilon = 3 is what the budget says", "epsilon = 3 is what the budget says"),
    ],
)
def test_an_error_names_what_can_be_typed(said: str, shell: str) -> None:
    assert in_shell_words(said, argparse.Namespace(folder="clinic")) == shell


def test_without_a_folder_its_place_is_held() -> None:
    assert in_shell_words("see replays().") == "see `dalenius replays FOLDER`."


@pytest.mark.parametrize("words", ["add_table", "update_table", "add_population", "replays()", "dl.create", "dl.open"])
def test_what_is_translated_is_still_said_by_the_library(words: str) -> None:
    """A wording that nobody uses any more would make the table above lie."""
    texts = [text for path in SOURCES.rglob("*.py") if "cli" not in path.parts
             for text in re.findall(r'"[^"\n]*"', path.read_text())]  # fmt: skip
    assert any(words in text for text in texts)


def test_nothing_typed_is_a_call_for_help() -> None:
    done = run()
    assert done.code == 0
    assert "typical steps" in done.out


def test_errors_on_the_way_to_a_folder_speak_of_commands(tmp_path: Path) -> None:
    place = tmp_path / "none"
    assert f"`dalenius init {place}`" in run("tables", place).err
