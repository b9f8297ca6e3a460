"""Rehearsals: the same question, run on made-up tables. No data is read and nothing is charged.

Made-up tables with the public schema, for rehearsals: drawn by a fixed public generator, never from data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dalenius.catalog.catalog import Catalog
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.engine import Statements
from dalenius.engines.hashing import unique_keys
from dalenius.measuring.pricing import Priced
from dalenius.query.tables import ForeignKey, Table, UnitColumn
from dalenius.query.types import Bool, Choice, Domain, Number, Ranged, Text
from dalenius.session.answers.answers import Answer, notes
from dalenius.session.executor import allowance, measured

ROWS, PUBLIC_ROWS, ROWS_PER_UNIT, WORDS = 2_000, 200, 4, 12
_NULL_EVERY = 20
_WIDEST = 2**62


def made_up(tables: Mapping[str, Table], catalog: Catalog) -> dict[str, pa.Table]:
    """A table of made-up rows for each of these tables and all that their key paths lead through."""
    made: dict[str, pa.Table] = {}
    for table in tables.values():
        _make(table, catalog, made)
    return made


def _make(table: Table, catalog: Catalog, made: dict[str, pa.Table]) -> None:
    if table.name in made:
        return
    rows = ROWS if table.protection else PUBLIC_ROWS
    columns = {name: _column(table.name, name, domain, rows) for name, domain in table.columns}
    unit = table.protection.unit if table.protection else None
    for key in table.keys:
        columns.setdefault(key, pa.array(_below(table.name, key, rows, rows)))
    unique = {key: _unique(dict(table.columns).get(key), rows) for key in unique_keys(table)}
    columns |= unique
    alone = any(len(values.unique()) < rows for values in unique.values())  # then all rows are one unit's
    if isinstance(unit, UnitColumn):
        columns[unit.column] = pa.array(_below(table.name, unit.column, rows, 1 if alone else rows // ROWS_PER_UNIT))
    if isinstance(unit, ForeignKey):
        _make(catalog.table(unit.table), catalog, made)
        keys = made[unit.table].column(unit.key)
        columns[unit.column] = keys.take(pa.array(_below(table.name, unit.column, rows, 1 if alone else len(keys))))
    made[table.name] = pa.table(columns)


def _unique(domain: Domain | None, rows: int) -> pa.Array:
    """A key that no two rows have, if its type allows that: keys are not clamped."""
    if isinstance(domain, Choice):
        return pa.array([domain.values[0]] * rows)
    if isinstance(domain, Text):
        return pa.array([f"made up {place}" for place in range(rows)])
    start = max(-_WIDEST, min(domain.lower, _WIDEST)) if isinstance(domain, Ranged) else 0
    return pa.array(range(start, start + rows), pa.int64())


def _column(table: str, name: str, domain: Domain, rows: int) -> pa.Array:
    values = _values(f"{table}.{name}", domain, rows)
    missing = _below(table, f"{name} missing", rows, _NULL_EVERY) == 0
    return pa.array([None if gone and domain.nullable else value for value, gone in zip(values, missing, strict=True)])


def _values(seed: str, domain: Domain, rows: int) -> list[Any]:
    if isinstance(domain, Ranged):
        span = min(domain.upper - domain.lower + 1, _WIDEST)
        codes = [domain.lower + place for place in _below(seed, "", rows, span).tolist()]
        shown = [domain.decode(code) for code in codes]
        return [float(value) for value in shown] if _needs_float(domain) else shown
    if isinstance(domain, Choice):
        return [domain.values[place] for place in _below(seed, "", rows, len(domain.values)).tolist()]
    if isinstance(domain, Bool):
        return [place == 1 for place in _below(seed, "", rows, 2).tolist()]
    return [f"made up {place}" for place in _below(seed, "", rows, WORDS).tolist()]


def _needs_float(domain: Ranged) -> bool:
    wide = max(abs(domain.lower), abs(domain.upper)) >= _WIDEST
    return isinstance(domain, Number) and (domain.step.denominator != 1 or wide or domain.step > _WIDEST // 2**32)


def _below(table: str, name: str, rows: int, size: int) -> NDArray[np.int64]:
    """Numbers below `size` that everybody can compute: SHAKE-256 of the names."""
    words = hashlib.shake_256(f"{table}\0{name}".encode()).digest(8 * rows)
    return (np.frombuffer(words, dtype=np.uint64) % np.uint64(size)).astype(np.int64)


MADE_UP = "A rehearsal: the rows are made up, so the values mean nothing. Nothing was read or charged."


def rehearsed(priced: Priced, catalog: Catalog) -> Answer:
    """The answer on made-up tables with the public schema."""
    tables = {table.name: table for table in priced.question.relation.tables}
    relations = {name: catalog.population(name).neighbours for name in priced.question.relation.populations}
    engine = DuckDBEngine()
    try:
        for name, rows in made_up(tables, catalog).items():
            engine.register(catalog.table(name), rows)
        with allowance(priced, relations) as free:
            shaped = priced.answer(measured(priced, Statements(engine), free))
    finally:
        engine.close()
    return Answer.from_shaped(shaped, level=priced.level, notes=(MADE_UP, *notes(priced, shaped)))
