"""A small clinic as a catalog: what the questions that are read, refused and mutated are asked about."""

from __future__ import annotations

from dalenius.privacy.neighbours import AddRemove
from dalenius.query.tables import EachRow, Most, Protection, Table, UnitColumn, Via
from dalenius.query.types import Bool, Category, Date, Int, Real, Text, Timestamp

CITIES = Category("Oslo", "Bergen", "Tromsø")


def _patients(unit: UnitColumn | Via | EachRow, most: Most | None) -> Protection:
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
    _patients(UnitColumn("patient_id"), Most(rows=1, groups=1)),
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
    _patients(UnitColumn("patient_id"), Most(rows=20, groups=5)),
)

LABS = Table(
    "labs",
    (
        ("visit_id", Int(0, 10**9)),
        ("test", Category("glucose", "sodium", "iron")),
        ("value", Real(0, 1000, step="0.1")),
    ),
    _patients(Via("visit_id", "visits", "visit_id"), Most(rows=50, groups=3)),
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
    Protection("doctors", UnitColumn("doctor_id"), AddRemove(), Most(rows=2, groups=2)),
)

EVENTS = Table(
    "events",
    (("kind", Category("fall", "fire", "theft")), ("loss", Int(0, 100_000)), ("day", Date("2024-01-01", "2026-12-31"))),
    Protection("events", EachRow(), AddRemove(), None),
)

TABLES = {table.name: table for table in (PATIENTS, VISITS, LABS, CITIES_TABLE, DOCTORS, EVENTS)}
"""Name -> table."""
