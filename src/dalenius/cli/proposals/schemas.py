"""What the header of a file, or the schema of a table that stays elsewhere, says about columns: names, and types where
it has them. No value is ever read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.curator.folder.declarations import UNKNOWN
from dalenius.curator.names import column_name
from dalenius.engines.duckdb.csv_files import header, is_csv
from dalenius.errors import DataMismatch, InvalidParameter

_LONGEST = 60
_ELSEWHERE = {
    "Bool": r"boolean",
    "Int": r"(small|big|tiny)?int(eger)?",
    "Real": r"numeric|decimal|real|float|double( precision)?",
    "Date": r"date",
    "Timestamp": r"timestamp.*",
    "Text": r"text|string|(var)?char|character( varying)?|uuid|an enum",
}
"""Types of engines, without what stands in parentheses, by the types that hold them."""


@dataclass(frozen=True)
class Field:
    """A column of a file: its name there, a name that can be declared, and its type; None if no type can hold it."""

    source: str
    name: str
    type: str | None


def fields(table: str, path: Path) -> list[Field]:
    """The columns of a Parquet or CSV file, in order.

    A Parquet file names the types of its columns; its statistics are not looked at. A CSV file has none, and nothing
    is guessed from its rows: their type is "?".
    """
    if not path.is_file():
        raise DataMismatch(table, problem="there is no such file", instead="Check the path of the file.")
    if is_csv(path):
        names, _ = header(table, path)
        found: list[tuple[str, str | None]] = [(name, UNKNOWN) for name in names]
    elif path.suffix.lower() == ".parquet":
        found = [(each.name, _type(each.type)) for each in _schema(table, path)]
    else:
        raise DataMismatch(
            table, problem="this kind of file is not known", instead="Use .parquet, .csv, .csv.gz, .tsv or .tsv.gz."
        )
    _require_different(table, [name for name, _ in found])
    names = declarable([name for name, _ in found])
    return [Field(source, name, kind) for name, (source, kind) in zip(names, found, strict=True)]


def fields_elsewhere(columns: Mapping[str, str]) -> list[Field]:
    """The columns of a table that stays in an engine, by the engine's names of their types."""
    return [
        Field(source, name, _type_elsewhere(kind))
        for name, (source, kind) in zip(declarable(columns), columns.items(), strict=True)
    ]


def _type_elsewhere(kind: str) -> str | None:
    bare = re.sub(r"\(.*?\)", "", kind.lower()).strip()
    return next((name for name, pattern in _ELSEWHERE.items() if re.fullmatch(pattern, bare)), None)


def _schema(table: str, path: Path) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except (pa.ArrowException, OSError):
        pass
    raise DataMismatch(table, problem="it cannot be read as a Parquet file", instead="Write it again.")


def _type(kind: pa.DataType) -> str | None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests: tuple[tuple[str, Iterable[bool]], ...] = (
        ("Bool", (pa.types.is_boolean(kind),)),
        ("Int", (pa.types.is_integer(kind),)),
        ("Real", (pa.types.is_floating(kind), pa.types.is_decimal(kind))),
        ("Date", (pa.types.is_date(kind),)),
        ("Timestamp", (pa.types.is_timestamp(kind),)),
        ("Text", (pa.types.is_string(kind), pa.types.is_large_string(kind))),
    )
    return next((name for name, holds in tests if any(holds)), None)


def _require_different(table: str, names: list[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataMismatch(
            table, problem=f"the file has two columns {twice[0]!r}", instead="Give one of them another name there."
        )


def declarable(names: Iterable[str]) -> list[str]:
    """The names as a catalog takes them: words, each different whatever the case.

    >>> declarable(["age", "hours-per-week", "order", "2nd", "Age"])
    ['age', 'hours_per_week', 'order_', 'column_2nd', 'Age_2']
    """
    made: list[str] = []
    for name in names:
        first, count = _word(name), 1
        word = first
        while word.lower() in {other.lower() for other in made}:
            count += 1
            word = f"{first[: _LONGEST - 6]}_{count}"
        made.append(word)
    return made


def _word(name: str) -> str:
    try:
        return column_name(name)
    except InvalidParameter:
        pass
    word = re.sub(r"\W+", "_", normalize("NFKC", name)).strip("_")[: _LONGEST - 8]
    if not word.isidentifier():
        word = f"column_{word}".rstrip("_")
    try:
        return column_name(word)
    except InvalidParameter:  # a word of SQL
        return f"{word}_"


def declared_types(given: Iterable[str], known: Iterable[str], allowed: Iterable[str]) -> Mapping[str, str]:
    """What the owner says about types: 'age=Int'."""
    names, kinds, types = list(known), list(allowed), {}
    for text in given:
        name, sign, kind = (part.strip() for part in text.partition("="))
        if not sign or name not in names or kind not in kinds:
            raise InvalidParameter(
                "--type", text, allowed=f"COLUMN=TYPE with a column of the file and one of {', '.join(kinds)}"
            )
        types[name] = kind
    return types
