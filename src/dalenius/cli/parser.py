"""What can be typed: the commands and their options. Help, documentation and completion are made from this.

Shell completion, written from the parser itself, so that it knows every command and option there is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from shlex import quote
from typing import Any, NoReturn

from dalenius.cli import options as checks
from dalenius.cli import options as folders
from dalenius.cli import options as ledgers
from dalenius.cli import options as people
from dalenius.cli import options as questions
from dalenius.cli import options as serving
from dalenius.cli.wording import REFUSED, listed

_STEPS = """typical steps:
  dalenius init clinic --population patients --epsilon 3 --delta 1e-9
  dalenius add-table clinic visits visits.csv --population patients --unit patient_id --max-rows 3 --max-groups 1
  (fill in the question marks in clinic/catalog.toml, and run the line above again)
  dalenius grant clinic ana --tables visits --share 25%
  dalenius ask clinic "SELECT city, COUNT(*) AS visits FROM visits GROUP BY city" --share 1% --as ana
"""


class Parser(argparse.ArgumentParser):
    """A parser that takes options by their whole names, and complains in one line, as every command does."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter, **settings})

    def error(self, message: str) -> NoReturn:
        self.exit(REFUSED, f"dalenius: {message}; nothing was run or charged. See `{self.prog} --help`.\n")


def parser() -> Parser:
    """The commands and their options."""
    top = Parser(
        prog="dalenius",
        description="A private database: it answers questions about everyone and about no one.",
        epilog=f"{_STEPS}\nexit codes:\n{listed()}",
    )
    top.add_argument("--version", action="version", version=f"dalenius {version('dalenius')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    folders.add_folders(commands)
    questions.add_questions(commands)
    people.add_people(commands)
    ledgers.add_ledgers(commands)
    checks.add_checks(commands)
    serving.add_serving(commands)
    return top


_BASH = """_dalenius() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=""
    if [ "$COMP_CWORD" -eq 1 ]; then words="{commands} --help --version"
    else case "${{COMP_WORDS[1]}} $before" in
{choices}
        *) case "${{COMP_WORDS[1]}} $word" in
{options}
        esac ;;
    esac; fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -o bashdefault -F _dalenius dalenius
"""
_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def script(top: argparse.ArgumentParser, shell: str) -> str:
    """What a shell runs to complete `dalenius`; where no word is known it offers files."""
    if shell == "fish":
        return "\n".join(_fish(top)) + "\n"
    return (_ZSH if shell == "zsh" else "") + _bash(commands_of(top))


def commands_of(top: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers of the commands by name."""
    return _subparsers(top).choices


def _subparsers(top: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    return next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))


def _options(command: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """The long options of a command."""
    for action in command._actions:
        yield from ((name, action) for name in action.option_strings if name.startswith("--"))


def _words(command: argparse.ArgumentParser) -> str:
    """The words that may stand where no option does."""
    return " ".join(
        str(word) for action in command._actions if not action.option_strings for word in action.choices or ()
    )


def _bash(commands: Mapping[str, argparse.ArgumentParser]) -> str:
    values: dict[str, list[str]] = {}
    options = []
    for name, command in commands.items():
        for option, action in _options(command):
            if action.nargs != 0:  # it wants a value: one of its choices, or a file
                values.setdefault(" ".join(map(str, action.choices or ())), []).append(f'"{name} {option}"')
        listed = " ".join(option for option, _ in _options(command))
        options.append(f'        "{name} -"*) words="{listed}" ;;')
        options.append(f'        "{name} "*) words="{_words(command)}" ;;')
    choices = [f'        {"|".join(places)}) words="{words}" ;;' for words, places in values.items()]
    return _BASH.format(commands=" ".join(commands), choices="\n".join(choices), options="\n".join(options))


def _fish(top: argparse.ArgumentParser) -> Iterator[str]:
    helps = {listed.dest: listed.help or "" for listed in _subparsers(top)._choices_actions}
    for name, command in commands_of(top).items():
        yield f"complete -c dalenius -n __fish_use_subcommand -f -a {name} -d {quote(helps[name])}"
        inside = f"complete -c dalenius -n '__fish_seen_subcommand_from {name}'"
        if _words(command):
            yield f"{inside} -a {quote(_words(command))}"
        for option, action in _options(command):
            words = " ".join(map(str, action.choices or ()))
            value = f" -x -a {quote(words)}" if words else "" if action.nargs == 0 else " -r"
            yield f"{inside} -l {option[2:]}{value} -d {quote((action.help or '').replace('%%', '%'))}"
