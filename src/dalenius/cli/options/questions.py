"""Options of the commands that ask."""

from __future__ import annotations

import argparse

from dalenius.cli.options.shared import Commands, as_json, asker, command

_SERVER = """FOLDER may be the URL of a server (http://host:8765). The token is then read from --token-file or from the
environment variable DALENIUS_TOKEN; it is never given on the command line, where others could see it.
SQL may be - to read it from standard input."""


def add(commands: Commands) -> None:
    """ask, cost, explain and rehearse."""
    _ask(commands)
    made = _question(commands, "cost", "cost", "show what an answer would cost and which error to expect; it is free")
    _price(made, needed=True)
    _error(made)
    _weights(made)
    as_json(made)
    made = _question(
        commands, "explain", "explain", "show how an answer would be made, and why it is private; it is free"
    )
    _price(made, needed=False)
    as_json(made)
    made = _question(commands, "rehearse", "rehearse", "answer from a made-up table with the same columns; it is free")
    _price(made, needed=False)
    made.add_argument("--level", metavar="L", help="the level of the error bars (default: 95%%)")
    _forms(made)


def _question(commands: Commands, name: str, run: str, help: str) -> argparse.ArgumentParser:  # noqa: A002
    made = command(commands, name, run, help=help, more=_SERVER)
    asker(made)
    made.add_argument("sql", metavar="SQL", help="the question")
    made.add_argument("--most-rows", metavar="N", type=int, help="of one unit, at most so many rows enter each group")
    made.add_argument(
        "--most-groups", metavar="N", type=int, help="of one unit, in at most so many groups of this answer"
    )
    return made


def _ask(commands: Commands) -> None:
    made = _question(commands, "ask", "ask", "ask a question: the answer has error bars, and is charged")
    _price(made, needed=True)
    _error(made)
    _weights(made)
    made.add_argument("--nonnegative", action="store_true", help="show counts below zero as 0")
    made.add_argument("--digits", metavar="N", type=int, help="round to so many decimals")
    made.add_argument("--at-most", metavar="S", help="refuse if it costs more than this share of a budget, such as 1%%")
    made.add_argument("--key", metavar="KEY", help="a name for this attempt: with the same one it is charged once")
    made.add_argument("--fresh", action="store_true", help="pay for a new draw, also where the answer is known")
    made.add_argument("--yes", action="store_true", help="do not show the price first and wait for a yes")
    _forms(made)


def _price(made: argparse.ArgumentParser, *, needed: bool) -> None:
    price = made.add_mutually_exclusive_group(required=needed)
    price.add_argument("--epsilon", metavar="E", help="what to pay, as an epsilon such as 0.2")
    price.add_argument("--share", metavar="S", help="what to pay, as a share of the budget such as 1%%")
    if needed:
        price.add_argument(
            "--error", metavar="E", action="append",
            help="the error that is good enough, such as '50 at 95%%', or 'visits=50' for one column; may be repeated",
        )  # fmt: skip


def _error(made: argparse.ArgumentParser) -> None:
    made.add_argument("--size", metavar="N", type=int, help="how many rows a group has, where the error depends on it")
    made.add_argument("--level", metavar="L", help="the level of the error bars (default: 95%%)")


def _weights(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--weight", metavar="COLUMN=W", action="append", help="how much of the price goes to a column; may be repeated"
    )


def _forms(made: argparse.ArgumentParser) -> None:
    form = made.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write JSON, in a shape that stays as it is")
    form.add_argument("--csv", action="store_true", help="write CSV")
    form.add_argument("--arrow", metavar="FILE", help="write an Arrow file")
    made.add_argument("--chart", action="store_true", help="draw bars below the table")
    made.add_argument("--plot", metavar="FILE", help="draw a chart into a file (.svg or .png)")
