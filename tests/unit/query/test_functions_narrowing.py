"""What a filter tells about columns is true of every row that passes it."""

from __future__ import annotations

import random

import pytest

from dalenius.query.expressions import Column, Expression, Schema
from dalenius.query.functions import narrowing
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.functions.functions import call, literal, narrow
from dalenius.query.types import Bool, Choice, Domain, Identifier, Int, Number, Text
from scalars import COLUMNS, column, edge_rows, holds, random_expressions

SCHEMA: Schema = {
    "age": Int(0, 120, nullable=True),
    "low": Int(-5, 30),
    "city": Choice(True, ("Oslo", "Bergen", "Tromsø")),
    "icd": Text(True),
    "old": Bool(True),
    "unit": Identifier(False, "patients"),
}
AGE, LOW, CITY, ICD, OLD = (Column(SCHEMA[name], name) for name in ("age", "low", "city", "icd", "old"))


def less(x: Expression, value: object) -> Expression:
    return call("less", x, literal(value))


def equal(x: Expression, value: object) -> Expression:
    return call("equal", x, literal(value))


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


def test_a_bound_that_is_one_too_tight_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = narrowing._Facts._range

    def tighter(self: narrowing._Facts, name: str, low: int | None, high: int | None) -> None:
        honest(self, name, low, None if high is None else high - 1)

    monkeypatch.setattr(narrowing._Facts, "_range", tighter)
    assert lies(conditions(400, 3)) > 0


def test_nothing_is_said_of_a_unit() -> None:
    unit = Column(SCHEMA["unit"], "unit")
    facts = narrowing._Facts(SCHEMA)
    facts._set(unit.name, Text(False))
    assert facts.known == dict(SCHEMA)
