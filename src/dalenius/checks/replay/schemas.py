"""Questions and made-up neighbours for the catalog of an owner. No row of the owner's is read.

The tables are filled with what a rehearsal would be filled with; then a unit comes, with rows that hurt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from dalenius.catalog.catalog import Catalog
from dalenius.catalog.folder import Folder
from dalenius.checks.replay.loading import OpenEngines, filled
from dalenius.checks.replay.neighbours import NeighbourStep, extreme
from dalenius.engines.conformance.plans import Generated, RandomQuestions, random_most
from dalenius.engines.conformance.terms import RandomScope, ScopedColumn, kind_of, rarer
from dalenius.engines.conformance.worlds import Draws, World
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.hashing import unique_keys
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.measuring.measurements import lower
from dalenius.privacy.neighbours import Replace
from dalenius.query.binding.binder import bind
from dalenius.query.syntax import Name, Source, TableName
from dalenius.query.tables import EachRow, ForeignKey, Protection, Table, UnitColumn
from dalenius.query.types import Choice, Domain, Text
from dalenius.session.rehearsals import made_up

Filled: TypeAlias = dict[str, pa.Table]
"""The made-up rows of each table."""
HEAVY, NEWCOMER = 2_000, 10**9
"""How many rows the unit that comes has in each table, and its id."""
_WAYS = ("mixed", "upper", "lower", "null")
_WIDE = 2**62


@dataclass(frozen=True)
class Schema:
    """The tables of a catalog that can be asked about somebody."""

    catalog: Catalog

    @classmethod
    def of(cls, folder: Path) -> Schema:
        """What the catalog of a folder declares; nothing else in it is opened."""
        catalog = Folder(folder).read()
        if not any(table.protection for table in catalog.tables.values()):
            raise InvalidParameter("folder", str(folder), allowed="one whose catalog declares a private table in full")
        return cls(catalog)

    @property
    def private(self) -> dict[str, Table]:
        return {name: table for name, table in self.catalog.tables.items() if table.protection}

    def populations(self) -> dict[str, list[Table]]:
        """The tables of each population, those that others lead to before them."""
        found: dict[str, list[Table]] = {}
        for table in sorted(self.private.values(), key=self._depth):
            found.setdefault(protection(table).population, []).append(table)
        return found

    def _depth(self, table: Table) -> int:
        unit = protection(table).unit
        return 1 + self._depth(self.catalog.table(unit.table)) if isinstance(unit, ForeignKey) else 0

    def unit_name(self, table: Table) -> str | None:
        """What the unit of a table is called; None where each row is one."""
        unit = protection(table).unit
        if isinstance(unit, ForeignKey):
            return self.unit_name(self.catalog.table(unit.table))
        return unit.column if isinstance(unit, UnitColumn) else None


def protection(table: Table) -> Protection:
    """Whom a private table protects."""
    assert table.protection is not None
    return table.protection


# ---- questions


def questions(schema: Schema, first: int) -> Iterator[Generated]:
    """Random questions about the tables of a schema that compile, from a number on."""
    found = (_question(schema, seed) for seed in count(first))
    return (plan for plan in found if plan is not None)


def _question(schema: Schema, seed: int) -> Generated | None:
    draws, here = Draws(f"question {seed}"), World(0, dict(schema.private), texts_as_ids=False)
    try:
        query = rarer(_SchemaQuestions(schema, here, draws).outer(), seed)
        question = bind(query, here.tables, most=random_most(draws))
        return Generated(seed, here, query, question, lower(question))
    except (QueryRefused, IndexError, ZeroDivisionError):  # a table may have no column of a kind that was wanted
        return None


class _SchemaQuestions(RandomQuestions):
    """Random questions over tables of any names."""

    def __init__(self, schema: Schema, here: World, draws: Draws) -> None:
        super().__init__(here, draws)
        self.schema = schema

    def source(self, depth: int) -> tuple[Source, RandomScope]:
        makers = [self.table, self.table]
        if depth > 0:
            makers += [self.unit_join, self.grouped, self.distinct, self.inner]
        return self.draws.choice(makers)(depth - 1)

    def scan(self, name: str) -> tuple[TableName, RandomScope]:
        """Any private table: whoever asks for one by a name means no certain one."""
        table = self.draws.choice(list(self.schema.private.values()))
        alias, unit = self.alias(), self.schema.unit_name(table)
        columns = [(column, domain) for column, domain in table.columns if column not in table.keys]
        known = tuple(ScopedColumn(Name(column, alias), kind_of(domain), domain) for column, domain in columns)
        return TableName(table.name, alias), RandomScope(known, Name(unit, alias) if unit else None, (table.name,))


# ---- neighbours


def steps(schema: Schema) -> list[NeighbourStep]:
    """A unit that hurts comes, or is replaced by another, in each population and in every way; also where nobody is."""
    found = []
    for population, tables in schema.populations().items():
        replaced = isinstance(protection(tables[0]).neighbours, Replace)
        for place, way in enumerate(_WAYS):
            for ground in ("full", "empty"):
                before = f"{ground} {population} {_WAYS[place - 1]} 1" if replaced else f"{ground}"
                found.append(
                    NeighbourStep(f"{ground}, {way}", population, before, f"{ground} {population} {way} 0", {})
                )
    return found


class SchemaDatabases(OpenEngines[str]):
    """The engines with made-up databases of a schema."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(self._made)
        self._schema = schema
        self._full = made_up(schema.private, schema.catalog)
        self._empty = {name: rows.slice(0, 0) for name, rows in self._full.items()}

    def __call__(self, seed: int, name: str) -> DuckDBEngine:
        return self.engine(name)

    def _made(self, name: str) -> DuckDBEngine:
        catalog = self._schema.catalog
        return filled((replace(catalog.table(table), place=None), rows) for table, rows in self._rows(name).items())

    def _rows(self, name: str) -> Filled:
        ground, *added = name.split(" ")
        rows = self._full if ground == "full" else self._empty
        if not added:
            return rows
        *population, way, which = added
        return with_unit(self._schema, rows, " ".join(population), way, int(which))


def with_unit(schema: Schema, rows: Filled, population: str, way: str, which: int) -> Filled:
    """The tables after a unit has come to a population; where each row is a unit, that is one row of one table."""
    draws, tables = Draws(f"unit {population} {way} {which}"), schema.populations()[population]
    added: Filled = {}
    for table in tables:
        single = isinstance(protection(table).unit, EachRow)
        if single and added:
            break
        kinds = rows[table.name].schema
        drawn = [_row(table, added, way, draws, NEWCOMER + which, place) for place in range(1 if single else HEAVY)]
        _state_others_keys(table, drawn, rows[table.name])
        columns = {kind.name: [_fitting(row[kind.name], kind.type) for row in drawn] for kind in kinds}
        added[table.name] = pa.table({kind.name: pa.array(columns[kind.name], kind.type) for kind in kinds})
    return {name: pa.concat_tables([each, added[name]]) if name in added else each for name, each in rows.items()}


def _row(table: Table, added: Filled, way: str, draws: Draws, newcomer: int, place: int) -> dict[str, Any]:
    domains: Mapping[str, Domain] = dict(table.columns)
    row: dict[str, Any] = {name: extreme(domain, draws, way) for name, domain in domains.items()}
    row |= {key: newcomer + place for key in table.keys if key not in domains}
    row |= {key: _own_key(domains[key], newcomer, place) for key in unique_keys(table) if key in domains}
    unit = protection(table).unit
    if isinstance(unit, UnitColumn):
        row[unit.column] = newcomer
    if isinstance(unit, ForeignKey):
        keys = added[unit.table].column(unit.key)
        row[unit.column] = keys[draws.below(len(keys))].as_py()
    return row


def _state_others_keys(table: Table, drawn: list[dict[str, Any]], known: pa.Table) -> None:
    """Let every second row state a key of somebody else, where several units may state one."""
    for key, _ in table.claims:
        theirs = known.column(key).to_pylist()
        for row, other in zip(drawn[::2], theirs, strict=False):
            row[key] = other


def _own_key(domain: Domain, newcomer: int, place: int) -> Any:
    """A key that nobody else has, as far as its type has so many."""
    if isinstance(domain, Choice):
        return domain.values[-1]
    return f"{newcomer} {place}" if isinstance(domain, Text) else newcomer + place


def _fitting(value: Any, kind: pa.DataType) -> Any:
    """A raw value as a column of this type can hold it."""
    if pa.types.is_integer(kind) and isinstance(value, float | int):
        return max(-_WIDE, min(_WIDE, int(value) if isfinite(value) else _WIDE * (1 if value > 0 else -1)))
    return str(value) if pa.types.is_string(kind) and value is not None else value
