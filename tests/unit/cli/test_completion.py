"""Shells complete every command and option that there is, from the parser itself."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from command_line import run
from dalenius.cli.parser import commands_of, parser, script

BASH = shutil.which("bash")
TRY = """
{script}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_dalenius
echo "${{COMPREPLY[@]}}"
"""


def completed(*words: str) -> list[str]:
    """What a real bash offers for the last of these words."""
    assert BASH is not None
    text = TRY.format(script=script(parser(), "bash"), words=" ".join(f"'{word}'" for word in ("dalenius", *words)))
    done = subprocess.run([BASH, "--norc", "-c", text], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("a",), ["add-population", "add-table", "ask"]),
        (("--v",), ["--version"]),
        (("ask", "clinic", "--ep"), ["--epsilon"]),
        (("init", "clinic", "--neighbours", ""), ["add_remove", "replace"]),
        (("init", "clinic", "--mark", ""), []),  # a file: the shell's own business
        (("ledger", "clinic", "v"), ["verify"]),
        (("token", "clinic", "ana", "--role", "au"), ["auditor"]),
        (("nothing", "--"), []),
    ],
)
def test_a_real_bash_offers_what_may_stand_there(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_every_script(shell: str) -> None:
    text = run("completion", shell).out
    for name, command in commands_of(parser()).items():
        options = [word for action in command._actions for word in action.option_strings if word.startswith("--")]
        assert name in text
        assert [word for word in options if (f"-l {word[2:]}" if shell == "fish" else word) not in text] == []
