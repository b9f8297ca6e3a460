"""LIKE for known patterns, in time that is linear in the text.

Spark turns a LIKE into a regular expression that tries all ways, reads backslashes as escapes and refuses some of them.
Here each piece between two % is searched once, from where the one before it ended: what stands to the left of the
first place where a piece is found can only be of use to the pieces after it. An atomic group, (?>...), takes this
first place and never another.
"""

from __future__ import annotations

from itertools import groupby

from dalenius.engines.spark.words import text_literal


def matches(text: str, pattern: str) -> str:
    """Whether a text is LIKE a known pattern: % stands for any code points, _ for one; no escapes."""
    pieces = pattern.split("%")
    if "_" not in pattern and (simple := _simple(text, pieces)):
        return simple
    return f"{text} RLIKE {text_literal(_expression(pieces))}"


def _simple(text: str, pieces: list[str]) -> str | None:
    """Functions that need no regular expression, where they do."""
    literals = [text_literal(piece) for piece in pieces]
    if len(pieces) == 1:
        return f"{text} = {literals[0]}"
    if len(pieces) == 2 and not pieces[0]:
        return f"endswith({text}, {literals[1]})"
    if len(pieces) == 2 and not pieces[1]:
        return f"startswith({text}, {literals[0]})"
    return f"contains({text}, {literals[1]})" if len(pieces) == 3 and not (pieces[0] or pieces[2]) else None


def _expression(pieces: list[str]) -> str:
    first, last = _piece(pieces[0]), _piece(pieces[-1])
    if len(pieces) == 1:
        return rf"(?s)\A{first}\z"
    between = "".join(f"(?>.*?{_piece(piece)})" for piece in pieces[1:-1] if piece)
    return rf"(?s)\A{first}{between}.*{last}\z"


def _piece(piece: str) -> str:
    """A piece as a regular expression: a run of _ is one step, so that nothing is nested deeply."""
    runs = [(unknown, len(list(run))) for unknown, run in groupby(piece, lambda each: each == "_")]
    found, place = [], 0
    for unknown, size in runs:
        found.append(f".{{{size}}}" if unknown else "".join(map(_character, piece[place : place + size])))
        place += size
    return "".join(found)


def _character(character: str) -> str:
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"
