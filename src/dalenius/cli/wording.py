"""Exit codes: what a script can tell from the number that a command ends with.

Errors in the words of a shell: the library speaks of functions and values of Python, and here there are neither.

How this command line was started, in words that can be pasted into the shell that started it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from typing import TypeAlias

from dalenius.errors import BudgetExceeded, DaleniusError, LedgerRefused, LedgerStopped, ServerUnreachable, WorkStopped

FINE, UNEXPECTED, REFUSED, BUDGET, STOPPED, LEDGER, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 3, 4, 5, 130, 141

MEANINGS: Mapping[int, str] = {
    FINE: "fine",
    UNEXPECTED: "something unexpected happened",
    REFUSED: "refused, wrongly written, or declined; nothing was charged",
    BUDGET: "the budget does not suffice; nothing was charged",
    STOPPED: "stopped after the charge, or no reply came; what was charged stays charged",
    LEDGER: "the ledger is not to be trusted, or a check found something",
    INTERRUPTED: "interrupted from the keyboard; what was charged stays charged",
    CLOSED_PIPE: "nobody reads the output any more",
}

_CODES: tuple[tuple[type[DaleniusError], int], ...] = (
    (BudgetExceeded, BUDGET),
    (WorkStopped, STOPPED),
    (LedgerStopped, STOPPED),  # whether the charge was written is not known
    (ServerUnreachable, STOPPED),  # nor whether it was before the reply was lost
    (LedgerRefused, LEDGER),
)


def code_of(error: DaleniusError) -> int:
    """The exit code for an error that was raised on purpose."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), REFUSED)


def listed() -> str:
    """All codes, a line each."""
    return "\n".join(f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items())


_DAY = r"(\d+), (\d+), (\d+)"


def _day(found: re.Match[str]) -> str:
    year, month, day = map(int, found.groups())
    return f"{year:04}-{month:02}-{day:02}"


_Words: TypeAlias = tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...]
_BOUNDS: _Words = (
    (r"\bmax_(rows|groups)=\.\.\.", r"--max-\1 N"),
    (r"\bmax_(rows|groups)=(\d+),?", r"--max-\1 \2"),
    (r"(^|\blower |\bor |\bwith )max_(rows|groups)(?=[ ,.;]|$)", r"\1--max-\2"),
)
"""Bounds, which have other names in catalog.toml; a column may be called like one."""
_WORDS: _Words = (
    (r"\bdl\.create\b", "`dalenius init FOLDER`"),
    (r" by dl\.open\b", ""),
    (r"\b(add|update)_(table|population)\b", r"`dalenius \1-\2`"),
    (r"\breplays\(\)", "`dalenius replays FOLDER`"),
    (r"\bexpected_error\(share=1\)", "`dalenius cost` with --share 100%"),
    (r"\binsecure=True", "--insecure"),
    (r"\bpublic=True", "--public"),
    (r"\bnullable=True", "nullable = true in catalog.toml"),
    (r"\bEachRow\(\)", "'each row'"),
    (r" is None, but it must be\b", " is missing, but it must be"),
    (r"\bFraction\((-?\d+), (\d+)\)", r"\1/\2"),
    (rf"\bdatetime\.date(?:time)?\({_DAY}[^)]*\)", _day),
    (r"\brename=\{'([^']+)': '([^']+)'\}", r"--rename '\1=\2'"),
    (r"\berror=\{'(\w+)': '([^']+)'\}", r"--error '\1=\2'"),
    (r"\bkeys=(\[[^\]]*\])", r"keys = \1 in catalog.toml"),
    (r"\bkeys=\{'(\w+)': (\d+)\}", r"keys = { \1 = \2 } in catalog.toml"),
    (r"\b(epsilon|share)='([^']+)'", r"--\1 \2"),
    (r"\b(epsilon|share|error)=(?=[\s,.;]|$)", r"--\1"),
)


def in_shell_words(text: str, chosen: argparse.Namespace | None = None) -> str:
    """What an error says, with the commands and options of a shell, and the folder where that is known.

    >>> in_shell_words("There is none; make one with dl.create.", argparse.Namespace(folder="clinic"))
    'There is none; make one with `dalenius init clinic`.'
    """
    for pattern, words in _WORDS if "catalog.toml" in text else (*_BOUNDS, *_WORDS):
        text = re.sub(pattern, words, text)
    place = getattr(chosen, "folder", None) or getattr(chosen, "place", None)
    return text if place is None else re.sub(r"\bFOLDER\b", lambda _: quote(place), text)


def program() -> str:
    """What starts `dalenius` again: its name where the shell finds the same one, otherwise where it is."""
    started = Path(sys.argv[0])
    if started.stem != "dalenius" or not started.is_file():  # `python -m dalenius`, or a call of `main`
        return f"{interpreter()} -m dalenius"
    found = shutil.which("dalenius")
    return "dalenius" if found is not None and os.path.samefile(found, started) else _from_here(started)


def interpreter() -> str:
    """The Python that runs this."""
    return _from_here(Path(sys.executable))


def _from_here(path: Path) -> str:
    """A path as one types it: inside the working folder from there. Links stay, since they tell an environment."""
    path, here = path.absolute(), Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    return quote(str(path) if len(path.parts) > 1 else os.path.join(".", path))
