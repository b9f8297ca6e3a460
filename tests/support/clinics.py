"""A small clinic for tests of the curator: made-up visits, and a database that holds them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

from dalenius.accounting.budget import Budget
from dalenius.query.types import Category, Date, Int, Real, Text
from dalenius.session.databases import Database, create

CITIES = ("Oslo", "Bergen", "Tromsø")
COLUMNS = {
    "age": Int(0, 120),
    "city": Category(*CITIES),
    "cost": Real(0, 5000, step="0.01"),
    "day": Date("2024-01-01", "2026-12-31"),
    "icd": Text(),
}


def visits(patients: int = 400, each: int = 3) -> pa.Table:
    """`each` visits of every patient; who lives where and costs what follows from the number of the patient."""
    numbers = [patient for patient in range(patients) for _ in range(each)]
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=patient % 365) for patient in numbers]
    return pa.table(
        {
            "patient_id": pa.array(numbers, pa.int64()),
            "age": pa.array([patient % 100 for patient in numbers], pa.int64()),
            "city": pa.array([CITIES[patient % 3] for patient in numbers], pa.string()),
            "cost": pa.array([float(patient % 500) for patient in numbers], pa.float64()),
            "day": pa.array(days, pa.date32()),
            "icd": pa.array(["A" if patient % 2 else "B" for patient in numbers], pa.string()),
        }
    )


def clinic(
    budget: Budget | None = None, *, data: pa.Table | None = None, path: Any = None, neighbours: str = "add_remove"
) -> Database:
    """A database with the table visits of the population patients."""
    db = create(path)
    db.add_population(
        "patients", budget=budget or Budget(epsilon=3, delta="1e-9"), neighbours=neighbours, least_share="1e-15"
    )
    add_visits(db, "visits", data)
    return db


def add_visits(db: Database, name: str, data: pa.Table | None = None, **changes: Any) -> None:
    """Declare and import a table of visits."""
    declared = {
        "population": "patients",
        "unit": "patient_id",
        "max_rows": 3,
        "max_groups": 1,
        "columns": COLUMNS,
    }
    db.add_table(name, visits() if data is None else data, **{**declared, **changes})
