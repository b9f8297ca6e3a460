"""Arguments that several commands have."""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[Any]"


def command(commands: Commands, name: str, run: str, *, help: str, more: str = "") -> argparse.ArgumentParser:  # noqa: A002
    """One command: `run` is the name of the function in `dalenius.cli.commands` that does it."""
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=_sentence(help), epilog=more or None
    )
    made.set_defaults(run=run)
    return made


def folder(made: argparse.ArgumentParser) -> None:
    made.add_argument("folder", metavar="FOLDER", help="the folder of the database")


def asker(made: argparse.ArgumentParser) -> None:
    """Where a question goes, and who asks it."""
    made.add_argument("place", metavar="FOLDER", help="the folder of the database, or the URL of a server")
    made.add_argument("--as", dest="analyst", metavar="ANALYST", help="who asks a folder (default: the owner)")
    made.add_argument("--token-file", metavar="FILE", help="a file with the token for a server (or DALENIUS_TOKEN)")
    made.add_argument("--certificates", metavar="FILE", help="trust these certificates instead of the system's")
    made.add_argument("--insecure", action="store_true", help="send the token over plain http to another machine")


def as_json(made: argparse.ArgumentParser) -> None:
    made.add_argument("--json", action="store_true", help="write JSON, in a shape that stays as it is")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
