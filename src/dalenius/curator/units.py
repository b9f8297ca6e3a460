"""Whose row it is: a column, a path through other tables, or each row itself, as the owner declares it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from dalenius.curator.names import column_name
from dalenius.errors import InvalidParameter
from dalenius.query.tables import EachRow, Table, Unit, UnitColumn, Via

PATH = re.compile(r"\s*(\w+)\s*(?:->|→)\s*(\w+)\s*\.\s*(\w+)\s*")

Find: TypeAlias = Callable[[str], Table]
"""The table of a name, or a refusal."""


def declared_unit(unit: str | Unit | None, find: Find) -> Unit:
    """The unit that was written: 'patient_id', 'order_id -> orders.customer_id', or a unit itself."""
    if isinstance(unit, UnitColumn | Via):
        column_name(unit.column)
    if isinstance(unit, UnitColumn | Via | EachRow):
        return unit
    if not isinstance(unit, str):
        raise InvalidParameter(
            "unit",
            unit,
            allowed="a column such as 'patient_id', a path such as 'order_id -> orders.customer_id', or EachRow()",
        )
    if unit == str(EachRow()):
        return EachRow()
    path = PATH.fullmatch(unit)
    return _path(*map(column_name, path.groups()), find=find) if path else UnitColumn(column_name(unit))


def _path(column: str, name: str, owner: str, *, find: Find) -> Via:
    """'order_id -> orders.customer_id': rows belong to the customers of the orders with the same order_id.

    'order_id -> orders.id' names the key that order_id refers to, where that is not called order_id.
    """
    table = find(name)
    reached = table.protection.unit if table.protection else None
    if owner in table.keys and reached != UnitColumn(owner):
        return Via(column, name, owner)
    if not (isinstance(reached, UnitColumn) and reached.column == owner):
        raise InvalidParameter(
            "unit",
            f"{column} -> {name}.{owner}",
            allowed=f"a path to the unit of {name}, which is {reached or 'none: it is public'}",
            hint=f"Write Via({column!r}, {name!r}, key=...) where {name} is itself reached by a path.",
        )
    return Via(column, name, column)


def require_path(population: str, unit: Via, find: Find) -> None:
    """A path leads through a private table of the same population, by a column that it lists among its keys: keys are
    stored as they are, while a declared column is clamped, which would make strangers' keys equal."""
    table = find(unit.table)
    if table.protection is None or table.protection.population != population:
        raise InvalidParameter("unit", str(unit), allowed=f"a path through a table of {population}")
    if isinstance(table.protection.unit, EachRow):
        raise InvalidParameter("unit", str(unit), allowed="a path to a table whose unit has a name")
    if unit.key not in table.keys:
        raise InvalidParameter(
            "key", unit.key, allowed=f"a key of {table.name}", hint=f"Add {table.name} with keys=[{unit.key!r}]."
        )


def require_one_unit(population: str, unit: Unit, tables: Iterable[Table]) -> None:
    """Rows as units and people as units do not mix, and rows of two tables are not the same units."""
    guards = [table.protection for table in tables if table.protection and table.protection.population == population]
    if any(isinstance(guard.unit, EachRow) for guard in guards) or (guards and isinstance(unit, EachRow)):
        raise InvalidParameter(
            "unit",
            str(unit),
            allowed=f"the unit of the other tables of {population}, and that not each row",
            hint="A population whose units are rows has one table; name a column to protect people across tables.",
        )


def parent(table: Table) -> str | None:
    """The table that a path leads through, if there is one."""
    unit = table.protection.unit if table.protection else None
    return unit.table if isinstance(unit, Via) else None
