"""A small clinic whose engine is listened to: every text that reaches a connection is written down and judged.

A small clinic as a catalog: what the questions that are read, refused and mutated are asked about.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from dalenius.accounting.budget import Budget
from dalenius.checks.escapes.judging import Judge
from dalenius.engines.duckdb.connection import File
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.several import Engines
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.tables import ContributionBounds, EachRow, ForeignKey, Protection, Table, UnitColumn
from dalenius.query.types import Bool, Category, Choice, Date, Domain, Int, Ranged, Real, Text, Timestamp
from dalenius.session.databases import Database, create

CITIES = Category("Oslo", "Bergen", "Tromsø")


def _patients(unit: UnitColumn | ForeignKey | EachRow, most: ContributionBounds | None) -> Protection:
    return Protection("patients", unit, AddRemove(), most)


PATIENTS = Table(
    "patients",
    (
        ("age", Int(0, 120)),
        ("sex", Category("f", "m", "x")),
        ("city", CITIES),
        ("born", Date("1900-01-01", "2026-12-31")),
        ("smoker", Bool()),
    ),
    _patients(UnitColumn("patient_id"), ContributionBounds(rows=1, groups=1)),
)

VISITS = Table(
    "visits",
    (
        ("visit_id", Int(0, 10**9)),
        ("age", Int(0, 120)),
        ("city", CITIES),
        ("cost", Real(0, 5000, step="0.01")),
        ("day", Date("2024-01-01", "2026-12-31")),
        ("icd", Text()),
        ("urgent", Bool()),
        ("seen", Timestamp("2024-01-01 00:00:00", "2026-12-31 23:59:59")),
    ),
    _patients(UnitColumn("patient_id"), ContributionBounds(rows=20, groups=5)),
)

LABS = Table(
    "labs",
    (
        ("visit_id", Int(0, 10**9)),
        ("test", Category("glucose", "sodium", "iron")),
        ("value", Real(0, 1000, step="0.1")),
    ),
    _patients(ForeignKey("visit_id", "visits", "visit_id"), ContributionBounds(rows=50, groups=3)),
)

CITIES_TABLE = Table(
    "cities",
    (("city", CITIES), ("region", Category("east", "west", "north")), ("inhabitants", Int(0, 10_000_000))),
    rows=3,
    repeats=(("city", 1), ("region", 1), ("inhabitants", 1)),
)

DOCTORS = Table(
    "doctors",
    (("wage", Int(0, 2_000_000)), ("city", CITIES)),
    Protection("doctors", UnitColumn("doctor_id"), AddRemove(), ContributionBounds(rows=2, groups=2)),
)

EVENTS = Table(
    "events",
    (("kind", Category("fall", "fire", "theft")), ("loss", Int(0, 100_000)), ("day", Date("2024-01-01", "2026-12-31"))),
    Protection("events", EachRow(), AddRemove(), None),
)

TABLES = {table.name: table for table in (PATIENTS, VISITS, LABS, CITIES_TABLE, DOCTORS, EVENTS)}
"""Name -> table."""


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
        max_rows=protection.most.rows if protection.most else None,
        max_groups=protection.most.groups if protection.most else None,
        keys=[other.unit.key for each in TABLES.values() if (other := each.protection) and _leads(other.unit, table)],  # type: ignore[union-attr]
    )


def _leads(unit: object, table: Table) -> bool:
    return isinstance(unit, ForeignKey) and unit.table == table.name


def _value(domain: Domain, place: int) -> Any:
    if isinstance(domain, Bool):
        return place % 2 == 0
    if isinstance(domain, Choice):
        return domain.values[place % len(domain.values)]
    if isinstance(domain, Ranged):
        shown = domain.decode(domain.lower + place % (domain.upper - domain.lower + 1))
        return shown if isinstance(shown, int | dt.date) else float(shown)
    return f"text {place % 5}"
