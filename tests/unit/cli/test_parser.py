"""What can be typed: every command is there, says what it does, and refuses what it does not know in one form."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import run
from dalenius.cli import commands
from dalenius.cli.parser import commands_of, parser

COMMANDS = commands_of(parser())


def options(command: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in command._actions if action.option_strings]


def test_help_names_every_command_and_every_exit_code() -> None:
    text = run("--help").out
    assert [name for name in COMMANDS if f"    {name}" not in text] == []
    assert all(f"\n  {code} " in text for code in (0, 1, 2, 3, 4, 5, 130, 141))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_something_that_runs(name: str) -> None:
    assert callable(getattr(commands, COMMANDS[name].get_default("run")))
    done = run(name, "--help")
    assert done.code == 0
    assert "%" not in done.out.replace("5%", "").replace("1%", "").replace("0%", "")
    assert all(action.help for action in options(COMMANDS[name]))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_takes_a_secret_as_an_argument(name: str) -> None:
    """Arguments are seen by every user of a machine; only names of files are taken."""
    words = [word for action in options(COMMANDS[name]) if action.nargs != 0 for word in action.option_strings]
    assert [word for word in words if "token" in word or "password" in word or "secret" in word] in (
        [],
        ["--token-file"],
    )


@pytest.mark.parametrize(
    "words",
    [
        ("nothing",),
        ("init",),
        ("init", "x", "--eps", "1"),
        ("ask", "x", "SELECT 1", "--epsilon", "1", "--share", "1%"),
        ("ask", "x", "SELECT 1"),
        ("ask", "x", "SELECT 1", "--epsilon", "1", "--json", "--csv"),
        ("serve", "x", "--port", "many"),
        ("completion", "tcsh"),
    ],
)
def test_what_is_wrongly_typed_is_refused_in_one_line_that_starts_with_the_name(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("dalenius: ")
    assert done.err.count("\n") == 1
    assert "nothing was run or charged" in done.err


WORDS = st.one_of(
    st.sampled_from(
        [*COMMANDS, "--json", "--epsilon", "--as", "--", "-", "-x", "", "ledger", "verify", "--share", "1%"]
    ),
    st.text(max_size=12).filter(lambda text: text not in ("demo", "serve")),
)


@given(words=st.lists(WORDS, max_size=7).filter(lambda words: not {"demo", "serve", "init"} & set(words)))
def test_odd_words_never_give_a_traceback(words: list[str]) -> None:
    done = run(*words)
    assert done.code in (0, 2)
    assert "Traceback" not in done.err
    assert done.code == 0 or done.err.startswith("dalenius: ")


def test_help_loads_neither_an_engine_nor_numpy() -> None:
    """So that it appears at once."""
    heavy = "{'numpy', 'duckdb', 'pyarrow', 'tomlkit'} & {*sys.modules}"
    code = f"import sys; from dalenius.cli.parser import parser; import dalenius.cli.main; parser(); print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_that_takes_several_forgets_those_that_came_before(name: str) -> None:
    lists = [each for each in options(COMMANDS[name]) if each.nargs in ("+", "*")]
    assert [each.option_strings for each in lists if not isinstance(each, argparse._ExtendAction)] == []


def test_tables_may_be_named_one_by_one_or_together() -> None:
    """Before, of `--tables a --tables b` only b was granted."""
    given = parser().parse_args(["grant", "clinic", "ana", "--tables", "a", "--tables", "b", "c"])
    assert given.tables == ["a", "b", "c"]
