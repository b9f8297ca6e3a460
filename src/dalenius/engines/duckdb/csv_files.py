"""CSV files: the delimiter and the names are read from the header alone, and every value is a text.

No row decides how the others are read: a file with one row more or less is cut into fields in the same way.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from dalenius.errors import DataMismatch

_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 1 << 20
_PROBLEMS = (
    ("Expected Number of Columns", "some rows have more or fewer fields than the header",
     "Put quotes around values that hold the delimiter, and fill up short rows."),
    ("unterminated quote", "a quote is not closed, or something follows it in the same field",
     'Write a quote inside a value twice: "".'),
    ("not utf-8", "it is not written in UTF-8", "Save it as UTF-8, as most programs offer when they export."),
    ("Maximum line size", "some rows are too long", "Shorten the longest texts to below a million characters."),
)  # fmt: skip


def is_csv(source: Any) -> bool:
    """Whether a source is the path of a CSV file."""
    return isinstance(source, str | os.PathLike) and str(source).lower().endswith(_ENDINGS)


def header(table: str, path: Path) -> tuple[list[str], str]:
    """The names in the first line, and the delimiter that cuts it into most of them."""
    try:
        cut = [(_fields(path, delimiter), delimiter) for delimiter in _DELIMITERS]
    except (OSError, EOFError, zlib.error, csv.Error):
        cut = []
    if not cut or not cut[0][0]:
        raise DataMismatch(
            table, problem="the file is empty or not a CSV file", instead="Its first line must name the columns."
        )
    return max(cut, key=lambda found: len(found[0]))


def _fields(path: Path, delimiter: str) -> list[str]:
    opener = gzip.open if str(path).lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
        start = lines.read(_LONGEST_HEADER)
    return next(csv.reader(io.StringIO(start, newline=""), delimiter=delimiter), [])


def reader(path: str, names: Sequence[str], delimiter: str, nulls: Sequence[str]) -> str:
    """The SQL that reads the rows; an empty field is NULL, and so are the words in `nulls`."""
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    words = ", ".join(map(text, ["", *nulls]))
    return (
        f"read_csv({path}, auto_detect = false, header = true, columns = {{{columns}}}, delim = {text(delimiter)}, "
        f"""quote = '"', escape = '"', nullstr = [{words}])"""
    )


def explained(error: BaseException) -> tuple[str, str] | None:
    """What is wrong with a CSV file, in words without a value of it, and what to do; None for any other error."""
    if not isinstance(error, duckdb.Error):
        return None
    said = str(error)
    return next(((problem, instead) for sign, problem, instead in _PROBLEMS if sign in said), None)


def text(value: object) -> str:
    """A text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"
