"""What is typed about a table: a declaration that the owner completes, or one that is there and must not differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dalenius.cli.proposals.schemas import Field, declared_types
from dalenius.curator.catalog import Catalog
from dalenius.curator.folder.declarations import TYPES, UNKNOWN, column_facts, draft_column, draft_protection
from dalenius.curator.names import column_name, unused
from dalenius.curator.units import PATH, declared_unit
from dalenius.errors import InvalidParameter
from dalenius.query.tables import EachRow, Table

_MOST_NAMES = 20


def drafted(chosen: argparse.Namespace, found: list[Field]) -> dict[str, Any]:
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


def _named(chosen: argparse.Namespace, found: list[Field]) -> list[Field]:
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


def _columns(found: list[Field]) -> str:
    names = [field.source for field in found]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"a column of the file, which has {', '.join(names[:_MOST_NAMES])}{more}"


def _first(unit: str) -> str:
    """The column of the table itself that a unit begins with."""
    path = PATH.fullmatch(unit)
    return path[1] if path else unit


def _unit(given: str | None, found: list[Field]) -> str:
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
    given = (chosen.population, chosen.unit, chosen.most_rows, chosen.most_groups)
    if chosen.public:
        if any(each is not None for each in given):
            raise InvalidParameter("--public", True, allowed="left out where a population, unit or most is given")
        return {"public": True}
    most = {"rows": chosen.most_rows or UNKNOWN, "groups": chosen.most_groups or UNKNOWN}
    return draft_protection(chosen.population, unit, most)


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
        "--most-rows": (chosen.most_rows, most and most.rows),
        "--most-groups": (chosen.most_groups, most and most.groups),
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
