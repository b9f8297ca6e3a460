"""What a filter tells about columns is true of every row that passes it."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from dalenius.engines.conformance.cases import random_expressions
from dalenius.engines.conformance.edges import COLUMNS, column, edge_rows, holds
from dalenius.query.calendar import day_number, moment_number
from dalenius.query.expressions import Column, Expression, Schema
from dalenius.query.functions import narrowing
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.functions.functions import call, literal, narrow
from dalenius.query.types import Bool, Choice, Date, Days, Domain, Identifier, Int, Moments, Number, Text, Timestamp

SCHEMA: Schema = {
    "age": Int(0, 120, nullable=True),
    "low": Int(-5, 30),
    "city": Choice(True, ("Oslo", "Bergen", "Tromsø")),
    "icd": Text(True),
    "old": Bool(True),
    "unit": Identifier(False, "patients"),
    "day": Date("2018-03-01", "2024-05-31", nullable=True),
    "at": Timestamp("2018-03-01", "2024-05-31"),
}
AGE, LOW, CITY, ICD, OLD = (Column(SCHEMA[name], name) for name in ("age", "low", "city", "icd", "old"))
YEAR, YEAR_AT = (call("year", Column(SCHEMA[name], name)) for name in ("day", "at"))


def less(x: Expression, value: object) -> Expression:
    return call("less", x, literal(value))


def equal(x: Expression, value: object) -> Expression:
    return call("equal", x, literal(value))


def days(first: str, last: str) -> dict[str, Domain]:
    return {"day": Days(False, day_number(dt.date.fromisoformat(first)), day_number(dt.date.fromisoformat(last)))}


def moments(first: str, last: str) -> dict[str, Domain]:
    return {"at": Moments(False, *(moment_number(dt.datetime.fromisoformat(each)) for each in (first, last)))}


CASES: list[tuple[Expression, dict[str, Domain]]] = [
    (less(AGE, 18), {"age": Number(False, 0, 17)}),
    (call("less", literal(18), AGE), {"age": Number(False, 19, 120)}),
    (call("less_equal", AGE, literal(17.5)), {"age": Number(False, 0, 17)}),
    (call("greater", AGE, literal(17.5)), {"age": Number(False, 18, 120)}),
    (equal(AGE, 5), {"age": Number(False, 5, 5)}),
    (equal(AGE, 5.5), {"age": Number(False, 0, 120)}),  # never true; NULL is gone
    (less(AGE, 1000), {"age": Number(False, 0, 120)}),
    (less(LOW, 1000), {}),
    (less(LOW, -1000), {}),  # nothing would be left, so nothing is said
    (call("between", AGE, literal(18), literal(65)), {"age": Number(False, 18, 65)}),
    (call("and", less(AGE, 65), call("greater_equal", AGE, literal(18))), {"age": Number(False, 18, 64)}),
    (call("or", less(AGE, 10), less(AGE, 20)), {"age": Number(False, 0, 19)}),
    (call("or", less(AGE, 10), less(LOW, 20)), {}),
    (call("not", less(AGE, 18)), {"age": Number(False, 0, 120)}),
    (call("not", call("is_null", AGE)), {"age": Number(False, 0, 120)}),
    (call("is_null", AGE), {}),
    (OLD, {"old": Bool(False)}),
    (equal(CITY, "Oslo"), {"city": Choice(False, ("Oslo",))}),
    (call("not_equal", CITY, literal("Oslo")), {"city": Choice(False, ("Bergen", "Tromsø"))}),
    (
        call("in", CITY, literal("Tromsø"), literal("Oslo"), literal("Paris")),
        {"city": Choice(False, ("Oslo", "Tromsø"))},
    ),
    (call("in", ICD, literal("B"), literal("A"), literal(None)), {"icd": Choice(False, ("A", "B"))}),
    (call("or", equal(ICD, "A"), equal(ICD, "B")), {"icd": Choice(False, ("A", "B"))}),
    (equal(ICD, "A"), {"icd": Choice(False, ("A",))}),
    (call("not_equal", ICD, literal("A")), {"icd": Text(False)}),
    (call("in", AGE, literal(70), literal(3)), {"age": Number(False, 3, 70)}),
    (call("in", AGE, LOW), {"age": Number(False, 0, 120)}),
    (call("equal", AGE, LOW), {"age": Number(False, 0, 30), "low": Number(False, 0, 30)}),
    (
        call("equal", CITY, ICD),
        {"city": Choice(False, SCHEMA["city"].values), "icd": Choice(False, ("Bergen", "Oslo", "Tromsø"))},
    ),  # type: ignore[attr-defined]
    (call("less", call("add", AGE, literal(1)), literal(10)), {"age": Number(False, 0, 120)}),
    (call("equal", call("coalesce", AGE, LOW), literal(1)), {}),
    (call("like", ICD, literal("a%")), {"icd": Text(False)}),
    (call("between", YEAR, literal(2019), literal(2021)), days("2019-01-01", "2021-12-31")),
    (equal(YEAR, 2020), days("2020-01-01", "2020-12-31")),
    (less(YEAR, 2020), days("2018-03-01", "2019-12-31")),
    (less(YEAR, 2019.5), days("2018-03-01", "2019-12-31")),
    (call("greater", literal(2020), YEAR), days("2018-03-01", "2019-12-31")),
    (call("greater_equal", YEAR, literal(2024)), days("2024-01-01", "2024-05-31")),
    (call("in", YEAR, literal(2022), literal(2020)), days("2020-01-01", "2022-12-31")),
    (call("or", equal(YEAR, 2019), equal(YEAR, 2021)), days("2019-01-01", "2021-12-31")),
    (call("greater", YEAR, literal(-5)), days("2018-03-01", "2024-05-31")),
    (less(YEAR, 99_999), days("2018-03-01", "2024-05-31")),
    (equal(YEAR, 1000), days("2018-03-01", "2024-05-31")),  # never true; NULL is gone
    (call("not_equal", YEAR, literal(2020)), days("2018-03-01", "2024-05-31")),
    (equal(call("month", Column(SCHEMA["day"], "day")), 3), days("2018-03-01", "2024-05-31")),
    (equal(YEAR_AT, 2019), moments("2019-01-01", "2019-12-31T23:59:59.999999")),
    (call("greater", YEAR_AT, literal(2023)), moments("2024-01-01", "2024-05-31")),
]


@pytest.mark.parametrize(("condition", "narrowed"), CASES)
def test_a_condition_narrows_what_it_says(condition: Expression, narrowed: dict[str, Domain]) -> None:
    assert dict(narrow(condition, SCHEMA)) == narrowed


def conditions(count: int, seed: int) -> list[Expression]:
    """Random conditions, joined at random."""
    generator = random.Random(seed)
    found = [each for each in random_expressions(count, seed, heaviest=20) if isinstance(each.domain, Bool)]
    for name in ("n.small", "n.long", "n.cents", "n.tens", "d.any", "t.word", "t.any", "b.flag"):
        for code in (0, 1, -1, 2.5, "Oslo", "a", "2024-02-29", None):
            for relation in ("equal", "less", "greater_equal", "not_equal", "in"):
                try:
                    found.append(call(relation, column(name), literal(code)))
                    found.append(call(relation, literal(code), column(name)))
                except Exception:
                    continue
    for name in ("d.any", "d.now", "m.any", "m.now"):
        for year in (-1, 0, 1, 2, 1969, 1970, 2019, 2020, 2023.5, 2024, 9998, 9999, 10_000):
            for relation in ("equal", "less", "less_equal", "greater", "greater_equal", "in"):
                found.append(call(relation, call("year", column(name)), literal(year)))
            found.append(call("between", call("year", column(name)), literal(year), literal(year + 1)))
    joined = [call(generator.choice(("and", "or")), *generator.sample(found, 2)) for _ in range(count)]
    return found + joined + [call("and", *generator.sample(joined, 2)) for _ in range(count // 2)]


def lies(some: list[Expression]) -> int:
    """How many conditions say something of a column that a row that passes does not keep."""
    rows = edge_rows(3, 90)
    wrong = 0
    for condition in some:
        narrowed = narrowing.narrow(condition, COLUMNS)
        passing = [row for row in rows if evaluate(condition, row) is True]
        wrong += any(not holds(domain, row[name]) for row in passing for name, domain in narrowed)
    return wrong


def test_rows_that_pass_lie_in_the_narrowed_domains() -> None:
    assert lies(conditions(400, 3)) == 0


def test_narrowing_under_or_as_under_and_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(self: narrowing._Facts, parts: tuple[Expression, ...]) -> None:
        for part in parts:
            self.assume(part)

    monkeypatch.setattr(narrowing._Facts, "_assume_one_of", both)
    assert lies(conditions(400, 3)) > 0


def test_a_year_that_begins_a_day_late_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = narrowing._first_day
    monkeypatch.setattr(narrowing, "_first_day", lambda year: honest(year) + 1)
    assert lies(conditions(400, 3)) > 0


def test_nothing_is_said_of_a_unit() -> None:
    unit = Column(SCHEMA["unit"], "unit")
    facts = narrowing._Facts(SCHEMA)
    facts._set(unit.name, Text(False))
    assert facts.known == dict(SCHEMA)
