"""Tables of visits, and people who break things: pairs of a table and the same table with one person more.

Each poison is one unit with rows that an engine, a cast, a format or a log might stumble over. A word and numbers
that occur nowhere else stand in the rows, so that a reply or a log that shows a cell is found out.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa

from dalenius.query.tables import ContributionBounds
from dalenius.query.types import Bool, Category, Date, Domain, Int, Real, Text, Timestamp

Row = Mapping[str, Any]

CANARY = "canary-Qx7Zp"
"""A text that stands in rows of every poison."""
CANARY_NUMBERS = (2718281844, 31415926.53125)
"""A whole number and a real one that stand in rows of some poisons; each is outside what the column may hold."""
CANARIES = (CANARY, CANARY.lower(), CANARY.upper(), "2718281844", "31415926.5", "3141592653", "31,415,926")

CITIES = ("Oslo", "Bergen", "Tromsø")
COLUMNS: Mapping[str, Domain] = {
    "age": Int(0, 120, nullable=True),
    "city": Category(*CITIES, nullable=True),
    "cost": Real(0, 5000, step="0.01", nullable=True),
    "day": Date("2024-01-01", "2026-12-31", nullable=True),
    "seen": Timestamp("2024-01-01", "2026-12-31", nullable=True),
    "urgent": Bool(nullable=True),
    "icd": Text(nullable=True),
}
MOST = ContributionBounds(rows=3, groups=2)
_SCHEMA = pa.schema(
    {
        "patient_id": pa.string(), "age": pa.int64(), "city": pa.string(), "cost": pa.float64(), "day": pa.date32(),
        "seen": pa.timestamp("us"), "urgent": pa.bool_(), "icd": pa.string(),
    }
)  # fmt: skip


def rows_of(seed: int, units: int = 60) -> list[dict[str, Any]]:
    """The rows of a base table. Nobody lives in Tromsø, so that one more person makes a group non-empty."""
    chance = Random(seed)
    return [_visit(chance, f"p{unit:04d}") for unit in range(units) for _ in range(chance.randint(1, 3))]


def _visit(chance: Random, unit: str) -> dict[str, Any]:
    day = dt.date(2024, 1, 1) + dt.timedelta(days=chance.randrange(1000))
    return {
        "patient_id": unit,
        "age": chance.randrange(100),
        "city": chance.choice(CITIES[:2]),
        "cost": chance.randrange(500_000) / 100,
        "day": day,
        "seen": dt.datetime.combine(day, dt.time(chance.randrange(24))),
        "urgent": chance.random() < 0.3,
        "icd": chance.choice(["A10", "B20", "17", "C3"]),
    }


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Rows as a table to import."""
    return pa.Table.from_pylist([{name: row.get(name) for name in _SCHEMA.names} for row in rows], _SCHEMA)


def poisoned(seed: int, name: str) -> pa.Table:
    """The base table with a poison's rows in it, at a place of their own."""
    chance, rows = Random(f"{seed} {name}"), rows_of(seed)
    added = [{**_visit(chance, f"z {CANARY}"), **row} for row in POISONS[name]]
    place = chance.randrange(len(rows) + 1)
    return table_of(rows[:place] + added + rows[place:])


def all_poisoned(seed: int) -> pa.Table:
    """The base table with the first rows of every poison."""
    chance, rows = Random(seed), rows_of(seed)
    added = [{**_visit(chance, f"{name} {CANARY}"), **row} for name in POISONS for row in POISONS[name][:3]]
    return table_of(rows + added)


_MANY = 10_000
POISONS: Mapping[str, Sequence[Row]] = {
    "an ordinary person": [{}],
    "NaN": [{"cost": math.nan}],
    "infinity": [{"cost": math.inf}],
    "minus infinity": [{"cost": -math.inf}],
    "nothing at all": [dict.fromkeys([*COLUMNS])],
    "a huge number": [{"cost": 1e308}],
    "a huge negative number": [{"cost": -1e308}],
    "the least whole number": [{"age": -(2**63)}],
    "the greatest whole number": [{"age": 2**63 - 1}],
    "a number beyond doubles": [{"age": 2**53 + 1}],
    "a subnormal number": [{"cost": 5e-324}],
    "minus zero": [{"cost": -0.0}],
    "between two steps": [{"cost": 0.005}],
    "a canary everywhere": [
        {"icd": CANARY, "city": CANARY, "age": CANARY_NUMBERS[0], "cost": CANARY_NUMBERS[1]},
    ],
    "a cast that fails": [{"icd": f"{CANARY} is no number"}],
    "a number that overflows": [{"icd": "1e999"}],
    "digits without end": [{"icd": "9" * 400}],
    "a date that is none": [{"icd": "2024-02-30"}],
    "the word NULL": [{"icd": "NULL"}],
    "the word NaN": [{"icd": "NaN"}],
    "an empty text": [{"icd": "", "city": ""}],
    "a new category": [{"city": CANARY}],
    "a category with a blank": [{"city": "Oslo "}],
    "the only one in a group": [{"city": "Tromsø"}],
    "very many rows": [{}] * _MANY,
    "very many texts": [{"icd": f"{CANARY} {number}"} for number in range(_MANY)],
    "very many days": [{"day": dt.date(2024, 1, 1) + dt.timedelta(days=number % 1000)} for number in range(_MANY)],
    "a very long text": [{"icd": CANARY * 10_000}],
    "a very long category": [{"city": CANARY * 5_000}],
    "a formula": [{"icd": f'=HYPERLINK("http://{CANARY}.example","x")'}],
    "a page": [{"icd": f"</td><script>alert('{CANARY}')</script><img src=x onerror=alert(1)>"}],
    "SQL": [{"icd": f"'; DROP TABLE visits; -- {CANARY}"}],
    "a format": [{"icd": "%s %n {0} {x.__class__} ${jndi:ldap://x} " + CANARY}],
    "line breaks": [{"icd": f"a\r\nSet-Cookie: {CANARY}=1\r\n\r\nb\u2028c"}],
    "JSON": [{"icd": '{"error":{"code":"' + CANARY + '"}}'}],
    "text from right to left": [{"icd": f"\u202e\u2066{CANARY}\u0301\u200b"}],
    "the first and last days": [{"day": dt.date(1, 1, 1)}, {"day": dt.date(9999, 12, 31)}],
    "a moment far off": [{"seen": dt.datetime(1, 1, 1)}, {"seen": dt.datetime(9999, 12, 31, 23, 59, 59)}],
    "a name of a person that breaks": [{"patient_id": f"\"; {CANARY} \\ ' %"}],
    "each kind at once": [
        {"cost": math.nan, "icd": "1e999"},
        {"cost": math.inf, "city": None, "age": None},
        {"icd": CANARY * 1000, "city": "Tromsø", "age": -(2**63)},
    ],
}
