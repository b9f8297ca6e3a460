"""Which questions are about one block alone, read off the plan."""

from __future__ import annotations

import datetime as dt

import pytest

from binding import ask
from dalenius.query.blocks import BlockFacts, PartitionedUnits, block_of, both, either, held
from dalenius.query.expressions import Schema
from dalenius.query.plan.relations import Bound, Clamp, Filter, Relation, Scan
from dalenius.query.types import Code

CITY = PartitionedUnits("patients", "patients", "city", frozenset({"Oslo", "Bergen"}))
PATIENTS, VISITS = "FROM patients WHERE", "FROM visits v JOIN patients p ON v.patient_id = p.patient_id"


def block(rest: str, partition: PartitionedUnits = CITY) -> Code:
    return block_of(ask(f"SELECT COUNT(*) AS n {rest}"), partition)


@pytest.mark.parametrize(
    "rest",
    [
        f"{PATIENTS} city = 'Oslo'",
        f"{PATIENTS} 'Oslo' = city AND age > 3",
        f"{PATIENTS} city IN ('Oslo')",
        f"{PATIENTS} city IN ('Oslo', NULL)",
        f"{PATIENTS} city = 'Oslo' AND (age > 3 OR smoker)",
        f"{PATIENTS} (city = 'Oslo' AND age > 3) OR (city = 'Oslo' AND smoker)",
        f"{PATIENTS} city IN ('Oslo', 'Bergen') AND city = 'Oslo'",
        f"{VISITS} WHERE p.city = 'Oslo'",
        f"{VISITS} AND p.city = 'Oslo'",
        "FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id WHERE p.city = 'Oslo'",
        "FROM visits v LEFT JOIN patients p ON v.patient_id = p.patient_id WHERE p.city = 'Oslo'",
        "FROM visits WHERE patient_id IN (SELECT patient_id FROM patients WHERE city = 'Oslo')",
        "FROM patients p JOIN cities c ON p.city = c.city WHERE p.city = 'Oslo'",
        "FROM (SELECT patient_id, city AS town FROM patients) t WHERE town = 'Oslo'",
        "FROM (SELECT DISTINCT patient_id, city FROM patients) t WHERE city = 'Oslo'",
        "FROM (SELECT patient_id, city, COUNT(*) AS n FROM patients GROUP BY patient_id, city) t WHERE city = 'Oslo'",
        "FROM (SELECT city FROM patients UNION ALL SELECT city FROM patients) t WHERE city = 'Oslo'",
        "FROM (SELECT age FROM patients WHERE city = 'Oslo' UNION ALL SELECT age FROM patients WHERE city = 'Oslo') t",
        "FROM (SELECT city FROM patients WHERE city = 'Oslo' UNION ALL SELECT city FROM doctors) t",
        f"{PATIENTS} city = 'Oslo' AND patient_id NOT IN (SELECT patient_id FROM visits)",
    ],
)
def test_a_question_about_one_block_is_found(rest: str) -> None:
    assert block(rest) == "Oslo"


@pytest.mark.parametrize(
    "rest",
    [
        "FROM patients",
        f"{PATIENTS} city <> 'Bergen'",
        f"{PATIENTS} NOT city = 'Oslo'",
        f"{PATIENTS} city IN ('Oslo', 'Bergen')",
        f"{PATIENTS} city = 'Oslo' OR city = 'Bergen'",
        f"{PATIENTS} city = 'Oslo' OR age > 3",
        f"{PATIENTS} city = 'Tromsø'",
        f"{PATIENTS} city IN ('Oslo', 'Tromsø')",
        f"{PATIENTS} city IS NULL",
        f"{PATIENTS} COALESCE(city, 'Oslo') = 'Oslo'",
        f"{PATIENTS} (CASE WHEN age > 3 THEN 'Oslo' ELSE city END) = 'Oslo'",
        "FROM visits WHERE city = 'Oslo'",
        f"{VISITS} WHERE v.city = 'Oslo'",
        "FROM visits v LEFT JOIN patients p ON v.patient_id = p.patient_id AND p.city = 'Oslo'",
        "FROM visits WHERE patient_id NOT IN (SELECT patient_id FROM patients WHERE city = 'Oslo')",
        "FROM patients p JOIN cities c ON p.city = c.city WHERE c.city = 'Oslo'",
        "FROM (SELECT patient_id, COALESCE(city, 'Oslo') AS city FROM patients) t WHERE city = 'Oslo'",
        "FROM (SELECT city FROM patients UNION ALL SELECT city FROM visits) t WHERE city = 'Oslo'",
        "FROM (SELECT age FROM patients WHERE city = 'Oslo' UNION ALL SELECT age FROM patients) t",
        "FROM (SELECT 1 AS x FROM patients WHERE city = 'Oslo' UNION ALL SELECT 2 FROM patients WHERE city='Bergen') t",
    ],
)
def test_every_other_question_is_about_all(rest: str) -> None:
    assert block(rest) is None


def test_a_unit_that_would_be_in_two_blocks_puts_a_question_in_none() -> None:
    assert block(f"{PATIENTS} city = 'Oslo' AND city = 'Bergen'") is None


def test_the_block_of_another_population_does_not_count() -> None:
    doctors = PartitionedUnits("doctors", "doctors", "city", frozenset({"Oslo"}))
    both_people = "FROM (SELECT city FROM patients UNION ALL SELECT city FROM doctors WHERE city = 'Oslo') t"
    assert block(both_people, doctors) == "Oslo"
    assert block(both_people) is None


@pytest.mark.parametrize(
    ("table", "column", "code", "condition"),
    [
        ("patients", "smoker", True, "smoker"),
        ("patients", "smoker", True, "smoker = TRUE"),
        ("patients", "smoker", False, "NOT smoker"),
        ("patients", "age", 40, "age = 40"),
        ("patients", "age", 40, "age = 40.0"),
        ("patients", "born", (dt.date(1990, 1, 1) - dt.date(1970, 1, 1)).days, "born = '1990-01-01'"),
        (
            "patients",
            "born",
            (dt.date(1990, 1, 1) - dt.date(1970, 1, 1)).days,
            "born = TIMESTAMP '1990-01-01 00:00:00'",
        ),
        ("visits", "cost", 1250, "cost = 12.5"),
        ("visits", "cost", 1250, "cost * 2 = 25"),
        ("visits", "icd", "J45", "icd = 'J45'"),
    ],
)
def test_values_of_every_kind_are_compared_as_codes(table: str, column: str, code: Code, condition: str) -> None:
    partition = PartitionedUnits("patients", table, column, frozenset({code}))
    assert block(f"FROM {table} WHERE {condition}", partition) == code


@pytest.mark.parametrize("condition", ["cost = 1250", "cost = 12.505", "cost + 1 = 13.5", "cost BETWEEN 12.5 AND 12.5"])
def test_what_is_no_plain_comparison_with_the_code_is_about_all(condition: str) -> None:
    partition = PartitionedUnits("patients", "visits", "cost", frozenset({1250}))
    assert block(f"FROM visits WHERE {condition}", partition) is None


def test_a_clamped_column_is_not_followed_and_a_bound_changes_nothing() -> None:
    partition = PartitionedUnits("patients", "patients", "age", frozenset({40}))
    question = ask("SELECT COUNT(*) AS n FROM patients WHERE age = 40")
    (filtered,) = [node for node in _nodes(question.relation) if isinstance(node, Filter)]
    assert held(Bound(filtered, (), 1, None), partition) == held(filtered, partition)
    scan = filtered.child
    assert isinstance(scan, Scan)
    assert held(Clamp(scan, (("patients.age", 40, 50),)), partition) == BlockFacts()
    assert held(scan, partition).columns == {"patients.age"}


def test_a_node_without_a_case_may_hold_rows_of_anybody() -> None:
    class New(Relation):
        @property
        def schema(self) -> Schema:
            return {}

    assert held(New(), CITY) == BlockFacts()


def test_nothing_known_is_the_widest_answer() -> None:
    oslo = frozenset({"Oslo"})
    assert both(None, oslo) == both(oslo, None) == oslo
    assert either(None, oslo) is None
    assert either(oslo, None) is None


def _nodes(relation: Relation) -> list[Relation]:
    return [relation, *(node for child in relation.children for node in _nodes(child))]
