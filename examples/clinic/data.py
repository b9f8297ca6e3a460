"""A made-up clinic: four tables, drawn from a fixed seed, so that every run sees the same people.

patients   3,000 people       visits   about 15,000, many to a patient
labs       about 20,000, several to a visit            cities   three, public
"""

from __future__ import annotations

import datetime as dt
from random import Random

import pyarrow as pa

CITIES = {"Oslo": ("east", 717_710), "Bergen": ("west", 291_940), "Tromsø": ("north", 78_745)}
CODES = ("I10", "E11", "J06", "M54", "R51", "F32", "N39", "K21", "L20", "H10", "S93", "Z00")
TESTS = {"glucose": (5.4, 1.1), "sodium": (140.0, 3.0), "crp": (6.0, 9.0)}
FIRST_DAY = dt.date(2024, 1, 1)


def tables(*, patients: int = 3_000, seed: int = 7) -> dict[str, pa.Table]:
    """The four tables by name."""
    random = Random(seed)
    people = [_patient(random, number) for number in range(1, patients + 1)]
    visits = [visit for person in people for visit in _visits(random, person)]
    for number, visit in enumerate(visits, start=1):
        visit["visit_id"] = number
    labs = [lab for visit in visits for lab in _labs(random, visit)]
    cities = [{"city": city, "region": region, "inhabitants": size} for city, (region, size) in CITIES.items()]
    return {
        "patients": pa.Table.from_pylist(people),
        "visits": pa.Table.from_pylist(visits),
        "labs": pa.Table.from_pylist(labs),
        "cities": pa.Table.from_pylist(cities),
    }


def _patient(random: Random, number: int) -> dict[str, object]:
    age = min(100, int(random.betavariate(2, 2.4) * 105))
    return {
        "patient_id": number,
        "age": age,
        "sex": random.choice(["female", "male"]),
        "city": random.choices(list(CITIES), weights=[6, 3, 1])[0],
        "born": dt.date(2025 - age, random.randint(1, 12), random.randint(1, 28)),
        "smoker": random.random() < 0.18,
    }


def _visits(random: Random, person: dict[str, object]) -> list[dict[str, object]]:
    age = person["age"]
    assert isinstance(age, int)
    return [_visit(random, person, age) for _ in range(1 + int(random.expovariate(1 / (2 + age / 20))))]


def _visit(random: Random, person: dict[str, object], age: int) -> dict[str, object]:
    urgent = random.random() < 0.15
    day = FIRST_DAY + dt.timedelta(days=random.randrange(900))
    return {
        "patient_id": person["patient_id"],
        "age": age,
        "city": person["city"],
        "cost": round(random.lognormvariate(5 + age / 80 + urgent, 0.7), 2),
        "day": day,
        "seen": dt.datetime.combine(day, dt.time(random.randint(7, 19), random.randrange(60))),
        "icd": random.choices(CODES, weights=range(len(CODES), 0, -1))[0] + f".{random.choice('0000001239')}",
        "urgent": urgent,
    }


def _labs(random: Random, visit: dict[str, object]) -> list[dict[str, object]]:
    done = [test for test in TESTS if random.random() < 0.45]
    return [{"visit_id": visit["visit_id"], "test": test, "value": _value(random, test)} for test in done]


def _value(random: Random, test: str) -> float:
    centre, spread = TESTS[test]
    return round(abs(random.gauss(centre, spread)), 1)
