"""The command line: `dalenius COMMAND`."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from dalenius.cli import commands
from dalenius.cli.parser import parser
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import CLOSED_PIPE, FINE, INTERRUPTED, REFUSED, UNEXPECTED, code_of, in_shell_words
from dalenius.errors import DaleniusError

DETAILS = "DALENIUS_TRACEBACK"
"""The environment variable that shows where something unexpected happened. What it shows may quote rows."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code says how it went, and one line on standard error says why it did not."""
    terminal, chosen = Terminal(), None
    try:
        chosen = parser().parse_args(_or_help(arguments))
        code = getattr(commands, chosen.run)(chosen, terminal)
        terminal.flush()
    except BrokenPipeError:
        terminal.drop()
        return CLOSED_PIPE
    except KeyboardInterrupt:
        terminal.tell(
            "\ndalenius: interrupted. A question that was charged stays charged, and asking it again is free once"
        )
        terminal.tell("it has been answered.")
        return INTERRUPTED
    except (Exception, RecursionError) as error:
        return _failed(error, chosen, terminal)
    return FINE if code is None else int(code)


def _or_help(arguments: Sequence[str] | None) -> list[str]:
    """What was typed; where that is nothing, somebody looks for help."""
    return list(sys.argv[1:] if arguments is None else arguments) or ["--help"]


def _failed(error: Exception, chosen: argparse.Namespace | None, terminal: Terminal) -> int:
    """Say what went wrong. The words of an error that is not ours may quote a row, so only its kind is named."""
    if DETAILS in os.environ:
        terminal.tell("".join(traceback.format_exception(error)))
    if isinstance(error, DaleniusError):
        terminal.tell(f"dalenius: {in_shell_words(str(error), chosen)}")
        return code_of(error)
    if isinstance(error, OSError) and error.filename is not None:
        terminal.tell(f"dalenius: {error.filename}: {error.strerror or 'cannot be used'}; nothing was run or charged.")
        return REFUSED
    terminal.tell(
        f"dalenius: something unexpected happened ({type(error).__name__}). What was charged, if anything, stays "
        f"charged; `dalenius ledger FOLDER` shows it. Set {DETAILS}=1 to see where; that may quote rows."
    )
    return UNEXPECTED
