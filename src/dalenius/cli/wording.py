"""Errors in the words of a shell: the library speaks of functions and values of Python, and here there are neither."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from shlex import quote

_DAY = r"(\d+), (\d+), (\d+)"


def _day(found: re.Match[str]) -> str:
    year, month, day = map(int, found.groups())
    return f"{year:04}-{month:02}-{day:02}"


_WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
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
    (r"(?:\bmost=)?\bMost\(rows=\.\.\., groups=\.\.\.\)", "--most-rows N --most-groups N"),
    (r"(?:\bmost=)?\bMost\(rows=(\d+), groups=(\d+)\)", r"--most-rows \1 --most-groups \2"),
    (r"\bFraction\((-?\d+), (\d+)\)", r"\1/\2"),
    (rf"\bdatetime\.date(?:time)?\({_DAY}[^)]*\)", _day),
    (r"\brename=\{'([^']+)': '([^']+)'\}", r"--rename '\1=\2'"),
    (r"\berror=\{'(\w+)': '([^']+)'\}", r"--error '\1=\2'"),
    (r"\bkeys=(\[[^\]]*\])", r"keys = \1 in catalog.toml"),
    (r"\bkeys=\{'(\w+)': (\d+)\}", r"keys = { \1 = \2 } in catalog.toml"),
    (r"\bepsilon='([^']+)'", r"--epsilon \1"),
    (r"\b(epsilon|share|error)=(?=[\s,.;]|$)", r"--\1"),
)


def in_shell_words(text: str, chosen: argparse.Namespace | None = None) -> str:
    """What an error says, with the commands and options of a shell, and the folder where that is known.

    >>> in_shell_words("There is none; make one with dl.create.", argparse.Namespace(folder="clinic"))
    'There is none; make one with `dalenius init clinic`.'
    """
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    place = getattr(chosen, "folder", None) or getattr(chosen, "place", None)
    return text if place is None else re.sub(r"\bFOLDER\b", lambda _: quote(place), text)
