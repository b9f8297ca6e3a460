"""The command line: `dalenius COMMAND`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from dalenius.cli.demo import demo
from dalenius.errors import DaleniusError


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(
        prog="dalenius",
        description="A private database: it answers questions about everyone and about no one.",
    )
    top.add_argument("--version", action="version", version=f"dalenius {version('dalenius')}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    show = commands.add_parser(
        "demo", help="ask a real health survey three kinds of questions, with error bars, out of one budget"
    )
    show.set_defaults(run=demo)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it succeeded, 2 with a message on standard error when it was refused."""
    chosen = parser().parse_args(arguments)
    try:
        print(*chosen.run(), sep="\n")
    except DaleniusError as error:
        print(f"dalenius: {error}", file=sys.stderr)
        return 2
    return 0
