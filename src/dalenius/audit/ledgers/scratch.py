"""A scratch database with made-up patients, and with doctors where two populations are asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from dalenius.accounting.budget import Budget
from dalenius.curator.databases import Database, create
from dalenius.query.tables import Most
from dalenius.query.types import Category, Int, Text

COLUMNS = {"age": Int(0, 120), "city": Category("Oslo", "Bergen"), "icd": Text()}


@contextmanager
def database(folder: Path) -> Iterator[Database]:
    """A database in a folder: 60 patients with a visit each, and nobody who was granted anything."""
    db = create(folder / "db", mark=folder / "mark.sqlite")
    try:
        db.add_population("patients", budget=Budget(epsilon=1, delta="1e-6"), least_share="1e-15")
        add_table(db, "visits", visits(), "patients")
        yield db
    finally:
        db.close()


def visits() -> pa.Table:
    """A visit of each patient."""
    people = range(60)
    return pa.table(
        {
            "id": list(people),
            "age": [each % 90 for each in people],
            "city": ["Oslo"] * len(people),
            "icd": [f"J{each % 3}" for each in people],
        }
    )


def add_doctors(db: Database) -> None:
    """A second population, with another budget."""
    db.add_population("doctors", budget=Budget(epsilon=2, delta="1e-7"), least_share="1e-15")
    rows = pa.table({"id": list(range(20)), "age": list(range(30, 50)), "city": ["Bergen"] * 20, "icd": ["J0"] * 20})
    add_table(db, "shifts", rows, "doctors")


def add_table(db: Database, name: str, rows: pa.Table, population: str) -> None:
    """A table with one row of each unit."""
    db.add_table(name, rows, population=population, unit="id", most=Most(rows=1, groups=1), columns=COLUMNS)


def failure(work: Callable[[], object]) -> Exception | None:
    """The error with which some work ends, if it does."""
    try:
        work()
    except Exception as error:
        return error
    return None
