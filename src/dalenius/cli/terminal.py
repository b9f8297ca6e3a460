"""Where a command reads and writes: answers on standard output, everything else on standard error.

Nothing here fails because of an old terminal: what its letters cannot show is written in those that it has. And no text
of a question, a name or a row commands one: what it would obey, or hide, is shown as a sign.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

_PLAIN = {"±": "+/-", "─": "-", "█": "#", "▒": ":", "…": "...", "·": "-", "→": "->", "≤": "<=", "≥": ">=", "×": "x",
          "ε": "epsilon", "δ": "delta", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"'}  # fmt: skip


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


codecs.register_error("dalenius-plain", _in_plain_letters)


def _harmless(text: object) -> str:
    """The lines of a text, without control characters and without marks that turn or hide letters."""
    return "".join(letter if letter.isprintable() or letter in "\t\n" else "�" for letter in str(text))


def _escaped(letter: str) -> str:
    """The same inside JSON, which stays the same value: such letters stand in texts alone, and have escapes there."""
    return letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]


@dataclass(frozen=True)
class Terminal:
    """The three streams of a command."""

    given: TextIO = field(default_factory=lambda: sys.stdin or io.StringIO())  # None where it was closed
    shown: TextIO = field(default_factory=lambda: sys.stdout)
    told: TextIO = field(default_factory=lambda: sys.stderr)

    def __post_init__(self) -> None:
        for stream in (self.shown, self.told):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="dalenius-plain")

    def show(self, text: object) -> None:
        """What the command was asked for."""
        self.shown.write(f"{_harmless(text)}\n")

    def show_json(self, facts: object) -> None:
        """The same for scripts: one JSON value, in the order in which it was made."""
        written = json.dumps(facts, ensure_ascii=False, indent=2, default=str, allow_nan=False)
        self.shown.write("".join(map(_escaped, written)) + "\n")

    def report(self, facts: object, said: object, *, as_json: bool) -> None:
        """What was done: for scripts, or in words."""
        if as_json:
            self.show_json(facts)
        else:
            self.show(said)

    def tell(self, text: object) -> None:
        """What is said beside it."""
        self.told.write(f"{_harmless(text)}\n")
        self.told.flush()

    def flush(self) -> None:
        self.shown.flush()

    @property
    def talks(self) -> bool:
        """Whether a person sits here who can be asked."""
        return self.given.isatty() and self.shown.isatty()

    def agreed(self, question: str) -> bool:
        """Whether somebody said yes."""
        self.told.write(f"{_harmless(question)} [y/N] ")
        self.told.flush()
        return self.given.readline().strip().lower() in ("y", "yes")

    def confirmed(self, question: str, *, yes: bool) -> bool:
        """Whether to do what cannot be undone: somebody said yes, before or now. Silence is no yes."""
        if yes or (self.talks and self.agreed(question)):
            return True
        hint = "" if self.talks else " Say --yes where nobody can be asked."
        self.tell(f"dalenius: not done; nothing was changed or charged.{hint}")
        return False

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[Any], None] | None]:
        """What long work calls with signs of life, which are shown on one line; None where nobody watches."""
        if not self.told.isatty():
            yield None
            return
        try:
            yield lambda sign: self._on_one_line(f"{what} ... {sign}")
        finally:
            self._on_one_line("")

    def _on_one_line(self, text: str) -> None:
        self.told.write(f"\r\x1b[K{_harmless(text)}")
        self.told.flush()

    def drop(self) -> None:
        """Let what was not read yet go nowhere, so that Python does not complain about it at the end."""
        if self.shown is sys.stdout and isinstance(self.shown, io.TextIOWrapper):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.shown.fileno())
