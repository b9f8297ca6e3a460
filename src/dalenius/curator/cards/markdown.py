"""Texts as Markdown: whatever they say, they are shown as they stand and never become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
_SPACE = re.compile(r"\s+")


def listed(text: str) -> str:
    """A text on one line, with every sign that Markdown or HTML would read set aside."""
    line = "".join(letter if letter.isprintable() else "�" for letter in _SPACE.sub(" ", text))
    return _MARKUP.sub(r"\\\1", line)


def headed(level: int, title: str) -> str:
    return f"{'#' * level} {listed(title)}"


def bulleted(lines: Iterable[str]) -> str:
    return "\n".join(f"- {listed(line)}" for line in lines)


def tabled(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns in which no row says anything are left out."""
    body = [list(row) for row in rows]
    kept = [place for place in range(len(heads)) if any(row[place] for row in body)]
    lines = [[heads[place] for place in kept], ["---"] * len(kept)]
    lines += [[listed(row[place]) for place in kept] for row in body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(text: str, language: str) -> str:
    """A text as code, between fences that are longer than any inside."""
    shown = "".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"
