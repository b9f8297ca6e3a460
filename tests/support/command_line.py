"""The command line, called inside the test's process."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from dalenius.cli.main import main


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Typed(io.StringIO):
    """A stream that a person sits at."""

    def isatty(self) -> bool:
        return True


def run(*words: object, given: str = "", person: bool = False) -> Done:
    """Run `dalenius WORDS`; a `person` sits at a terminal and types what is `given`."""
    stream = Typed if person else io.StringIO
    out, err = stream(), stream()
    with redirect_stdout(out), redirect_stderr(err), patch("sys.stdin", stream(given)):
        try:
            code = main([str(word) for word in words])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return Done(code, out.getvalue(), err.getvalue())
