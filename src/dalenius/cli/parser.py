"""What can be typed: the commands and their options. Help, documentation and completion are made from this."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import Any, NoReturn

from dalenius.cli.exits import REFUSED, listed
from dalenius.cli.options import checks, folders, ledgers, people, questions, serving

_STEPS = """typical steps:
  dalenius init clinic --population patients --epsilon 3 --delta 1e-9
  dalenius add-table clinic visits visits.csv --population patients --unit patient_id --most-rows 3 --most-groups 1
  (fill in the question marks in clinic/catalog.toml, and run the line above again)
  dalenius grant clinic ana --tables visits --share 25%
  dalenius ask clinic "SELECT city, COUNT(*) AS visits FROM visits GROUP BY city" --epsilon 0.2 --as ana
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
    for group in (folders, questions, people, ledgers, checks, serving):
        group.add(commands)
    return top
