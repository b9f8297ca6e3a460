"""`dalenius completion`."""

from __future__ import annotations

import argparse

from dalenius.cli.completion import script
from dalenius.cli.parser import parser
from dalenius.cli.terminal import Terminal


def completion(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Print the script of a shell."""
    terminal.shown.write(script(parser(), chosen.shell))
