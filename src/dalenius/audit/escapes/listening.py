"""A small clinic whose engine is listened to: every text that reaches a connection is written down and judged."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from dalenius.accounting.budget import Budget
from dalenius.audit.escapes.clinic import TABLES
from dalenius.audit.escapes.judging import Judge
from dalenius.curator.databases import Database, create
from dalenius.engines.duckdb.connection import File
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.several import Engines
from dalenius.query.tables import Table, UnitColumn, Via
from dalenius.query.types import Bool, Choice, Domain, Ranged

_ROWS, _UNITS = 24, 8
_LARGE = Budget(epsilon=9000, delta="0.01")


class Listened:
    """A connection of which every text is judged before it runs."""

    def __init__(self, connection: Any, ear: Ear) -> None:
        self._connection, self._ear = connection, ear

    def sql(self, query: str, *rest: Any, **more: Any) -> Any:
        self._ear.hear(query)
        return self._connection.sql(query, *rest, **more)

    def execute(self, query: str, *rest: Any, **more: Any) -> Any:
        self._ear.hear(query)
        return self._connection.execute(query, *rest, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class Ear:
    """What reached the engine: how many texts, and what was wrong with them."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.heard, self.faults = judge, 0, list[str]()
        self._known: set[str] = set()

    def hear(self, sql: str) -> None:
        self.heard += 1
        if sql not in self._known:
            self._known.add(sql)
            self.faults += [f"{fault}, in {sql[:200]!r}" for fault in self.judge.faults(sql)]


@contextmanager
def listened(db: Database, ear: Ear) -> Iterator[None]:
    """Let an ear stand at every connection that questions of a database run on."""
    file = engine_of(db)._file
    right = File.reading

    @contextmanager
    def reading(self: File) -> Iterator[Any]:
        with right(self) as connection:
            yield Listened(connection, ear) if self is file else connection

    File.reading = reading  # type: ignore[method-assign]
    try:
        yield
    finally:
        File.reading = right  # type: ignore[method-assign]


def engine_of(db: Database) -> DuckDBEngine:
    """The embedded engine of a database."""
    engine = db._curator.engine
    assert isinstance(engine, Engines)
    return engine.imported


@contextmanager
def clinic() -> Iterator[Database]:
    """A database in memory with made-up rows for every table of the clinic."""
    db = create()
    try:
        for population in dict.fromkeys(table.protection.population for table in TABLES.values() if table.protection):
            db.add_population(population, budget=_LARGE, least_share="1e-15")
        for table in sorted(TABLES.values(), key=lambda table: table.name == "labs"):
            _add(db, table)
        yield db
    finally:
        db.close()


def _add(db: Database, table: Table) -> None:
    protection = table.protection
    columns = {name: [_value(domain, place) for place in range(_ROWS)] for name, domain in table.columns}
    if protection is None:
        columns = {name: [_value(domain, place) for place in range(3)] for name, domain in table.columns}
        db.add_table(table.name, pa.table(columns), columns=dict(table.columns), public=True)
        return
    if isinstance(protection.unit, UnitColumn):
        columns[protection.unit.column] = [place % _UNITS for place in range(_ROWS)]
    db.add_table(
        table.name,
        pa.table(columns),
        columns=dict(table.columns),
        population=protection.population,
        unit=protection.unit,
        most=protection.most,
        keys=[other.unit.key for each in TABLES.values() if (other := each.protection) and _leads(other.unit, table)],  # type: ignore[union-attr]
    )


def _leads(unit: object, table: Table) -> bool:
    return isinstance(unit, Via) and unit.table == table.name


def _value(domain: Domain, place: int) -> Any:
    if isinstance(domain, Bool):
        return place % 2 == 0
    if isinstance(domain, Choice):
        return domain.values[place % len(domain.values)]
    if isinstance(domain, Ranged):
        shown = domain.shown(domain.lower + place % (domain.upper - domain.lower + 1))
        return shown if isinstance(shown, int | dt.date) else float(shown)
    return f"text {place % 5}"
