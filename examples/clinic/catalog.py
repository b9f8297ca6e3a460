"""What the clinic's owner declares, once: who is protected, how much may ever be learnt, and what columns hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dalenius as dl
from examples.clinic import data

CITY = dl.Category(*data.CITIES)
VISIT_ID = dl.Int(1, 10**7)


def clinic(
    *,
    epsilon: str = "20",
    patients: int = 3_000,
    folder: str | None = None,
    sources: Mapping[str, Any] | None = None,
    visits_of_one: int | str = "unique",
) -> dl.Database:
    """The clinic as a private database: in a new folder, or without one in memory, gone with the process.

    `sources` says where each table stays, instead of importing made-up rows. Labs find their patient by the id of a
    visit; where nobody keeps these ids unique, as in Spark, `visits_of_one` says how many of one patient count.
    """
    rows = data.tables(patients=patients) if sources is None else sources
    db = dl.create(folder)
    db.add_population("patients", budget=dl.Budget(epsilon=epsilon, delta="1e-9"))
    db.add_table(
        "patients",
        rows["patients"],
        population="patients",
        unit="patient_id",
        max_rows=1,
        max_groups=1,
        columns={
            "age": dl.Int(0, 120),
            "sex": dl.Category("female", "male", nullable=False),
            "city": CITY,
            "born": dl.Date("1900-01-01", "2026-12-31"),
            "smoker": dl.Bool(),
        },
    )
    db.add_table(
        "visits",
        rows["visits"],
        population="patients",
        unit="patient_id",
        max_rows=10,
        max_groups=3,
        keys={"visit_id": visits_of_one},  # a number of a unit that counts, or "unique"
        columns={
            "visit_id": VISIT_ID,
            "age": dl.Int(0, 120),
            "city": CITY,
            "cost": dl.Real(0, 5000, step="0.01"),
            "day": dl.Date("2024-01-01", "2026-12-31"),
            "seen": dl.Timestamp("2024-01-01 00:00:00", "2026-12-31 23:59:59"),
            "icd": dl.Text(),
            "urgent": dl.Bool(),
        },
    )
    db.add_table(
        "labs",
        rows["labs"],
        population="patients",
        unit="visit_id -> visits.patient_id",
        max_rows=10,
        max_groups=3,
        columns={
            "visit_id": VISIT_ID,
            "test": dl.Category(*data.TESTS),
            "value": dl.Real(0, 500, step="0.1"),
        },
    )
    db.add_table(
        "cities",
        rows["cities"],
        public=True,
        columns={
            "city": CITY,
            "region": dl.Category("east", "west", "north"),
            "inhabitants": dl.Int(0, 10**7),
        },
    )
    return db
