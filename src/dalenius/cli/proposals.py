"""Comments in a catalog: where an estimate came from.

What the header of a file, or the schema of a table that stays elsewhere, says about columns: names, and types where
it has them. No value is ever read.

Bounds of number columns, estimated privately: how many units' values lie between powers of ten, and their 2- and
5-fold.

It is an ordinary question about a provisional table, with bounds that are declared beforehand and the same for every
file. It is priced, charged and answered like any other, through the one door; what is made of the noisy counts is
post-processing.

What is typed about a table: a declaration that the owner completes, or one that is there and must not differ.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pyarrow as pa
import pyarrow.parquet as pq
import tomlkit

from dalenius.catalog.catalog import Catalog
from dalenius.catalog.declarations import TYPES, UNKNOWN, column_facts, draft_column, draft_protection
from dalenius.catalog.declaring import PATH, declared_unit
from dalenius.catalog.folder import Folder
from dalenius.catalog.places import replace_text
from dalenius.engines.duckdb.sources import header, is_csv
from dalenius.errors import DataMismatch, InvalidParameter
from dalenius.ledger.names import column_name, percent, unused
from dalenius.measuring.released import LARGEST, SMALLEST, around, edges
from dalenius.privacy.numbers import exact
from dalenius.query.tables import EachRow, Table
from dalenius.query.types import Domain, Int, Real
from dalenius.session.answers.answers import Answer
from dalenius.session.databases import Database


def remark(path: Path, table: str, remarks: Mapping[str, str]) -> None:
    """Put a comment behind columns of a table in catalog.toml."""
    folder = Folder(path)
    with folder.editing():
        document = tomlkit.parse(folder.file.path.read_text(encoding="utf-8"))
        columns = document["tables"][table]["columns"]
        for name, text in remarks.items():
            columns[name].comment(text)
        replace_text(folder.file.path, tomlkit.dumps(document))


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
class FileColumn:
    """A column of a file: its name there, a name that can be declared, and its type; None if no type can hold it."""

    source: str
    name: str
    type: str | None


def fields(table: str, path: Path) -> list[FileColumn]:
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
            table, problem="this kind of file is not supported", instead="Use .parquet, .csv, .csv.gz, .tsv or .tsv.gz."
        )
    _require_different(table, [name for name, _ in found])
    names = declarable([name for name, _ in found])
    return [FileColumn(source, name, kind) for name, (source, kind) in zip(names, found, strict=True)]


def fields_elsewhere(columns: Mapping[str, str]) -> list[FileColumn]:
    """The columns of a table that stays in an engine, by the engine's names of their types."""
    return [
        FileColumn(source, name, _type_elsewhere(kind))
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


SURE = Fraction(999_999, 1_000_000)
"""How surely a count is above what noise alone gives, for it to be taken as one of people."""


@dataclass(frozen=True)
class BoundsEstimate:
    """Bounds by column, None where nothing stood out of the noise, and what it cost in all and for each column."""

    bounds: Mapping[str, tuple[Decimal, Decimal] | None]
    charge: str
    each: str


def estimated(
    db: Database,
    table: str,
    source: str | Path,
    *,
    columns: Mapping[str, str],
    epsilon: str,
    population: str,
    unit: str,
    max_rows: int | None,
    max_groups: int | None,
    rename: Mapping[str, str],
    nulls: Sequence[str] = (),
    agreed: Callable[[str], bool] = lambda offer: True,
) -> BoundsEstimate | None:
    """Bounds of Int and Real columns, for `epsilon` in all; None if the price, which is free to see, is not agreed."""
    name = _unused(f"{table[:40]}_provisional", db.tables())
    wide = {column: _wide(kind) for column, kind in columns.items()}
    db.add_table(
        name,
        source,
        population=population,
        unit=unit,
        max_rows=max_rows,
        max_groups=max_groups,
        columns=wide,
        rename=rename,
        nulls=nulls,
    )
    try:
        # One row of a unit is enough to see where its values lie, and keeps the noise as small as it can be.
        one = None if max_rows is None else 1
        return _asked(db, name, columns, population, epsilon, agreed, one)
    finally:
        db.remove_table(name)


def _asked(
    db: Database,
    table: str,
    columns: Mapping[str, str],
    population: str,
    epsilon: str,
    agreed: Callable[[str], bool],
    max_rows: int | None,
) -> BoundsEstimate | None:
    questions = {column: db.sql(question(table, column, kind), max_rows=max_rows) for column, kind in columns.items()}
    each, found = exact(epsilon=epsilon) / len(questions), {}  # epsilons add up, also beside other questions
    share = next(iter(questions.values())).cost(epsilon=each).shares[population]
    charge = f"{percent(share * len(questions))} of {population} (epsilon = {epsilon})"
    if not agreed(f"bounds of {', '.join(columns)} cost {charge}"):
        return None
    for column, asked in questions.items():
        noise = Fraction(asked.expected_error(epsilon=each, level=SURE)["units"].fixed)
        answer = asked.run(epsilon=each, fresh=True)
        found[column] = around(edges(columns[column]), _counts(answer), noise)
    return BoundsEstimate(found, charge, f"{percent(share)} of {population}")


def question(table: str, column: str, kind: str) -> str:
    """How many rows there are between any two edges that follow each other."""
    arms = " ".join(f"WHEN {column} < {edge:f} THEN {place}" for place, edge in enumerate(edges(kind)))
    bins = f"CASE {arms} ELSE {len(edges(kind))} END"
    return f"SELECT {bins} AS place, COUNT(*) AS units FROM {table} WHERE {column} IS NOT NULL GROUP BY place"  # noqa: S608


def _counts(answer: Answer) -> dict[int, int]:
    return {row["place"]: row["units"] for row in answer}


def _wide(kind: str) -> Domain:
    end = 10**LARGEST
    if kind == "Int":
        return Int(-end, end, nullable=True)
    return Real(-end, end, step=Decimal(1).scaleb(SMALLEST), nullable=True)


def _unused(name: str, known: Iterable[Any]) -> str:
    taken, made, count = {str(each).lower() for each in known}, name, 1
    while made.lower() in taken:
        count += 1
        made = f"{name}_{count}"
    return made


_MOST_NAMES = 20


def drafted(chosen: argparse.Namespace, found: list[FileColumn]) -> dict[str, Any]:
    """What is known of a table, with ? for what is not."""
    named = _named(chosen, found)
    types = declared_types(chosen.type or [], [field.name for field in named], TYPES)
    unit = None if chosen.public else _unit(chosen.unit, named)
    kinds = {field.name: types.get(field.name, field.type) for field in named if field.name != unit}
    columns = {name: _column(kind) for name, kind in kinds.items() if kind is not None}
    read = {*columns, *([] if unit is None else [_first(unit)])}
    renamed = {field.name: field.source for field in named if field.name != field.source and field.name in read}
    return {
        **_protection(chosen, unit),
        **({"rename": renamed} if renamed else {}),
        **({"nulls": chosen.nulls} if chosen.nulls else {}),
        "columns": columns,
    }


def _named(chosen: argparse.Namespace, found: list[FileColumn]) -> list[FileColumn]:
    """The columns by the names that the owner gives them."""
    given = _renames(chosen)
    known = {field.source for field in found}
    for source in given.values():
        if source not in known:
            raise InvalidParameter("--rename", source, allowed=f"NAME=COLUMN with {_columns(found)}")
    names = {source: column_name(name) for name, source in given.items()}
    made = [replace(field, name=names.get(field.source, field.name)) for field in found]
    for place, field in enumerate(made):
        unused("--rename", field.name, (other.name for other in made[:place]))
    return made


def _renames(chosen: argparse.Namespace) -> dict[str, str]:
    pairs = [text.partition("=") for text in chosen.rename or []]
    if not all(name.strip() and source.strip() for name, _, source in pairs):
        raise InvalidParameter("--rename", chosen.rename, allowed="NAME=COLUMN, such as hours=hours-per-week")
    return {name.strip(): source.strip() for name, _, source in pairs}


def _columns(found: list[FileColumn]) -> str:
    names = [field.source for field in found]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"a column of the file, which has {', '.join(names[:_MOST_NAMES])}{more}"


def _first(unit: str) -> str:
    """The column of the table itself that a unit begins with."""
    path = PATH.fullmatch(unit)
    return path[1] if path else unit


def _unit(given: str | None, found: list[FileColumn]) -> str:
    """The unit by the name that is declared: a column of the file, also by its name there, or where a path begins."""
    if given is None or given == str(EachRow()):
        return given or UNKNOWN
    path, first = PATH.fullmatch(given), _first(given)
    name = next((field.name for field in found if first in (field.source, field.name)), None)
    if name is None:
        raise InvalidParameter("--unit", given, allowed=_columns(found))
    return f"{name} -> {path[2]}.{path[3]}" if path else name


def _column(kind: str) -> dict[str, Any]:
    """A column; whether values may be missing is always said, since the kinds differ in what they take for granted."""
    facts = {"type": UNKNOWN} if kind == UNKNOWN else draft_column(kind)
    return {**facts, "nullable": kind in (UNKNOWN, "Category", "Text")}


def _protection(chosen: argparse.Namespace, unit: str | None) -> dict[str, Any]:
    given = (chosen.population, chosen.unit, chosen.max_rows, chosen.max_groups)
    if chosen.public:
        if any(each is not None for each in given):
            raise InvalidParameter("--public", True, allowed="left out where a population, unit or --max-rows is given")
        return {"public": True}
    return draft_protection(chosen.population, unit, chosen.max_rows, chosen.max_groups)


# ---- a declaration that is there


def require_alike(chosen: argparse.Namespace, catalog: Catalog) -> None:
    """Refuse options that say something else than a declaration which is complete: it stands in catalog.toml."""
    if chosen.table not in catalog.tables:
        return
    for option, given, declared in _differences(chosen, catalog, catalog.tables[chosen.table]):
        raise InvalidParameter(
            option, given, allowed=f"left out, or {declared}, as {chosen.table} is declared",
            hint="Change catalog.toml, and run update-table.",
        )  # fmt: skip


def _differences(chosen: argparse.Namespace, catalog: Catalog, table: Table) -> Iterator[tuple[str, Any, str]]:
    guard, reading = table.protection, catalog.reading(table.name)
    most = guard.most if guard else None
    if chosen.suggest_bounds:
        yield "--suggest-bounds", True, "run before the bounds"
    if chosen.public and guard:
        yield "--public", True, f"--population {guard.population}"
    stated = {
        "--population": (chosen.population, guard and guard.population),
        "--max-rows": (chosen.max_rows, most and most.rows),
        "--max-groups": (chosen.max_groups, most and most.groups),
        "--nulls": (chosen.nulls and sorted(chosen.nulls), sorted(reading.nulls)),
    }
    for name, (given, declared) in stated.items():
        if given is not None and given != declared:
            yield name, given, str(declared)
    names = {source: name for name, source in reading.rename}
    if chosen.unit is not None and not (guard and _same_unit(chosen.unit, names, catalog, table)):
        yield "--unit", chosen.unit, str(guard.unit) if guard else "--public"
    yield from _other_names(_renames(chosen), dict(reading.rename))
    yield from _other_types(chosen.type or [], names, table)


def _same_unit(given: str, names: Mapping[str, str], catalog: Catalog, table: Table) -> bool:
    assert table.protection is not None
    first = _first(given)
    return declared_unit(given.replace(first, names.get(first, first), 1), catalog.table) == table.protection.unit


def _other_names(given: Mapping[str, str], declared: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    for name, source in given.items():
        if declared.get(name, name) != source:
            yield "--rename", f"{name}={source}", f"{name}={declared.get(name, name)}"


def _other_types(given: list[str], names: Mapping[str, str], table: Table) -> Iterator[tuple[str, Any, str]]:
    kinds = {name: column_facts(domain)["type"] for name, domain in table.columns}
    for text in given:
        column, _, kind = (part.strip() for part in text.partition("="))
        name = names.get(column, column)
        if kinds.get(name) != kind:
            yield "--type", text, f"{name}={kinds[name]}" if name in kinds else f"for one of {', '.join(kinds)}"
