"""When an answer is due follows from its plan and the size classes of tables, and from nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binding import ask
from dalenius.engines.durations import EMBEDDED, expected_seconds, size_class
from dalenius.engines.postgres.engine import PostgresEngine
from dalenius.measuring.measurements import lower
from dalenius.query.plan.passes import Aggregate, Pass, Total
from dalenius.query.plan.relations import Bound, Scan
from dalenius.query.types import Int
from duckdb_tables import engine_with, private

PEOPLE = private("people", {"age": Int(0, 99)})
COUNT = Aggregate(Bound(Scan(PEOPLE, "p"), (), 9, None), (Total("rows"),))


def due(rows: int) -> float:
    engine = engine_with((PEOPLE, {"id": list(range(rows)), "age": [0] * rows}))
    try:
        return engine.expected_seconds(COUNT)
    finally:
        engine.close()


def test_the_class_of_a_number_of_rows_is_the_next_power_of_four_from_4096_on() -> None:
    assert [size_class(rows) for rows in (0, 4096, 4097, 16_384, 1_000_000)] == [4096, 4096, 16_384, 16_384, 4**10]


def test_tables_of_one_class_are_expected_to_take_equally_long_and_of_another_longer() -> None:
    assert due(1) == due(4096) < due(4097)


def of(sql: str) -> float:
    return sum(expected_seconds(step, lambda table: 10**6) for step in passes(sql))


def passes(sql: str) -> tuple[Pass, ...]:
    return lower(ask(sql)).passes


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE age > 3 AND cost < 9"),
        ("SELECT COUNT(*) FROM visits", "SELECT city, COUNT(*) FROM visits GROUP BY city"),
        ("SELECT city, COUNT(*) FROM visits GROUP BY city", "SELECT age, COUNT(*) FROM visits GROUP BY age"),
        ("SELECT MODE(city) FROM visits", "SELECT MEDIAN(cost) FROM visits"),
        ("SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id"),
        ("SELECT COUNT(*) FROM visits WHERE icd = 'x'", "SELECT COUNT(*) FROM visits WHERE LOWER(icd) = 'x'"),
    ],
)  # fmt: skip
def test_plans_that_do_more_are_expected_to_take_longer(less: str, more: str) -> None:
    assert of(less) < of(more)


def test_a_condition_on_texts_has_room_for_a_person_with_many_of_them() -> None:
    """500 rows of 1,000 characters and 90 patterns took 0.17 s longer where a condition selected them."""
    many = " AND ".join(f"icd NOT LIKE '%{place}'" for place in range(90))
    assert of(f"SELECT COUNT(*) FROM visits WHERE age = 3 AND {many}") > of("SELECT COUNT(*) FROM visits") + 0.3


def test_engines_that_take_longer_for_texts_have_more_room() -> None:
    (step,) = passes("SELECT COUNT(*) FROM visits WHERE LOWER(icd) = 'x' AND icd LIKE '%y%'")
    found = [expected_seconds(step, lambda table: 1, rates) for rates in (EMBEDDED, PostgresEngine.rates)]
    assert found[1] > 2 * found[0]


def test_the_size_that_an_owner_states_is_taken_and_no_row_is_counted() -> None:
    stated = replace(PEOPLE, size=10**6)
    step = replace(COUNT, child=replace(COUNT.child, child=Scan(stated, "p")))
    few, many = (engine_with((stated, {"id": list(range(rows)), "age": [0] * rows})) for rows in (1, 5000))
    assert few.expected_seconds(step) == many.expected_seconds(step) > due(1)
    few.close()
    many.close()
